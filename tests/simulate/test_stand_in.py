"""The real pynvml against the built library."""

from __future__ import annotations

import time

import pytest

from tests.simulate.scenarios import NEEDS_LIBRARY, python

pytestmark = NEEDS_LIBRARY

START = "from pynvml import *\nnvmlInit()\n"
ASK = """
from pynvml import *
try:
    nvmlInit()
    {call}
except Exception as error:
    print(type(error).__name__)
"""


def test_a_healthy_machine_answers_in_the_driver_s_structures() -> None:
    answer = python(
        "hgx-h100",
        START + "h = nvmlDeviceGetHandleByIndex(7)\n"
        "info, memory = nvmlDeviceGetPciInfo(h), nvmlDeviceGetMemoryInfo(h, nvmlMemory_v2)\n"
        "print(nvmlDeviceGetCount(), nvmlDeviceGetName(h), info.busId, hex(info.pciDeviceId), memory.total >> 20,"
        " memory.reserved >> 20, nvmlDeviceGetUtilizationRates(h).gpu >= 96, nvmlDeviceGetEccMode(h))",
    )

    assert answer.strip() == "8 NVIDIA H100 80GB HBM3 00000000:DF:00.0 0x233010de 81559 551 True [1, 1]"


def test_values_wander_between_their_ends() -> None:
    answer = python(
        "hgx-h100",
        START + "import time\nh = nvmlDeviceGetHandleByIndex(0)\nseen = set()\n"
        "for _ in range(8):\n    seen.add(nvmlDeviceGetPowerUsage(h))\n    time.sleep(0.05)\n"
        "print(len(seen) > 1, 612000 <= min(seen) <= max(seen) <= 655000)",
    )

    assert answer.strip() == "True True"


def test_links_count_where_they_are_down() -> None:
    count = "h = nvmlDeviceGetHandleByIndex({0})\nprint(sum(nvmlDeviceGetNvLinkState(h, l) for l in range(18)))\n"

    assert python("nvlink-down", START + count.format(0) + count.format(1)).split() == ["18", "13"]


def test_field_values_have_a_status_each() -> None:
    answer = python(
        "hgx-h100",
        START + "h = nvmlDeviceGetHandleByIndex(0)\nvalues = nvmlDeviceGetFieldValues(h, [193, 999, (164, 3)])\n"
        "print([(v.nvmlReturn, v.value.sllVal) for v in values])",
    )

    assert answer.strip() == "[(0, -8), (3, 0), (0, 26562)]"


def test_pairs_know_how_they_are_joined() -> None:
    answer = python(
        "hgx-h100",
        START + "h = [nvmlDeviceGetHandleByIndex(i) for i in (0, 1, 7)]\n"
        "print(nvmlDeviceGetTopologyCommonAncestor(h[0], h[1]), nvmlDeviceGetTopologyCommonAncestor(h[2], h[0]),"
        " nvmlDeviceGetP2PStatus(h[0], h[2], NVML_P2P_CAPS_INDEX_NVLINK))",
    )

    assert answer.split() == ["40", "50", "0"]


def test_processors_and_nodes_come_as_sets_of_bits() -> None:
    answer = python(
        "hgx-h100",
        START + "h = nvmlDeviceGetHandleByIndex(4)\nprint([hex(w) for w in nvmlDeviceGetCpuAffinity(h, 3)],"
        " list(nvmlDeviceGetMemoryAffinity(h, 1, 0)))",
    )

    assert answer.strip() == "['0xffff000000000000', '0xffffffff', '0xffffffffffff0000'] [2]"


def test_a_mig_device_has_a_uuid_of_its_own() -> None:
    answer = python(
        "mig",
        START + "h = nvmlDeviceGetHandleByIndex(1)\n"
        "m = [nvmlDeviceGetMigDeviceHandleByIndex(h, i) for i in range(2)]\n"
        "u = [nvmlDeviceGetUUID(i) for i in m]\nprint(nvmlDeviceGetMigMode(h), *{i[:4] for i in u}, len(set(u)))",
    )

    assert answer.strip() == "[1, 1] MIG- 2"


@pytest.mark.parametrize(
    ("scenario", "call", "error"),
    [
        ("lost-gpu", "nvmlDeviceGetHandleByIndex(5)", "NVMLError_GpuIsLost"),
        ("driver-mismatch", "pass", "NVMLError_LibRmVersionMismatch"),
        ("no-driver", "pass", "NVMLError_LibraryNotFound"),
        ("no-permission", "pass", "NVMLError_Unknown"),
        ("hgx-h100", "nvmlDeviceGetHandleByIndex(8)", "NVMLError_InvalidArgument"),
        ("hgx-h100", "nvmlDeviceGetFanSpeed(nvmlDeviceGetHandleByIndex(0))", "NVMLError_NotSupported"),
        ("hgx-h100", "nvmlDeviceGetNvLinkState(nvmlDeviceGetHandleByIndex(0), 18)", "NVMLError_InvalidArgument"),
        ("old-driver", "nvmlDeviceGetMarginTemperature(nvmlDeviceGetHandleByIndex(0))", "NVMLError_FunctionNotFound"),
        ("old-driver", "nvmlSystemGetConfComputeState()", "NVMLError_FunctionNotFound"),
    ],
)
def test_failures_are_those_of_the_driver(scenario: str, call: str, error: str) -> None:
    assert python(scenario, ASK.format(call=call)).strip() == error


def test_without_a_scenario_no_driver_is_there() -> None:
    answer = python("hgx-h100", "import os\ndel os.environ['DIAGNOSE_SIMULATION']\n" + ASK.format(call="pass"))

    assert answer.strip() == "NVMLError_DriverNotLoaded"


def test_one_gpu_hangs_and_the_others_answer() -> None:
    program = (
        START + "import faulthandler, sys\nprint(nvmlDeviceGetTemperature(nvmlDeviceGetHandleByIndex(2), 0) > 0)\n"
        "faulthandler.dump_traceback_later(1, exit=True, file=sys.stdout)\nsys.stdout.flush()\n"
        "print(nvmlDeviceGetTemperature(nvmlDeviceGetHandleByIndex(3), 0))"
    )
    begin = time.monotonic()

    answer = python("hung-gpu", program)

    assert time.monotonic() - begin >= 1
    assert answer.startswith("True\nTimeout")
