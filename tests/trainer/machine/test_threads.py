"""Pieces of work that several threads share."""

from __future__ import annotations

import threading

import pytest
import torch

from operant.trainer.machine import threads as module
from operant.trainer.machine.threads import Threads


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
    # Alone either would wait until the barrier breaks, which raises.
    assert sorted(threads.each(lambda _: both_there.wait(), range(2))) == [0, 1]
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


def test_before_anything_is_run_its_thread_has_told_pytorch_to_have_one(monkeypatch):
    """The number that PyTorch tells is no proof: libraries below it may still have another."""
    told = []
    monkeypatch.setattr(module, "one_torch_thread", lambda: told.append(threading.get_ident()))
    threads = Threads(1)
    threads.num_threads = 2

    def was_told(_=0):
        return threading.get_ident() in told

    assert threads.run(was_told)
    assert all(threads.each(was_told, range(4)))
    threads.close()


def test_whoever_waits_ticks():
    threads = Threads(1)
    threads.num_threads = 2
    ticked = threading.Event()
    threads.tick = ticked.set
    waited = list(threads.each(lambda _: ticked.wait(60), range(2)))
    assert waited == [True, True]
    threads.close()
