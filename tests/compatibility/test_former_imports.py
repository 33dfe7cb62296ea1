"""What the documents of 0.2.0 import is still there."""

from __future__ import annotations

from operant.shared.runs import find_runs
from operant.trainer import spaces
from operant.trainer.experiment import trained_policy


def test_names_of_0_2_0_are_those_of_today():
    from operant.shared.find_runs import find_run, latest_run
    from operant.trainer.envs.spec import Box, Discrete
    from operant.trainer.trained_policy import load_trained

    assert (find_run, latest_run) == (find_runs.find_run, find_runs.latest_run)
    assert (Box, Discrete) == (spaces.Box, spaces.Discrete)
    assert load_trained is trained_policy.load_trained
