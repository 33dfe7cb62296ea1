"""Tokens are read as a layer on boxes would read them, by compiled sums and by PyTorch alike."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from operant.trainer.policies.tokens import EVERYWHERE, PADDING, Feature, TokenEmbedding, Tokens

TAG, COUNT, SHARE = 6, 12, 1
TOKENS = Tokens(
    3, 5,
    ((TAG, Feature(4)), (COUNT, Feature(is_logarithmic=True)), (SHARE, Feature(scale=1 / 255))),
)  # fmt: skip
NONE = (PADDING,) * 3


@pytest.fixture
def embedding():
    return TokenEmbedding(TOKENS, 7, seed=1)


def obs(*rows, size=6):
    return torch.tensor([[*row, *[NONE] * (size - len(row))] for row in rows], dtype=torch.uint8)


def test_what_is_seen_is_added_up_by_kind_and_cell(embedding):
    # Cells: row 1, column 2 of 3 x 5 is number 7; what is true of all is number 15 of 16.
    seen = obs([(EVERYWHERE, SHARE, 51), (0x12, TAG, 3), (0x12, COUNT, 2)]).flatten(1)
    table, cells = embedding.table.detach(), 16
    expected = 0.2 * table[5 * cells + 15] + table[3 * cells + 7]
    expected = expected + np.log(3) * table[4 * cells + 7]
    assert embedding(seen)[0].tolist() == pytest.approx(expected.relu().tolist(), abs=1e-6)


def test_nothing_counts_that_is_not_known(embedding):
    unknown = [(0x40, TAG, 1), (0x0F, TAG, 1), (0x00, TAG, 4), (0x00, 99, 1), NONE, (0, TAG, 1)]
    assert not embedding(obs(unknown).flatten(1)).any()  # nor is anything after padding


def random_obs(rows=40):
    random = np.random.default_rng(1)
    drawn = random.integers(0, 20, (rows, 6, 3))
    drawn[:, :, 1] = random.choice([TAG, COUNT, SHARE, 3], (rows, 6))
    drawn[np.arange(6) >= random.integers(0, 7, rows)[:, None]] = PADDING
    return torch.from_numpy(drawn.astype(np.uint8)).flatten(1)


def test_compiled_sums_and_their_gradient_are_those_of_pytorch(embedding):
    seen = random_obs()
    weights = torch.randn(len(seen), 7, generator=torch.Generator().manual_seed(2))
    gradients = []
    outputs = embedding(seen), (embedding.bias + embedding._sums(seen)).relu()
    for output in outputs:
        gradients.append(torch.autograd.grad((output * weights).sum(), embedding.parameters()))
    assert torch.allclose(*outputs, atol=1e-6)
    for a, b in zip(*gradients, strict=True):
        assert torch.allclose(a, b, atol=1e-5)
    assert gradients[0][0].any()


def test_leading_dimensions_stay_as_they_are(embedding):
    seen = random_obs()
    assert (embedding(seen.view(4, 10, -1)).flatten(0, 1) == embedding(seen)).all()
