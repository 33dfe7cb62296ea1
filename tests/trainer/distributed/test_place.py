"""A process finds out which of several it is."""

from __future__ import annotations

import pytest

from operant.shared.errors import UsageError
from operant.trainer.distributed.place import Place, first_node, place_of

TORCHRUN = {
    "RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2",
    "MASTER_ADDR": "laptop", "MASTER_PORT": "29500",
}  # fmt: skip
SRUN = {
    "SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "3", "SLURM_LOCALID": "0", "SLURM_JOB_ID": "71234",
    "SLURM_STEP_ID": "1", "SLURM_STEP_NODELIST": "gpu[03-05]",
}  # fmt: skip


def test_as_torchrun_says():
    assert place_of(TORCHRUN) == Place(3, 4, 1, 2, "laptop", 29500)
    met = place_of({**TORCHRUN, "RANK": "0", "TORCHELASTIC_USE_AGENT_STORE": "True"})
    assert met is not None
    assert not met.hosts_store


def test_as_srun_says_where_torchrun_says_nothing():
    assert place_of(SRUN) == Place(2, 3, 0, 1, "gpu03", 21235)
    assert place_of({**SRUN, "MASTER_ADDR": "here", "MASTER_PORT": "1"}) == Place(
        2, 3, 0, 1, "here", 1
    )
    assert place_of({**SRUN, **TORCHRUN}) == Place(3, 4, 1, 2, "laptop", 29500)


@pytest.mark.parametrize(
    ("tasks", "node", "local_world_size"),
    [("4", "0", 4), ("2(x3),1", "2", 2), ("2(x3),1", "3", 1), ("2(x", "0", 1), ("2", "1", 1)],
)
def test_slurm_says_how_many_ranks_share_a_node(tasks, node, local_world_size):
    told = {**SRUN, "SLURM_STEP_TASKS_PER_NODE": tasks, "SLURM_NODEID": node}
    place = place_of(told)
    assert place is not None
    assert place.local_world_size == local_world_size


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {**TORCHRUN, "RANK": "0", "WORLD_SIZE": "1"},
        {"SLURM_PROCID": "0", "SLURM_NTASKS": "4"},  # a script that sbatch runs
    ],
)
def test_one_process_is_alone(environ):
    assert place_of(environ) is None


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"RANK": "4"}, "RANK = 4 and WORLD_SIZE = 4: ranks are 0 to WORLD_SIZE - 1"),
        ({"RANK": "x"}, "RANK = x is not a number"),
        ({"WORLD_SIZE": ""}, "WORLD_SIZE is not set"),
        ({"MASTER_PORT": "99999"}, "MASTER_PORT = 99999 is not a port"),
        ({"WORLD_SIZE": "9" * 30}, "ranks are too many: 1024 are the most"),
    ],
)
def test_what_makes_no_sense_is_one_line(changed, told):
    with pytest.raises(UsageError, match=told):
        place_of({**TORCHRUN, **changed})


@pytest.mark.parametrize(
    ("nodes", "first"),
    [("n1", "n1"), ("n1,n2", "n1"), ("gpu[03-05,9],cpu1", "gpu03"), ("a[7]-ib,b", "a7-ib")],
)
def test_the_first_node_of_a_list(nodes, first):
    assert first_node(nodes) == first
