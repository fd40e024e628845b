from __future__ import annotations

import pytest

from collectors.nccl_messages import MESSAGES, PLUGIN_ABSENT, PLUGIN_NOT_FOUND, classify, remote_address

SAMPLES = {
    "p2p-nvlink-disabled": "P2P is disabled between NVLINK connected GPUs 0 and 1. This should not be the case",
    "p2p-disabled": "P2P is disabled between connected GPUs 2 and 3. You can repress this message with",
    "p2p-unavailable": "Could not enable P2P between dev 0(=17000) and dev 1(=65000)",
    "shared-memory-no-space": "Error: failed to extend /dev/shm/nccl-a1B2c3 to 9637892 bytes",
    "shared-memory-segment-failed": "Error while attaching to shared memory segment /dev/shm/nccl-x (size 4096)",
    "cumem-host-fallback": "cuMem host allocations do not appear to be working; falling back to a /dev/shm/ based",
    "nvls-multicast-failed": "Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 1",
    "no-rdma-device": "NET/IB : No device found.",
    "verbs-library-missing": "Failed to open libibverbs.so[.1]",
    "rdma-cannot-allocate-memory": "Call to ibv_create_cq failed with error Cannot allocate memory",
    "rdma-registration-failed": "Call to ibv_reg_mr failed",
    "rdma-queue-pair-failed": "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1",
    "rdma-retry-exceeded": "NET/IB : Got completion from peer 10.0.0.5<33092> with error 12, opcode 0, len 0",
    "rdma-flushed": "NET/IB: Got completion from peer 10.0.0.5<1> with status=IBV_WC_WR_FLUSH_ERR(5) opcode=",
    "rdma-completion-error": "NET/IB: Got completion from peer 10.0.0.5<1> with status=4 opcode=1 vendor err 81",
    "rdma-port-event": "NET/IB : mlx5_0:1 Got async event : port error",
    "network-not-found": "Error: network AWS Libfabric not found.",
    "network-plugin-failed": "Failed to initialize NET plugin IBext",
    "ofi-no-provider": "NET/OFI No eligible providers were found",
    "no-socket-interface": "Bootstrap : no socket interface found",
    "connect-retrying": "socketPollConnect: connect returned Connection refused, retrying (3/34) after sleep",
    "connect-refused": "socketPollConnect: connect returned Connection refused, exceeded error retry count (35)",
    "connect-timed-out": "Connect to 10.0.0.7<41234> failed : Connection timed out",
    "connect-no-route": "socketStartConnect: Connect to 10.0.0.7<41234> failed : No route to host",
    "connect-failed": "Connect to 10.0.0.7<41234> failed : Software caused connection abort",
    "peer-closed-connection": "socketProgress: Connection closed by remote peer node07<51000>",
    "rendezvous-timed-out": "[c10d] The client socket has timed out after 600s while trying to connect to (n0, 29500).",
    "version-mismatch": "Mismatched NCCL version detected : rank 1 version 22005 rank 0 version 21805",
    "collective-mismatch": "NET/IB : req 0/1 tag 7 peer 10.0.0.5<1> collective mismatch error, local size 8 remote 16",
    "rank-did-not-join": "[3] finished collective #11, but didn't join collective #12 (count from 1)",
    "rank-did-not-finish": "[0] joined but didn't finish collective #12 (count from 1)",
    "desync-report": " - [0] Timeout at collective: ALLREDUCE, #12",
    "duplicate-gpu": "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000",
    "watchdog-timeout": "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE",
    "watchdog-stuck": "ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress",
    "watchdog-exception": "Process group watchdog thread terminated with exception: CUDA error",
    "driver-library-mismatch": "nvmlInit_v2() failed: Driver/library version mismatch",
    "cuda-driver-too-old": "Cuda failure 'CUDA driver version is insufficient for CUDA runtime version'",
    "cuda-out-of-memory": "Cuda failure 2 'out of memory'",
    "cuda-memory-error": "Cuda failure 214 'uncorrectable ECC error encountered'",
    "cuda-error": "Cuda failure 700 'an illegal memory access was encountered'",
    "unhandled-cuda-error": "ncclUnhandledCudaError: Call to CUDA function failed.",
    "unhandled-system-error": "NCCL error in: x.cpp:1, unhandled system error, NCCL version 2.18.1",
    "remote-error": "ncclRemoteError: A call failed possibly due to a network error",
    "invalid-usage": "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.",
    "internal-error": "ncclInternalError: Internal check failed.",
}


@pytest.mark.parametrize(("code", "text"), SAMPLES.items())
def test_message_has_its_code(code: str, text: str) -> None:
    assert classify(text) == code


def test_every_code_has_a_sample() -> None:
    assert [message.code for message in MESSAGES] == list(SAMPLES)


@pytest.mark.parametrize(
    "text",
    [
        "NET/Plugin : No plugin found (libnccl-net.so), using internal implementation",
        "NET/Plugin: No plugin found (libnccl-net.so)",
        "NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.",
        "NET/Plugin: Could not find: librccl-net.so. Using internal network plugin.",
        "NET/Plugin: Could not find: none libnccl-net-none.so. Using internal network plugin.",
        "NET/Plugin: Plugin load returned 2 : libnccl-net.so: cannot open shared object file: No such file or "
        "directory : when loading libnccl-net.so",
    ],
)
def test_absent_default_plugin_is_harmless(text: str) -> None:
    assert classify(text) == PLUGIN_ABSENT


@pytest.mark.parametrize(
    "text",
    [
        "NET/Plugin: Could not find: ofi libnccl-net-ofi.so. Using internal network plugin.",
        "NET/Plugin: Plugin load (libnccl-net-ofi.so) returned 2 : libnccl-net-ofi.so: cannot open shared object file",
        "NET/Plugin: No plugin found (libnccl-net-gib.so), using internal implementation",
    ],
)
def test_named_plugin_that_is_missing_is_told_apart(text: str) -> None:
    assert classify(text) == PLUGIN_NOT_FOUND


@pytest.mark.parametrize(
    "text",
    [
        "TUNER/Plugin: Could not find: libnccl-tuner.so libnccl-net.so. Using internal tuner plugin.",
        "PROFILER/Plugin: Could not find: libnccl-profiler.so.",
        "NET/Plugin: Failed to find ncclNetPlugin_v8 symbol.",
        "comm 0x1f rank 0 nranks 2 cudaDev 0 busId 1000 - Init COMPLETE",
        "Connected all rings",
        "NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>",
    ],
)
def test_ordinary_lines_have_no_code(text: str) -> None:
    assert classify(text) is None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("socketStartConnect: exceeded retries (20000)", "connect-refused"),
        ("socketPollConnect: exceeded timeouts (3)", "connect-timed-out"),
        (
            "socketPollConnect: connect to 10.0.0.7<4711> returned Connection refused, exceeded error retry count "
            "after 35 attempts",
            "connect-refused",
        ),
    ],
)
def test_connections_that_versions_give_up_in_their_own_words(text: str, code: str) -> None:
    assert classify(text) == code


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("Connect to 10.148.3.247<56821> failed", "10.148.3.247"),
        ("connect to node07.cluster<4711> returned Connection refused", "node07.cluster"),
        ("Connect to fe80::1%ib0<4711> failed", "fe80::1%ib0"),
        ("nothing to see", None),
    ],
)
def test_remote_address_is_the_peers_without_the_port(text: str, address: str | None) -> None:
    assert remote_address(text) == address
