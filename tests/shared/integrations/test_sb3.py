"""A real Stable-Baselines3 training, as every command sees it."""

from __future__ import annotations

import pytest

import operant

pytest.importorskip("stable_baselines3")

from stable_baselines3 import DQN, PPO


def make_ppo(**options):
    return PPO("MlpPolicy", "CartPole-v1", n_steps=64, n_epochs=1, seed=1, device="cpu", **options)


def test_a_training_is_a_run_with_env_steps_return_and_progress(seen):
    callback = operant.integrations.SB3Callback("my-ppo")
    make_ppo().learn(256, callback=callback)
    status = seen.status
    assert (status.state, status.env_steps, status.progress_fraction) == ("running", 256, 1.0)
    assert status.metrics["episode/return"] > 0
    assert status.metrics["train/value_loss"] > 0
    assert not any(name.startswith(("time/", "rollout/")) for name in status.metrics)
    # One row for each of the four rollouts, and one for what the last update gave.
    assert list(seen.history.env_steps) == [64, 128, 192, 256, 256]
    config = seen.run.manifest()["config"]
    assert (config["algorithm"], config["n_steps"]) == ("PPO", 64)
    callback.run.finish()
    assert seen.status.state == "finished"


def test_one_callback_is_one_run_over_several_calls_of_learn(seen):
    callback = operant.integrations.SB3Callback()
    model = make_ppo()
    for _ in range(2):
        model.learn(64, callback=callback, reset_num_timesteps=False)
    assert seen.status.env_steps == 128
    assert seen.status.progress_fraction == 1.0
    assert list(seen.history.env_steps) == [64, 64, 128, 128]
    callback.run.finish()


def test_it_publishes_into_the_run_that_init_began(seen):
    run = operant.init(name="mine", config={"note": "own"})
    make_ppo().learn(64, callback=operant.integrations.SB3Callback())
    assert seen.status.env_steps == 64
    assert run.config.note == "own"
    assert run.config.gamma == 0.99


def test_an_off_policy_algorithm_publishes_when_it_logs(seen):
    callback = operant.integrations.SB3Callback()
    DQN("MlpPolicy", "CartPole-v1", learning_starts=50, seed=1, device="cpu").learn(
        200, callback=callback, log_interval=1
    )
    assert seen.status.metrics["episode/return"] > 0
    assert seen.status.env_steps == 200
    callback.run.finish()
