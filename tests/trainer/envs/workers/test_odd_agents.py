"""PettingZoo environments that break their interface: a one-line error, or a defined meaning."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import parallel_envs
import pytest

from operant.shared.errors import ConfigError
from operant.trainer.envs.checking import EnvError
from operant.trainer.envs.hosts import load_spec, make_envs
from operant.trainer.envs.vector import Transitions
from operant.trainer.envs.workers.dividing import SERIAL, WorkerPlan
from operant.trainer.jit.streams import TRAINING

NAME = "pettingzoo:parallel_envs:make_odd"
SAID = f"env = '{NAME}': "


def changed(given, place, change):
    """A method's result with one of its dictionaries changed."""
    return tuple(change(each) if i == place else each for i, each in enumerate(given))


def without(agent):
    return lambda by_agent: {name: x for name, x in by_agent.items() if name != agent}


# What is changed of a step, and the words of the error.
STEPS = {
    "no observation": (
        lambda given: changed(given, 0, without("b")),
        "step of agent 'b' gives no observation, and it is one of agents",
    ),
    "no reward": (
        lambda given: changed(given, 1, without("b")),
        "step of agent 'b' gives no reward, and it is one of agents",
    ),
    "four": (lambda given: given[:4], "step gives a tuple of 4, expected a tuple (observations, "),
    "nothing": (lambda given: None, "step gives a NoneType, expected a tuple (observations, "),
    "no infos": (
        lambda given: (*given[:4], None), "step gives infos = None, expected a dict by agent"
    ),
    "rewards in a list": (
        lambda given: changed(given, 1, lambda _: [1.0]), "step gives rewards = [1.0], expected a"
    ),
}  # fmt: skip
RESETS = {
    "no observation": (
        lambda given: changed(given, 0, without("c")), "reset of agent 'c' gives no observation"
    ),
    "no infos": (lambda given: given[0], "reset gives a dict, expected a tuple (observations, inf"),
    "infos of None": (lambda given: (given[0], None), "reset gives infos = None, expected a dict"),
}  # fmt: skip


@pytest.fixture
def odd(monkeypatch):
    """The environments of NAME are these."""

    def of(make):
        monkeypatch.setattr(parallel_envs, "make_odd", make, raising=False)

    return of


def odd_class(of_step=lambda given: given, of_reset=lambda given: given):
    class Odd(parallel_envs.Relay):
        def reset(self, seed=None, options=None):
            return of_reset(super().reset(seed, options))

        def step(self, actions):
            return of_step(super().step(actions))

    return Odd


def played(num_steps=1, plan=SERIAL, name=NAME):
    """The transitions of some steps, and the notices."""
    with closing(make_envs(load_spec(name, plan), 1, 1, TRAINING)) as envs:
        out, seen = Transitions.of(envs.spec, envs.num_rows), []
        envs.reset(out.obs)
        for _ in range(num_steps):
            envs.step(np.full(envs.num_rows, 5), out)
            seen.append(Transitions(*(x.copy() for x in out)))
        return seen, [*envs.take_notices(), *envs.take_notices()]


@pytest.mark.parametrize("kind", STEPS)
def test_a_wrong_step_is_named_with_its_agent(kind, odd):
    change, words = STEPS[kind]
    odd(odd_class(change))
    with pytest.raises(EnvError) as raised:
        played()
    assert str(raised.value).startswith(SAID + words)


@pytest.mark.parametrize("kind", RESETS)
def test_a_wrong_reset_is_named_with_its_agent(kind, odd):
    change, words = RESETS[kind]
    odd(odd_class(of_reset=change))
    with pytest.raises(EnvError) as raised:
        played()
    assert str(raised.value).startswith(SAID + words)


def test_a_reset_without_a_seed_is_refused(odd):
    class Unseeded(parallel_envs.Relay):
        def reset(self):
            return super().reset()

    odd(Unseeded)
    with pytest.raises(ConfigError) as raised:
        load_spec(NAME)
    assert str(raised.value) == (
        f"{SAID}reset takes no seed, expected reset(self, seed=None, options=None)"
    )


@pytest.mark.parametrize("plan", [SERIAL, pytest.param(WorkerPlan(1), marks=pytest.mark.slow)])
def test_an_agent_that_is_truncated_without_an_observation_has_terminated(plan):
    seen, notices = played(2, plan, "pettingzoo:parallel_envs:make_unseen")
    for out in seen:
        assert out.terminated.all()
        assert not out.truncated.any()
    (notice,) = notices
    assert "step truncates agents without an observation: they count as" in notice


def test_an_episode_ends_with_its_last_agent_even_if_all_stay_in_agents(odd):
    class Stay(parallel_envs.Relay):
        """All are over after two steps, and nobody leaves."""

        def step(self, actions):
            obs, rewards, _, _, infos = super().step(actions)
            self.agents = list(self.possible_agents)
            is_over = self.steps == 2
            return obs, rewards, dict.fromkeys(obs, is_over), dict.fromkeys(obs, False), infos

    odd(Stay)
    seen, _ = played(4)
    assert [out.terminated.all() for out in seen] == [False, True, False, True]
    assert [out.obs[0, 1] for out in seen] == [1, 0, 1, 0]  # the step that it shows
    assert all(out.valid.all() for out in seen)


def test_an_agent_that_is_over_and_stays_while_others_go_on_is_named(odd):
    class Stay(parallel_envs.Relay):
        def step(self, actions):
            given = super().step(actions)
            self.agents = list(self.possible_agents)
            return given

    odd(Stay)
    with pytest.raises(EnvError) as raised:
        played(2)
    assert str(raised.value).startswith(
        f"{SAID}step of agent 'a' ends its episode, and it stays one of agents: take it out of"
    )


def test_an_agent_that_nobody_expects_is_named(odd):
    class Strange(parallel_envs.Relay):
        def reset(self, seed=None, options=None):
            obs, infos = super().reset(seed, options)
            self.agents.append("d")
            return obs, infos

    odd(Strange)
    with pytest.raises(EnvError, match="reset of agent 'd' gives it as an agent, and possible_age"):
        played()


def test_masks_that_only_steps_give_are_said(odd):
    mask = {"action_mask": np.ones(2, np.int8)}
    odd(odd_class(lambda given: (*given[:4], dict.fromkeys(given[0], mask))))
    _, (notice,) = played(2)
    assert "does not use: illegal actions will be tried; it has info['action_mask'], and" in notice
