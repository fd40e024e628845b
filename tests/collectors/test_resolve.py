"""Names of hosts and GPUs are joined where the texts leave no doubt, and only there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.resolve import resolve
from diagnose.facts import Fact, Source, Subject
from diagnose.facts.host import GpuInventory

UUIDS = [f"GPU-{number:08x}-1111-2222-3333-444444444444" for number in range(4)]
BUS_IDS = [f"0000:{number:02x}:00.0" for number in (0x1B, 0x43, 0x9B, 0xCF)]


def fact(path: str = "a/x", **subject: object) -> Fact:
    about = Subject.model_validate(subject)
    return GpuInventory(subject=about, sources=(Source(path=path, line=1),), listed=1, tool="x")


def subjects(*facts: Fact) -> list[Subject]:
    return [item.subject for item in resolve(facts)]


def test_names_of_a_gpu_join_across_files() -> None:
    facts = [
        fact("smi", gpu_index=0, gpu_uuid=UUIDS[0]),
        fact("q", gpu_uuid=UUIDS[0], gpu_bus_id=BUS_IDS[0]),
        fact("dmon", gpu_index=0),
        fact("dmesg", gpu_bus_id=BUS_IDS[0]),
        fact("bug", gpu_uuid=UUIDS[0]),
    ]
    whole = Subject(gpu_index=0, gpu_uuid=UUIDS[0], gpu_bus_id=BUS_IDS[0])
    assert subjects(*facts) == [whole] * 5


def test_order_number_and_content_of_facts_stay() -> None:
    facts = [fact("a", gpu_index=0, gpu_uuid=UUIDS[0]), fact("b", gpu_index=0), fact("b", gpu_index=0)]
    resolved = resolve(facts)
    assert len(resolved) == 3
    assert [item.sources for item in resolved] == [item.sources for item in facts]
    assert resolved[1] == resolved[2]


def test_hosts_keep_their_gpus_apart() -> None:
    facts = [
        fact(host="n1", gpu_index=0, gpu_uuid=UUIDS[0]),
        fact(host="n2", gpu_index=0, gpu_uuid=UUIDS[1]),
        fact(host="n1", gpu_index=0),
        fact(host="n3", gpu_index=0),
    ]
    assert [subject.gpu_uuid for subject in subjects(*facts)] == [UUIDS[0], UUIDS[1], UUIDS[0], None]


def test_a_conflict_is_left_alone() -> None:
    facts = [
        fact(gpu_index=0, gpu_uuid=UUIDS[0]),
        fact(gpu_index=0, gpu_uuid=UUIDS[1]),
        fact(gpu_index=0),
        fact(gpu_index=1, gpu_bus_id=BUS_IDS[1]),
        fact(gpu_index=1),
    ]
    resolved = subjects(*facts)
    assert resolved[:3] == [item.subject for item in facts[:3]]
    assert resolved[4].gpu_bus_id == BUS_IDS[1]


def test_a_masked_uuid_that_all_gpus_share_joins_nothing() -> None:
    masked = "GPU-00000000-0000-0000-0000-000000000000"
    facts = [fact(gpu_index=index, gpu_uuid=masked) for index in range(3)]
    assert subjects(*facts, fact(gpu_uuid=masked))[-1].gpu_index is None


def test_a_pci_device_that_is_a_gpu_gets_its_names() -> None:
    facts = [
        fact(gpu_index=2, gpu_bus_id=BUS_IDS[2]),
        fact("lspci", bus_id=BUS_IDS[2]),
        fact("lspci", bus_id="0000:9a:00.0"),
    ]
    assert subjects(*facts)[1:] == [
        Subject(bus_id=BUS_IDS[2], gpu_bus_id=BUS_IDS[2], gpu_index=2),
        Subject(bus_id="0000:9a:00.0"),
    ]


def test_a_pci_device_named_beside_another_gpu_stays_its_own() -> None:
    facts = [fact(gpu_index=2, gpu_bus_id=BUS_IDS[2]), fact(gpu_index=1, bus_id=BUS_IDS[2])]
    assert subjects(*facts)[1].gpu_bus_id is None


@pytest.mark.parametrize("cut", ["GPU-455e672a-...", "GPU-455e672a-…", "GPU-455e672a", "GPU-455E672A-11"])
def test_a_cut_uuid_joins_by_its_beginning(cut: str) -> None:
    whole = "GPU-455e672a-1111-2222-3333-444444444444"
    facts = [fact(gpu_index=3, gpu_uuid=whole), fact("b", gpu_uuid=cut)]
    assert subjects(*facts)[1] == Subject(gpu_index=3, gpu_uuid=whole)


def test_a_cut_uuid_that_two_gpus_could_have_joins_nothing() -> None:
    facts = [
        fact(gpu_index=0, gpu_uuid="GPU-455e672a-1111-2222-3333-444444444444"),
        fact(gpu_index=1, gpu_uuid="GPU-455e672a-5555-2222-3333-444444444444"),
        fact(gpu_uuid="GPU-455e672a-..."),
    ]
    assert subjects(*facts)[2] == Subject(gpu_uuid="GPU-455e672a-...")


def test_an_address_without_its_domain_joins_the_only_one_like_it() -> None:
    facts = [fact("q", gpu_index=0, gpu_bus_id="0009:01:00.0"), fact("lspci", bus_id="0000:01:00.0")]
    resolved = subjects(*facts)[1]
    assert (resolved.bus_id, resolved.gpu_index) == ("0009:01:00.0", 0)


@pytest.mark.parametrize(
    "others",
    [
        [fact("q", gpu_index=0, gpu_bus_id="0009:01:00.0"), fact("q", gpu_index=1, gpu_bus_id="000a:01:00.0")],
        [fact("lspci", gpu_bus_id="0009:01:00.0")],
        [fact("q", bus_id="0009:01:00.0")],
    ],
    ids=["two with that place", "both in one file", "neither is a GPU"],
)
def test_an_address_whose_domain_is_in_doubt_joins_nothing(others: list[Fact]) -> None:
    assert subjects(*others, fact("lspci", bus_id="0000:01:00.0"))[-1] == Subject(bus_id="0000:01:00.0")


def test_an_unnamed_host_is_the_one_of_its_file_then_folder_then_input() -> None:
    facts = [
        fact("a/x", host="n1"),
        fact("a/x"),
        fact("a/y"),
        fact("b/x", host="n2"),
        fact("b/y"),
        fact("c/z"),
    ]
    assert [subject.host for subject in subjects(*facts)] == ["n1", "n1", "n1", "n2", "n2", None]
    assert [subject.host for subject in subjects(*facts[:3], facts[5])] == ["n1"] * 4


def test_a_file_with_two_hosts_leaves_its_unnamed_facts_unnamed() -> None:
    facts = [fact("a/x", host="n1"), fact("a/x", host="n2"), fact("a/x"), fact("a/y")]
    assert [subject.host for subject in subjects(*facts)][2:] == [None, None]


def test_members_of_an_archive_lie_in_its_folder() -> None:
    facts = [fact("b.tar!n1/x", host="n1"), fact("b.tar!n1/y"), fact("b.tar!n2/x", host="n2"), fact("b.tar!n2/y")]
    assert [subject.host for subject in subjects(*facts)] == ["n1", "n1", "n2", "n2"]


def test_folder_names_are_no_hosts() -> None:
    assert subjects(fact("gpu-a01/dmesg.txt"))[0].host is None


def test_a_short_and_a_full_host_name_are_one_host() -> None:
    facts = [fact("a", host="n1"), fact("b", host="n1.example.com"), fact("c")]
    assert {subject.host for subject in subjects(*facts)} == {"n1"}
    facts = [fact("a", host="n1"), fact("b", host="n1.a.com"), fact("c", host="n1.b.com")]
    assert [subject.host for subject in subjects(*facts)] == ["n1", "n1.a.com", "n1.b.com"]


def test_joining_follows_the_host() -> None:
    facts = [fact("a/q", host="n1", gpu_index=0, gpu_bus_id=BUS_IDS[0]), fact("a/dmesg", gpu_bus_id=BUS_IDS[0])]
    assert subjects(*facts)[1] == Subject(host="n1", gpu_index=0, gpu_bus_id=BUS_IDS[0])


SUBJECTS = st.fixed_dictionaries(
    {},
    optional={
        "host": st.sampled_from(["n1", "n2"]),
        "gpu_index": st.integers(0, 3),
        "gpu_uuid": st.sampled_from([*UUIDS, "GPU-0000..."]),
        "gpu_bus_id": st.sampled_from(BUS_IDS),
        "bus_id": st.sampled_from([*BUS_IDS, "0001:1b:00.0"]),
    },
)


@given(st.lists(st.tuples(st.sampled_from(["a/x", "a/y", "b/x"]), SUBJECTS), max_size=12))
def test_resolving_never_changes_an_index_or_host(rows: list[tuple[str, dict[str, object]]]) -> None:
    facts = [fact(path, **subject) for path, subject in rows]
    resolved = resolve(facts)
    for before, after in zip(facts, resolved, strict=True):
        for name in ("host", "gpu_index"):
            value = getattr(before.subject, name)
            assert value is None or getattr(after.subject, name) == value


@given(st.permutations(range(8)))
def test_the_result_does_not_depend_on_the_order(order: list[int]) -> None:
    facts = [
        fact("a/x", host="n1", gpu_index=0, gpu_uuid=UUIDS[0]),
        fact("a/x", gpu_uuid=UUIDS[0], gpu_bus_id=BUS_IDS[0]),
        fact("a/y", bus_id=BUS_IDS[0]),
        fact("a/y", gpu_index=0),
        fact("a/z", gpu_index=1, gpu_uuid=UUIDS[1]),
        fact("a/z", gpu_index=1, gpu_uuid=UUIDS[2]),
        fact("a/z", gpu_index=1),
        fact("b/x"),
    ]
    straight = resolve(facts)
    assert [item.subject for item in resolve([facts[at] for at in order])] == [straight[at].subject for at in order]


def test_the_nearest_folder_outwards_that_names_one_host_gives_it_to_all_below() -> None:
    facts = [
        fact("all/one.tar.zst!manifest.json", host="n1"),
        fact("all/two/manifest.json", host="n2"),
        fact("all/one.tar.zst!commands/lscpu.txt"),
        fact("all/two/host/deep/tree.txt"),
        fact("all/notes.txt"),
    ]
    assert [subject.host for subject in subjects(*facts)] == ["n1", "n2", "n1", "n2", None]
