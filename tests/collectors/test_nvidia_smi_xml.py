from __future__ import annotations

import re

import pytest

from collectors.nvidia_smi_q import NvidiaSmiQ
from collectors.nvidia_smi_xml import NvidiaSmiXml
from diagnose.facts import Fact
from diagnose.facts.gpu import GpuEcc, GpuIdentity, GpuMemory, GpuRetiredPages
from diagnose.facts.host import Driver, GpuInventory
from tests.collectors.helpers import block, damaged, opened
from tests.collectors.nvidia_smi_samples import TEXT, XML


def said(facts: list[Fact]) -> list[tuple[str, object, object, object]]:
    """What facts say, without where they were read."""
    return sorted(
        [(fact.kind, fact.subject.model_dump_json(), fact.values(), dict(fact.missing)) for fact in facts],
        key=lambda row: (row[0], str(row[1])),
    )


def test_text_and_xml_of_one_machine_give_the_same_facts() -> None:
    text, xml = NvidiaSmiQ.parse(block(TEXT)), NvidiaSmiXml.parse(block(XML))
    assert said(xml.facts) == said(text.facts)
    assert len({fact.kind for fact in text.facts}) == 17
    assert xml.problems == text.problems == []


def test_a_block_begins_with_the_document_and_ends_with_its_root() -> None:
    assert opened(NvidiaSmiXml, XML)[0].startswith("<!DOCTYPE")
    assert [line for line in XML.splitlines() if NvidiaSmiXml.closes(line)] == ["</nvidia_smi_log>"]


def test_sources_name_the_line_of_the_first_value() -> None:
    memory = next(fact for fact in NvidiaSmiXml.parse(block(XML)).facts if isinstance(fact, GpuMemory))
    assert "<total>81559 MiB</total>" in XML.splitlines()[(memory.sources[0].line or 0) - 1]


def test_a_document_without_type_or_header_is_read() -> None:
    bare = "\n".join(XML.splitlines()[2:])
    assert said(NvidiaSmiXml.parse(block(bare)).facts) == said(NvidiaSmiXml.parse(block(XML)).facts)


def test_one_line_is_enough() -> None:
    flat = re.sub(r"\n\s*", "", XML)
    assert said(NvidiaSmiXml.parse(block(flat)).facts) == said(NvidiaSmiXml.parse(block(XML)).facts)


def test_gpus_without_a_root_are_recognised_and_read() -> None:
    fragment = XML[XML.index("\t<gpu id") : XML.index("</nvidia_smi_log>")]
    assert NvidiaSmiXml.resembles([line for line in fragment.splitlines() if line.strip()]) >= 0.5
    facts = NvidiaSmiXml.parse(block(fragment)).facts
    assert sum(isinstance(fact, GpuIdentity) for fact in facts) == 2
    assert not any(isinstance(fact, Driver | GpuInventory) for fact in facts)


def test_a_section_alone_is_read_without_a_gpu() -> None:
    fragment = "<ecc_mode>\n<current_ecc>Enabled</current_ecc>\n</ecc_mode>"
    (ecc,) = NvidiaSmiXml.parse(block(fragment)).facts
    assert isinstance(ecc, GpuEcc)
    assert ecc.enabled is True
    assert ecc.subject.gpu is None


def test_what_was_whole_before_the_end_is_kept_and_the_cut_is_told() -> None:
    cut = XML[: XML.index("MiB</total>", XML.index("0123456789ac")) - 2]
    parsed = NvidiaSmiXml.parse(block(cut))
    totals = [fact.total_bytes for fact in parsed.facts if isinstance(fact, GpuMemory)]
    assert totals == [81559 << 20]
    assert parsed.problems == [f"line {len(cut.splitlines())}: the XML ends early"]


def test_damage_in_the_middle_keeps_what_came_before() -> None:
    parsed = NvidiaSmiXml.parse(block(XML.replace("<bar1_memory_usage>", "<bar1_memory_usage", 1)))
    assert any(isinstance(fact, GpuMemory) for fact in parsed.facts)
    assert "the XML is damaged from here on" in parsed.problems[0]


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE nvidia_smi_log [ <!ENTITY a "b"> ]>',
        '<!DOCTYPE nvidia_smi_log [\n<!ENTITY a SYSTEM "file:///etc/passwd">\n]>',
    ],
)
def test_entity_declarations_are_refused(declaration: str) -> None:
    parsed = NvidiaSmiXml.parse(block(f"{declaration}\n<nvidia_smi_log><driver_version>&a;</driver_version>"))
    assert parsed.facts == []
    assert parsed.problems


def test_pages_of_dtd_10_and_11_are_read() -> None:
    text = (
        '<nvidia_smi_log><gpu id="0000:04:00.0"><retired_pages>'
        "<multiple_single_bit_retirement><retired_count>3</retired_count></multiple_single_bit_retirement>"
        "<double_bit_retirement><retired_count>1</retired_count></double_bit_retirement>"
        "<pending_retirement>Yes</pending_retirement></retired_pages></gpu></nvidia_smi_log>"
    )
    (pages,) = NvidiaSmiXml.parse(block(text)).facts
    assert isinstance(pages, GpuRetiredPages)
    assert pages.values() == {"single_bit": 3, "double_bit": 1, "pending": True}
    assert pages.subject.gpu_bus_id == "0000:04:00.0"


def test_other_xml_is_left_alone() -> None:
    assert NvidiaSmiXml.resembles(["<topology>", '<object type="Machine">', "</topology>"]) == 0
    assert opened(NvidiaSmiXml, "<?xml version='1.0'?>\n<system version='1'>\n") == []


def test_damaged_documents_never_raise() -> None:
    for text in damaged(XML):
        NvidiaSmiXml.parse(block(text))
        NvidiaSmiXml.resembles(text.splitlines())


def test_deep_nesting_does_not_exhaust_the_stack() -> None:
    assert NvidiaSmiXml.parse(block("<a>" * 20_000)).facts == []
