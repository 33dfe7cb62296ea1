"""The env steps that operant's sides of a benchmark count."""

from __future__ import annotations

import torch
from toy_envs import WALK, Described

from operant.commands.bench import sides
from operant.trainer.config.files import load_config
from operant.trainer.envs import hosts


def test_every_agent_of_an_environment_acts_and_is_counted(monkeypatch):
    monkeypatch.setattr(hosts, "HOSTS", (Described(WALK), *hosts.HOSTS))
    side, _ = sides.own_sides(load_config(None, ["num_envs=8"]), torch.device("cpu"))
    side.prepare()
    sample = side.measure(0.01)
    # 64 steps of 8 environments with two agents each, again and again
    assert sample.env_steps > 0
    assert sample.env_steps % (sides.ACTION_ROWS * 8 * WALK.num_agents) == 0
