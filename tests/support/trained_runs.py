"""Runs with a checkpoint, without the training."""

from __future__ import annotations

from operant.shared.runs.run_folder import Run, create_run
from operant.shared.runs.session import RunSession
from operant.trainer.config.files import load_config
from operant.trainer.experiment.checkpoints import Checkpoint, save_checkpoint
from operant.trainer.experiment.untrained import make_policy


def trained_run(preset: str, *overrides: str) -> Run:
    """A finished run whose policy learned nothing."""
    config = load_config(preset, overrides)
    run, lock = create_run(preset, {})
    RunSession(run, lock, publish_interval_s=1, recorder=None).close("finished", 0)
    state = {"policy": make_policy(config).state_dict()}
    checkpoint = Checkpoint(1, 1, 0, config.model_dump(mode="json"), state)
    save_checkpoint(run.checkpoint_folder, checkpoint, keep=1)
    return run
