"""Policies that learned nothing: they play as well as any."""

from __future__ import annotations

import pytest

from operant.trainer.config.files import load_config
from operant.trainer.experiment.trained_policy import TrainedPolicy
from operant.trainer.experiment.untrained import make_policy
from operant.trainer.playing import make_episodes


@pytest.fixture
def untrained():
    def make(preset: str, *overrides: str) -> TrainedPolicy:
        config = load_config(preset, overrides)
        return TrainedPolicy(make_policy(config), config, 0)

    return make


@pytest.fixture
def episodes_of(untrained):
    made = []

    def make(preset: str, *overrides: str):
        made.append(make_episodes(untrained(preset, *overrides)))
        return made[-1]

    yield make
    for episodes in made:
        episodes.close()
