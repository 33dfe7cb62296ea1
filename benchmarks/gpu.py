"""Every figure that needs a GPU, within eight minutes, as one JSON.

    python benchmarks/gpu.py FILE [--tinyphysics DIR] [--dry]

Needs torch, numba, numba-cuda, triton, numpy, and of operant's other dependencies click, pydantic,
platformdirs and tomli-w; operant itself need not be installed. Each part is recorded as soon as it
is measured, and one that fails leaves its error and does not stop the others. `--dry` runs all
parts at tiny sizes, on the processor where there is no GPU: its numbers say nothing.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

from gpu_parts import Gpu

ROOT = Path(__file__).resolve().parents[1]
BUDGET_S = 480  # for all parts; none is begun after it


def find_operant(folder: str) -> None:
    """Make `import operant` find this checkout, and the checks of its tests."""
    if importlib.util.find_spec("operant") is None:
        Path(folder, "operant").symlink_to(ROOT)
        sys.path.insert(0, folder)
    sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "benchmarks")]


def run(path: Path, dry: bool, only: list[str], routes: Path | None = None) -> dict[str, Any]:
    from operant.commands.bench.measuring import machine, versions

    start, gpu = time.perf_counter(), Gpu(dry, routes)
    result: dict[str, Any] = {
        "dry": dry,
        "machine": {**machine(), **versions("torch", "numba", "numba-cuda", "triton", "numpy")},
        "parts": {},
    }
    parts = gpu.parts()
    for name in only or parts:
        began = time.perf_counter()
        if began - start > BUDGET_S:
            answer: dict[str, Any] = {"error": f"not begun: {BUDGET_S} s were over"}
        else:
            try:
                answer = {"result": parts[name]()}
            except Exception as error:  # the others are measured all the same
                answer = {
                    "error": f"{type(error).__name__}: {error}"[:2000],
                    "traceback": traceback.format_exc()[-4000:],
                }
        answer["seconds"] = time.perf_counter() - began
        result["parts"][name] = answer
        write(path, result)
        print(f"{name:<20} {answer['seconds']:6.1f} s  {json.dumps(answer)[:600]}", flush=True)
    return result


def write(path: Path, result: dict[str, Any]) -> None:
    """The JSON anew, whole or not at all."""
    unfinished = path.with_name(f"{path.name}.part")
    unfinished.write_text(json.dumps(result, indent=2) + "\n")
    unfinished.replace(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path, metavar="FILE", help="where the JSON goes")
    parser.add_argument("--dry", action="store_true", help="tiny sizes, to see that all parts run")
    parser.add_argument("--only", nargs="*", default=[], help="only these parts, in this order")
    parser.add_argument("--tinyphysics", type=Path, metavar="DIR", help="its model and routes")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        find_operant(folder)
        import torch

        if not arguments.dry and not torch.cuda.is_available():
            print("PyTorch sees no GPU: only --dry can run here", file=sys.stderr)
            return 2
        result = run(arguments.path, arguments.dry, arguments.only, arguments.tinyphysics)
    return 1 if any("error" in part for part in result["parts"].values()) else 0


if __name__ == "__main__":
    sys.exit(main())
