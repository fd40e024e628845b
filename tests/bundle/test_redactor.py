"""Single texts: what looks like an identifier and is none stays, notations are kept, hostile lines cost no time."""

from __future__ import annotations

import re
import time

import pytest

from diagnose.bundle.identifiers import Identifiers, Learner
from diagnose.bundle.pseudonyms import Pseudonyms
from diagnose.bundle.redactor import Redactor


def redacted(text: str, path: str = "x") -> str:
    identifiers = Identifiers()
    Learner(identifiers, path).read(text)
    return Redactor(identifiers, Pseudonyms(b"k" * 32)).text(text)


@pytest.mark.parametrize(
    "text",
    [
        "0000:9b:00.0 00000000:9B:00.0 9b:00.0 PCI:0000:9b:00",
        "12:34:56 2026-03-01T10:00:00.123+01:00 Mon Mar  1 10:00:01 2026",
        "NVIDIA driver version: 550.54.15, CUDA 12.4, VBIOS 96.00.74.00.01, inforom G520.0200.00.05",
        "MLNX_OFED_LINUX-23.10-1.1.9.0 firmware 28.39.1002 fw: 28.39.10.2",
        "nvidia-curand-cu12 10.3.5.147",
        "nvidia-curand-cu12==10.3.5.147",
        "libcublas12 12.4.5.8-1 amd64",
        "cuda-cudart-12.4.127.1",
        "Driver Version: 12.4.127.1",
        "127.0.0.1 0.0.0.0 255.255.255.0 224.0.0.251 169.254.3.1 ::1 :: ff02::1",
        "ff:ff:ff:ff:ff:ff 00:00:00:00:00:00 0000:0000:0000:0000",
        "RIP: 0010:_nv037165rm+0x1f/0x30 RAX: ffff8881034a5000 RBX: 0x0000000000000040",
        "00: de 10 30 23 07 04 10 00 a1 00 02 03 00 00 00 00",
        "10de:2330:10de:16c1 [15b3:1021] subsystem 15b3:0061",
        "std::vector c10d::add c10::cuda torch::deploy",
        "ens1f0np0 mlx5_0:1 ib0 eth0 bond0.100 GPU0 GPU1 NIC0",
        "getty@tty1.service user@1000.service libc@GLIBC_2.2.5",
        "nvidia.com/gpu kubernetes.io/hostname",
        "max_tokens=4096 eos_token='</s>' #cached-token: 12, token usage: 0.35 tokens: 12 tokenizer: /models/x",
        "avg prompt throughput: 10.0 tokens/s",
        "commId 0x64deb8f5ea1ad9c5 - Init COMPLETE",
        "PWD=/root USER=root LOGNAME=root",
        "Serial Number: N/A\nSerial Number : Not Specified\nSerial bus controller",
        "/sys/devices/system/node/node0/cpulist",
        "setup.py torch.nn.functional libnccl.so.2 nvidia-smi.txt",
    ],
)
def test_what_names_nobody_stays(text: str) -> None:
    assert redacted(text) == text


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("10.0.0.1<56821>", r"2[45]\d\.\d+\.\d+\.\d+<56821>"),
        ("10.1.2.0/24 10.1.2.255", r"(\d+\.\d+\.\d+)\.0/24 \1\.255"),
        ("10.1.2.7 10.1.2.9", r"(\d+\.\d+\.\d+)\.\d+ \1\.\d+"),
        ("range 10.0.0.1-10.0.0.9", r"range (\d+\.\d+\.\d+)\.\d+-\1\.\d+"),
        ("ip==10.0.0.1 addr:10.0.0.1", r"ip==(24\d|25\d)\.[\d.]+ addr:\1\.[\d.]+"),
        ("node-10.2.3.4", r"node-2[45]\d\.\d+\.\d+\.\d+"),
        ("fe80::e8eb:d3ff:fe4a:5b6c%ib0", r"fe80::d1a9:[0-9a-f:]+%ib0"),
        ("[2a02:db8::5]:8080", r"\[2001:db8:[0-9a-f:]+\]:8080"),
        ("::ffff:10.0.0.1", r"::ffff:2[45]\d\.\d+\.\d+\.\d+"),
        ("B8:59:9F:3A:77:C1", r"02:D1(:[0-9A-F]{2}){4}"),
        ("mac:b8:59:9f:3a:77:c1", r"mac:02:d1(:[0-9a-f]{2}){4}"),
        ("MIG-GPU-3f1c2a9e-77b0-4d1e-9a55-0c6d1f2e3b4a/7/0", r"MIG-GPU-d1a9[0-9a-f]{4}-[0-9a-f]{4}-4.*/7/0"),
        ("Serial Number : 1652421017733", r"Serial Number : SN-[0-9A-F]{12}"),
        ("<serial>1652421017733</serial>", r"<serial>SN-[0-9A-F]{12}</serial>"),
        ('{"password": "a\\"b", "x": 1}', r'\{"password": "REDACTED.*'),
        ("postgres://me:secret@db.corp/x", r"postgres://REDACTED@host-[g-v]{8}\.domain-[0-9a-f]{8}\.example/x"),
        ("srun -w gpu[01-03] x", r"srun -w (host-[0-9a-f]{8}),(host-[0-9a-f]{8}),(host-[0-9a-f]{8}) x"),
        ("cat /home/jdoe/x C:\\Users\\nancy\\y", r"cat /home/user-[0-9a-f]{8}/x C:\\Users\\user-[0-9a-f]{8}\\y"),
        ("mpirun -H n7:8,n8:8 x", r"mpirun -H host-[0-9a-f]{8}:8,host-[0-9a-f]{8}:8 x"),
    ],
)
def test_notations_are_kept(text: str, pattern: str) -> None:
    found = redacted(text)
    assert re.fullmatch(pattern, found), found
    assert redacted(found) == found


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SLURM_SUBMIT_HOST=lakeside\nPBS_O_HOST=hill", ("lakeside", "hill")),
        ("SLURM_CLUSTER_NAME=vulkan\nClusterName = vulkan", ("vulkan",)),
        ("$ ps aux\nUSER PID %CPU COMMAND\nannabell+ 12 0.0 python\n/scratch/annabell", ("annabell",)),
        ("Nov 30 10:00:01 n7 CRON[9]: (grimhild) CMD (/bin/true)\nfile of grimhild", ("grimhild",)),
        ("session opened for user otto(uid=7) by wendelin(uid=1007)", ("otto", "wendelin")),
        ("train --wandb-key 0a1b2c3d4e5f --sort-key time", ("0a1b2c3d4e5f",)),
        ("redis-cli -h x7 -a p0tato ping; openssl enc -pass pass:tomat0", ("p0tato", "tomat0")),
        ("machine api.x login knut password p0tato", ("knut", "p0tato")),
        ('{"auths": {"registry": {"auth": "a251dDpwMHRhdG8="}}}', ("a251ddpwmhrhdg8",)),
        ("https://hooks.slack.com/services/T0/B0/Zq9Zq9Zq9", ("zq9",)),
        ("Serial Number: .9QK7TX3.CNFCP0039A00BC.\nString 5: 9QK7TX3", ("cnfcp0039a00bc",)),
        ("NAME SERIAL WWN\nsda ZC1T0000 0x5000c500abcdef12\nby-id/wwn-0x5000c500abcdef12", ("5000c500abcdef12",)),
        ("wwid eui.0100000000000000e4d25c1234567890", ("e4d25c1234567890",)),
        ("ssh db1.inner.quarzwerk.io\nlogs/db1.quarzwerk.io-2026.log", ("quarzwerk",)),
    ],
)
def test_names_and_secrets_in_rare_places_are_gone(text: str, names: tuple[str, ...]) -> None:
    found = redacted(text)
    assert [name for name in names if name in found.lower()] == []
    assert redacted(found) == found


def test_a_key_that_is_only_mentioned_does_not_swallow_the_rest() -> None:
    text = "-----BEGIN PRIVATE KEY----- is how they begin\n" + "line\n" * 300
    assert redacted(text).count("line") >= 100


def test_lines_keep_their_numbers() -> None:
    text = "a\n-----BEGIN PRIVATE KEY-----\nMIIE\nMIIF\n-----END PRIVATE KEY-----\nb\n"
    assert redacted(text).split("\n").index("b") == 5
    assert "MII" not in redacted(text)


UNITS = ("a", "-", "a-", "a.", "1.", "ab:", " ", "--token", "A_", "ssh ", "mysql ", "a@", "user_", '"', "guid ", "x-")
MORE_UNITS = ("serial ", "a://", "ipmitool - ", "0:", "\\n", "/home/", "key=", "fe80:", "00-", "a[1,", "password: ")


@pytest.mark.parametrize("unit", UNITS + MORE_UNITS)
def test_time_grows_with_the_length_of_hostile_lines_and_not_faster(unit: str) -> None:
    def seconds(length: int) -> float:
        begin = time.process_time()
        redacted(unit * (length // len(unit)))
        return time.process_time() - begin

    seconds(1000)
    assert seconds(80_000) < 1.0 + 8 * seconds(20_000)
