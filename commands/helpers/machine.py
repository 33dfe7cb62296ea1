"""Checks that this machine can train a configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...trainer.envs.hosts import describe
from ...trainer.experiment.plan import plan, this_machine
from ...trainer.experiment.traits import ANY_MACHINE
from ...trainer.settings.own_code import is_own

if TYPE_CHECKING:
    from ...trainer.config.train_config import TrainConfig


def check_machine(config: TrainConfig) -> None:
    """Raises UsageErrors if no machine could run the configuration, if this machine lacks the
    device or the files that it needs, or if a network of the user's is not one.
    """
    spec = describe(config)
    plan(config, spec, ANY_MACHINE)
    if config.device == "cuda" or config.rollout == "fused":  # else do not import PyTorch
        plan(config, spec, this_machine())
    if is_own(config.policy.encoder):
        from ...trainer.experiment.untrained import make_policy

        make_policy(config, spec)
    if spec.stepped_by == "routes":
        from ...trainer.envs.tinyphysics.model_file import check_files

        settings = config.table("tinyphysics")
        check_files(settings.model, settings.routes)
