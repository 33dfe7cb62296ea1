"""Builds the null CUDA runtime and driver with gcc, for the CUDA build of PyTorch of this Python.

PyTorch links to some hundred functions of the runtime. Those that matter are written in the C files
here; all others are generated: they do nothing and return success.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import subprocess
import tempfile
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
RUNTIME_SOURCES = ("device.c", "memory.c", "streams.c")
DEFINED = re.compile(r"\b((?:__)?cu[dA-Z][A-Za-z0-9_]+)\([^;{]*\)\s*\{", re.DOTALL)
# What libraries ask the driver for by name stands among their strings.
DRIVER_USERS = ("libc10_cuda.so", "libtorch_cuda.so", "libtorch_python.so")


def cache_folder() -> Path:
    """Where the rehearsal keeps its environment and libraries from one run to the next."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("OPERANT_GPU_REHEARSAL") or Path(base, "operant-gpu-rehearsal"))


def null_libraries() -> tuple[Path, Path]:
    """The runtime and the driver, built where they are not there yet for these sources."""
    folder = cache_folder() / f"null-{_fingerprint()}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as made:
            build(Path(made, "built"))
            try:
                Path(made, "built").rename(folder)
            except OSError:  # another process was faster
                if not folder.exists():
                    raise
    return folder / "libcudart.so.13", folder / "libcuda.so.1"


def build(folder: Path) -> None:
    folder.mkdir()
    libraries = sorted(_package("torch").joinpath("lib").glob("*.so"))
    symbols = _output("nm", "-D", "--undefined-only", *libraries).split()
    wanted = {symbol.partition("@")[0] for symbol in symbols}
    runtime = [HERE / name for name in RUNTIME_SOURCES]
    others = {name for name in wanted if re.fullmatch(r"(?:__)?cuda[A-Z]\w+", name)}
    stubs = _write_stubs(folder / "other_runtime.c", others - _defined(runtime))
    (folder / "version.map").write_text("libcudart.so.13 { global: *; };\n")
    _gcc(
        folder / "libcudart.so.13", *runtime, stubs, f"-I{_package('nvidia') / 'cu13/include'}",
        f"-Wl,--version-script={folder / 'version.map'}",
    )  # fmt: skip
    driver = [HERE / "driver.c"]
    asked = _output("strings", *(x for x in libraries if x.name in DRIVER_USERS)).split()
    others = {x for x in {*wanted, *asked} if re.fullmatch(r"cu(?!File|pti)[A-Z]\w+", x)}
    stubs = _write_stubs(folder / "other_driver.c", others - _defined(driver))
    _gcc(folder / "libcuda.so.1", *driver, stubs)


def _defined(sources: list[Path]) -> set[str]:
    return {name for source in sources for name in DEFINED.findall(source.read_text())}


def _write_stubs(path: Path, names: set[str]) -> Path:
    path.write_text("".join(f"long {name}(void) {{ return 0; }}\n" for name in sorted(names)))
    return path


def _gcc(library: Path, *arguments: Path | str) -> None:
    flags = ("-shared", "-fPIC", "-O1", "-w", "-pthread", f"-Wl,-soname,{library.name}")
    subprocess.run(["gcc", *flags, "-o", library, *arguments], check=True)


def _output(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(f"{name} is not installed beside this Python")
    return Path(next(iter(spec.submodule_search_locations)))


def _fingerprint() -> str:
    sources = b"".join(path.read_bytes() for path in sorted(HERE.iterdir()) if path.is_file())
    return hashlib.sha256(sources + version("torch").encode()).hexdigest()[:16]


if __name__ == "__main__":
    for library in null_libraries():
        print(library)
