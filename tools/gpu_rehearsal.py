"""Runs the tests of the GPU path without a GPU: `make gpu-rehearsal`.

    python tools/gpu_rehearsal.py [--short] [PYTEST ARGUMENTS]
    python tools/gpu_rehearsal.py --device-table    # counts the bytes of docs/gpu.md
    python tools/gpu_rehearsal.py --conformance     # writes docs/gpu-conformance.md

It needs a CUDA build of PyTorch, which `constraints.txt` does not have, and therefore a virtual
environment of its own (6 GB). That is kept in ~/.cache/operant-gpu-rehearsal from one run to the
next and serves all checkouts; OPERANT_GPU_REHEARSAL names another folder.

Where the disk has no room for that environment, or the package registry has no such PyTorch or is
too slow, one line says so, and the exit status is 77. Every other failure to install shows what pip
says: 1.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

from emulated_gpu.null_runtime.build import cache_folder

REPOSITORY = Path(__file__).parents[1]
START = REPOSITORY / "tests" / "support" / "emulated_gpu" / "start"
TABLES = {
    "--device-table": Path(__file__).with_name("device_bytes.py"),
    "--conformance": Path(__file__).with_name("gpu_conformance.py"),
}
# With 2.13, which the project is tested with, captures fail on the null runtime.
TORCH = "torch==2.14.1"
# CUDA's headers, which the null runtime is compiled with, and what the tests import.
EXTRAS = (
    "nvidia-cuda-crt==13.0.*", "hypothesis", "pytest", "pytest-timeout", "pytest-xdist", "pillow",
    "imageio[ffmpeg]",
    "gymnasium",
)  # fmt: skip
TESTS = ("tests/emulated_gpu", "tests/gpu")
IN_PARALLEL = ("--numprocesses", "2", "--max-worker-restart", "0")
SHORT = ("-m", "not long_rehearsal")
CANNOT_BE_INSTALLED = 77  # the exit status that Automake's tests are skipped with
NEEDED_BYTES = 8 * 10**9  # 6 GB installed, and the wheels while pip unpacks them
INSTALLED_WITHIN_S = 900


class CannotBeInstalledError(Exception):
    """This machine cannot have a CUDA build of PyTorch; the message says why."""


def main(arguments: list[str]) -> int:
    if sys.platform != "linux":
        print("gpu-rehearsal: the null CUDA runtime is for Linux; nothing was run")
        return 0
    try:
        python = rehearsal_python()
    except CannotBeInstalledError as error:
        print(f"gpu-rehearsal: nothing was run: {error}", file=sys.stderr)
        return CANNOT_BE_INSTALLED
    except subprocess.CalledProcessError as error:
        print(f"gpu-rehearsal: {' '.join(map(str, error.cmd[:4]))} failed", file=sys.stderr)
        return 1
    table = next((x for x in arguments if x in TABLES), None)
    short = "--short" in arguments
    given = [x for x in arguments if x != "--short" and x not in TABLES]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "operant").symlink_to(REPOSITORY)
        command = [python, "-m", "pytest", *IN_PARALLEL, *(SHORT if short else ())]
        command += given or TESTS
        if table:
            command = [python, "-W", "ignore", TABLES[table]]
        start_s = time.monotonic()
        exit_code = subprocess.run(command, cwd=REPOSITORY, env=environment(folder)).returncode
    form = "some tests" if given else "the short form" if short else "the long form"
    form = table.lstrip("-") if table else form
    print(f"gpu-rehearsal: {form} took {time.monotonic() - start_s:.0f} s")
    return exit_code


def environment(folder: str) -> dict[str, str]:
    """Where Python finds this checkout as `operant`, and what emulates GPUs in every process."""
    return {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{START}"}


def rehearsal_python() -> Path:
    """The Python of the rehearsal's environment, which is made where it is missing or old."""
    folder = cache_folder() / "venv"
    python, done = folder / "bin" / "python", folder / "requirements.txt"
    wanted = "\n".join(requirements())
    if not done.exists() or done.read_text() != wanted:
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        if (free := shutil.disk_usage(folder.parent).free) < NEEDED_BYTES:
            raise CannotBeInstalledError(
                f"{TORCH} needs {NEEDED_BYTES / 1e9:.0f} GB in {folder.parent}, "
                f"which has {free / 1e9:.1f} GB"
            )
        print(f"gpu-rehearsal: installing {TORCH} into {folder} (6 GB, once)", flush=True)
        start_s = time.monotonic()
        install(folder)
        done.write_text(wanted)
        print(f"gpu-rehearsal: installed in {time.monotonic() - start_s:.0f} s", flush=True)
    return python


def install(folder: Path) -> None:
    venv.create(folder, with_pip=True)
    kept = (REPOSITORY / "constraints.txt").read_text().splitlines()
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(x for x in kept if not x.startswith("torch==")) + "\n")
    python = folder / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command = [*pip, "-c", constraints, *requirements()]
    try:
        ran = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=INSTALLED_WITHIN_S)
    except subprocess.TimeoutExpired:
        shutil.rmtree(folder, ignore_errors=True)
        raise CannotBeInstalledError(
            f"{TORCH} was not installed within {INSTALLED_WITHIN_S // 60} minutes"
        ) from None
    if ran.returncode:
        reason = why_not_installable(ran.stderr)
        if reason is None:
            print(ran.stderr, file=sys.stderr)
            ran.check_returncode()
        shutil.rmtree(folder, ignore_errors=True)
        raise CannotBeInstalledError(reason)
    if not next(folder.glob("lib/python*/site-packages/torch/lib/libtorch_cuda.so"), None):
        shutil.rmtree(folder, ignore_errors=True)
        raise CannotBeInstalledError(f"the package registry has {TORCH} without CUDA")


def why_not_installable(errors: str) -> str | None:
    """Why this machine cannot have the CUDA build, by what pip says; None for any other failure."""
    if re.search(rf"^ERROR: No matching distribution found for {re.escape(TORCH)}$", errors, re.M):
        return f"the package registry has no {TORCH} for this machine"
    if "[Errno 28] No space left on device" in errors:
        return f"the disk was full before {TORCH} was installed"
    return None


def requirements() -> list[str]:
    """The packages that operant needs on a GPU, with another PyTorch, and those of the tests."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    own = [x for x in project["dependencies"] if not x.startswith("torch")]
    return [TORCH, *own, *project["optional-dependencies"]["cuda"], *EXTRAS]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
