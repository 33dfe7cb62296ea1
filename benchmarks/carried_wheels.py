"""What operant needs on a machine without network beside what that has: a folder to carry there.

    python benchmarks/carried_wheels.py FOLDER [--python 3.12] [--also NAME==VERSION ...]

For Linux on x86-64 and a machine that has torch, numba, numba-cuda, NumPy, pandas, click, psutil,
onnx, pytest and hypothesis. Versions are those of `constraints.txt`. Of NVIDIA's wheel of libNVVM
that of CUDA 13.0 is taken, whose PTX every driver for CUDA 13 takes, without the compiler in it
that nothing here calls, which is half of its size.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (
    "annotated-types", "linkify-it-py", "markdown-it-py", "mdit-py-plugins", "mdurl",
    "nvidia-ml-py", "nvidia-nvvm", "onnxscript", "platformdirs", "pydantic", "pydantic_core",
    "pytest-timeout", "rich", "textual", "tomli_w", "typing-inspection", "typing_extensions",
)  # fmt: skip
OWN_PINS = {"nvidia-nvvm": "13.0.88"}
GLIBC = ("2_28", "2_27", "2_17", "2_12")
NAMED = ("manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64")
UNUSED = "nvidia/cu13/nvvm/bin/"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", default="3.12", help="the version there (3.12)")
    parser.add_argument("--also", nargs="*", default=[], metavar="NAME==VERSION")
    arguments = parser.parse_args()
    download(arguments.folder, [*pinned(PACKAGES), *arguments.also], arguments.python)
    for wheel in arguments.folder.glob("nvidia_nvvm-*.whl"):
        leave_out(wheel, UNUSED)
    sizes = {path.name: path.stat().st_size for path in sorted(arguments.folder.glob("*.whl"))}
    for name, size in sizes.items():
        print(f"{size / 2**20:8.2f} MiB  {name}")
    print(f"{sum(sizes.values()) / 2**20:8.2f} MiB  together")
    return 0


def pinned(packages: tuple[str, ...]) -> list[str]:
    """Each with its version in `constraints.txt`."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    versions = dict(line.split("==") for line in lines if re.match(r"[\w.-]+==", line)) | OWN_PINS
    return [f"{name}=={versions[name]}" for name in packages]


def download(folder: Path, packages: list[str], python: str) -> None:
    platforms = [f"manylinux_{version}_x86_64" for version in GLIBC] + list(NAMED)
    command = [
        sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
        "--python-version", python, "--implementation", "cp", "--dest", str(folder),
    ]  # fmt: skip
    command += [f"--platform={platform}" for platform in platforms]
    subprocess.run([*command, *packages], check=True)


def leave_out(wheel: Path, prefix: str) -> None:
    """Write `wheel` anew without the files under `prefix`, also in its own list of them."""
    smaller = wheel.with_suffix(".part")
    with (
        zipfile.ZipFile(wheel) as old,
        zipfile.ZipFile(smaller, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as new,
    ):
        for entry in old.infolist():
            if entry.filename.startswith(prefix):
                continue
            data = old.read(entry)
            if entry.filename.endswith(".dist-info/RECORD"):
                kept = (x for x in data.splitlines(True) if not x.startswith(prefix.encode()))
                data = b"".join(kept)
            new.writestr(entry, data)
    smaller.replace(wheel)


if __name__ == "__main__":
    sys.exit(main())
