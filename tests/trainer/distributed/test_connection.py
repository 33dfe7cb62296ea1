"""Sums over ranks that are processes: right, and the same to the bit in all."""

from __future__ import annotations

import pytest
import torch
from rank_processes import said, started, wait_for_all

from operant.trainer.distributed import connection

SUMS = """
import os, sys
import torch
from operant.trainer.config.from_values import make_config
from operant.trainer.running.joining import joined
from operant.trainer.distributed.place import place_of

place = place_of(os.environ)
with joined(place, make_config({})) as (_, ranks):
    found = []
    for size in (0, 1, 10_000, 300_000, 1_500_000):
        for dtype in (torch.float32, torch.float64, torch.int64):
            generator = torch.Generator().manual_seed(place.rank)
            own = torch.rand(size, generator=generator, dtype=torch.float64).mul(1e6).to(dtype)
            ranks.sum(own)
            found.append(own)
    found.append(ranks.sum(torch.tensor(place.rank + 1)))
    print(ranks.notices[0])
    torch.save(found, f"{sys.argv[1]}-{place.rank}")
"""


@pytest.mark.parametrize("num_ranks", [2, 3])
def test_sums_of_any_size_are_right_and_the_same_everywhere(tmp_path, num_ranks):
    commands = [["-c", SUMS, str(tmp_path / "found")]] * num_ranks
    with started(commands, tmp_path) as processes:
        assert wait_for_all(processes) == [0] * num_ranks, said(tmp_path, 1)
    assert f"{num_ranks} ranks learn together over gloo on" in said(tmp_path, 0)
    first, *others = [torch.load(tmp_path / f"found-{rank}") for rank in range(num_ranks)]
    for other in others:
        assert all(torch.equal(a, b) for a, b in zip(first, other, strict=True))
    seeded = [torch.Generator() for _ in range(num_ranks)]
    for found in first[:-1]:
        size, dtype = len(found), found.dtype
        own = [
            torch.rand(size, generator=generator.manual_seed(rank), dtype=torch.float64)
            .mul(1e6)
            .to(dtype)
            for rank, generator in enumerate(seeded)
        ]
        torch.testing.assert_close(found, torch.stack(own).sum(0))
    assert int(first[-1]) == sum(range(num_ranks + 1))


def test_what_would_be_many_bytes_more_goes_round_in_a_ring():
    assert connection.is_exchanged(connection.MAX_EXCHANGED_BYTES, 2)
    assert not connection.is_exchanged(connection.MAX_EXCHANGED_BYTES + 1, 2)
    # Of eight ranks each sends 7 n bytes rather than 14/8 n.
    most = connection.MAX_EXTRA_BYTES * 4 // 21
    assert connection.is_exchanged(most, 8)
    assert not connection.is_exchanged(most + 2, 8)
    assert not connection.is_exchanged(40_000, 100)
