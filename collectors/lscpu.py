"""`lscpu` and `lscpu -J`: processors, NUMA nodes and virtualisation.

Recognised by the words, but tolerant of other languages: keys of the German, French, Spanish and Chinese output that
name the same values are taken too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed, share
from diagnose.facts import Subject
from diagnose.facts.host import CpuTopology, NumaNode, Virtualisation

_KEYS: Mapping[str, str] = {
    "architecture": "architecture",
    "architektur": "architecture",
    "arquitectura": "architecture",
    "架构": "architecture",
    "cpu(s)": "logical_cpus",
    "processeur(s)": "logical_cpus",
    "cpu": "logical_cpus",
    "thread(s) per core": "threads_per_core",
    "thread(s) pro kern": "threads_per_core",
    "thread(s) par cœur": "threads_per_core",
    "hilo(s) de procesamiento por núcleo": "threads_per_core",
    "每个核的线程数": "threads_per_core",
    "core(s) per socket": "cores_per_socket",
    "core(s) per cluster": "cores_per_socket",
    "kern(e) pro socket": "cores_per_socket",
    "kern(e) pro sockel": "cores_per_socket",
    "cœur(s) par socket": "cores_per_socket",
    "núcleo(s) por «socket»": "cores_per_socket",
    "每个座的核数": "cores_per_socket",
    "socket(s)": "sockets",
    "sockel": "sockets",
    "«socket(s)»": "sockets",
    "座": "sockets",
    "numa node(s)": "numa_nodes",
    "numa-knoten": "numa_nodes",
    "nœud(s) numa": "numa_nodes",
    "modo(s) numa": "numa_nodes",
    "numa 节点": "numa_nodes",
    "vendor id": "vendor",
    "anbieterkennung": "vendor",
    "identifiant constructeur": "vendor",
    "id de fabricante": "vendor",
    "厂商 id": "vendor",
    "model name": "model_name",
    "modellname": "model_name",
    "nom de modèle": "model_name",
    "nombre del modelo": "model_name",
    "型号名称": "model_name",
    "cpu mhz": "current_mhz",
    "cpu max mhz": "max_mhz",
    "maximale taktfrequenz der cpu": "max_mhz",
    "vitesse maximale du processeur en mhz": "max_mhz",
    "cpu 最大 mhz": "max_mhz",
    "hypervisor vendor": "hypervisor",
    "hypervisor-anbieter": "hypervisor",
    "constructeur d'hyperviseur": "hypervisor",
    "fabricante del hipervisor": "hypervisor",
    "超管理器厂商": "hypervisor",
    "virtualization type": "virtualisation_type",
    "virtualisierungstyp": "virtualisation_type",
    "type de virtualisation": "virtualisation_type",
    "tipo de virtualización": "virtualisation_type",
    "虚拟化类型": "virtualisation_type",
}
"""Keys as lscpu prints them, in lower case, to fields."""

_INTEGERS = {"logical_cpus", "threads_per_core", "cores_per_socket", "sockets", "numa_nodes"}
_FLOATS = {"current_mhz", "max_mhz"}
_NODE = re.compile(r"NUMA.{0,8}?(\d{1,4})\D{0,20}$", re.IGNORECASE)
_COLON = "[:\uff1a]"
"""Chinese output has full-width colons."""
_PAIR = re.compile(rf"^\s*([^:\uff1a]{{2,60}}){_COLON}\s*(.*)$")
_ARCHITECTURE = re.compile(r"^(?:x86_64|i[3-6]86|aarch64|arm\w*|ppc\w+|riscv\d+|s390x|loongarch64|mips\w*)$")
_JSON = re.compile(r'"field"\s*:\s*"Architecture:?"')


class Lscpu(BlockCollector):
    """Processors of the host."""

    kind: ClassVar[str] = "lscpu"
    literals: ClassVar[tuple[bytes, ...]] = (b"rchite", b"rquitec", b"\xe6\x9e\xb6\xe6\x9e\x84", b'"lscpu"')
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\blscpu\b(?!.*\s-(?:e|p))")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """`Architecture:` and its translations with a processor's name, or the head of the JSON."""
        pair = _PAIR.match(text)
        if pair is not None and _field(pair[1]) == "architecture":
            return _ARCHITECTURE.match(pair[2].strip()) is not None
        return re.match(r'^\s*\{?\s*"lscpu"\s*:', text) is not None

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Fragments: most lines are known keys; JSON on one line."""
        known = share(lines, re.compile("|".join(f"^\\s*{re.escape(key)}\\s*{_COLON}" for key in _KEYS), re.IGNORECASE))
        return 1.0 if any(_JSON.search(text) for text in lines) else known

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """One fact of the processors, one for each NUMA node, one where a hypervisor is named."""
        parsed = Parsed()
        values: dict[str, Any] = {}
        source = block.source()
        for line, key, value in _pairs(block):
            field, node = _field(key), _NODE.search(key)
            if field is not None and value not in ("", "-") and field not in values:
                values[field] = _typed(field, value)
            elif node is not None and re.fullmatch(r"[\d,\s-]*", value):
                parsed.facts.append(_numa_node(block, line, int(node[1]), value))
        hypervisor, kind = values.pop("hypervisor", None), values.pop("virtualisation_type", None)
        if any(value is not None for value in values.values()):
            parsed.facts.insert(0, CpuTopology(subject=block.subject(), sources=(source,), **values))
        if hypervisor is not None:
            fact = Virtualisation(subject=block.subject(), sources=(source,), hypervisor=hypervisor, type=kind)
            parsed.facts.append(fact)
        return parsed


def _field(key: str) -> str | None:
    return _KEYS.get(" ".join(key.lower().split()))


def _typed(field: str, value: str) -> Any:
    number = value.replace(",", ".")
    if field in _INTEGERS:
        return int(value) if value.isdecimal() and len(value) < 10 else None
    if field in _FLOATS:
        return float(number) if re.fullmatch(r"\d{1,7}(?:\.\d{1,9})?", number) else None
    return value


def _numa_node(block: Block, line: Line, number: int, value: str) -> NumaNode:
    cpus = value.replace(" ", "").strip(",")
    return NumaNode(
        subject=Subject(host=block.host, numa_node=number),
        sources=(block.source(line),),
        cpus=cpus or None,
        cpu_count=count_cpus(cpus),
    )


def count_cpus(cpus: str) -> int | None:
    """How many CPUs a list such as `0-15,32-47` names; None where it cannot be read."""
    total = 0
    for part in filter(None, cpus.split(",")):
        match = re.fullmatch(r"(\d{1,7})(?:-(\d{1,7}))?", part)
        if match is None:
            return None
        total += int(match[2] or match[1]) - int(match[1]) + 1
    return max(total, 0)


def _pairs(block: Block) -> Iterator[tuple[Line, str, str]]:
    """Keys and values of either form, with their lines."""
    text = "\n".join(block.texts())
    if '"lscpu"' in text or _JSON.search(text):
        yield from ((block.lines[0], key, value) for key, value in _json_pairs(text))
        return
    for line in block.lines:
        pair = _PAIR.match(line.text)
        if pair is not None:
            yield line, pair[1], pair[2].strip()


def _json_pairs(text: str) -> Iterator[tuple[str, str]]:
    start = text.find("{")
    try:
        root, _ = json.JSONDecoder().raw_decode(text[start:]) if start >= 0 else ({}, 0)
    except (ValueError, RecursionError):
        return
    waiting = [root.get("lscpu") if isinstance(root, dict) else None]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting.extend(reversed(node))
        elif isinstance(node, dict):
            if isinstance(node.get("field"), str) and isinstance(node.get("data"), str):
                yield node["field"].rstrip(":"), node["data"]
            waiting.append(node.get("children"))
