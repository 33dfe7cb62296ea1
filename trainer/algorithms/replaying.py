"""The replay of a configuration, and how often it is learned from."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

from ..config import TrainConfig
from ..networks.actor import Actor
from ..networks.q_network import QPolicy
from ..ranks.single import Ranks
from ..replay import Priorities, Replay, SharedReplay


class ReplayRatio:
    """Updates for so many transitions: whole ones, and what is left is owed. Of numbers on the
    host, or of scalar tensors on a device.
    """

    def __init__(
        self, updates_per_transition: float, at_once: int = 1, device: torch.device | None = None
    ) -> None:
        """They come in multiples of `at_once`."""
        self._ratio, self._at_once = updates_per_transition, at_once
        self.owed: Any = 0.0
        if device is not None:
            self.owed = torch.zeros((), dtype=torch.float64, device=device)

    def due(self, num_transitions: Any) -> Any:
        """Updates that these transitions and what was owed are worth."""
        self.owed += self._ratio * num_transitions
        # What is short of a whole number by rounding is one.
        num_updates = (self.owed / self._at_once + 1e-6) // 1 * self._at_once
        self.owed -= num_updates
        return num_updates if isinstance(num_updates, Tensor) else int(num_updates)

    def load(self, owed: float) -> None:
        """Go on with what was owed."""
        if isinstance(self.owed, Tensor):
            self.owed.fill_(owed)
        else:
            self.owed = float(owed)


def make_replay(
    config: TrainConfig, policy: Actor | QPolicy, seed: int, device: torch.device, ranks: Ranks
) -> Replay | SharedReplay:
    """The replay of a configuration. Raises ConfigError where it does not fit into memory."""
    table, section = config.table("replay"), config.algorithm_section
    alpha = table.priority_exponent
    made: Any = Replay if ranks.size == 1 else partial(SharedReplay, ranks)
    replay: Replay | SharedReplay = made(
        table.capacity, config.num_rows, policy.obs_size, policy.action_shape, policy.action_dtype,
        n_step=section.n_step, gamma=section.gamma, seed=seed, device=device,
        priorities=Priorities(alpha) if alpha else None, pinned=table.memory == "host",
    )  # fmt: skip
    return replay
