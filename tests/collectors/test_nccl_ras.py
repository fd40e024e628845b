from __future__ import annotations

import pytest

from collectors.nccl_ras import NcclRas
from diagnose.facts import Fact
from diagnose.facts.hang import RasMismatch, RasProcess, RasStatus
from tests.collectors.helpers import block, damaged, opened

SOUND = """\
Communicators... (0.01s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         2         2         8        16        32   RUNNING      OK
    1         4         1         4         4        16      INIT      OK

Errors
======

Warnings
========

"""
STOPPED = """\
Communicators... (2.11s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         2       7-8        16        16   RUNNING  INCOMPLETE

Errors
======

INCOMPLETE
  Missing communicator data from 1 job process
  Process 5120 on node 10.9.8.7 managing GPU 2

#0-0 (aa11bb22cc33dd44) INCOMPLETE
  Missing communicator data from 1 rank
  The missing rank: 10

Warnings
========

TIMEOUT
  Encountered 3 communication timeouts while gathering communicator data
"""
DEAD = """\
DEAD
  2 job processes are considered dead (unreachable via the RAS network)
  Process 5120 on node 10.9.8.7 managing GPU 2 (NVML 6)
  Process 5121 on node 10.9.8.7 managing GPUs 3,4

#0-0 (aa11bb22cc33dd44) INCOMPLETE
  Missing communicator data from 2 ranks
  Rank 10 -- GPU 2 managed by process 5120 on node 10.9.8.7
  Rank 11 -- GPU 3 managed by process 5121 on node 10.9.8.7
"""
MISMATCH = """\
#0-0 (aa11bb22cc33dd44) MISMATCH
  Communicator ranks have different AllReduce operation counts
  14 ranks have launched up to operation 905
  Rank 3 has launched up to operation 899 -- GPU 3 managed by process 77 on node 10.9.8.6
  Rank 5 has not launched any operations -- GPU 5 managed by process 79 on node 10.9.8.6

#1-0 (00ee00ee00ee00ee) MISMATCH
  Communicator ranks have different status
  3 ranks have status RUNNING
  Rank 0 has status FINALIZE -- GPU 0 managed by process 74 on node 10.9.8.6
"""


def facts(text: str) -> list[Fact]:
    return NcclRas.parse(block(text)).facts


def test_sound_job_is_summed_up() -> None:
    (status,) = facts(SOUND)
    assert isinstance(status, RasStatus)
    assert (status.communicators, status.ranks) == (6, 16)
    assert (status.processes_dead, status.processes_not_answering, status.mismatched_communicators) == (0, 0, 0)


def test_process_that_does_not_answer_is_named_with_its_rank() -> None:
    status, process = facts(STOPPED)
    assert isinstance(status, RasStatus)
    assert (status.processes_not_answering, status.processes_dead, status.timeouts) == (1, 0, 3)
    assert isinstance(process, RasProcess)
    assert process.state == "not-answering"
    assert process.subject.path() == "10.9.8.7/gpu/2/process/5120/rank/10"


def test_dead_processes_get_their_own_ranks_and_the_number_that_nvidia_smi_uses() -> None:
    status, first, second = facts(DEAD)
    assert isinstance(status, RasStatus)
    assert status.processes_dead == 2
    assert isinstance(first, RasProcess)
    assert (first.state, first.subject.gpu_index, first.subject.rank) == ("dead", 6, 10)
    assert (second.subject.gpu_index, second.subject.rank) == (None, 11)


def test_differences_tell_who_stands_where() -> None:
    status, counts, states = facts(MISMATCH)
    assert isinstance(status, RasStatus)
    assert status.mismatched_communicators == 2
    assert isinstance(counts, RasMismatch)
    assert (counts.communicator, counts.what, counts.furthest_behind) == ("aa11bb22cc33dd44", "AllReduce", 905)
    assert counts.groups == "14 at 905, 1 at 899, 1 at 0"
    assert isinstance(states, RasMismatch)
    assert (states.what, states.outlying_ranks, states.furthest_behind) == ("status", "0", None)


def test_queries_in_one_file_are_kept_apart() -> None:
    found = facts(SOUND + STOPPED)
    assert [fact.processes_not_answering for fact in found if isinstance(fact, RasStatus)] == [0, 1]


@pytest.mark.parametrize("text", [SOUND, STOPPED, DEAD, MISMATCH])
def test_first_line_opens(text: str) -> None:
    assert opened(NcclRas, text)[0] == text.splitlines()[0]


def test_words_in_other_text_do_not_open() -> None:
    assert opened(NcclRas, "status DEAD\nINCOMPLETE upload\nTransfer... MISMATCH\nNode ERROR (x) ERROR\n") == []


@pytest.mark.parametrize("text", [SOUND, STOPPED, DEAD, MISMATCH])
def test_damaged_text_never_raises(text: str) -> None:
    for broken in damaged(text):
        NcclRas.parse(block(broken))
