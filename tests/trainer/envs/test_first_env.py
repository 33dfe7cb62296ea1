"""The environments of one run may be shared out: each is who it would be among all of them."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest
import torch
from toy_envs import WALK

from operant.commands.bench.sides import random_actions
from operant.trainer.collecting.compiled import CompiledCollector
from operant.trainer.collecting.fused import FusedCollector
from operant.trainer.collecting.on_gpu import ActorCollector, CudaCollector
from operant.trainer.envs.hosts import load_spec, make_envs
from operant.trainer.envs.names import ENV_NAMES, MINATAR_ENV_NAMES
from operant.trainer.envs.vector import Transitions, VectorEnv
from operant.trainer.envs.vector_on_gpu import CudaVectorEnv
from operant.trainer.jit.streams import TRAINING
from operant.trainer.machine.threads import Threads
from operant.trainer.policies.actor_critic import ActorCritic

HALF = 64  # environments; as many are one chunk of the compiled loops
FIRST, SECOND, WHOLE = (HALF, 0), (HALF, HALF), (2 * HALF, 0)  # how many, and the first's number


@pytest.mark.slow
@pytest.mark.parametrize("name", [*ENV_NAMES, *MINATAR_ENV_NAMES, "marine_nav", "walkers"])
def test_two_halves_are_the_whole(name):
    spec = WALK if name == "walkers" else load_spec(name)
    actions = random_actions(spec, 40, 2 * HALF * spec.num_agents)

    def transitions(num_envs, first_env):
        envs = VectorEnv(spec, num_envs, seed=5, first_env=first_env)
        envs.state.elapsed[::2] = spec.max_episode_steps - 20  # so that some begin anew
        out = Transitions.empty(spec.obs_size, envs.num_rows)
        envs.reset(out.obs)
        envs.state.elapsed[::2] = spec.max_episode_steps - 5
        rows = slice(first_env * spec.num_agents, (first_env + num_envs) * spec.num_agents)
        seen = []
        for action in actions:
            envs.step(action[rows], out)
            seen.append([x.copy() for x in out])
        return [np.stack(x) for x in zip(*seen, strict=True)]

    halves, whole = [transitions(*part) for part in (FIRST, SECOND)], transitions(*WHOLE)
    for first, second, both in zip(*halves, whole, strict=True):
        assert (np.concatenate([first, second], axis=1) == both).all()
    assert whole[3].any()  # truncated


def compiled_collector(spec, num_envs, first_env, policy):
    envs = VectorEnv(spec, num_envs, seed=5, first_env=first_env)
    return CompiledCollector(envs, policy, 16, Threads(1))


def on_kernels(kind):
    def make(spec, num_envs, first_env, policy):
        envs = CudaVectorEnv(spec, num_envs, 5, device="cpu", first_env=first_env)
        return kind(envs, policy, 16)

    return make


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (compiled_collector, "cart_pole"),
        (compiled_collector, "walkers"),
        (compiled_collector, "pendulum"),
        (on_kernels(CudaCollector), "cart_pole"),
        (on_kernels(ActorCollector), "pendulum"),
        (on_kernels(FusedCollector), "cart_pole"),
    ],
)
def test_two_halves_of_a_rollout_are_the_whole_with_its_actions(make, name, small_config):
    spec = WALK if name == "walkers" else load_spec(name)
    config = small_config("policy.hidden_sizes=[8, 8]")
    policy = ActorCritic(spec, config.policy, normalize_obs=False, seed=1)

    def rollout(num_envs, first_env):
        collector = make(spec, num_envs, first_env, policy)
        collector.collect()
        return collector.collect()  # the second, so that steps before it count

    first, second, whole = (rollout(*part) for part in (FIRST, SECOND, WHOLE))
    for field in ("obs", "actions", "rewards", "terminated", "truncated", "log_probs"):
        halves = torch.cat([getattr(first, field), getattr(second, field)], dim=1)
        assert torch.equal(halves, getattr(whole, field)), field
    # The two halves are not the same one twice.
    assert not torch.equal(first.actions, second.actions)


def test_gymnasiums_environments_begin_as_they_would_among_all():
    spec = load_spec("gymnasium:CartPole-v1")

    def begun(num_envs, first_env):
        obs = np.zeros((num_envs, 4), np.float32)
        with closing(make_envs(spec, num_envs, 5, TRAINING, first_env)) as envs:
            envs.reset(obs)
        return obs

    assert (np.concatenate([begun(2, 0), begun(3, 2)]) == begun(5, 0)).all()
