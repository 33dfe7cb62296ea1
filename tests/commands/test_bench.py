"""`operant bench` at sizes that measure nothing."""

from __future__ import annotations

import pytest
from command_line import error_line, operant_json

TINY = (
    "--set", "num_envs=8", "--repeats", "2", "--seconds", "0.01", "--device", "cpu",
    "--set", "rollout_steps=8", "--set", "num_threads=1",
)  # fmt: skip


def test_json_says_what_was_measured_on_what_and_how_fast():
    answer = operant_json("bench", *TINY)
    assert (answer["env"], answer["device"]) == ("cart_pole", "cpu")
    assert (answer["num_envs"], answer["repeats"]) == (8, 2)
    assert {"date", "processor", "cores", "gpu", "torch", "numba"} <= set(answer["machine"])
    phases = {}
    for result in answer["results"]:
        speed = result["env_steps_per_s"]
        assert 0 < speed["min"] <= speed["median"] <= speed["max"]
        assert result["env_steps"] > 0
        assert result["startup_s"] > 0
        phases[result["name"]] = set(result["phase_fractions"])
    assert phases == {"env steps": set(), "training": {"collect", "learn"}}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "num_envs=0"], "num_envs"),
        (["-o", "fast.toml"], "-o fast.toml is for --tune"),
        (["--tune", "--repeats", "3"], "it excludes --repeats"),
        (["no_preset"], "no preset or environment is called 'no_preset'"),
    ],
)
def test_wrong_input_is_one_line(arguments, words):
    assert words in error_line("bench", *arguments)
