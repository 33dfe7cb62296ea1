"""Any number of ranks learn to drive as one process does."""

from __future__ import annotations

import json
from typing import Any

import pytest
import ranked
import torch
from rank_processes import said, started, wait_for_all
from tinyphysics_files import write_model, write_routes

from operant.shared.errors import ConfigError, UsageError
from operant.trainer.config.from_values import make_config
from operant.trainer.distributed.split import shares_of
from operant.trainer.envs.tinyphysics.engines.choosing import ENGINE_NAMES
from operant.trainer.envs.tinyphysics.routes import Routes
from operant.trainer.experiment.plan import check_ranks
from operant.trainer.tinyphysics_training.parts import (
    check_files_alike,
    engine_of_first,
    load_split,
)

pytestmark = pytest.mark.slow

SMALL: dict[str, Any] = {
    "env": "tinyphysics", "num_envs": 12, "rollout_steps": 400, "total_env_steps": 48000,
    "num_threads": 1, "iterations": 1, "evaluation": {"num_episodes": 0},
    "policy": {"hidden_sizes": [16, 16], "distribution": "beta"},
    "ppo": {"num_minibatches": 4, "num_epochs": 2}, "normalization": {"reward": True},
    "tinyphysics": {"rollouts_per_route": 2, "held_out_routes": 1, "critic_epochs": 1},
    "cloning": {"num_epochs": 2, "copies": 1},
}  # fmt: skip
TASKS: dict[str, dict[str, Any]] = {"the logs cloned": SMALL}
CASES = [(1, ""), (2, ""), (3, "3:2:1")]
SEVERAL = [case for case in CASES if case[0] > 1]


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Any:
    """The results of all tasks, by the number of ranks and the split of environments."""
    folder, found = tmp_path_factory.mktemp("challenge"), {}
    write_model(folder / "tinyphysics.onnx", num_blocks=1)
    write_routes(folder / "data", 7, num_rows=510)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPERANT_TINYPHYSICS", str(folder))
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        for size, split in CASES:
            told = tmp_path_factory.mktemp("ranks")
            command = [ranked.__file__, json.dumps(TASKS), str(told / "found.pt"), "--split", split]
            with started([command] * size, told) as processes:
                assert wait_for_all(processes) == [0] * size, said(told, size - 1)
            found[size, split] = torch.load(told / "found.pt", weights_only=False)
    return found


@pytest.mark.parametrize("case", SEVERAL)
@pytest.mark.parametrize("task", TASKS)
def test_ranks_drive_alike_and_learn_the_same(results, task, case):
    alone, together = results[1, ""][task], results[case][task]
    for one, other in zip(alone["episodes"], together["episodes"], strict=True):
        for name in one:
            torch.testing.assert_close(one[name], other[name], rtol=0, atol=1e-4)
    assert (alone["parameters"] - together["parameters"]).abs().max() < 1e-5


@pytest.mark.parametrize("case", SEVERAL)
@pytest.mark.parametrize("task", TASKS)
def test_rank_0_publishes_what_one_process_would(results, task, case):
    alone, together = (results[n][task]["values"] for n in ((1, ""), case))
    assert alone.keys() == together.keys()
    for name, value in alone.items():
        if not name.startswith(("time/", "speed/")):
            assert together[name] == pytest.approx(value, rel=1e-4, abs=1e-5, nan_ok=True), name


def test_the_environments_along_a_route_stay_together():
    config = make_config({key: x for key, x in SMALL.items() if key != "iterations"})
    assert [share.num_envs for share in shares_of(config, "5:2:1", 3)] == [8, 2, 2]
    with pytest.raises(ConfigError, match="is too few for 7 ranks: each needs 2, those along a"):
        check_ranks(config, "", 7)


class First:
    """One of two ranks, of which the other has `other` in every tensor."""

    size, rank = 2, 0

    def __init__(self, other: int) -> None:
        self._other = other

    def sum(self, own: torch.Tensor) -> torch.Tensor:
        return own + torch.tensor([0, self._other])

    def broadcast(self, _: torch.Tensor) -> torch.Tensor:
        return torch.tensor([self._other])


@pytest.fixture
def files(small_config):
    """Settings, and the routes to learn from."""
    settings = small_config().table("tinyphysics")
    return settings, load_split(settings).training


def test_a_rank_with_other_files_is_named(files):
    told = []
    settings, routes = files

    class Listening(First):
        def sum(self, own: torch.Tensor) -> torch.Tensor:
            told.append(int(own[0]))
            return own + torch.tensor([0, told[-1]])

    check_files_alike(Listening(0), settings, routes)
    with pytest.raises(UsageError, match="rank 1 has another model of tinyphysics than rank 0"):
        check_files_alike(First(told[0] + 1), settings, routes)
    rows = routes.rows.copy()
    rows[0, 7, 0] += 1e-12
    check_files_alike(Listening(0), settings, Routes(routes.names, rows, routes.num_rows))
    assert told[0] == told[2]
    assert told[1] != told[3]


def test_all_take_the_engine_of_rank_0():
    number = ENGINE_NAMES.index("onnxruntime")
    assert engine_of_first(First(number), None) == "onnxruntime"
