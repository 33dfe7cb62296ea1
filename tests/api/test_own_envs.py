"""Errors in a custom environment are reported in one line that names the method."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from own_lines import SMALL

import operant
from operant.trainer.envs.own_envs import check_own, own_env, register_own


def returning(line, *, reset=None, **step):
    """`line` whose `reset` gives that, or whose `step` gives that at a place of its five."""
    places = ("obs", "reward", "terminated", "truncated", "info")

    class Wrong(line):
        def reset(self, **given):
            right = super().reset(**given)
            return right if reset is None else reset

        def step(self, action):
            right = dict(zip(places, super().step(action), strict=True))
            return tuple({**right, **step}.values())

    return Wrong


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"reset": np.zeros(1)}, "reset gives a ndarray, expected a tuple (obs, info)"),
        ({"reward": None}, "step gives the reward None, expected a finite number"),
    ],
)
def test_a_wrong_answer_is_named_with_its_method(line, given, said):
    with pytest.raises(operant.UsageError) as failed:
        operant.train(returning(line, **given), total_env_steps=64)
    assert str(failed.value) == f"env Wrong: {said}"
    assert operant.runs() == []


def test_what_a_method_raises_and_what_is_missing_is_said(line):
    class Fails(line):
        def reset(self, **given):
            raise KeyError("no map")

    with pytest.raises(operant.UsageError, match="env Fails: reset fails: KeyError: 'no map'"):
        check_own(Fails)

    class Bare(gymnasium.Env):
        pass

    with pytest.raises(operant.UsageError, match="env Bare: observation_space = None, expected a"):
        check_own(Bare)
    with pytest.raises(operant.UsageError, match="calling it gives a int, expected a"):
        check_own(lambda: 3)
    check_own(line)


def test_each_environment_keeps_its_name():
    first, second = (lambda: 1), (lambda: 2)
    names = [register_own(make) for make in (first, second, first)]
    assert len(set(names)) == 2
    assert names[0] == names[2]
    assert [own_env(name.partition(":")[2])() for name in names] == [1, 2, 1]


def test_a_close_that_fails_hides_no_fault_and_fails_no_complete_run(line, capfd):
    class Broken(line):
        def close(self):
            raise ValueError("of close")

    with pytest.raises(operant.UsageError, match="close fails: ValueError: of close"):
        operant.train(Broken, total_env_steps=128, **SMALL)

    class Both(Broken):
        def reset(self, *, seed=None, options=None):
            return 3

    with pytest.raises(operant.UsageError, match="reset gives"):
        operant.train(Both, total_env_steps=128, **SMALL)

    class BreaksLater(line):
        num_steps = 0

        def step(self, action):
            BreaksLater.num_steps += 1
            return super().step(action)

        def close(self):
            if BreaksLater.num_steps > 60:
                raise ValueError("of close")

    run = operant.train(BreaksLater, total_env_steps=128, **SMALL)
    assert run.status().state == "finished"
    assert "close fails: ValueError: of close" in capfd.readouterr().err


def test_more_choices_than_a_policy_can_have_outputs_are_refused(line):
    class Many(line):
        action_space = gymnasium.spaces.Discrete(10**12)

    with pytest.raises(operant.UsageError, match="an output for each choice, at most 1,048,576"):
        operant.train(Many, total_env_steps=64, **SMALL)
