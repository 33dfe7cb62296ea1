"""Runs as former versions left them, put where this operant finds them; see tests/data."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

from operant.shared.runs.find_runs import list_runs
from operant.shared.runs.run_folder import Run, home_folder

DATA = Path(__file__).parents[1] / "data"


def names_of(version: str) -> list[str]:
    return sorted(path.name.removesuffix(".tar.xz") for path in (DATA / version).glob("*.tar.xz"))


def unpack(name: str, version: str = "0.1.0") -> Run:
    """The run called `name` in $OPERANT_HOME; the page of one that was killed in $OPERANT_PAGES."""
    known = set(list_runs())
    pages = Path(os.environ["OPERANT_PAGES"])
    with tarfile.open(DATA / version / f"{name}.tar.xz") as archive:
        for member in archive.getmembers():
            top, _, rest = member.name.partition("/")
            folder = pages if top == "pages" else home_folder() / "runs"
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            archive.extract(member.replace(name=rest), folder, filter="tar")
    (run,) = set(list_runs()) - known
    return run
