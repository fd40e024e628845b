"""Command lines are taken apart into what prints and where it runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.commands import understand


@pytest.mark.parametrize(
    ("text", "core", "host"),
    [
        ("nvidia-smi -q", "nvidia-smi -q", None),
        ("sudo nvidia-smi -q", "nvidia-smi -q", None),
        ("sudo -u ops -E dmesg -T", "dmesg -T", None),
        ("ssh gpu-a01 nvidia-smi", "nvidia-smi", "gpu-a01"),
        ("ssh -p 2222 root@gpu-a01 'sudo lspci -vvv | grep LnkSta'", "lspci -vvv | grep LnkSta", "gpu-a01"),
        ("srun -w gpu-a01 -N 1 nvidia-smi topo -m", "nvidia-smi topo -m", "gpu-a01"),
        ("srun --nodelist=gpu-a[01-04] nvidia-smi", "nvidia-smi", None),
        ("CUDA_VISIBLE_DEVICES=0 NCCL_DEBUG=INFO ./all_reduce_perf -b 8", "./all_reduce_perf -b 8", None),
        ("watch -n 1 nvidia-smi", "nvidia-smi", None),
        ("timeout 10 nvidia-smi", "nvidia-smi", None),
        ("ssh gpu-a01", "ssh gpu-a01", "gpu-a01"),
        ("", "", None),
    ],
)
def test_wrappers_are_taken_off(text: str, core: str, host: str | None) -> None:
    command = understand(text)
    assert (command.core, command.host) == (core, host)


def test_the_program_is_named_without_its_folder() -> None:
    assert understand("sudo /usr/bin/nvidia-smi -q").program == "nvidia-smi"


@given(st.text(alphabet="sudo ssh-w='\"\\/x1@ \t", max_size=60))
def test_any_text_is_understood_somehow(text: str) -> None:
    assert understand(text).text == text.strip()
