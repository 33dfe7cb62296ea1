"""Agents share an environment: each has a row, retires alone, and begins anew with the others."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from toy_envs import WALK

from operant.trainer.envs import as_gymnasium
from operant.trainer.envs.vector import Transitions, VectorEnv
from operant.trainer.envs.vector_on_gpu import CudaVectorEnv

pytestmark = pytest.mark.slow

RIGHT, LEFT = 1, 0


class OnProcessor:
    """A vector environment with memory for its transitions."""

    def __init__(self, num_envs, **options):
        self.envs = VectorEnv(WALK, num_envs, seed=1, **options)
        self.out = Transitions.empty(WALK.obs_size, self.envs.num_rows)
        self.envs.reset(self.out.obs)

    def step(self, *actions):
        self.envs.step(np.array(actions, np.int32), self.out)
        return Transitions(*map(np.copy, self.out))


class OnKernels(OnProcessor):
    """The same by the kernels of a GPU, on the processor."""

    def __init__(self, num_envs, **options):
        self.envs = CudaVectorEnv(WALK, num_envs, 1, device="cpu", **options)
        self.tensors = self.envs.empty_transitions()
        self.out = Transitions(*(x.numpy() for x in self.tensors))
        self.envs.reset(self.tensors.obs)

    def step(self, *actions):
        self.envs.step(torch.tensor(actions, dtype=torch.int32), self.tensors)
        return Transitions(*map(np.copy, self.out))


@pytest.fixture(params=[OnProcessor, OnKernels])
def stepped(request):
    return request.param


def test_an_agent_retires_alone_and_its_rows_are_dead_until_all_begin_anew(stepped):
    walkers = stepped(1)
    # The first walks to the right edge in three steps of a half; the second to and fro.
    outs = [walkers.step(RIGHT, (RIGHT, LEFT)[t % 2]) for t in range(6)]
    assert [out.reward[0] for out in outs] == [0.5, 0.0, -0.5, 0.0, 0.0, 0.0]
    assert [out.reward[1] for out in outs] == [0.5, 1.0, 0.5, 1.0, 0.5, 1.0]
    assert [out.valid.tolist() for out in outs] == [[True, True]] * 3 + [[False, True]] * 3
    assert [out.terminated[0] for out in outs] == [False, False, True, False, False, False]
    # The time limit of 6 steps is for those who are left.
    assert [out.truncated.tolist() for out in outs] == [[False, False]] * 5 + [[False, True]]
    assert outs[2].final_obs[0].tolist() == [1.5, 0.5, 0.0]
    assert outs[5].final_obs[1].tolist() == [0.0, 1.5, 1.0]
    assert outs[5].obs.tolist() == [[0.0, 0.0, 1.0]] * 2
    # Returns: 0.5 + 0 - 0.5 = 0 in 3 steps, and 3 x 1.5 = 4.5 in 6.
    assert walkers.envs.take_episode_totals() == (2, 4.5, 9)
    assert walkers.step(LEFT, LEFT).valid.all()


def test_when_all_have_retired_the_next_episode_begins_in_the_same_step(stepped):
    walkers = stepped(1)
    outs = [walkers.step(RIGHT, LEFT) for _ in range(3)]
    assert outs[2].terminated.all()
    assert not outs[2].truncated.any()
    assert outs[2].obs.tolist() == [[0.0, 0.0, 1.0]] * 2
    assert walkers.envs.take_episode_totals() == (2, 0.0, 6)


def test_agents_that_take_no_part_are_never_valid_and_no_episode_is_theirs(stepped):
    walkers = stepped(3)  # in the last one the second agent, row 5, takes no part
    outs = [walkers.step(*[(RIGHT, LEFT)[t % 2]] * 6) for t in range(6)]
    for out in outs:
        assert out.valid.tolist() == [True] * 5 + [False]
        assert out.reward[5] == 0.0
    assert outs[-1].truncated.tolist() == [True] * 5 + [False]
    # 0.5 + 1 + 0.5 + 1 + 0.5 + 1 = 4.5 for each of five
    assert walkers.envs.take_episode_totals() == (5, 22.5, 30)


def test_gymnasiums_vector_environments_have_one_agent(monkeypatch):
    monkeypatch.setattr(as_gymnasium, "load_spec", lambda name: WALK)
    with pytest.raises(ValueError, match="walkers has 2 agents an environment"):
        as_gymnasium.GymnasiumVectorEnv("walkers", 2)
