"""What is wrong with an environment of one's own is said in one line, with its method."""

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
            right |= step
            return tuple(value for value in right.values() if value is not ...)

    return Wrong


ZERO = np.zeros(1, np.float32)
OBS = "an observation of shape"
WRONG = [
    ({"reset": ZERO}, "reset gives a ndarray, expected a tuple (obs, info)"),
    ({"reset": (np.zeros(3), {})}, f"reset gives {OBS} (3,), and observation_space has (1,)"),
    ({"obs": np.zeros((1, 1))}, f"step gives {OBS} (1, 1), and observation_space has (1,)"),
    ({"obs": np.array([np.nan])}, "step gives an observation with NaN or infinity: [nan]"),
    ({"info": ...}, "step gives a tuple of 4, expected a tuple (obs, reward, terminated, "
     "truncated, info)"),
    ({"reward": None}, "step gives the reward None, expected a finite number"),
    ({"reward": float("nan")}, "step gives the reward nan, expected a finite number"),
    ({"terminated": 0.5}, "step gives terminated = 0.5, expected True or False"),
    ({"truncated": {}}, "step gives truncated = {}, expected True or False"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "said"), WRONG)
def test_a_wrong_answer_is_named_with_its_method(line, given, said):
    with pytest.raises(operant.UsageError) as failed:
        operant.train(returning(line, **given), total_env_steps=64)
    assert str(failed.value) == f"env Wrong: {said}"
    assert operant.runs() == []


def test_floats_in_a_space_of_integers_are_refused(line):
    class Wrong(line):
        observation_space = gymnasium.spaces.Box(0, 255, (1,), np.uint8)

    with pytest.raises(operant.UsageError, match="observation of float32, and observation_space"):
        check_own(Wrong)


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


class Wrong(gymnasium.Env):
    """An environment whose third step is wrong."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, obs_type=np.float32, reward=1.0, error=None):
        self._obs_type, self._reward, self._error = obs_type, reward, error

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._steps = 0
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self._steps += 1
        is_wrong = self._steps == 3
        if is_wrong and self._error:
            raise self._error
        obs = np.zeros(2, self._obs_type if is_wrong else np.float32)
        return obs, self._reward if is_wrong else 1.0, False, self._steps > 8, {}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"obs_type": np.complex64}, "step gives an observation of type complex64"),
        ({"reward": np.complex64(1 + 2j)}, "step gives the reward .*, expected a finite number"),
        ({"error": StopIteration()}, "step raises StopIteration"),
    ],
)
def test_a_wrong_step_in_training_is_named(wrong, said):
    with pytest.raises(operant.OperantError, match=said):
        operant.train(lambda: Wrong(**wrong), total_env_steps=64, **SMALL)


def test_more_choices_than_a_policy_can_have_outputs_are_refused():
    class Many(Wrong):
        action_space = gymnasium.spaces.Discrete(10**12)

    with pytest.raises(operant.UsageError, match="an output for each choice, at most 1,048,576"):
        operant.train(Many, total_env_steps=64, **SMALL)
