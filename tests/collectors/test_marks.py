"""Prompts and headings are told from output."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.literals import LiteralSearch
from collectors.marks import MARK_LITERALS, heading_host, mark_of


@pytest.mark.parametrize(
    ("text", "host", "command"),
    [
        ("ops@gpu-a01:~$ nvidia-smi -q", "gpu-a01", "nvidia-smi -q"),
        ("root@gpu-a01:/var/log# dmesg | grep -i xid", "gpu-a01", "dmesg | grep -i xid"),
        ("[root@gpu-a01 ~]# lspci -vvv", "gpu-a01", "lspci -vvv"),
        ("[ops@gpu-a01 my folder]$ df -h /dev/shm", "gpu-a01", "df -h /dev/shm"),
        ("(base) ops@gpu-a01.example.com:~/x$ topo", "gpu-a01.example.com", "topo"),
        ("gpu-a01:~ # numactl -H", "gpu-a01", "numactl -H"),
        ("12:30:01 ops@gpu-a01:~$ uptime", "gpu-a01", "uptime"),
        ("ops@gpu-a01:~$", "gpu-a01", ""),
        ("root@3f2a9c1b77de:/workspace# nvidia-smi", None, "nvidia-smi"),
        ("root@localhost:~# nvidia-smi", None, "nvidia-smi"),
        ("$ nvidia-smi topo -m", None, "nvidia-smi topo -m"),
        ("$nvidia-smi -i 0 -q", None, "nvidia-smi -i 0 -q"),
        ("# nvidia-smi", None, "nvidia-smi"),
        ("# $ nvidia-smi --version", None, "nvidia-smi --version"),
        ("> dcgmi discovery -l", None, "dcgmi discovery -l"),
        ("+ ibstat mlx5_0", None, "ibstat mlx5_0"),
        ("bash-5.1$ lscpu", None, "lscpu"),
        ("PS C:\\Users\\ops> nvidia-smi.exe -q", None, "nvidia-smi.exe -q"),
        ("C:\\Windows\\System32>nvidia-smi", None, "nvidia-smi"),
        ("=== nvidia-smi -q -d ECC ===", None, "nvidia-smi -q -d ECC"),
        ("==> /proc/driver/nvidia/version <==", None, "cat /proc/driver/nvidia/version"),
        ("*** /proc/modules", None, "cat /proc/modules"),
        ("*** ls: -r--r--r-- 1 root root 0 2026-10-01 10:00:00.0 +0000 /proc/modules", None, "cat /proc/modules"),
    ],
)
def test_prompts_name_host_and_command(text: str, host: str | None, command: str) -> None:
    mark = mark_of(text)
    assert mark is not None
    assert mark.command is not None
    assert (mark.host, mark.command.text) == (host, command)


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("=== gpu-a01 ===", "gpu-a01"),
        ("===== Node: gpua =====", "gpua"),
        ("--- gpu-a01.example.com ---", "gpu-a01.example.com"),
        ("### 10.1.2.3 ###", "10.1.2.3"),
        ("*** host gpua ***", "gpua"),
        ("==> gpu-a01 <==", "gpu-a01"),
        ("gpu-a01 | CHANGED | rc=0 >>", "gpu-a01"),
        ("gpu-a01 | UNREACHABLE! => {", "gpu-a01"),
        ("=== gpu07 ===", "gpu07"),
    ],
)
def test_headings_name_a_host(text: str, host: str) -> None:
    mark = mark_of(text)
    assert mark is not None
    assert mark.host == host


@pytest.mark.parametrize(
    "text",
    [
        "# nThread 1 nGpus 8 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20",
        "#                                                              out-of-place                       in-place",
        "# Using devices",
        "#  Rank  0 Group  0 Pid  12345 on    gpu-a01 device  0 [0x1b] NVIDIA H100",
        "# Out of bounds values : 0 OK",
        "# Avg bus bandwidth    : 123.4",
        "# gpu   pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk",
        "# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).",
        "# time per step is measured without the first",
        "==============NVSMI LOG==============",
        "============ Serving Benchmark Result ============",
        "---------------Time to First Token----------------",
        "--- TEST 1: WRITES ---",
        "=== GPU 3 ===",
        "=== H100 ===",
        "=== run-2 ===",
        "=== Summary ===",
        "### Results of 2026",
        "- gpu-a01",
        "> The quick answer follows",
        "$",
        "ops@example.com wrote: the price is 5 $ each",
        "gpu-a01:4711:4999 [3] NCCL INFO Channel 00/0 : 3[3] -> 4[4] via P2P/IPC",
        "|=========================================+========================+======================|",
        "GPU0\t X \tNV18\t# links",
        "",
    ],
)
def test_output_is_neither_prompt_nor_heading(text: str) -> None:
    assert mark_of(text) is None


@given(st.text(max_size=80))
def test_any_text_can_be_asked(text: str) -> None:
    mark_of(text)
    heading_host(text)


@pytest.mark.parametrize(
    "text",
    [
        "ops@gpu-a01:~$ nvidia-smi -q",
        "[root@gpu-a01 ~]# lspci",
        "[root@gpu-a01 ~]#",
        "ops@gpu-a01:~/x$",
        "$nvidia-smi -q",
        "C:\\>nvidia-smi",
        "PS C:\\> nvidia-smi",
        "=== gpu-a01 ===",
        "--- gpu-a01 ---",
        "*** /proc/modules",
        "gpu-a01 | CHANGED | rc=0 >>",
        "```",
        "____________________________________________",
    ],
)
def test_every_mark_contains_a_literal_of_the_filter(text: str) -> None:
    assert mark_of(text) is not None
    search = LiteralSearch((literal, 1) for literal in MARK_LITERALS)
    assert search.find(b"\n" + text.encode() + b"\n")
