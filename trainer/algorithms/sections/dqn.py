"""What DQN can be told."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ....shared import Metric
from .exploring import EPSILON, EpsilonGreedyConfig
from .off_policy import OffPolicyConfig


class ValueBasedConfig(OffPolicyConfig, EpsilonGreedyConfig):
    """Algorithms that take the action of the highest value."""

    metrics: ClassVar[tuple[Metric, ...]] = (*OffPolicyConfig.metrics, EPSILON)
    action_kinds: ClassVar[tuple[str, ...]] = ("Discrete",)

    double: bool = Field(True, description="the online network chooses the target's action")
    dueling: bool = Field(False, description="values as a state's value plus advantages")


class DQNConfig(ValueBasedConfig):
    """Deep Q-network, Mnih et al. 2015; double, van Hasselt et al. 2016, arXiv:1509.06461;
    dueling, Wang et al. 2016, arXiv:1511.06581.
    """

    loss: Literal["huber", "squared"] = Field("huber", description="of the distance to the target")
