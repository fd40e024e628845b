"""What tools tell of the host: sar's tables, or a recording of /proc and /sys."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from tests.scenarios.serving.print_client import stamp
from tests.scenarios.serving.run import Run

Row = Callable[[int], str]


def sar(run: Run) -> str:
    """`sar -u -q -B -W -b -w -r -I SUM -n DEV -n EDEV -n ETCP 1 N`, one table below the other."""
    told, world = run.told, run.world
    nic = world.host.nic
    tables: Sequence[tuple[str, Row]] = (
        ("     CPU     %user     %nice   %system   %iowait    %steal     %idle", lambda at: (
            f"     all {80 * told.busy[at]:9.2f}      0.00 {20 * told.busy[at]:9.2f} {100 * told.iowait[at]:9.2f}"
            f"      0.00 {max(0.0, 100 - 100 * told.busy[at] - 100 * told.iowait[at]):9.2f}")),
        ("    proc/s   cswch/s", lambda at: f"      1.00 {told.switches[at]:9.2f}"),
        ("      INTR    intr/s", lambda at: f"       sum {told.interrupts[at]:9.2f}"),
        ("  pswpin/s pswpout/s", lambda at: f" {0.4 * told.swapped[at]:9.2f} {0.6 * told.swapped[at]:9.2f}"),
        ("  pgpgin/s pgpgout/s   fault/s  majflt/s  pgfree/s pgscank/s pgscand/s pgsteal/s    %vmeff", lambda at: (
            f" {told.reads[at] / 1024:9.2f} {told.writes[at] / 1024:9.2f}  20000.00 {told.faults[at]:9.2f}  40000.00"
            "      0.00      0.00      0.00      0.00")),
        ("       tps      rtps      wtps      dtps   bread/s   bwrtn/s   bdscd/s", lambda at: (
            f"    120.00     20.00    100.00      0.00 {told.reads[at] / 512:9.2f} {told.writes[at] / 512:9.2f}"
            "      0.00")),
        (" kbmemfree   kbavail kbmemused  %memused kbbuffers  kbcached  kbcommit   %commit  kbactive   kbinact"
         "   kbdirty",
         lambda at: (f" 90000000 {told.available[at] / 1024:.0f} 200000000     50.00    100000  90000000 150000000"
                     "     30.00  90000000  60000000      2000")),
        ("   runq-sz  plist-sz   ldavg-1   ldavg-5  ldavg-15   blocked", lambda at: (
            f" {told.runnable[at]:9.0f}      2210 {told.runnable[max(0, at - 60) : at + 1].mean():9.2f}     10.00"
            "     10.00         0")),
        ("     IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s   rxcmp/s   txcmp/s  rxmcst/s   %ifutil", lambda at: (
            f" {nic:>9s} {told.received[at] / 1400:9.2f} {told.sent[at] / 1400:9.2f} {told.received[at] / 1024:9.2f}"
            f" {told.sent[at] / 1024:9.2f}      0.00      0.00      0.00"
            f" {min(100.0, 100 * told.sent[at] / world.host.nic_bytes):9.2f}")),
        ("  atmptf/s  estres/s retrans/s isegerr/s   orsts/s", lambda at: (
            f"      0.00      0.10 {told.retransmits[at]:9.2f}      0.00      0.20")),
    )  # fmt: skip
    day = stamp(run, 0, "%m/%d/%Y")
    head = f"Linux 5.15.0-118-generic ({world.host.name}) \t{day} \t_x86_64_\t({world.host.cores} CPU)\n"
    lines = [head]
    for titles, row in tables:
        lines += ["", f"{stamp(run, 0, '%H:%M:%S')} {titles}"]
        lines += [f"{stamp(run, at + 1, '%H:%M:%S')} {row(at)}" for at in range(int(world.seconds))]
    return "\n".join(lines) + "\n"


def manifest(run: Run) -> str:
    """The recording's manifest, which names the host."""
    names = ("host", "network", "processes", "nvml-gpu-0")
    recorders = [{"name": name, "status": "done", "seconds": run.world.seconds, "detail": None} for name in names]
    return json.dumps({"schema": "diagnose.bundle/1", "host": run.world.host.name, "recorders": recorders}, indent=1)


def recorded_host(run: Run) -> str:
    """Processors, pressure, paging and the server's control group, read once a second."""
    told, world = run.told, run.world
    lines = [
        "=== recorded tree 1: host", "@ proc/sys/kernel/osrelease", "|5.15.0-118-generic",
        "@ sys/devices/system/cpu/online", f"|0-{world.host.cores - 1}",
        "@ proc/sys/kernel/numa_balancing", "|0",
    ]  # fmt: skip
    lines += _governor(run)
    stalled = {"cpu": 0.0, "memory": 0.0, "io": 0.0}
    by_name = {"cpu": told.cpu_pressure, "memory": told.memory_pressure, "io": told.io_pressure}
    busy = idle = waiting = faults = swapped = periods = throttled = 0.0
    for at in range(int(world.seconds)):
        moment = f"{world.start + at + 1.0:.3f}"
        ticks = 100.0 * world.host.cores
        busy += ticks * told.busy[at]
        waiting += ticks * told.iowait[at]
        idle += ticks * max(0.0, 1 - told.busy[at] - told.iowait[at])
        faults += told.faults[at]
        swapped += told.swapped[at]
        lines += [f"@ proc/stat at {moment}", f"|cpu  {busy:.0f} 0 0 {idle:.0f} {waiting:.0f} 0 0 0 0 0"]
        lines += [f"|procs_running {told.runnable[at]:.0f}"]
        for name, share in by_name.items():
            stalled[name] += 1e6 * float(share[at])
            lines += [f"@ proc/pressure/{name} at {moment}"]
            lines += [f"|some avg10={100 * share[at]:.2f} avg60=0.00 avg300=0.00 total={stalled[name]:.0f}"]
        lines += [f"@ proc/vmstat at {moment}", f"|pgmajfault {faults:.0f}"]
        lines += [f"|pswpin {0.4 * swapped:.0f}", f"|pswpout {0.6 * swapped:.0f}"]
        if world.server.quota_cpus is not None:
            periods += told.periods[at]
            throttled += told.throttled[at]
            group = "sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/kubepods-pod7f.slice"
            lines += [f"@ {group}/cpu.stat at {moment}", f"|nr_periods {periods:.0f}", f"|nr_throttled {throttled:.0f}"]
    if world.server.quota_cpus is not None:
        lines += [f"@ {group}/cpu.max", f"|{100000 * world.server.quota_cpus:.0f} 100000"]
    return "\n".join(lines) + "\n"


def _governor(run: Run) -> list[str]:
    host = run.world.host
    folder = "sys/devices/system/cpu/cpufreq/policy0"
    files = {
        "scaling_governor": host.governor, "cpuinfo_max_freq": 3800000,
        "scaling_max_freq": int(3800000 * min(1.0, host.cpu_clock)), "scaling_driver": "intel_pstate",
        "affected_cpus": " ".join(str(cpu) for cpu in range(host.cores)),
        "energy_performance_preference": "performance" if host.governor == "performance" else "balance_power",
    }  # fmt: skip
    return [line for name, value in files.items() for line in (f"@ {folder}/{name}", f"|{value}")]


def recorded_network(run: Run) -> str:
    """Traffic of the interface and what TCP sent again, read once a second."""
    told, world = run.told, run.world
    base = f"sys/class/net/{world.host.nic}"
    lines = ["=== recorded tree 1: network", f"@ {base}/operstate", "|up", f"@ {base}/speed"]
    lines += [f"|{world.host.nic_bytes * 8 / 1e6 / 0.992:.0f}"]
    sent = received = segments = again = 0.0
    for at in range(int(world.seconds)):
        moment = f"{world.start + at + 1.0:.3f}"
        sent += told.sent[at]
        received += told.received[at]
        segments += told.segments[at]
        again += told.retransmits[at]
        lines += [f"@ {base}/statistics/tx_bytes at {moment}", f"|{sent:.0f}"]
        lines += [f"@ {base}/statistics/rx_bytes at {moment}", f"|{received:.0f}"]
        lines += [f"@ proc/net/snmp at {moment}", "|Tcp: RtoAlgorithm OutSegs RetransSegs"]
        lines += [f"|Tcp: 1 {segments:.0f} {again:.0f}"]
    return "\n".join(lines) + "\n"


def recorded_processes(run: Run) -> str:
    """Where the server runs and where its memory is."""
    world = run.world
    half = world.host.cores // 2
    bus = "0000:17:00.0"
    crossing = world.host.crossing > 1
    cpus = f"{half}-{world.host.cores - 1}" if crossing else f"0-{half - 1}"
    lines = ["=== recorded tree 1: processes", "@ sys/devices/system/cpu/online", f"|0-{world.host.cores - 1}"]
    lines += [f"@ proc/driver/nvidia/gpus/{bus}/information", f"|Model: \t\t {world.gpu.name}", "|Device Minor: \t 0"]
    device = f"sys/bus/pci/devices/{bus}"
    lines += [f"@ {device}/numa_node", "|0", f"@ {device}/local_cpulist", f"|0-{half - 1}"]
    name = "VLLM::EngineCor" if world.server.engine == "vllm" else "sglang::schedul"
    lines += ["@ proc/41200/status", f"|Name:\t{name}", "|Threads:\t48", f"|Cpus_allowed_list:\t{cpus}"]
    lines += ["|Mems_allowed_list:\t0-1", "@ proc/41200/fd (devices)", "|/dev/nvidia0"]
    near, far = (1 if crossing else 0), (0 if crossing else 1)
    lines += ["@ proc/41200/numa_maps (nodes)", f"|{near} {9 << 30}", f"|{far} {200 << 20}"]
    lines += ["@ proc/41200/task (threads)", f"|{near * half + 3} 48"]
    return "\n".join(lines) + "\n"
