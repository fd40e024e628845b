"""Puts workloads on their hosts: jobs and pods by the node's name, processes by whose GPU they hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from diagnose.facts import Fact, Source, Subject
from diagnose.facts.cpu_lists import parse_cpu_list
from diagnose.facts.gpu import GpuProcess
from diagnose.facts.process import ProcessPlacement
from diagnose.facts.sharing import Workload
from diagnose.facts.workload_roles import INFERENCE, TRAINING, role_of


@dataclass(frozen=True, slots=True)
class Placed:
    """A workload on one host, with what is known of the resources it was given."""

    name: str
    role: str
    system: str
    host: str | None
    node: str | None
    pool: str | None = None
    nodes: int = 1
    running: bool | None = None
    gpus: frozenset[str] = frozenset()
    gpu_count: int | None = None
    cpus: frozenset[int] = frozenset()
    bound: bool | None = None
    qos: str | None = None
    exclusive: bool | None = None
    control_group: str | None = None
    process_id: int | None = None
    start_seconds: float | None = None
    end_seconds: float | None = None
    clock: str | None = None
    sources: tuple[Source, ...] = ()

    def overlap_seconds(self, other: Placed) -> float | None:
        """How long both ran; None where start and end are not both told in one clock."""
        if None in (self.start_seconds, other.start_seconds) or self.clock != other.clock:
            return None
        ends = [end for end in (self.end_seconds, other.end_seconds) if end is not None]
        if not ends:
            return None
        return max(0.0, min(ends) - max(self.start_seconds or 0.0, other.start_seconds or 0.0))

    def ran_with(self, other: Placed) -> bool:
        """Whether both ran at one time, as far as is known."""
        overlap = self.overlap_seconds(other)
        if overlap is not None:
            return overlap > 0
        return self.running is not False and other.running is not False


def placed_workloads(facts: Sequence[Fact]) -> list[Placed]:
    """Every training and inference workload.

    Of a host whose processes tell both roles only the processes are given: jobs and pods would say the same less
    exactly.
    """
    processes = list(_processes(facts))
    listed = listed_workloads(facts)
    roles: dict[str | None, set[str]] = defaultdict(set)
    for one in processes:
        roles[one.host].add(one.role)
    told_by_processes = {host for host, seen in roles.items() if {TRAINING, INFERENCE} <= seen}
    both = [one for one in listed if one.host not in told_by_processes]
    # A process and the job that it belongs to are one workload: of a role that jobs tell too, only the jobs count.
    listed_roles = {(one.host, one.role) for one in both}
    alone = [one for one in processes if one.host in told_by_processes or (one.host, one.role) not in listed_roles]
    return [one for one in (*alone, *both) if one.role in (TRAINING, INFERENCE)]


def listed_workloads(facts: Sequence[Fact]) -> list[Placed]:
    """Jobs and pods of any role."""
    homes = Homes.of(facts)
    return [_listed(fact, homes) for fact in facts if isinstance(fact, Workload)]


@dataclass(frozen=True, slots=True)
class Homes:
    """Which host a scheduler's node is."""

    hosts: Mapping[str, str]
    """Short name to the host's name as other inputs have it."""
    only_node: str | None
    """The one node that schedulers name, where no input names a host: what the inputs are about is that node."""

    @classmethod
    def of(cls, facts: Iterable[Fact]) -> Homes:
        """From all facts."""
        hosts: dict[str, str] = {}
        nodes: dict[str, None] = {}
        for fact in facts:
            node = getattr(fact, "node", None)
            if isinstance(node, str):
                nodes[node] = None
            elif fact.subject.host is not None:
                hosts.setdefault(short(fact.subject.host), fact.subject.host)
        return cls(hosts, next(iter(nodes)) if len(nodes) == 1 and not hosts else None)

    def host_of(self, node: str | None, told: str | None = None) -> str | None:
        """The host's name; the node's own where no other input tells of it."""
        if node is None:
            return told
        return None if node == self.only_node else self.hosts.get(short(node), node)


def short(name: str) -> str:
    """A host's name without its domain."""
    return name.partition(".")[0]


def _listed(fact: Workload, homes: Homes) -> Placed:
    return Placed(
        name=fact.name if fact.job in (None, fact.name) or fact.system != "slurm" else f"{fact.name} (job {fact.job})",
        role=fact.role,
        system=fact.system,
        host=homes.host_of(fact.node, fact.subject.host),
        node=fact.node,
        pool=fact.pool,
        nodes=fact.nodes or 1,
        running=fact.running,
        gpus=frozenset((fact.gpus or "").split()),
        gpu_count=fact.gpu_count,
        cpus=parse_cpu_list(fact.cpus),
        qos=fact.qos,
        exclusive=fact.exclusive,
        start_seconds=fact.start_unix_seconds,
        end_seconds=fact.end_unix_seconds,
        clock=fact.clock,
        sources=fact.sources,
    )


def _processes(facts: Iterable[Fact]) -> Iterator[Placed]:
    """Processes with a GPU whose names tell what they do; ranks of one job are one workload."""
    found: dict[tuple[str | None, int], Placed] = {}
    for fact in facts:
        process = fact.subject.process_id
        if process is None or not isinstance(fact, GpuProcess | ProcessPlacement):
            continue
        key = (fact.subject.host, process)
        known = found.get(key) or Placed(fact.name or "", "", "process", *(None,) * 2, process_id=process)
        gpu = fact.subject.gpu
        known = replace(
            known,
            name=max(known.name, fact.name or "", key=len),
            host=fact.subject.host,
            gpus=known.gpus | ({gpu} if gpu is not None else set()),
            sources=tuple(dict.fromkeys((*known.sources, *fact.sources)))[:4],
        )
        if isinstance(fact, ProcessPlacement):
            known = replace(known, cpus=parse_cpu_list(fact.cpus), bound=fact.bound, control_group=fact.control_group)
        found[key] = known
    yield from _gathered(replace(one, role=role_of({"command": one.name}).role, running=True) for one in found.values())


def features(facts: Sequence[Fact]) -> list[Fact]:
    """Each process with a GPU whose name tells its role, as a workload of its own."""
    found: dict[int, Fact] = {}
    for fact in facts:
        process = fact.subject.process_id
        if process is None or process in found or not isinstance(fact, GpuProcess | ProcessPlacement) or not fact.name:
            continue
        role = role_of({"command": fact.name})
        if role.role in (TRAINING, INFERENCE):
            found[process] = Workload(
                subject=Subject(host=fact.subject.host, process_id=process),
                sources=fact.sources[:1],
                name=fact.name,
                role=role.role,
                role_from=role.told_by,
                role_words=role.words,
                system="process",
                job=str(process),
                running=True,
            )
    return [*found.values()]


def _gathered(processes: Iterable[Placed]) -> Iterator[Placed]:
    groups: dict[tuple[str | None, str, str], list[Placed]] = defaultdict(list)
    for one in processes:
        groups[one.host, one.role, one.control_group or one.name].append(one)
    for members in groups.values():
        first = members[0]
        yield replace(
            first,
            gpus=frozenset().union(*(one.gpus for one in members)),
            cpus=frozenset().union(*(one.cpus for one in members)),
            bound=None if any(one.bound is None for one in members) else all(one.bound for one in members),
            process_id=first.process_id if len(members) == 1 else None,
            sources=tuple(dict.fromkeys(source for one in members for source in one.sources))[:4],
        )


def subject_of(placed: Placed) -> Subject:
    """The host."""
    return Subject(host=placed.host)
