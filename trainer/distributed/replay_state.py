"""The state of one replay, from the replays of all ranks and for them.

Each rank has the replay of its own environments. All are equally long, so together they have the
arrays of the replay of a single process, which any number of ranks goes on with.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from .process_group import ProcessGroup
from .reductions import by_rank

# Arrays with a row for each environment, slot by slot or place by place.
OF_ROWS = (
    "obs", "finals", "depths", "actions", "rewards", "endings", "owners", "num_cut", "leaves",
)  # fmt: skip


def rank_seed(ranks: ProcessGroup, seed: int) -> int:
    """The seed of a rank's draws; that of rank 0 is `seed`."""
    if ranks.rank == 0:
        return seed
    return int(np.random.SeedSequence([seed, ranks.rank]).generate_state(1)[0])


def state_of_all(ranks: ProcessGroup, own: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """The state of a replay of all rows, from the states of all ranks."""
    if ranks.size == 1:
        return own
    num_slots, num_own, num_finals = own["layout"].tolist()
    num_rows = ranks.global_size(num_own)
    state = dict(own) | {
        name: ranks.gather(_by_slot(own[name], num_own), 1).flatten(0, 1)
        for name in OF_ROWS
        if name in own
    }
    state["layout"] = torch.tensor([num_slots, num_rows, num_finals])
    state["max_leaf"] = by_rank(ranks, own["max_leaf"]).amax(0)
    state["num_refused"] = ranks.sum(own["num_refused"].clone())
    return state


def own_state(ranks: ProcessGroup, state: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """The state of this rank's replay, from that of all rows."""
    if ranks.size == 1:
        return state
    num_slots, num_rows, num_finals = state["layout"].tolist()
    own = dict(state) | {
        name: ranks.my_slice(_by_slot(state[name], num_rows), 1).flatten(0, 1)
        for name in OF_ROWS
        if name in state
    }
    own["layout"] = torch.tensor([num_slots, len(ranks.my_rows(num_rows)), num_finals])
    if ranks.rank:  # ranks are summed
        own["num_refused"] = torch.zeros_like(state["num_refused"])
    return own


def _by_slot(array: Tensor, num_rows: int) -> Tensor:
    return array.view(-1, num_rows, *array.shape[1:])
