"""operant's environments for TorchRL give what they give here."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torchrl.envs import check_env_specs

from operant.commands.bench.sides import random_actions
from operant.trainer.envs.as_torchrl import TorchRLEnv
from operant.trainer.envs.hosts import load_spec
from operant.trainer.envs.vector import Transitions, VectorEnv

NUM_ENVS = 3


@pytest.mark.parametrize("name", ["cart_pole", pytest.param("marine_nav", marks=pytest.mark.slow)])
def test_torchrls_own_checker_has_nothing_to_say(name):
    check_env_specs(TorchRLEnv(load_spec(name), NUM_ENVS), seed=1)


def stepped(name, num_steps):
    """Actions, and what a vector environment gives for them: its transitions, and which ended."""
    spec = load_spec(name)
    envs = VectorEnv(spec, NUM_ENVS, seed=5)
    out = Transitions.empty(spec.obs_size, envs.num_rows)
    envs.reset(out.obs)
    actions = random_actions(spec, num_steps, envs.num_rows)
    told = [(out.obs.copy(), None, None)]
    for action in actions:
        before = envs.state.episode.copy()
        envs.step(action, out)
        told.append((out.obs.copy(), Transitions(*map(np.copy, out)), envs.state.episode != before))
    return spec, actions, told


def test_one_agents_steps_are_those_of_the_vector_environment_and_done_ones_begin_anew():
    spec, actions, told = stepped("cart_pole", 120)
    env = TorchRLEnv(spec, NUM_ENVS, seed=5)
    now, num_ended = env.reset(), 0
    for action, (obs, out, ended) in zip(actions, told[1:], strict=True):
        now, after = env.step_and_maybe_reset(now.set("action", torch.from_numpy(action)))
        step = now["next"]
        assert step["reward"][:, 0].tolist() == out.reward.tolist()
        assert step["terminated"][:, 0].tolist() == out.terminated.tolist()
        assert step["truncated"][:, 0].tolist() == out.truncated.tolist()
        expected = np.where(ended[:, None], out.final_obs, obs)
        assert torch.equal(step["observation"], torch.from_numpy(expected))
        assert torch.equal(after["observation"], torch.from_numpy(obs))
        num_ended += ended.sum()
        now = after
    assert num_ended > 5


@pytest.mark.slow
def test_several_agents_have_a_dimension_of_their_own_and_end_together():
    spec, actions, told = stepped("marine_nav", 20)
    env = TorchRLEnv(spec, NUM_ENVS, seed=5)
    env.reset()
    env._envs.state.elapsed[:] = 1000 - 20  # the last decision of these is at the time limit
    now = env.reset()
    for action, (obs, out, _) in zip(actions[:-1], told[1:-1], strict=True):
        shaped = torch.from_numpy(action).view(NUM_ENVS, 5, 2)
        step = env.step(now.set(("agents", "action"), shaped))["next"]
        assert step["agents", "observation"].shape == (NUM_ENVS, 5, spec.obs_size)
        found = step["agents", "observation"].flatten(0, 1)
        assert torch.equal(found, torch.from_numpy(obs))
        assert step["agents", "reward"].flatten().tolist() == out.reward.tolist()
        assert step["agents", "valid"].flatten().tolist() == out.valid.tolist()
        assert step["agents", "retired"].flatten().tolist() == out.terminated.tolist()
        assert not step["done"].any()
        now = step
    shaped = torch.from_numpy(actions[-1]).view(NUM_ENVS, 5, 2)
    step = env.step(now.set(("agents", "action"), shaped))["next"]
    assert step["done"].all()
    assert step["truncated"].all()
    assert not step["terminated"].any()
    assert torch.equal(step["agents", "observation"].flatten(0, 1), torch.from_numpy(told[-1][0]))


def test_a_part_of_the_environments_begins_anew():
    env = TorchRLEnv(load_spec("cart_pole"), NUM_ENVS, seed=5)
    first = env.reset()["observation"]
    now = env.rand_step(env.reset())["next"]
    moved = now["observation"].clone()
    after = env.reset(now.set("_reset", torch.tensor([[False], [True], [False]])))["observation"]
    assert torch.equal(after[[0, 2]], moved[[0, 2]])
    assert not torch.equal(after[1], moved[1])
    assert not torch.equal(after[1], first[1])
    # A seed is a beginning of its own, the same each time.
    env.set_seed(5)
    assert torch.equal(env.reset()["observation"], first)
    env.set_seed(6)
    assert not torch.equal(env.reset()["observation"], first)
