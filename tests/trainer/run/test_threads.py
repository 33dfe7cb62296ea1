"""Pieces of work that several threads share."""

from __future__ import annotations

import threading

import pytest
import torch

from operant.trainer.run.threads import Threads


@pytest.fixture(params=[1, 2])
def threads(request):
    made = Threads(1)
    made.num_threads = request.param  # whatever this machine has
    yield made
    made.close()


def test_results_come_in_the_order_of_the_pieces(threads):
    assert list(threads.each(lambda x: 10 * x, range(7))) == [10 * x for x in range(7)]
    assert list(threads.each(str, [])) == []


def test_two_threads_have_two_pieces_under_way():
    threads = Threads(1)
    threads.num_threads = 2
    both_there = threading.Barrier(2, timeout=60)
    list(threads.each(lambda _: both_there.wait(), range(2)))  # or it would break
    threads.close()


def test_pieces_are_computed_as_whoever_asked_would_with_one_thread_of_pytorch(threads):
    def modes(_):
        return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_num_threads()

    assert set(threads.each(modes, range(3))) == {(True, False, 1)}
    with torch.no_grad():
        assert set(threads.each(modes, range(3))) == {(False, False, 1)}
    with torch.inference_mode():
        assert set(threads.each(modes, range(3))) == {(False, True, 1)}


def test_a_piece_that_fails_is_told_and_nothing_goes_on_behind_it(threads):
    running, begun = [], []

    def work(number):
        begun.append(number)
        running.append(number)
        try:
            if number == 1:
                raise ValueError(f"piece {number}")
        finally:
            running.remove(number)

    with pytest.raises(ValueError, match="piece 1"):
        list(threads.each(work, range(50)))
    assert not running
    before = len(begun)
    assert list(threads.each(lambda x: x, range(3))) == [0, 1, 2]
    assert len(begun) == before


def test_the_number_may_change_between_two_times():
    threads = Threads(1)
    for count in (2, 1, 3):
        threads.num_threads = count
        assert list(threads.each(lambda x: x * x, range(4))) == [0, 1, 4, 9]
    threads.close()


def test_what_is_run_begins_with_one_thread_of_pytorch():
    threads = Threads(2)
    weights = torch.randn(256, 64, generator=torch.Generator().manual_seed(1))
    inputs = torch.randn(5, 64, generator=torch.Generator().manual_seed(2))
    first, again = (threads.run(lambda: inputs @ weights.mT) for _ in range(2))
    assert threads.run(torch.get_num_threads) == 1
    assert torch.equal(first, again)  # which libraries of two threads may round in two ways
    threads.close()
