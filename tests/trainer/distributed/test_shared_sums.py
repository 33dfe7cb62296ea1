"""Memory that ranks of one machine share."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager

import pytest
import torch

from operant.trainer.distributed import shared_sums
from operant.trainer.distributed.shared_sums import COUNT_BITS, LINE_BYTES, SharedSums, num_bytes

pytestmark = pytest.mark.skipif(not shared_sums.FUTEX, reason="another processor")


@contextmanager
def ranks(size):
    file = os.memfd_create("test")
    os.ftruncate(file, num_bytes(size))
    yield [SharedSums(file, rank, size, 7) for rank in range(size)]
    os.close(file)


def in_threads(shared, work):
    threads = [threading.Thread(target=work, args=(rank, x)) for rank, x in enumerate(shared)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def nothing():
    pass


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("first", [0, 2**COUNT_BITS - 50])
def test_many_sums_in_a_row_are_right_whatever_the_count(size, first):
    found = [[] for _ in range(size)]
    with ranks(size) as shared:
        for rank, each in enumerate(shared):
            each._number = first
            each._counts[rank * LINE_BYTES // 4] = first

        def work(rank, own):
            for number in range(200):
                tensor = torch.full((5,), float((rank + 1) * number))
                own.add_up(tensor, nothing)
                found[rank].append(tensor[0].item())

        in_threads(shared, work)
    assert found == [[float(number * sum(range(size + 1))) for number in range(200)]] * size


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.uint8])
def test_tensors_larger_than_a_piece_and_not_contiguous_ones_are_added_up(dtype):
    own = [torch.arange(2 * 700_001).view(700_001, 2).to(dtype).t() for _ in range(2)]
    expected = own[0] + own[1]
    with ranks(2) as shared:
        in_threads(shared, lambda rank, each: each.add_up(own[rank], nothing))
    assert all(torch.equal(tensor, expected) for tensor in own)


def test_who_waits_is_asked_again_and_again_and_may_give_up():
    class LostError(Exception):
        pass

    asked = []

    def lost():
        asked.append(1)
        if len(asked) == 3:
            raise LostError

    with ranks(2) as (first, _), pytest.raises(LostError):
        first.add_up(torch.zeros(1), lost)


def test_the_memory_of_another_run_is_refused():
    with ranks(2):
        file = os.memfd_create("other")
        os.ftruncate(file, num_bytes(2))
        with pytest.raises(OSError, match="another run"):
            SharedSums(file, 1, 2, 8)
        os.close(file)


def test_a_rank_that_cannot_map_the_memory_gives_none():
    """Rank 0 names a process that rank 1 cannot see."""

    def sum_with_rank_0(tensor):
        if tensor.dim():  # where the memory is; else how many ranks have mapped it
            tensor[:] = torch.tensor([2**22 + 1, 3, 9])
        else:
            tensor += 1

    assert SharedSums.agreed(1, 2, sum_with_rank_0) is None
