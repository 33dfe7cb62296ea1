"""How much memory a replay needs, and what is said where there is too little."""

from __future__ import annotations

import pytest
import torch
from replay_checks import make_replay

from operant.shared.errors import ConfigError
from operant.trainer.memory.replay import Layout, Priorities, Replay
from operant.trainer.memory.replay import layout as layout_module
from operant.trainer.memory.replay.layout import check_fits

GIB = 2**30


def test_a_million_transitions_of_eight_floats_need_60_mb_at_most():
    layout = Layout(1_000_000, 8, 8, is_prioritised=True)
    # 32 MB of observations, 8 of actions, 4 each of rewards, endings and priorities, and a
    # sixteenth of the observations once more
    assert 54_000_000 < layout.needed_bytes < 60_000_000


@pytest.mark.parametrize("priorities", [None, Priorities()])
def test_what_is_said_to_be_needed_is_what_is_there(priorities):
    replay = Replay(1000, 3, 5, (2,), torch.float32, seed=1, priorities=priorities, n_step=3)
    layout = Layout(1000, 3, 5, (2,), torch.float32, 3, priorities is not None)
    assert replay.nbytes == layout.needed_bytes == replay.layout.needed_bytes
    assert replay.layout.num_steps == 333


def test_a_replay_that_does_not_fit_says_what_would():
    check_fits(1_000_000, 3 * GIB, 3 * GIB)
    with pytest.raises(ConfigError) as error:
        check_fits(1_000_000, int(3.1 * GIB), int(1.6 * GIB))
    assert str(error.value) == (
        "replay.capacity = 1000000 needs 3.1 GiB of memory, 1.6 are free: halve it, to 500000"
    )
    with pytest.raises(ConfigError, match=r"of the GPU's memory, .* by 4, to 250000"):
        check_fits(1_000_000, int(3.1 * GIB), int(1.2 * GIB), "the GPU's ")


def test_pinned_memory_is_counted_in_powers_of_two():
    layout = Layout(1000, 1, 8, max_episode_steps=250)
    # 1,001 observations of 32 bytes take 2^15, five final ones 256
    assert (layout.obs_bytes, layout.pinned_obs_bytes) == (1001 * 32 + 5 * 32, 2**15 + 256)


def test_it_is_refused_before_anything_is_allocated(monkeypatch):
    monkeypatch.setattr(layout_module, "free_main_bytes", lambda: 1000)
    monkeypatch.setattr(torch, "zeros", None)
    with pytest.raises(ConfigError, match=r"replay\.capacity = 100000 needs"):
        make_replay(100_000, 1)


def test_more_steps_than_the_ring_has_are_refused():
    with pytest.raises(ConfigError, match=r"n_step = 5 .*replay.capacity = 32 keeps 4 steps of"):
        make_replay(32, 8, n_step=5)
    make_replay(32, 8, n_step=4)


def test_a_time_limit_says_how_many_final_observations_there_can_be():
    def num_finals(limit: int | None) -> int:
        return Layout(1000, 1, 8, max_episode_steps=limit).num_finals

    assert [num_finals(limit) for limit in (1, 200, 300, 5000)] == [1000, 6, 4, 1]
    assert num_finals(None) == 1000 // 16
