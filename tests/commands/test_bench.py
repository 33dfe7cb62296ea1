"""`operant bench` at sizes that measure nothing."""

from __future__ import annotations

import pytest
from command_line import error_line, operant_json

TINY = (
    "--num-envs", "8", "--repeats", "2", "--seconds", "0.01", "--device", "cpu",
    "--set", "rollout_steps=8", "--set", "num_threads=1",
)  # fmt: skip


@pytest.mark.parametrize("bench", ["env", "rollout", "train"])
def test_json_says_what_was_measured_on_what_and_how_fast(bench):
    answer = operant_json("bench", bench, *TINY)
    assert (answer["bench"], answer["env"], answer["device"]) == (bench, "cart_pole", "cpu")
    assert (answer["num_envs"], answer["repeats"]) == (8, 2)
    assert {"date", "processor", "cores", "gpu", "torch", "numba"} <= set(answer["machine"])
    (result,) = answer["results"]
    speed = result["env_steps_per_s"]
    assert 0 < speed["min"] <= speed["median"] <= speed["max"]
    assert result["env_steps"] > 0
    assert result["startup_s"] > 0
    assert set(result["phase_fractions"]) == ({"collect", "learn"} if bench == "train" else set())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["env", "--set", "env=gymnasium:CartPole-v1"], "bench rollout"),
        (["env", "--num-envs", "0"], "0 is not in the range"),
        (["speed"], "No such command 'speed'"),
    ],
)
def test_wrong_input_is_one_line(arguments, words):
    assert words in error_line("bench", *arguments)
