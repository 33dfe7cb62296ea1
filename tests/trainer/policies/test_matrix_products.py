"""Products of oneDNN, and of the library that PyTorch chooses: the same but for rounding."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from operant.trainer.policies import mlp as products

needs_onednn = pytest.mark.skipif(
    not torch.backends.mkldnn.is_available(), reason="PyTorch was built without oneDNN"
)
# On others, oneDNN's products of one row depend on the number of threads.
uses_onednn = pytest.mark.skipif(
    not products.ONEDNN_IS_FASTER, reason="oneDNN is taken on AMD's processors with AVX-512 alone"
)


@pytest.fixture(autouse=True)
def always(monkeypatch):
    monkeypatch.setattr(products, "ONEDNN_IS_FASTER", True)
    monkeypatch.setattr(products, "LARGE", 1)


def normal(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


@needs_onednn
@pytest.mark.parametrize("sizes", [(1, 1, 1), (7, 5, 3), (64, 17, 33), (256, 256, 1)])
def test_products_are_those_of_pytorch(sizes):
    rows, inner, columns = sizes
    a, b, bias = normal(rows, inner), normal(inner, columns), normal(1, columns)
    out = torch.empty(rows, columns)
    near = {"rtol": 1e-4, "atol": 1e-4}
    torch.testing.assert_close(products.mm(a, b), a @ b, **near)
    assert products.mm(a, b, out=out) is out
    torch.testing.assert_close(out, a @ b, **near)
    torch.testing.assert_close(products.mm(b.mT, a.mT), (a @ b).mT, **near)
    torch.testing.assert_close(products.addmm(bias[0], a, b), a @ b + bias, **near)
    a, b, bias = normal(2, rows, inner), normal(2, inner, columns), normal(2, 1, columns)
    out = torch.empty(2, rows, columns)
    torch.testing.assert_close(products.bmm(a, b), a @ b, **near)
    products.bmm(a, b, out=out)
    torch.testing.assert_close(out, a @ b, **near)
    torch.testing.assert_close(products.baddbmm(bias, a, b), a @ b + bias, **near)


@needs_onednn
@pytest.mark.parametrize("needs_slope", [True, False])
def test_a_linear_layer_is_differentiated_as_pytorchs(needs_slope):
    ours, theirs = products.Linear(20, 12), torch.nn.Linear(20, 12)
    theirs.load_state_dict(ours.state_dict())
    slopes = normal(9, 12)
    found = []
    for layer in (ours, theirs):
        x = normal(9, 20).requires_grad_(needs_slope)
        y = layer(x)
        y.backward(slopes)
        found.append([y.detach(), layer.weight.grad, layer.bias.grad, *([x.grad] * needs_slope)])
    assert type(ours(normal(9, 20)).grad_fn).__name__ == "_ProductsBackward"
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@uses_onednn
@pytest.mark.parametrize("rows", [1, 32, 256, 1024])
@pytest.mark.parametrize("sizes", [(17, 256), (256, 256), (256, 1), (512, 6)])
def test_no_number_of_threads_changes_a_bit(rows, sizes):
    inner, columns = sizes
    a, b, slope = normal(rows, inner), normal(inner, columns), normal(rows, columns)
    before, found = torch.get_num_threads(), []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            found.append((products.mm(a, b), products.mm(a.mT, slope), products.mm(slope, b.mT)))
    finally:
        torch.set_num_threads(before)
    for others in found[1:]:
        assert all(map(torch.equal, found[0], others))


def test_no_number_of_threads_changes_a_bit_of_products_by_pytorch():
    code = """
import torch
from operant.trainer.policies import mlp as products
for inner in (257, 1024, 3136):
    for rows, columns in ((1, 512), (4, 1024), (16, 128), (64, 128)):
        a, b = torch.randn(inner, rows).mT, torch.randn(columns, inner).mT
        found = []
        for count in (1, 2, 3, 8):
            torch.set_num_threads(count)
            found.append(products.mm(a, b))
        assert all(torch.equal(found[0], other) for other in found), (inner, rows, columns)
"""
    # In a process of its own: this one may have multiplied before the setting was made.
    subprocess.run([sys.executable, "-c", code], check=True)
