"""What the gradient of a recurrent layer over rows with ends of episodes inside takes: by hand, as
operant has it (an LSTM in a compiled loop); by automatic differentiation of the same loop; and by
PyTorch's own LSTM over packed sequences, the rows split at the ends. PyTorch's LSTM over whole
rows, which would not forget, is the bound. Processor time of one thread, the four in turn.

    python benchmarks/recurrent_layer.py [--rounds 15]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
from measuring import busy
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence

from operant.trainer.networks.recurrent import GRU, LSTM, keep_of

SIZES = ((64, 32, 64), (128, 32, 128), (32, 256, 128))  # steps, rows, units
INPUTS, EPISODE_STEPS = 64, 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    for steps, rows, units in SIZES:
        work = works(steps, rows, units)
        taken: dict[str, list[float]] = {name: [] for name in work}
        for _ in range(rounds):
            for name, call in work.items():
                taken[name].append(milliseconds(call))
        print(f"{rows} rows of {steps} steps, {units} units (load {busy():.1f})")
        for name, each in taken.items():
            print(f"  {name:<42} {median(each):7.1f} ms ({min(each):.1f} to {max(each):.1f})")


def works(steps: int, rows: int, units: int) -> dict[str, Callable[[], Any]]:
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(steps, rows, INPUTS, generator=generator)
    weights = torch.randn(steps, rows, units, generator=generator)
    ends = torch.rand(steps, rows, generator=generator) < 1 / EPISODE_STEPS
    keep, theirs = keep_of(ends), nn.LSTM(INPUTS, units)
    lstm, gru = (kind(INPUTS, units, generator) for kind in (LSTM, GRU))

    def gradient(layer: nn.Module, outputs: Tensor, by: Tensor) -> Any:
        return torch.autograd.grad((outputs * by).sum(), list(layer.parameters()))

    def by_hand(layer: Any) -> Any:
        return gradient(layer, layer(inputs, torch.zeros(rows, layer.state_size), keep)[0], weights)

    def packed() -> Any:
        pieces = [torch.tensor_split(x, cuts) for x, cuts in zip(inputs.unbind(1), at, strict=True)]
        by = [torch.tensor_split(x, cuts) for x, cuts in zip(weights.unbind(1), at, strict=True)]
        sequence, ordered = (
            pack_sequence([piece for row in each for piece in row if len(piece)], False)
            for each in (pieces, by)
        )
        return gradient(theirs, theirs(sequence)[0].data, ordered.data)

    at = [(row.nonzero().flatten() + 1).tolist() for row in ends.unbind(1)]
    return {
        "LSTM, by hand": lambda: by_hand(lstm),
        "LSTM, automatic differentiation": lambda: gradient(
            lstm, differentiated(lstm, inputs, keep), weights
        ),
        "LSTM of PyTorch, packed pieces": packed,
        "LSTM of PyTorch, whole rows, never forgets": lambda: gradient(
            theirs, theirs(inputs)[0], weights
        ),
        "GRU, by hand": lambda: by_hand(gru),
    }


def differentiated(layer: LSTM, inputs: Tensor, keep: Tensor) -> Tensor:
    """The layer's outputs [L, B, H] by operations that PyTorch follows."""
    gates = layer._gates(inputs)
    h = c = torch.zeros(inputs.shape[1], layer.size)
    outputs = []
    for of_inputs, kept in zip(gates, keep, strict=True):
        h, c = h * kept, c * kept
        g, i, f, o = torch.addmm(of_inputs, h, layer.state_weight.mT).chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        outputs.append(h)
    return torch.stack(outputs)


def milliseconds(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return 1e3 * (time.process_time() - start)


if __name__ == "__main__":
    main()
