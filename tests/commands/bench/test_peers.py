"""Others are measured as they are at their best, not as we would have them."""

from __future__ import annotations

import pytest

from operant.commands.bench.peers import peer_sides
from operant.trainer.config.files import load_config
from operant.trainer.machine.threads import available_cores


def test_stable_baselines3_has_all_environments_and_a_number_of_threads_that_was_tried():
    pytest.importorskip("stable_baselines3")
    sizes = ["num_envs=16", "rollout_steps=4", "ppo.num_minibatches=2", "ppo.num_epochs=1"]
    (side,) = peer_sides(["stable-baselines3"], "train", load_config("cart_pole_ppo", sizes))
    side.prepare()
    assert side._model.n_envs == 16
    assert side._num_threads in (1, available_cores())
    assert side.measure(0).env_steps == 64  # 16 x 4
