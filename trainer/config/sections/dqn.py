"""The settings of value-based algorithms."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ...settings.facts import Facts
from ...settings.section import Fraction, Section
from .off_policy import OffPolicyConfig, PrioritizedReplayConfig

NOISY_STD = (
    "NoisyNet: initial noise in all layers, times the square root of a layer's inputs; 0: no noise"
)


class ValueBasedConfig(OffPolicyConfig):
    """Algorithms that take the action of the highest value."""

    action_kinds: ClassVar[tuple[str, ...]] = ("Discrete",)

    target_every: int = Field(1, ge=1, description="interval between target updates, in updates")
    double: bool = Field(True, description="the online network chooses the target's next action")
    dueling: bool = Field(False, description="dueling network: Q is a state value plus advantages")
    noisy_std: float = Field(0.0, ge=0, le=10, description=NOISY_STD)
    layer_norm: bool = Field(False, description="apply layer norm before each activation")


class DQNConfig(ValueBasedConfig):
    """Deep Q-network, Mnih et al. 2015; double, van Hasselt et al. 2016, arXiv:1509.06461;
    dueling, Wang et al. 2016, arXiv:1511.06581.
    """

    loss: Literal["huber", "squared"] = Field("huber", description="loss of the TD error")


class C51Config(ValueBasedConfig):
    """Categorical distributions of returns, Bellemare et al. 2017, arXiv:1707.06887."""

    lowest: float = Field(-10.0, ge=-1e9, le=1e9, description="return of the lowest atom")
    highest: float = Field(10.0, ge=-1e9, le=1e9, description="return of the highest atom")
    num_atoms: int = Field(51, ge=2, le=1024, description="atoms of the return distribution")

    def check(self, facts: Facts) -> None:
        super().check(facts)
        if self.lowest >= self.highest:
            name = facts.algorithm_table
            raise ValueError(
                f"{name}.lowest = {self.lowest:g} is not below {name}.highest = {self.highest:g}"
            )


class RainbowConfig(C51Config):
    """Rainbow, Hessel et al. 2018, arXiv:1710.02298."""

    tables: ClassVar[dict[str, type[Section]]] = {"replay": PrioritizedReplayConfig}

    dueling: bool = Field(True, description="dueling network: Q is a state value plus advantages")
    noisy_std: float = Field(0.5, ge=0, le=10, description=NOISY_STD)
    n_step: int = Field(3, ge=1, le=1024, description="rewards summed before the bootstrap value")
    epsilon_start: Fraction = Field(0.0, description="initial fraction of random actions; 0 to 1")
    epsilon_end: Fraction = Field(0.0, description="final fraction of random actions; 0 to 1")


class QRDQNConfig(ValueBasedConfig):
    """Quantile regression, Dabney et al. 2018, arXiv:1710.10044."""

    num_quantiles: int = Field(50, ge=1, le=1024, description="quantiles of the return per action")


def check_hidden_layer(facts: Facts, reason: str) -> None:
    """Raises ValueError if the policy has no hidden layer."""
    if not facts.policy.hidden_sizes:
        raise ValueError(
            f"policy.hidden_sizes = []: {facts.algorithm_table} needs a hidden layer: it {reason}"
        )


class IQNConfig(ValueBasedConfig):
    """Implicit quantile networks, Dabney et al. 2018, arXiv:1806.06923."""

    num_quantiles: int = Field(16, ge=1, le=1024, description="quantile fractions drawn per sample")
    risk: float = Field(
        1.0, gt=0, le=1, description="fraction of lowest returns that actions go by; 1: all"
    )
    best_by: Literal["mean", "quantile"] = Field(
        "mean",
        description="how the target chooses the next action: by the mean, or for each quantile "
        "separately",
    )

    def check(self, facts: Facts) -> None:
        super().check(facts)
        check_hidden_layer(facts, "joins fractions of the return in one")
        if self.double and self.best_by == "quantile":
            raise ValueError(
                "iqn.best_by = quantile: the target's own quantiles choose; iqn.double = false"
            )
