"""Matrix products of oneDNN against those that PyTorch chooses, in turns: which `trainer/policies/
mlp.py` should take on this processor, and from which size on.

    python benchmarks/products.py [--threads 1] [--json FILE]
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable
from typing import Any

import torch
from measuring import machine, summary, versions, write_json

from operant.trainer.policies import mlp

ROWS, WIDTHS = (32, 64, 256), (64, 128, 256, 512)
ROUNDS, CALLS = 15, 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", help="also write everything to this file")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print(f"oneDNN is taken: {mlp.ONEDNN_IS_FASTER}, from {mlp.LARGE:,}")
    sizes = itertools.product(ROWS, WIDTHS)
    results = {f"{rows} x {width}": measured(rows, width) for rows, width in sizes}
    write_json(arguments.json, {"machine": {**machine(), **versions("torch")}, "runs": results})


@torch.no_grad()
def measured(rows: int, width: int) -> dict[str, Any]:
    x, weight, bias = torch.randn(rows, width), torch.randn(width, width), torch.randn(width)
    sides: dict[str, Callable[[], Any]] = {
        "pytorch": lambda: torch.addmm(bias, x, weight.mT),
        "onednn": lambda: mlp._onednn(x, weight.mT, bias),
    }
    found: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(ROUNDS):
        for name, product in sides.items():
            start_s = time.perf_counter()
            for _ in range(CALLS):
                product()
            found[name].append((time.perf_counter() - start_s) / CALLS * 1e6)
    told = {name: summary(times) for name, times in found.items()}
    numbers = "  ".join(f"{name} {times['median']:.0f} us" for name, times in told.items())
    print(f"{rows} x {width} x {width} ({rows * width * width:,}): {numbers}", flush=True)
    return told


if __name__ == "__main__":
    main()
