"""Losses that are added to PPO's own: each is a module here, made by `make_auxiliary_losses`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from ...distributed.process_group import LOCAL
from ...policies.actor_critic import ActorCritic
from ...policies.recurrent_actor_critic import RecurrentActorCritic
from ..algorithm import LearnerSettings, Options
from .auxiliary_loss import AuxiliaryLoss
from .contrastive import Contrastive
from .kickstart import Kickstart, Teacher

__all__ = ["AuxiliaryLoss", "Teacher", "embedding_size", "make_auxiliary_losses"]


def make_auxiliary_losses(
    settings: LearnerSettings,
    policy: ActorCritic | RecurrentActorCritic,
    teachers: Sequence[Teacher] = (),
    **options: Unpack[Options],
) -> list[AuxiliaryLoss]:
    """The auxiliary losses that a configuration enables, in the order of their metrics. `options`
    are those of the algorithm.
    """
    losses: list[AuxiliaryLoss] = []
    is_inline = options.get("is_inline", True)
    if teachers:
        section, ranks = settings.table("kickstart"), options.get("ranks", LOCAL)
        kickstart = Kickstart(
            section,
            teachers,
            policy,
            settings.num_rows,
            ranks,
            # A captured or compiled update must do the same work every time.
            asks_always=settings.compile or not is_inline,
        )
        losses.append(kickstart)
    if embedding_size(settings) and isinstance(policy, RecurrentActorCritic):
        row_steps = settings.part_steps
        num_rows = settings.rollout_size // row_steps // settings.section.num_minibatches
        contrastive = Contrastive(
            settings.table("contrastive"),
            policy.embed,
            (row_steps, num_rows),
            options["seed"],
            policy.flat_parameters.device,
            is_inline,
        )
        losses.append(contrastive)
    return losses


def embedding_size(settings: LearnerSettings) -> int:
    """The size of the contrastive loss's embeddings; 0 without that loss."""
    section = settings.table("contrastive")
    return section.embedding_size if section.coef else 0
