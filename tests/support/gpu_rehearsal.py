"""Runs the tests of the GPU path without a GPU: `make gpu-rehearsal`.

    python tests/support/gpu_rehearsal.py [--short] [PYTEST ARGUMENTS]

It needs a CUDA build of PyTorch, which `constraints.txt` does not have, and therefore a virtual
environment of its own (6 GB). That is kept in ~/.cache/operant-gpu-rehearsal from one run to the
next and serves all checkouts; OPERANT_GPU_REHEARSAL names another folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

from emulated_gpu.null_runtime.build import cache_folder

REPOSITORY = Path(__file__).parents[2]
START = Path(__file__).parent / "emulated_gpu" / "start"
# With 2.13, which the project is tested with, captures fail on the null runtime.
TORCH = "torch==2.14.1"
# CUDA's headers, which the null runtime is compiled with, and what the tests import.
EXTRAS = (
    "nvidia-cuda-crt==13.0.*", "hypothesis", "pytest", "pytest-timeout", "pillow", "gymnasium",
)  # fmt: skip
TESTS = ("tests/emulated_gpu", "tests/gpu")
SHORT = ("-m", "not long_rehearsal")


def main(arguments: list[str]) -> int:
    if sys.platform != "linux":
        print("gpu-rehearsal: the null CUDA runtime is for Linux; nothing was run")
        return 0
    python = rehearsal_python()
    short = "--short" in arguments
    given = [x for x in arguments if x != "--short"]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "operant").symlink_to(REPOSITORY)
        command = [python, "-m", "pytest", *(SHORT if short else ()), *(given or TESTS)]
        return subprocess.run(command, cwd=REPOSITORY, env=environment(folder)).returncode


def environment(folder: str) -> dict[str, str]:
    """Where Python finds this checkout as `operant`, and what emulates GPUs in every process."""
    return {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{START}"}


def rehearsal_python() -> Path:
    """The Python of the rehearsal's environment, which is made where it is missing or old."""
    folder = cache_folder() / "venv"
    python, done = folder / "bin" / "python", folder / "requirements.txt"
    wanted = "\n".join(requirements())
    if not done.exists() or done.read_text() != wanted:
        print(f"gpu-rehearsal: installing {TORCH} into {folder} (6 GB, once)", flush=True)
        venv.create(folder, with_pip=True, clear=True)
        kept = (REPOSITORY / "constraints.txt").read_text().splitlines()
        constraints = folder / "constraints.txt"
        constraints.write_text("\n".join(x for x in kept if not x.startswith("torch==")) + "\n")
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-c", constraints, *requirements()], check=True)
        done.write_text(wanted)
    return python


def requirements() -> list[str]:
    """What operant needs on a GPU, with another PyTorch, and what the tests need."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    own = [x for x in project["dependencies"] if not x.startswith("torch")]
    return [TORCH, *own, *project["optional-dependencies"]["cuda"], *EXTRAS]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
