"""Runs with a checkpoint, without the training."""

from __future__ import annotations

from typing import Any

import operant
from operant.shared.runs.run_folder import Run, create_run
from operant.shared.runs.session import RunSession
from operant.trainer.config.files import load_config
from operant.trainer.config.from_values import make_config
from operant.trainer.config.train_config import TrainConfig
from operant.trainer.envs.own_envs import register_own
from operant.trainer.experiment.checkpoints import Checkpoint, save_checkpoint
from operant.trainer.experiment.untrained import make_policy


def trained_run(preset: str, *overrides: str) -> Run:
    """A finished run whose policy learned nothing."""
    return finished_run(load_config(preset, overrides), preset)


def finished_run(config: TrainConfig, name: str) -> Run:
    run, lock = create_run(name, {})
    RunSession(run, lock, publish_interval_s=1, recorder=None).close("finished", 0)
    state = {"policy": make_policy(config).state_dict()}
    checkpoint = Checkpoint(1, 1, 0, config.model_dump(mode="json"), state)
    save_checkpoint(run.checkpoint_folder, checkpoint, keep=1)
    return run


def untrained(env: Any, algorithm: str = "ppo", **tables: Any) -> operant.Policy:
    """A policy as `operant.load` gives it, for the class of a test or a name of an environment."""
    values = {"env": env if isinstance(env, str) else register_own(env), "algorithm": algorithm}
    run = finished_run(make_config({**values, **tables}), "untrained")
    return operant.load(run.folder)
