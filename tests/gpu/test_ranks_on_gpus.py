"""Ranks on a GPU each, where a machine has two."""

from __future__ import annotations

import pytest
import torch
from rank_processes import said, started, training, wait_for_all

from operant.shared.runs.find_runs import find_run
from operant.trainer.experiment.checkpoints import latest_checkpoint

pytestmark = pytest.mark.skipif(
    torch.cuda.device_count() < 2, reason="ranks need a GPU each, and there are not two"
)


ONE_ITERATION = ("num_envs=64", "rollout_steps=32", "total_env_steps=2048")


def test_two_gpus_learn_what_one_learns(tmp_path):
    settings = [part for override in ONE_ITERATION for part in ("--set", override)]
    found = []
    for size in (1, 2):
        name = f"ranks-{size}"
        command = training("cart_pole_ppo", "--device", "cuda", "--name", name, *settings)
        with started([command] * size, tmp_path) as processes:
            assert wait_for_all(processes) == [0] * size, said(tmp_path, size - 1)
        run = find_run(name)
        found.append(latest_checkpoint(run.checkpoint_folder).state["policy"])
    alone, together = found
    for name, parameters in alone.items():
        torch.testing.assert_close(together[name], parameters, rtol=0, atol=1e-5)
