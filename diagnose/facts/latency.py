"""Facts about request latency: how it is distributed, when it is slow, what it goes along with. All are features.

Verdicts are words: `found`, `not-found`, and `too-few` where the data cannot tell, with the reason beside it. Intervals
are of 95 % and allow for requests near in time being alike. Definitions stand in docs/latency.md.
"""

from __future__ import annotations

from typing import ClassVar

from diagnose.facts.base import Fact, optional, required

_STREAM = "Which requests: the table or log that they were read from, and the row's labels"
_METRIC = (
    "`ttft`, `itl` (between output tokens), `e2e`, `queue`, `prefill`, `decode`, `network`, `client` or `step` (of the "
    "engine)"
)
_VERDICT = "`found`, `not-found`, or `too-few` where the data cannot tell"
_REASON = "Why there is no verdict"
_P_VALUE = "Chance that unrelated data of the same autocorrelation look like this, by permutation of blocks of time"


class LatencySummary(Fact):
    """The quantiles of one latency.

    A quantile with fewer than five values beyond it is absent, and so is an end of an interval that the sample does not
    tell: the upper one of p99 below 368 independent values.
    """

    kind: ClassVar[str] = "latency-summary"
    few_per_host: ClassVar[bool] = True
    stream: str = required(_STREAM)
    metric: str = required(_METRIC)
    requests: int = required("Values measured")
    effective_requests: float | None = optional("Independent values that they are worth, by their autocorrelation")
    failed_requests: int | None = optional("Requests that ended in an error: they are in no quantile")
    duration_seconds: float | None = optional("From the first request to the last, where times are known")
    resolution_seconds: float | None = optional("Step in which values are recorded, or the histogram's bucket at p99")
    resolvable_quantile: float = required("Highest quantile, below 1, whose interval the sample closes above; else 0")
    mean_seconds: float | None = optional("Mean")
    max_seconds: float | None = optional("Largest value")
    p50_seconds: float | None = optional("Median")
    p50_low_seconds: float | None = optional("Lower end of its interval")
    p50_high_seconds: float | None = optional("Upper end")
    p90_seconds: float | None = optional("90th percentile")
    p90_low_seconds: float | None = optional("Lower end of its interval")
    p90_high_seconds: float | None = optional("Upper end")
    p95_seconds: float | None = optional("95th percentile")
    p95_low_seconds: float | None = optional("Lower end of its interval")
    p95_high_seconds: float | None = optional("Upper end")
    p99_seconds: float | None = optional("99th percentile")
    p99_low_seconds: float | None = optional("Lower end of its interval")
    p99_high_seconds: float | None = optional("Upper end")
    p999_seconds: float | None = optional("99.9th percentile")
    p999_low_seconds: float | None = optional("Lower end of its interval")
    p999_high_seconds: float | None = optional("Upper end")
    tail_ratio: float | None = optional("p99 over p50")
    tail_ratio_low: float | None = optional("Lower end of its interval")
    tail_ratio_high: float | None = optional("Upper end")
    coefficient_of_variation: float | None = optional("Standard deviation over mean")


class LatencyModes(Fact):
    """Whether a latency has more than one typical value. `found` means two or more that noise does not explain."""

    kind: ClassVar[str] = "latency-modes"
    few_per_host: ClassVar[bool] = True
    stream: str = required(_STREAM)
    metric: str = required(_METRIC)
    verdict: str = required(_VERDICT)
    reason: str | None = optional(_REASON)
    modes: int | None = optional("How many")
    first_seconds: float | None = optional("Where the fastest mode is")
    first_share_ratio: float | None = optional("Share of the requests in it, 0 to 1")
    second_seconds: float | None = optional("Where the next one is: of the slower ones that with the most requests")
    second_share_ratio: float | None = optional("Share of the requests in it, 0 to 1")
    centre_ratio: float | None = optional("The second centre over the first")
    valley_ratio: float | None = optional("Density between the two over that of the lower one: 0 is a clean gap")
    p_value: float | None = optional("Chance that values of fewer modes show as deep a valley, by smoothed resampling")


class LatencyBurst(Fact):
    """Requests far slower than those around them: single stalls, and bursts of several together."""

    kind: ClassVar[str] = "latency-burst"
    few_per_host: ClassVar[bool] = True
    stream: str = required(_STREAM)
    metric: str = required(_METRIC)
    verdict: str = required(_VERDICT)
    reason: str | None = optional(_REASON)
    outliers: int | None = optional("Requests beyond the limit")
    outlier_ratio: float | None = optional("Their share, 0 to 1")
    limit_seconds: float | None = optional("What counts as an outlier: far outside the scatter of the rest")
    excess_seconds: float | None = optional("Median time by which they exceed the median latency")
    excess_spread_ratio: float | None = optional("Scatter of that time over its median: near 0 when stalls are equal")
    max_excess_seconds: float | None = optional("Largest such time")
    bursts: int | None = optional("Groups of outliers that stand closer in time than chance explains")
    burst_ratio: float | None = optional("Share of the outliers that are in bursts, 0 to 1")
    burst_seconds: float | None = optional("Median length of a burst")
    gap_seconds: float | None = optional("Median time between the beginnings of bursts")
    retransmission_like_ratio: float | None = optional(
        "Share of the outliers whose excess is within a tenth of 0.2, 0.4, 0.8, 1.6 or 3.2 s: TCP's retransmissions"
    )
    together_p_value: float | None = optional("Chance that outliers at random times stand as close together")


class LatencyDrift(Fact):
    """Whether a latency grows or falls over the whole time."""

    kind: ClassVar[str] = "latency-drift"
    few_per_host: ClassVar[bool] = True
    stream: str = required(_STREAM)
    metric: str = required(_METRIC)
    verdict: str = required(_VERDICT)
    reason: str | None = optional(_REASON)
    quantile: float | None = optional("Quantile that was followed, 0.5 or 0.99")
    change_ratio: float | None = optional("Level at the end over that at the beginning, by a line through windows")
    change_low: float | None = optional("Lower end of its interval")
    change_high: float | None = optional("Upper end")
    duration_seconds: float | None = optional("Time in which it changed so much")
    p_value: float | None = optional(_P_VALUE)


class LatencyChange(Fact):
    """Where a latency changes from one level to another, once and to stay."""

    kind: ClassVar[str] = "latency-change"
    few_per_host: ClassVar[bool] = True
    stream: str = required(_STREAM)
    metric: str = required(_METRIC)
    verdict: str = required(_VERDICT)
    reason: str | None = optional(_REASON)
    quantile: float | None = optional("Quantile that was followed, 0.5 or 0.99")
    at_seconds: float | None = optional("When, in seconds since the first request")
    at: str | None = optional("When by the clock of the data, ISO 8601; absent where that is relative")
    window_seconds: float | None = optional("How closely the time is known")
    before_seconds: float | None = optional("Level before")
    after_seconds: float | None = optional("Level after")
    ratio: float | None = optional("After over before")
    ratio_low: float | None = optional("Lower end of its interval")
    ratio_high: float | None = optional("Upper end")
    p_value: float | None = optional(_P_VALUE)


class LatencyPeriod(Fact):
    """A period with which a latency is slow. Several may be found; multiples of one found are left out."""

    kind: ClassVar[str] = "latency-period"
    few_per_host: ClassVar[bool] = True
    stream: str = required(_STREAM)
    metric: str = required(_METRIC)
    verdict: str = required(_VERDICT)
    reason: str | None = optional(_REASON)
    period_seconds: float | None = optional("The period")
    period_error_seconds: float | None = optional("How far off it may be")
    shortest_seconds: float | None = optional("Shortest period that could be seen")
    longest_seconds: float | None = optional("Longest period that could be seen")
    cycles: float | None = optional("Periods in the data")
    phase_seconds: float | None = optional(
        "Beginning of the slow part, in seconds after a multiple of the period on the wall clock (since midnight); "
        "absent where the clock is relative or the period is not known well enough for it"
    )
    phase_error_seconds: float | None = optional("How far off that may be")
    wall_clock: str | None = optional(
        "`quarter-minute`, `half-minute`, `minute`, `minutes`, `hour` or `divides-minute`: the period is that of the "
        "clock within its error; absent where it is not"
    )
    on_the_minute: bool | None = optional("Whether the slow part begins with a full minute, as tasks of cron do")
    slow_part_ratio: float | None = optional("Share of the period that is slow, 0 to 1")
    slow_p99_seconds: float | None = optional("p99 within the slow part")
    other_p99_seconds: float | None = optional("p99 in the rest")
    excess_ratio: float | None = optional("The first over the second")
    tail_explained_ratio: float | None = optional(
        "Share of the slowest hundredth of requests that fall into the slow part beyond what its length explains"
    )
    p_value: float | None = optional("False-alarm probability over all periods tried")


class LatencyLoad(Fact):
    """How the requests arrive, and whether latency grows with those under way."""

    kind: ClassVar[str] = "latency-load"
    few_per_host: ClassVar[bool] = True
    stream: str = required(_STREAM)
    metric: str = required(_METRIC)
    verdict: str = required("`found`: latency grows with the number under way; `not-found`; or `too-few`")
    reason: str | None = optional(_REASON)
    loop: str | None = optional(
        "`closed`: requests begin when others end; `open`: they come regardless; `not-shown` where neither is clear"
    )
    closed_ratio: float | None = optional("Share of requests that begin just after another one ends, 0 to 1")
    closed_expected_ratio: float | None = optional("The same for arrivals at random")
    coordinated_omission: bool | None = optional(
        "Whether the generator stopped sending while requests stalled, so that the tail is understated"
    )
    omitted_ratio: float | None = optional("Requests not sent in stalls, over those that an even rate would have sent")
    arrivals_per_second: float | None = optional("Mean rate of arrivals")
    arrival_dispersion: float | None = optional(
        "Variance over mean of arrivals in a second: 1 for random arrivals, less for even ones, more for bursts"
    )
    concurrency_mean: float | None = optional("Requests under way, mean over time")
    concurrency_p95: float | None = optional("95th percentile over time")
    concurrency_max: int | None = optional("Most")
    p50_low_load_seconds: float | None = optional("Median latency in the third of the time with the fewest under way")
    p50_high_load_seconds: float | None = optional("Median latency in the third with the most")
    p99_low_load_seconds: float | None = optional("p99 in the third with the fewest")
    p99_high_load_seconds: float | None = optional("p99 in the third with the most")
    load_correlation: float | None = optional("Rank correlation of latency and requests under way, by windows of time")
    p_value: float | None = optional(_P_VALUE)
    completions_high_load_ratio: float | None = optional(
        "Completions per second in the third with the most under way over those in the middle third: about 1 or less "
        "when the server is at its limit"
    )
    backlog_growth_ratio: float | None = optional(
        "Arrivals over completions in the whole time: above 1 when a queue grows"
    )


class LatencyParts(Fact):
    """Which parts the slow requests' extra time goes to: what slow ones take beyond what typical ones take."""

    kind: ClassVar[str] = "latency-parts"
    few_per_host: ClassVar[bool] = True
    stream: str = required(_STREAM)
    metric: str = required("`ttft` or `e2e`: what is taken apart")
    verdict: str = required("`found`: one part alone has more than half of it; `not-found`; or `too-few`")
    reason: str | None = optional(_REASON)
    slow_requests: int | None = optional("Requests that are slow: the slowest hundredth, or 20 where that is fewer")
    excess_seconds: float | None = optional("Mean extra time of the slow ones beyond the median request")
    dominant: str | None = optional("`queue`, `prefill`, `decode`, `network` or `client`: the part with the most")
    queue_ratio: float | None = optional("Share of the extra time spent waiting to be scheduled, 0 to 1")
    queue_low: float | None = optional("Lower end of its interval")
    queue_high: float | None = optional("Upper end")
    prefill_ratio: float | None = optional("Share spent on the prompt")
    prefill_low: float | None = optional("Lower end of its interval")
    prefill_high: float | None = optional("Upper end")
    decode_ratio: float | None = optional("Share spent on output tokens after the first")
    decode_low: float | None = optional("Lower end of its interval")
    decode_high: float | None = optional("Upper end")
    network_ratio: float | None = optional("Share spent between client and server")
    network_low: float | None = optional("Lower end of its interval")
    network_high: float | None = optional("Upper end")
    client_ratio: float | None = optional("Share spent in the client itself")
    client_low: float | None = optional("Lower end of its interval")
    client_high: float | None = optional("Upper end")
    unattributed_ratio: float | None = optional("Share that no measured part has")


class LatencyAssociation(Fact):
    """Whether a latency is slow when something else is high. Subject: that of the driver (GPU, NIC, host).

    An association is no cause: it is named with what else would explain it, and what remains once that is allowed for.
    """

    kind: ClassVar[str] = "latency-association"
    stream: str = required(_STREAM)
    metric: str = required(_METRIC)
    driver: str = required("Metric of the driver: a name of the catalogue of series, or one derived from the requests")
    driver_class: str = required("Sort of the driver, such as `nic-egress` or `memory-bandwidth`: see docs/latency.md")
    verdict: str = required(
        "`associated`; `explained-by-other`: it is, but not beyond what another driver explains; `not-shown`; "
        "`not-alignable`: its time base cannot be related to that of the requests; `too-few`"
    )
    reason: str | None = optional("Why there is no verdict")
    explained_by: str | None = optional("Driver that explains it, for `explained-by-other`")
    explained_by_class: str | None = optional("Sort of that driver")
    explained_by_subject: str | None = optional("Subject of that driver, as reports print it")
    rank: int | None = optional("Place among the associated drivers of this latency: 1 explains most")
    windows: int | None = optional("Windows of time compared")
    window_seconds: float | None = optional("Length of one")
    driver_low: float | None = optional("Median of the driver in its lower range: the lower half of the windows")
    driver_high: float | None = optional("Median of the driver in its upper range: the upper fifth, or where it is on")
    p50_low_seconds: float | None = optional("Median latency while the driver is in its lower range")
    p50_high_seconds: float | None = optional("Median latency while it is in its upper range")
    p99_low_seconds: float | None = optional("p99 while it is in its lower range")
    p99_high_seconds: float | None = optional("p99 while it is in its upper range")
    ratio: float | None = optional("p99 in the upper range over p99 in the lower range")
    ratio_low: float | None = optional("Lower end of its interval")
    ratio_high: float | None = optional("Upper end")
    p50_ratio: float | None = optional("The same for the median")
    direction: str | None = optional("`high`: slow while the driver is high; `low`: slow while it is low, as clocks")
    tail_share_ratio: float | None = optional("Share of the slowest hundredth that fall into the slow range, 0 to 1")
    time_share_ratio: float | None = optional("Share of all requests that fall into it, 0 to 1")
    correlation: float | None = optional("Rank correlation of the driver with the windows' upper quantile of latency")
    lag_seconds: float | None = optional("By how much latency follows the driver at the best fit; negative: it leads")
    p_value: float | None = optional(_P_VALUE)
    p_adjusted: float | None = optional(
        "The same for the best of all candidates together: Westfall and Young's step-down correction"
    )
    candidates: int | None = optional("Candidates that were tested for this latency")
    remaining_correlation: float | None = optional("Correlation left once the other associated drivers are allowed for")
    remaining_p_value: float | None = optional("Chance of that among unrelated data")


class TelemetryAlignment(Fact):
    """Whether the times of a source of series can be related to those of the requests, and how."""

    kind: ClassVar[str] = "telemetry-alignment"
    few_per_host: ClassVar[bool] = True
    stream: str = required(_STREAM)
    origin: str = required("File or server that the series came from")
    series: int = required("Series of it")
    clock: str = required("Its clock: `utc`, `local` (zone unknown) or `relative`")
    requests_clock: str = required("Clock of the requests")
    verdict: str = required(
        "`same-clock`; `offset`: shifted by an offset that the data prove; `not-alignable`; `no-overlap`: the clocks "
        "agree, the times do not"
    )
    reason: str | None = optional("Why it cannot be aligned")
    offset_seconds: float | None = optional("Added to the times of the series")
    overlap_seconds: float | None = optional("Time for which both have data")
    step_seconds: float | None = optional("Median step of the series")
    p_value: float | None = optional("Chance that the offset only looks best, over all offsets tried")
