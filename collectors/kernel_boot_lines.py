"""What the boot messages say of the host: command line, IOMMU, virtualisation, PCIe bandwidth, driver version."""

from __future__ import annotations

import re
from collections.abc import Iterator

from collectors.kernel_events import MAX_KEYS, Context, Heard, normalise_bus_id
from diagnose.facts import Fact, Source, Subject
from diagnose.facts.host import KernelModule, Virtualisation
from diagnose.facts.kernel import IommuState, KernelParameter
from diagnose.facts.pcie import PciBandwidthLimit

_COMMAND_LINE = re.compile(r"^(?:Kernel c|C)ommand line: (.*)|^(BOOT_IMAGE=.*)")
PARAMETERS = re.compile(
    r"^(?:iommu(?:\.\w+)?|intel_iommu|amd_iommu|pci|pcie_\w+|pci_aspm|numa_balancing|numa|nosmt|mitigations|isolcpus|"
    r"nohz_full|rcu_nocbs|idle|intel_idle\.\w+|processor\.\w+|intel_pstate|amd_pstate|cpufreq\.\w+|transparent_hugepage|"
    r"(?:default_)?hugepagesz|hugepages|init_on_alloc|swiotlb|nomodeset|nouveau\.\w+|nvidia[\w-]*\.\w+|"
    r"(?:rd\.driver|modprobe|module)[._]blacklist|vfio[\w-]*\.\w+|systemd\.unified_cgroup_hierarchy)$"
)
"""Parameters of the kernel command line that bear on GPUs, PCIe, NUMA or latency; the others are left out."""

_DOMAIN = re.compile(r"iommu: Default domain type: (Translated|Passthrough)", re.IGNORECASE)
_IOMMU_ON = re.compile(
    r"^DMAR: (?:IOMMU enabled|Intel\(R\) Virtualization Technology for Directed I/O)|"
    r"AMD-Vi: (?:Found IOMMU|Interrupt remapping enabled|Virtual APIC enabled)|Adding to iommu group \d+"
)
_IOMMU_OFF = re.compile(r"^DMAR: IOMMU disabled|AMD-Vi: AMD IOMMU disabled")
_IOMMU_WORDS = ("iommu", "DMAR: ", "AMD-Vi")
_HYPERVISOR = re.compile(r"^Hypervisor detected: (\w[\w .-]*)|Detected virtualization '?(\w[\w-]*)'?")
_LIMIT = re.compile(
    r"([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]): ([\d.]+) Gb/s available PCIe bandwidth, limited by "
    r"([\d.]+) ?GT/s (?:PCIe )?x(\d+) link at ([0-9a-f:.]+) \(capable of ([\d.]+) Gb/s"
)
_MODULE = re.compile(
    r"NVRM: loading NVIDIA UNIX (Open )?(?:x86_64 |aarch64 |ppc64le )?Kernel Module(?: for \S+)?\s+(\d+(?:\.\d+)+)"
)


class BootTally:
    """Keeps the last word of the log on each of these: later boots replace earlier ones."""

    def __init__(self) -> None:
        self._facts: dict[tuple[str | None, str, str], Fact] = {}
        self._walls: dict[tuple[str | None, str, str], float] = {}
        self._iommu: dict[str | None, tuple[Heard, bool | None, str | None]] = {}

    def take(self, heard: Heard) -> bool:
        """Read a boot message."""
        text = heard.message
        # Cheap words first: most lines of a log are none of these.
        return (
            (("ommand line: " in text or text.startswith("BOOT_IMAGE=")) and self._command_line(heard, text))
            or (any(word in text for word in _IOMMU_WORDS) and self._take_iommu(heard, text))
            or ("available PCIe bandwidth" in text and self._bandwidth(heard, text))
            or ("NVRM: loading" in text and self._module(heard, text))
            or ("etected" in text and self._hypervisor(heard, text))
        )

    def facts(self, context: Context) -> Iterator[Fact]:
        """The facts with their file."""
        for (host, _, _), fact in self._facts.items():
            source = fact.sources[0].model_copy(update={"path": context.path})
            subject = fact.subject
            if subject.bus_id is not None:
                subject = context.identities.subject(host, subject.bus_id)
            yield fact.model_copy(update={"sources": (source,), "subject": subject})
        for host, (heard, enabled, domain) in self._iommu.items():
            yield IommuState(
                subject=Subject(host=host),
                sources=(Source(path=context.path, line=heard.number, time=heard.time),),
                enabled=enabled,
                default_domain=domain,
            )

    def _keep(self, heard: Heard, name: str, fact: Fact) -> None:
        key = (heard.host, fact.kind, name)
        wall = heard.moment.wall_seconds
        if wall is not None and wall < self._walls.get(key, wall):
            return  # an older boot's log stands after a newer one's
        if key in self._facts or len(self._facts) < MAX_KEYS:
            self._facts[key] = fact
            if wall is not None:
                self._walls[key] = wall

    def _command_line(self, heard: Heard, text: str) -> bool:
        match = _COMMAND_LINE.match(text)
        if match is None:
            return False
        stale = [key for key in self._facts if key[:2] == (heard.host, KernelParameter.kind)]
        for key in stale:
            del self._facts[key]
        for word in (match[1] or match[2] or "").split():
            name, _, value = word.partition("=")
            if PARAMETERS.match(name):
                parameter = KernelParameter(
                    subject=Subject(host=heard.host), sources=_source(heard), name=name, value=value or None
                )
                self._keep(heard, name, parameter)
        return True

    def _take_iommu(self, heard: Heard, text: str) -> bool:
        domain = _DOMAIN.search(text)
        enabled = True if _IOMMU_ON.search(text) else (False if _IOMMU_OFF.search(text) else None)
        if domain is None and enabled is None:
            return False
        first, known, known_domain = self._iommu.get(heard.host, (heard, None, None))
        self._iommu[heard.host] = (
            first,
            known if enabled is None else enabled,
            domain[1].lower() if domain else known_domain,
        )
        return True

    def _bandwidth(self, heard: Heard, text: str) -> bool:
        match = _LIMIT.search(text)
        bus_id = normalise_bus_id(match[1]) if match else None
        if match is None or bus_id is None:
            return False
        limit = PciBandwidthLimit(
            subject=Subject(host=heard.host, bus_id=bus_id),
            sources=_source(heard),
            available_gigabits_per_second=_number(match[2]),
            capable_gigabits_per_second=_number(match[6]),
            limiting_width=int(match[4][:4]),
            limiting_speed_gigatransfers_per_second=_number(match[3]),
            limiting_bus_id=normalise_bus_id(match[5]),
        )
        self._keep(heard, bus_id, limit)
        return True

    def _module(self, heard: Heard, text: str) -> bool:
        match = _MODULE.search(text)
        if match is None:
            return False
        module = KernelModule(
            subject=Subject(host=heard.host),
            sources=_source(heard),
            name="nvidia",
            version=match[2],
            open_variant=match[1] is not None,
        )
        self._keep(heard, "nvidia", module)
        return True

    def _hypervisor(self, heard: Heard, text: str) -> bool:
        match = _HYPERVISOR.search(text)
        if match is None:
            return False
        name = (match[1] or match[2]).strip()
        if name.lower() != "none":
            fact = Virtualisation(subject=Subject(host=heard.host), sources=_source(heard), hypervisor=name)
            self._keep(heard, "hypervisor", fact)
        return True


def _source(heard: Heard) -> tuple[Source, ...]:
    return (Source(line=heard.number, time=heard.time),)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
