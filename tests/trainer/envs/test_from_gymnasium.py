"""Gymnasium's environments in every autoreset mode; nothing is learned from what is dead."""

from __future__ import annotations

import re
import sys

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from learning import collected, learn
from vector_envs import vector_envs

from operant.shared.errors import ConfigError
from operant.shared.install_command import install_command
from operant.trainer.envs.checking import EnvError
from operant.trainer.envs.from_gymnasium import describe
from operant.trainer.envs.hosts import load_spec
from operant.trainer.envs.spaces import action_spec
from operant.trainer.envs.vector import Transitions
from operant.trainer.policies.distributions import make_distribution

MODES = tuple(AutoresetMode)


class Count(gymnasium.Env):
    """Shows how many steps there were, and pays as much. Task and time limit end where told."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, terminates_at=99, truncates_at=99):
        self.terminates_at, self.truncates_at = terminates_at, truncates_at
        self.count = 0

    def obs(self):
        return np.array([self.count], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return self.obs(), {}

    def step(self, action):
        self.count += 1
        ends = (self.count >= self.terminates_at, self.count >= self.truncates_at)
        return self.obs(), float(self.count), *ends, {}


def make_envs(mode, *limits):
    """One environment for each of `limits`, which are arguments of `Count`."""
    functions = [lambda each=each: Count(*each) for each in limits]
    return vector_envs(lambda n: SyncVectorEnv(functions[:n], autoreset_mode=mode), len(limits))


def steps(envs, num_steps):
    """The transitions of `num_steps` steps, and which were dead [T, N]."""
    out = Transitions.of(envs.spec, envs.num_envs)
    envs.reset(out.obs)
    seen, dead = [], []
    for _ in range(num_steps):
        envs.step(np.zeros(envs.num_envs, np.int64), out)
        seen.append(Transitions(*(x.copy() for x in out)))
        dead.append(~out.valid)
    return seen, np.array(dead)


@pytest.mark.parametrize("mode", MODES)
def test_an_episode_is_the_same_in_every_mode_but_for_dead_steps(mode):
    envs = make_envs(mode, (3, 99), (99, 2))
    seen, dead = steps(envs, 9)
    has_dead_steps = mode == AutoresetMode.NEXT_STEP  # one after each end
    places = [np.flatnonzero(column).tolist() for column in dead.T]
    assert places == ([[3, 7], [2, 5, 8]] if has_dead_steps else [[], []])
    # Returns of 1 + 2 + 3 and of 1 + 2, whatever lay between them.
    episodes = (5, 2 * 6.0 + 3 * 3.0, 2 * 3.0 + 3 * 2.0) if has_dead_steps else (7, 30.0, 17.0)
    assert envs.take_episode_totals() == episodes
    for env, (length, flag) in enumerate([(3, "terminated"), (2, "truncated")]):
        live = [out for out, is_dead in zip(seen, dead[:, env], strict=True) if not is_dead]
        for i, out in enumerate(live):
            place = i % length + 1
            assert out.reward[env] == place
            assert getattr(out, flag)[env] == (place == length)
            if place == length:
                assert out.final_obs[env, 0] == length
            if place < length or not has_dead_steps:
                assert out.obs[env, 0] == place % length


@pytest.mark.parametrize("mode", MODES)
def test_when_both_flags_are_set_terminated_wins(mode):
    seen, _ = steps(make_envs(mode, (2, 2)), 2)
    assert (seen[1].terminated[0], seen[1].truncated[0]) == (True, False)


class Vector(SyncVectorEnv):
    """Returns other types than it should, which few vector environments of their own check."""

    flags, observations = np.bool_, np.int64

    def step(self, actions):
        obs, reward, terminated, truncated, infos = super().step(actions)
        flags = terminated.astype(self.flags), truncated
        return obs.astype(self.observations), reward, *flags, infos


class Whole(Count):
    observation_space = gymnasium.spaces.Box(0, 99, (1,), np.int64)

    def obs(self):
        return np.array([self.count])


@pytest.mark.parametrize(
    ("flags", "observations", "said"),
    [
        (np.float32, np.int64, "step gives terminated of type float32, expected bool"),
        (np.bool_, np.float64, "step gives observations of float64, expected int64"),
    ],
)
def test_types_that_a_vector_environment_should_not_return_are_refused(flags, observations, said):
    made = []

    def make(num_envs):
        made.append(Vector([Whole] * num_envs, autoreset_mode=AutoresetMode.NEXT_STEP))
        return made[-1]

    envs = vector_envs(make, 2)
    steps(envs, 2)
    made[-1].flags, made[-1].observations = flags, observations
    with pytest.raises(EnvError, match=f"^env = 'gymnasium:Toy-v0': {said}$"):
        steps(envs, 1)


def test_an_unknown_autoreset_mode_is_refused():
    def make(num_envs):
        vector = SyncVectorEnv([Count] * num_envs)
        vector.metadata["autoreset_mode"] = "Sometimes"
        return vector

    with pytest.raises(ConfigError, match="autoreset_mode = 'Sometimes' is not known"):
        vector_envs(make, 1)


# Gymnasium's own vector environment of CartPole resets in the next step.
WITH_DEAD_STEPS = (
    "env=gymnasium:CartPole-v1", "gymnasium.vectorization=own", "normalization.obs=true",
    "normalization.reward=true", "rollout_steps=64", "ppo.normalize_advantages=rollout",
)  # fmt: skip


@pytest.mark.slow
def test_dead_steps_change_nothing_that_is_learned(make_experiment):
    experiment, again = make_experiment(*WITH_DEAD_STEPS), make_experiment(*WITH_DEAD_STEPS)
    again.load_state_dict(experiment.state_dict(), 0)
    rollout = collected(experiment)
    dead = ~rollout.valid
    assert dead.sum() > 10
    assert torch.equal(dead[1:], rollout.dones[:-1])

    poisoned = again.collector.rollout
    for name in ("obs", "actions", "rewards", "terminated", "truncated", "final_obs",
                 "log_probs", "values", "next_values"):  # fmt: skip
        getattr(poisoned, name).copy_(getattr(rollout, name))
    poisoned.valid = rollout.valid.clone()
    rollout.has_values = poisoned.has_values = True
    poisoned.rewards[dead] = 1e6
    poisoned.values[dead] = -1e6
    poisoned.log_probs[dead] = 50.0
    poisoned.obs[:-1][dead] = 1e6

    learn(experiment)
    learn(again)
    assert torch.equal(experiment.policy.flat_parameters, again.policy.flat_parameters)
    for name, moment in experiment.policy.normalizer.state_dict().items():
        assert torch.equal(moment, again.policy.normalizer.state_dict()[name])
    assert experiment.env_steps == 8 * 64 - int(dead.sum())


def test_a_factory_is_no_id_of_a_vector_environment():
    with pytest.raises(ConfigError, match=r"own takes ids, and sync also module:function"):
        describe("hosted_envs:Count")


@pytest.mark.parametrize(
    ("space", "greedy", "expected"),
    [
        (gymnasium.spaces.MultiDiscrete([3, 2], start=[1, -1]), [2, 0], [3, -1]),
        (gymnasium.spaces.Discrete(3, start=-1), 2, 1),
    ],
)
def test_choices_are_counted_from_where_the_space_begins(space, greedy, expected):
    distribution = make_distribution(action_spec(gymnasium, "Odd-v0", space))
    assert distribution.env_actions(torch.tensor(greedy)).tolist() == expected


@pytest.mark.parametrize(
    "space",
    [
        gymnasium.spaces.Box(0, 5, (2,), np.int64),
        gymnasium.spaces.Box(-np.inf, np.inf, (2,)),
        gymnasium.spaces.Box(0, 1, (2, 2)),
        gymnasium.spaces.MultiBinary((2, 3)),
        gymnasium.spaces.OneOf([gymnasium.spaces.Discrete(3)]),
        gymnasium.spaces.MultiDiscrete(np.zeros(0, np.int64)),
    ],
)
def test_actions_that_no_policy_gives_are_refused_in_one_line(space):
    with pytest.raises(ConfigError, match="bounded row of Box of floating-point numbers"):
        action_spec(gymnasium, "Odd-v0", space)


@pytest.fixture
def no_atari(monkeypatch):
    """Gymnasium as it is before anybody imported ale_py."""
    registry = {name: spec for name, spec in gymnasium.registry.items() if "ALE/" not in name}
    monkeypatch.setattr(gymnasium, "registry", registry)
    monkeypatch.setattr(gymnasium.envs.registration, "registry", registry)


def test_a_game_of_atari_is_known_without_an_import_of_ones_own(no_atari, monkeypatch, tmp_path):
    (tmp_path / "ale_py.py").write_text(
        "import gymnasium\ngymnasium.register('ALE/Count-v5', entry_point='hosted_envs:Count')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    if "ale_py" not in sys.modules:  # so that the one of this test is taken out again
        monkeypatch.setitem(sys.modules, "ale_py", None)
    monkeypatch.delitem(sys.modules, "ale_py")
    spec = load_spec("gymnasium:ALE/Count-v5")
    assert spec.obs_size == 3


def test_a_game_of_atari_without_its_package_is_answered_with_the_command(no_atari, monkeypatch):
    monkeypatch.setitem(sys.modules, "ale_py", None)
    with pytest.raises(ConfigError, match=re.escape(install_command("atari"))):
        load_spec("gymnasium:ALE/Breakout-v5")
