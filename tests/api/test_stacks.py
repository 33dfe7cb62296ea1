"""Environments that stack frames: replays keep each frame once."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.wrappers import FrameStackObservation, TimeLimit, TransformObservation
from image_envs import Grey, Sides
from own_lines import SMALL

import operant
from operant.trainer.algorithms import off_policy
from operant.trainer.config.from_values import make_config
from operant.trainer.envs.workers import gymnasium_batch
from operant.trainer.envs.workers.gymnasium_batch import stack_of
from operant.trainer.experiment.build import make_experiment
from operant.trainer.experiment.checkpoints import latest_checkpoint


def stacked():
    return FrameStackObservation(Grey(), 4)


class Vector(Sides):
    """Real-valued actions and observations."""

    observation_space = gymnasium.spaces.Box(-1, 1, (3,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def picture(self):
        self.side = self.draw(2)
        return self.np_random.uniform(-1, 1, 3).astype(np.float32)

    def reward(self, action):
        return float(action[0])


def stacked_vectors():
    return FrameStackObservation(Vector(), 3)


@pytest.mark.parametrize(
    ("algorithm", "make"), [("dqn", stacked), ("rainbow", stacked), ("sac", stacked_vectors)]
)
def test_a_run_learns_the_same_as_from_whole_stacks(algorithm, make, monkeypatch):
    table = {"batch_size": 16, "warmup_env_steps": 64, "updates_per_env_step": 0.25}
    own = {f"{algorithm}.{key}": value for key, value in table.items()}

    def learned():
        run = operant.train(
            make, algorithm=algorithm, total_env_steps=512, **SMALL, **own,
            **{"replay.capacity": 200},
        )  # fmt: skip
        state = latest_checkpoint(run.folder / "checkpoints").state["learner"]["replay"]
        return state["obs"].shape[1], operant.load(run)._trained.policy.flat_parameters

    once, weights = learned()
    monkeypatch.setattr(gymnasium_batch, "stack_of", lambda env: 1)
    whole, expected = learned()
    assert whole == once * (3 if algorithm == "sac" else 4)
    assert torch.equal(weights, expected)


def test_stacks_are_known_where_nothing_changes_them():
    assert stack_of(stacked()) == stack_of(TimeLimit(stacked(), 5)) == 4
    assert stack_of(Grey()) == 1
    assert stack_of(FrameStackObservation(Grey(), 4, padding_type="zero")) == 1
    space = stacked().observation_space
    assert stack_of(TransformObservation(stacked(), lambda x: 255 - x, space)) == 1


def test_the_size_of_a_large_replay_is_said(monkeypatch):
    monkeypatch.setattr(off_policy, "SAID_FROM_BYTES", 2**22)

    def notices(capacity):
        config = make_config({
            "env": "cart_pole", "algorithm": "dqn", "replay": {"capacity": capacity},
        })  # fmt: skip
        return [x for x in make_experiment(config).take_notices() if "replay will" in x]

    # 16 bytes of an observation and a sixteenth more, 8 of an action, 4 of a reward and an ending
    assert notices(400_000) == ["the replay will take 0.0 GiB of memory for 400,000 transitions"]
    assert notices(10_000) == []
