"""Random numbers from counters."""

from __future__ import annotations

import pytest
import torch

from operant.trainer.policies.draws_on_gpu import CountedDraws
from operant.trainer.policies.noise import normal_from, symmetric

CPU = torch.device("cpu")


def test_draws_are_standard_normal_and_no_two_alike():
    normals = CountedDraws("normal", (2000, 5), 7, CPU)
    one, other = normals.next().clone(), normals.next().clone()
    # 10,000 numbers: their mean has a deviation of 0.01, their variance one of 0.014.
    for draw in (one, other):
        assert float(draw.mean()) == pytest.approx(0, abs=0.04)
        assert float(draw.var()) == pytest.approx(1, abs=0.06)
        assert torch.isfinite(draw).all()
    correlation = float((one * other).mean())
    assert correlation == pytest.approx(0, abs=0.04)


def test_a_draw_depends_on_the_seed_and_its_number_alone():
    normals, resumed = (
        CountedDraws("normal", (3, 2), 7, CPU),
        CountedDraws("normal", (3, 2), 7, CPU),
    )
    normals.next()
    resumed.load_state_dict(normals.state_dict())
    assert torch.equal(normals.next(), resumed.next())
    assert not torch.equal(
        CountedDraws("normal", (3, 2), 8, CPU).next(), CountedDraws("normal", (3, 2), 7, CPU).next()
    )


def test_the_ends_of_the_range_give_finite_numbers():
    # The median is 0; a part of 0.8413 of the distribution lies below 1.
    assert normal_from(torch.tensor([0.5, 0.841345])).tolist() == pytest.approx([0, 1], abs=1e-4)
    assert torch.isfinite(normal_from(torch.tensor([0.0, 1 - 2.0**-24]))).all()
    assert symmetric(torch.tensor([0.25, 0.5])).tolist() == [-0.5, 0.0]


def test_uniform_draws_are_spread_evenly():
    draw = CountedDraws("uniform", (4000, 3), 7, CPU).next()
    # 12,000 numbers in ten parts: 1,200 in each, with a deviation of 33.
    assert torch.histc(draw, 10, 0, 1).sub(1200).abs().max() < 140
    assert draw.min() >= 0
    assert draw.max() < 1
