"""Facts about jobs that stand still: what NCCL's RAS, PyTorch's flight recorder, py-spy and launchers show."""

from __future__ import annotations

from typing import ClassVar

from diagnose.facts.base import Fact, optional, required


class RasStatus(Fact):
    """One query of NCCL's RAS subsystem, summed up."""

    kind: ClassVar[str] = "ras-status"
    few_per_host: ClassVar[bool] = True
    communicators: int | None = optional("Communicators listed")
    ranks: int | None = optional("Ranks of the largest communicator")
    processes_not_answering: int = required("Processes that gave no data though they are not considered dead")
    processes_dead: int = required("Processes that RAS considers dead")
    mismatched_communicators: int = required("Communicators whose ranks differ in status or in operation counts")
    failed_communicators: int = required("Communicators with an initialisation or asynchronous error")
    timeouts: int = required("Time-outs while the data were gathered")


class RasProcess(Fact):
    """A process that RAS could not reach. Subject: its host, GPU, process and, where told, rank."""

    kind: ClassVar[str] = "ras-process"
    state: str = required("`not-answering`, or `dead` after a minute without an answer")


class RasMismatch(Fact):
    """Ranks of a communicator that differ: normal at work, telling when a later query shows the same."""

    kind: ClassVar[str] = "ras-mismatch"
    few_per_host: ClassVar[bool] = True
    communicator: str = required("Hash of the communicator")
    what: str = required("`status`, or the operation whose counts differ: `collective`, `AllReduce`, ...")
    groups: str = required("How many ranks stand where, e.g. `26 at 6650, 6 at 6649`")
    fewest_ranks: int = required("Ranks of the smallest group")
    outlying_ranks: str | None = optional("Ranks of the smallest group, where they are listed")
    furthest_behind: int | None = optional("Operations between the first and the last rank")


class RasStandstill(Fact):
    """The same difference in two or more queries: the communicator makes no progress. A feature."""

    kind: ClassVar[str] = "ras-standstill"
    few_per_host: ClassVar[bool] = True
    communicator: str = required("Hash of the communicator")
    what: str = required("As in ras-mismatch")
    groups: str = required("As in ras-mismatch")
    outlying_ranks: str | None = optional("As in ras-mismatch")
    queries: int = required("Queries that show it")


class FlightRecorderRank(Fact):
    """Where one rank stands in one process group, from its flight recorder. Subject: the rank."""

    kind: ClassVar[str] = "flight-recorder-rank"
    process_group: str = required("Name of the process group")
    group_size: int | None = optional("Ranks of the group")
    last_completed_sequence: int | None = optional("Highest sequence number that completed")
    last_sequence: int | None = optional("Highest sequence number that was enqueued")
    pending_sequence: int | None = optional("Lowest sequence number that has not completed")
    pending_operation: str | None = optional("Its operation")
    pending_state: str | None = optional("`scheduled`: not on the GPU yet, or `started`")
    pending_at: str | None = optional("Function and line that called it")
    calls: tuple[str, ...] = required("Latest calls, each `sequence operation sizes types`")


class FlightRecorderSummary(Fact):
    """A summary printed from flight recorders, in which ranks are not told apart."""

    kind: ClassVar[str] = "flight-recorder-summary"
    few_per_host: ClassVar[bool] = True
    completed: int = required("Calls listed as completed")
    pending: int = required("Calls listed as scheduled or started")
    pending_operations: int = required("Different operations among the pending calls")
    pending_detail: str | None = optional("The pending calls: state, operation and line of the program")


class CollectiveDivergence(Fact):
    """Ranks of a process group that do not do the same. A feature of flight recorders of several ranks."""

    kind: ClassVar[str] = "collective-divergence"
    few_per_host: ClassVar[bool] = True
    process_group: str = required("Process group")
    difference: str = required(
        "`operation`, `size` or `type`: ranks made different calls; `not-entered`: some did not call at all; "
        "`not-completed`: all are in the same call"
    )
    sequence: int = required("Sequence number of the call")
    ranks: int = required("Ranks whose recorder was read")
    ranks_without_dump: int | None = optional("Ranks of the group without a recorder")
    outlying_ranks: str | None = optional("Ranks that differ from the majority, or did not enter")
    detail: str = required("The calls, each with its ranks")


class ProcessWait(Fact):
    """Where a thread stands in a stack dump. Subject: the process."""

    kind: ClassVar[str] = "process-wait"
    main_thread: bool = required("It is the process's main thread")
    active: bool = required("It was on a CPU rather than waiting")
    waits_in: str = required("`data-loader`, `collective`, `pipeline`, `gpu`, `file-system`, `lock` or `other`")
    loader_worker: bool = required("The process is a data loader's worker")
    call: str = required("Frame that decided: function, file and line")


class ProcessExit(Fact):
    """A rank that ended by a signal or with an error, as its launcher says. Subject: host, process and rank."""

    kind: ClassVar[str] = "process-exit"
    launcher: str = required("`torchrun`, `srun`, `mpirun`")
    exit_code: int | None = optional("Exit code, where it ended by itself")
    signal: int | None = optional("Signal that ended it")
    count: int = required("Lines that tell of such an end in the file")
