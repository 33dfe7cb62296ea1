"""A policy that was trained with preprocessing knows of it, wherever it is used."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from frame_envs import FRAMES_OF_A_LIFE, LIVES
from own_lines import SMALL

import operant
from operant.commands.export import command
from operant.shared.errors import UsageError
from operant.trainer.playing import make_episodes

GAME = "gymnasium:FramesGame-v0"
STEPS = LIVES * FRAMES_OF_A_LIFE // 2  # of a game, two frames each
SETTINGS = {
    "frame_skip": 2, "life_loss": True, "reward_sign": True, "greyscale": True, "resize": 36,
    "frame_stack": 2, "noop_starts": 1,
}  # fmt: skip


@pytest.fixture
def trained():
    return operant.train(GAME, total_env_steps=128, preprocessing=SETTINGS, **SMALL)


def test_reported_returns_and_evaluations_are_of_whole_games(trained):
    metrics = trained.status().metrics
    # 11 frames are left after the no-op: five steps of two and one of one, that pay 3 a frame.
    assert metrics["episode/return"] == 33.0
    assert metrics["episode/length"] == STEPS
    assert operant.evaluate(trained, 3).returns.tolist() == [33.0] * 3


def test_a_resumed_run_keeps_its_preprocessing(trained):
    again = operant.train(resume=trained, total_env_steps=192)
    assert again.status().metrics["episode/return"] == 33.0
    policy = operant.load(again)
    assert policy._trained.config.table("preprocessing").frame_stack == 2


def test_a_loaded_policy_makes_the_environment_that_it_sees(trained):
    policy = operant.load(trained)
    env = policy.make_env()
    obs, _ = env.reset(seed=1)
    assert obs.shape == (2, 36, 36)
    assert obs.dtype == np.uint8
    with pytest.raises(
        UsageError, match=r"takes what make_env\(\) gives, of the shape \(2, 36, 36\)"
    ):
        policy.act(np.zeros((40, 36, 3), np.uint8))
    rewards, is_over = [], False
    while not is_over:
        obs, reward, terminated, truncated, _ = env.step(policy.act(obs))
        rewards.append(reward)
        is_over = terminated or truncated
    assert rewards == [6.0] * (STEPS - 1) + [3.0]  # one whole game
    made = operant.load(operant.train("cart_pole", total_env_steps=64, **SMALL))
    with pytest.raises(UsageError, match="make_env is for environments of Gymnasium's"):
        made.make_env()


def test_other_games_are_played_with_the_same_preprocessing(trained):
    found = operant.evaluate(trained, 2, env="FramesNoLives-v0")
    assert found.returns.tolist() == [33.0, 33.0]


def test_an_onnx_file_says_what_was_done_to_observations(trained, tmp_path):
    path = tmp_path / "policy.onnx"
    done = CliRunner().invoke(command, [trained.id, "-o", str(path)])
    assert done.exit_code == 0, done.output
    found = {entry.key: entry.value for entry in onnx.load(path).metadata_props}
    assert found["env"] == GAME
    assert json.loads(found["observation_shape"]) == [2, 36, 36]
    settings = json.loads(found["preprocessing"])
    assert (settings["frame_skip"], settings["resize"]) == (2, [36, 36])
    assert settings["life_loss"] is False


def test_play_shows_whole_games_in_colour(trained):
    policy = operant.load(trained)
    episodes = make_episodes(policy._trained)
    episodes.begin(1, 0)
    steps = 1
    while not episodes.step():
        steps += 1
    moment = episodes.moment(0)
    episodes.close()
    assert steps == STEPS
    assert moment.returns == (33.0,)
    assert moment.view.pixels.shape == (40, 36, 3)
