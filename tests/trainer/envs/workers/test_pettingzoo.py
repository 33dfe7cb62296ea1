"""PettingZoo's parallel environments: agents are rows, and those that have left are not valid."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest
from learning import iterate

from operant.shared.errors import ConfigError
from operant.trainer.config.from_values import make_config
from operant.trainer.envs.checking import EnvError
from operant.trainer.envs.hosts import load_spec, make_envs
from operant.trainer.envs.vector import Transitions
from operant.trainer.envs.workers.dividing import SERIAL, WorkerPlan
from operant.trainer.jit.streams import TRAINING

RELAY = "pettingzoo:parallel_envs"
LATE = "pettingzoo:parallel_envs:make_late"
A, B, C = map(float, map(ord, "abc"))


def played(env, num_steps, plan=SERIAL, num_envs=2):
    """The first observations, the transitions of some steps, and the episodes."""
    with closing(make_envs(load_spec(env, plan), num_envs, 1, TRAINING)) as envs:
        out = Transitions.empty(envs.spec.obs_size, envs.num_rows)
        envs.reset(out.obs)
        first, seen = out.obs.copy(), []
        for _ in range(num_steps):
            envs.step(5 + np.arange(envs.num_rows) % 2, out)  # as its space counts
            seen.append(Transitions(*(x.copy() for x in out)))
        return first, seen, envs.take_episode_totals()


def test_agents_are_rows_and_leave_alone():
    first, seen, totals = played(RELAY, 5)
    assert first.tolist() == [[A, 0, -1], [B, 0, -1], [C, 0, -1]] * 2
    flags = [
        [out.valid[:3].tolist(), out.terminated[:3].tolist(), out.truncated[:3].tolist()]
        for out in seen
    ]
    t, f = True, False
    assert flags == [
        [[t, t, t], [f, f, f], [f, f, f]],
        [[t, t, t], [t, f, f], [f, f, f]],  # "a" leaves
        [[f, t, t], [f, t, f], [f, f, f]],
        [[f, f, t], [f, f, f], [f, f, t]],  # "c" by the time limit, and all begin anew
        [[t, t, t], [f, f, f], [f, f, f]],
    ]
    # The second environment's agents did as the first's, with actions of their own, from 5 on.
    assert seen[0].obs.tolist() == [
        [A, 1, 5], [B, 1, 6], [C, 1, 5], [A, 1, 6], [B, 1, 5], [C, 1, 6],
    ]  # fmt: skip
    assert seen[1].final_obs[0].tolist() == [A, 2, 5]
    assert seen[3].final_obs[2].tolist() == [C, 4, 5]
    assert seen[3].obs[:3].tolist() == [[A, 0, -1], [B, 0, -1], [C, 0, -1]]
    assert [out.reward[:3].tolist() for out in seen] == [
        [1, 1, 1], [2, 2, 2], [0, 3, 3], [0, 0, 4], [1, 1, 1],
    ]  # fmt: skip
    # Of two environments, returns 1 + 2, 1 + 2 + 3 and 1 + 2 + 3 + 4; lengths 2, 3 and 4.
    assert totals == (6, 38.0, 18.0)


def test_an_agent_that_comes_late_is_valid_from_then_on_and_one_that_goes_has_ended():
    first, seen, _ = played(LATE, 3, num_envs=1)
    assert first[:2].tolist() == [[A, 0, -1], [B, 0, -1]]
    assert [out.valid.tolist() for out in seen] == [
        [True, True, False], [True, True, True], [False, True, True],
    ]  # fmt: skip
    assert seen[0].obs[2].tolist() == [C, 1, -1]
    assert [out.terminated.tolist() for out in seen] == [
        [False, False, False], [True, False, False], [False, True, True],
    ]  # fmt: skip


@pytest.mark.slow
def test_workers_give_what_stepping_here_gives():
    ours, theirs = played(RELAY, 7, WorkerPlan(2, 2)), played(RELAY, 7)
    for x, y in zip(ours[1], theirs[1], strict=True):
        assert all(map(np.array_equal, x, y))
    assert ours[2] == theirs[2]


def test_environments_of_pettingzoos_own_are_known_by_id_and_by_module():
    for env in ("pettingzoo:classic/rps-v2", "pettingzoo:pettingzoo.classic.rps_v2"):
        spec = load_spec(env)
        assert (spec.num_agents, spec.obs_size, spec.actions.n) == (2, 4, 3)


@pytest.mark.slow
def test_all_agents_learn_one_policy(make_experiment):
    experiment = make_experiment(f"env={RELAY}", "num_envs=2", "workers.num_workers=2")
    assert experiment.config.num_rows == 6
    values = iterate(experiment)
    # 16 steps are four episodes of three agents in each of two environments.
    assert values["episode/count"] == 24
    assert experiment.env_steps == 2 * 4 * (2 + 3 + 4)
    evaluation = experiment.evaluate(2)
    assert sorted(evaluation.lengths.tolist()) == [2, 2, 3, 3, 4, 4]
    experiment.close()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        ("doubtful", "step of agent 'a' gives truncated = 0.5, expected True or False"),
        ("whole", "reset of agent 'a' gives an observation of float64, and observation_space"),
    ],
)
def test_other_types_than_an_agent_should_return_are_refused(make, words):
    env = f"pettingzoo:parallel_envs:make_{make}"
    with pytest.raises(EnvError) as raised:
        played(env, 1)
    assert str(raised.value).startswith(f"env = '{env}': {words}")


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ("pettingzoo:parallel_envs:make_unequal", "b has other spaces than a, and all agents"),
        ("pettingzoo:hosted_envs", "the module has no parallel_env"),
        (
            "pettingzoo:hosted_envs:make_count",
            "have; train gymnasium:hosted_envs:make_count",
        ),
        ("pettingzoo:nowhere.at_all", "No module named 'nowhere'"),
        ("pettingzoo:sisl/chess-v1", "PettingZoo lists no such parallel environment$"),
        ("pettingzoo:sisl/pursit-v5", "environment; did you mean 'pettingzoo:sisl/pursuit-v5'"),
        ("pettingzoo:pistonball_v6", "; did you mean 'pettingzoo:butterfly/pistonball-v6'"),
        ("sisl/pursuit", "; did you mean 'pettingzoo:sisl/pursuit-v5'"),
        ("gymnasium:parallel_envs:Relay", "a gymnasium.Env; train its agents as pettingzoo:para"),
    ],
)
def test_what_cannot_be_trained_on_is_refused_in_one_line(env, words):
    with pytest.raises(ConfigError, match=words) as caught:
        make_config({}, [f"env={env}"])
    assert "\n" not in str(caught.value)


def test_a_pettingzoo_without_ids_says_which_has_them(monkeypatch):
    monkeypatch.delattr("pettingzoo.parallel_registry")
    with pytest.raises(ConfigError, match=r"ids need PettingZoo 1\.27 or newer"):
        make_config({}, ["env=pettingzoo:sisl/multiwalker-v9"])
