"""A tiny experiment on a random model and made-up routes."""

from __future__ import annotations

import pytest
from tinyphysics_files import write_model, write_routes

from operant.trainer.config.files import load_config

SMALL = (
    "num_envs=4", "total_env_steps=3200", "num_threads=1", "policy.hidden_sizes=[8, 8]",
    "tinyphysics.held_out_routes=1", "tinyphysics.rollouts_per_route=2",
    "tinyphysics.engine=onnxruntime", "cloning.num_epochs=2", "evaluation.num_episodes=0",
    "ppo.num_minibatches=2", "ppo.num_epochs=1", "tinyphysics.critic_epochs=1",
)  # fmt: skip


@pytest.fixture
def challenge(tmp_path, monkeypatch):
    folder = tmp_path / "challenge"
    write_model(folder / "tinyphysics.onnx", num_blocks=1)
    write_routes(folder / "data", 3, num_rows=510)
    monkeypatch.setenv("OPERANT_TINYPHYSICS", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def small_config(challenge):
    return lambda *overrides: load_config("tinyphysics_ppo", (*SMALL, *overrides))
