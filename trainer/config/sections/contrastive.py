"""The settings of the contrastive loss."""

from __future__ import annotations

from pydantic import Field

from ....shared import Metric
from ...settings.facts import Facts
from ...settings.section import Section


class ContrastiveConfig(Section):
    """InfoNCE on what policies remember, van den Oord et al. 2018, arXiv:1807.03748."""

    coef: float = Field(
        0.0, ge=0, le=1000, description="weight of this loss; 0: off; 0.1 is a good first value"
    )
    temperature: float = Field(
        0.1, gt=0, le=100, description="temperature: divides the cosine similarities"
    )
    discount: float = Field(
        0.95,
        ge=0,
        lt=1,
        description="how far ahead positives lie: each later step is chosen with this "
        "probability relative to the step before it; 0: always the next step",
    )
    embedding_size: int = Field(
        64, ge=1, le=4096, description="size of the embeddings that are compared"
    )

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Metrics of runs with this loss."""
        if not self.coef:
            return ()
        return (
            Metric("loss/contrastive", "nats", better="down",
                   description="InfoNCE; guessing has the logarithm of the rows of a minibatch"),
        )  # fmt: skip

    def check(self, facts: Facts, num_minibatches: int) -> None:
        """Raises ValueError where this and the rest of the run do not fit together."""
        if not self.coef:
            return
        setting = f"contrastive.coef = {self.coef}"
        memory = facts.policy.memory
        if not memory.is_on:
            raise ValueError(
                f"{setting}: it compares what policies remember, and policy.memory.kind = none; "
                "use lstm or gru"
            )
        row_steps = memory.horizon or facts.rollout_steps
        if row_steps < 2:
            key = "policy.memory.horizon" if memory.horizon else "rollout_steps"
            raise ValueError(
                f"{setting}: rows of one step, {key} = 1, have no later step; use more"
            )
        num_rows = facts.num_rows * (facts.rollout_steps // row_steps)
        if num_rows < 2 * num_minibatches:
            raise ValueError(
                f"{setting}: negatives are other rows, and each of ppo.num_minibatches = "
                f"{num_minibatches} has one of the {num_rows}; use at most {num_rows // 2}"
                if num_rows > 1
                else f"{setting}: negatives are other rows, and there is one; raise num_envs"
            )
