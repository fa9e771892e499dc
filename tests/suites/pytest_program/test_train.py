# tests/suites/pytest_program/test_train.py — A program under faults, tested as somebody would who knows pytest.
from pathlib import Path

import pytest

from deadrank import Trouble, clear_error, flip, kill, recovers

COMMAND = ["torchrun", "--nproc-per-node", "2", str(Path(__file__).with_name("train.py"))]


@pytest.mark.faults(kill(before="all_reduce", nth=2), seeds=range(4))
def test_a_killed_rank_is_named(cluster):
    result = cluster.run(COMMAND, expect=clear_error("60s"))
    assert len(result.culprits) == 1
    assert any(event["kind"] == "collective.enter" for event in result.evidence)


@pytest.mark.faults(kill(rank=1, before="all_reduce", nth=2))
def test_the_launcher_restarts_it(cluster):
    restarted = [COMMAND[0], "--max-restarts", "1", *COMMAND[1:]]
    assert cluster.run(restarted, expect=recovers()).outcome == "recovered"


@pytest.mark.faults(flip("all_reduce", 2, rank=1))
def test_that_fails(cluster):
    cluster.run(COMMAND, expect=recovers())


@pytest.mark.faults(kill(rank=1, before="all_reduce", nth=2))
def test_that_fails_by_an_assertion(cluster):
    result = cluster(nodes=2).run(COMMAND)
    assert result.outcome == "recovered"


def test_a_wrong_fault_is_told(cluster):
    with pytest.raises(Trouble, match="did you mean 'kill'"):
        cluster.run(COMMAND, ["kil rank 1"])
