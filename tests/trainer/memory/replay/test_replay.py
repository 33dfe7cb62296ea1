"""Replay: which rows are drawn, and its checkpoint's state."""

from __future__ import annotations

import pytest
import torch
from replay_checks import Stream, in_order, make_replay
from torch import Tensor

from operant.trainer.machine.threads import Threads
from operant.trainer.memory.replay import Priorities, Replay
from operant.trainer.memory.rollout import Rollout

ENGINES = pytest.mark.parametrize("with_kernels", [False, True], ids=["loops", "kernels"])
BY_ERROR = ["uniform", "by_error"]
PRIORITIES = pytest.mark.parametrize("priorities", [None, Priorities()], ids=BY_ERROR)


def steps_of(*steps: str) -> Rollout:
    """One environment: rewards 1, 2, 4, ..., observations 0, 1, 2, ..., and 100 + t where step t
    is the last; each step `goes on`, `ends`, is `cut` or is `dead`.
    """
    count = len(steps)
    column = torch.zeros(count, 1)

    def where(what: str) -> Tensor:
        return torch.tensor([[step == what] for step in steps])

    return Rollout(
        obs=torch.arange(count + 1.0).view(-1, 1, 1).expand(-1, 1, 2).contiguous(),
        actions=torch.arange(count).view(-1, 1),
        rewards=2.0 ** torch.arange(count).view(-1, 1),
        terminated=where("ends"),
        truncated=where("cut"),
        final_obs=torch.arange(100.0, 100 + count).view(-1, 1, 1).expand(-1, 1, 2).contiguous(),
        log_probs=column, values=column, next_values=column,
        valid=~where("dead") if "dead" in steps else None,
    )  # fmt: skip


def drawn(replay: Replay) -> dict[int, tuple[float, float, float]]:
    """By the action of a row: its return, its discount, and its next observation."""
    batch = replay.sample(replay.make_batch(1000))
    columns = (batch.actions, batch.returns, batch.discounts, batch.next_obs[:, 0])
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return {int(action): rest for action, *rest in rows}


@pytest.mark.parametrize("value", [torch.nan, torch.inf, 3e38])
def test_what_is_not_finite_is_left_out_and_large_numbers_are_not(value):
    """The sum of the large ones is infinite."""
    replay, rollout = make_replay(100, 1), steps_of(*["goes on"] * 4)
    rollout.rewards[1:3] = value
    replay.write(rollout)
    left_out = {1, 2} if value != 3e38 else set()
    assert replay.num_left_out == len(left_out)
    assert {*drawn(replay)} == {0, 1, 2, 3} - left_out


@pytest.mark.slow
@ENGINES
@PRIORITIES
def test_three_steps_stop_at_an_end_a_time_limit_and_the_newest_row(with_kernels, priorities):
    replay = make_replay(
        100, 1, n_step=3, gamma=0.5, with_kernels=with_kernels, priorities=priorities
    )
    replay.write(steps_of("goes on", "goes on", "goes on", "ends", "goes on", "cut", "goes on"))
    after_the_end = 4.0
    assert drawn(replay) == {
        0: [1 + 2 / 2 + 4 / 4, 1 / 8, 3.0],  # three steps
        1: [2 + 4 / 2 + 8 / 4, 0.0, after_the_end],
        2: [4 + 8 / 2, 0.0, after_the_end],
        3: [8.0, 0.0, after_the_end],
        4: [16 + 32 / 2, 1 / 4, 105.0],  # two steps, and the state that the limit cut off
        5: [32.0, 1 / 2, 105.0],
        6: [64.0, 1 / 2, 7.0],  # one step, and the newest observation
    }


@ENGINES
@PRIORITIES
def test_one_row_among_many_dead_ones_is_found(with_kernels, priorities):
    replay = make_replay(1000, 1, with_kernels=with_kernels, priorities=priorities)
    replay.write(steps_of(*["dead"] * 90, "goes on", *["dead"] * 90))
    assert list(drawn(replay)) == [90]


@ENGINES
def test_ended_episodes_are_cut_off_where_they_are(with_kernels):
    replay = make_replay(20, 1, n_step=3, gamma=0.5, with_kernels=with_kernels)
    replay.end_episodes()  # there is none yet
    replay.write(steps_of("goes on", "goes on"))
    replay.end_episodes()
    replay.end_episodes()
    replay.write(steps_of("goes on", "ends"))  # begins anew, with observation 0
    batch = replay.sample(replay.make_batch(500))
    first = (batch.obs[:, 0] == 0) & (batch.discounts > 0)
    assert set(batch.returns[first].tolist()) == {1 + 2 / 2}  # and nothing of the next episode
    assert set(batch.next_obs[first, 0].tolist()) == {2.0}


def test_continuous_actions_come_back_in_their_shape():
    replay = Replay(50, 2, 2, (3,), torch.float32, seed=1)
    rollout = Stream(2).rollout(4)
    rollout.actions = torch.arange(24.0).view(4, 2, 3)
    replay.write(rollout)
    batch = replay.sample(replay.make_batch(100))
    assert batch.actions.shape == (100, 3)
    for row, action in zip(batch.index.tolist(), batch.actions.tolist(), strict=True):
        assert action == [3.0 * row, 3.0 * row + 1, 3.0 * row + 2]


def test_every_row_is_drawn_about_equally_often():
    replay = make_replay(1000, 4)
    replay.write(Stream(4).rollout(250, 0, 0, 0))
    batch = replay.make_batch(100_000)
    counts = torch.zeros(1004)
    for _ in range(10):
        counts += replay.sample(batch).index.bincount(minlength=1004)
    # 1,000 a row: chi-squared of 999 degrees of freedom is 999 +- 45, and below 1,201 in all but
    # one of 10^5 cases
    chi_squared = ((counts[:1000] - 1000) ** 2 / 1000).sum()
    assert 830 < chi_squared < 1201


@PRIORITIES
def test_draws_depend_on_seed_and_number_alone(priorities):
    def drawn_by(seed: int, with_kernels: bool = False) -> Tensor:
        replay = make_replay(60, 3, seed=seed, priorities=priorities, with_kernels=with_kernels)
        replay.write(Stream(3).rollout(20))
        batches = [replay.sample(replay.make_batch(50)).index for _ in range(2)]
        assert not torch.equal(*batches)
        return torch.cat(batches)

    assert torch.equal(drawn_by(1), drawn_by(1))
    assert torch.equal(drawn_by(1), drawn_by(1, with_kernels=True))
    assert not torch.equal(drawn_by(1), drawn_by(2))


@PRIORITIES
def test_draws_are_the_same_on_one_thread_and_on_two(priorities):
    def seen(num_threads: int) -> list[Tensor]:
        threads = Threads(num_threads)
        replay = make_replay(3000, 3, priorities=priorities, n_step=3)
        stream, batch = Stream(3), replay.make_batch(64)
        for _ in range(20):
            threads.run(replay.write, stream.rollout(100))
            threads.run(replay.sample, batch, 0.4)
            threads.run(replay.update_priorities, batch.index, batch.returns)
        threads.close()
        return [batch.index, batch.weights, batch.returns, batch.next_obs]

    for one, two in zip(seen(1), seen(2), strict=True):
        assert torch.equal(one, two)


@PRIORITIES
@pytest.mark.parametrize("steps", [3, 30], ids=["part of the ring", "the ring over and over"])
def test_resuming_equals_not_stopping(priorities, steps, tmp_path):
    def go_on(replay: Replay, stream: Stream) -> list[Tensor]:
        seen = []
        for _ in range(5):
            replay.write(stream.rollout(2))
            batch = replay.sample(replay.make_batch(30), 0.7)
            replay.update_priorities(batch.index, batch.returns)
            seen += [x.clone() for x in (batch.index, batch.obs, batch.returns, batch.weights)]
        return seen

    def fresh() -> Replay:
        return make_replay(60, 3, n_step=3, priorities=priorities)

    replay, stream = fresh(), Stream(3)
    for _ in range(steps):
        replay.write(stream.rollout(2, cuts=0.3))
        batch = replay.sample(replay.make_batch(30))
        replay.update_priorities(batch.index, 3 * batch.returns)
    torch.save(replay.state_dict(), tmp_path / "replay.pt")
    resumed = fresh()
    resumed.write(Stream(3, seed=7).rollout(20))  # which all goes
    resumed.load_state_dict(torch.load(tmp_path / "replay.pt", weights_only=True))
    rest = Stream(3, seed=8), Stream(3, seed=8)
    for found, expected in zip(go_on(resumed, rest[0]), go_on(replay, rest[1]), strict=True):
        assert torch.equal(found, expected)
    for name, tensor in replay.state_dict().items():
        assert torch.equal(resumed.state_dict()[name], tensor)


def test_the_state_of_another_replay_is_refused():
    state = make_replay(60, 3).state_dict()
    with pytest.raises(ValueError, match="another shape"):
        make_replay(90, 3).load_state_dict(state)
    with pytest.raises(ValueError, match="another shape"):
        make_replay(60, 2).load_state_dict(state)


def test_a_rollout_longer_than_the_ring_is_refused():
    with pytest.raises(ValueError, match="21 steps x 3 environments does not fit"):
        make_replay(60, 3).write(in_order(Stream(3).rollout(21)))


def test_fill_and_spread_are_told():
    replay = make_replay(100, 1, priorities=Priorities(alpha=1.0, eps=0.5))
    replay.write(steps_of(*["goes on"] * 4))
    replay.update_priorities(torch.tensor([0, 1, 2, 3]), torch.tensor([3.5, -1.5, 0.5, 0.5]))
    # priorities 4, 2, 1, 1: their mean is 2, and the largest so far 4
    assert {name: value.item() for name, value in replay.metrics().items()} == {
        "replay/fill_fraction": pytest.approx(0.04),
        "replay/mean_priority": 2.0,
        "replay/priority_spread": 2.0,
        "replay/refused_updates": 0,
    }
    assert list(make_replay(10, 1).metrics()) == ["replay/fill_fraction"]
