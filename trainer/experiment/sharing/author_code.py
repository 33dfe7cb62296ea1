"""The modules that a shared policy needs of its author: the files in `code/` of its folder.

They are copied and read by people. Nothing is imported from there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ....shared.errors import UsageError
from ....shared.runs.run_folder import SHARED_CODE
from ....shared.runs.small_file import read_small
from ...config.stored_code import module_of, named_code
from ...settings.importing import places_of

MAX_FILES, MAX_FILE_BYTES = 100, 1 << 20
_IS_CODE = re.compile(rf"{SHARED_CODE}(/[A-Za-z_]\w*)+\.py", re.ASCII)
_OPERANT = __name__.partition(".")[0]


def author_code(config: Mapping[str, Any]) -> dict[str, bytes]:
    """The files of the modules that a configuration names, by their paths in a shared policy:
    packages whole, and no installed ones. Raises UsageError for too many or too large ones.
    """
    tops = {module_of(code).partition(".")[0] for code in named_code(config)} - {"", _OPERANT}
    files: dict[str, bytes] = {}
    for place in (Path(places[-1]) for top in sorted(tops) if (places := places_of(top))):
        if {"site-packages", "dist-packages"} & {*place.parts}:
            continue
        root = place.parent if place.name == "__init__.py" else place
        for path in sorted(root.rglob("*.py")) if root.is_dir() else [root]:
            name = f"{SHARED_CODE}/{path.relative_to(root.parent).as_posix()}"
            if is_code(name):
                files[name] = _read(path)
    if len(files) > MAX_FILES:
        raise UsageError(f"--with-code: {len(files)} files; at most {MAX_FILES} are shared")
    return files


def pulled_code(folder: Path) -> dict[str, bytes]:
    """The files in a shared policy's folder, by their paths in it; links and large files are left
    out.
    """
    found = {}
    for path in sorted((folder / SHARED_CODE).rglob("*.py"))[:MAX_FILES]:
        name = path.relative_to(folder).as_posix()
        if is_code(name):
            try:
                found[name] = read_small(path, MAX_FILE_BYTES, folder)
            except OSError:
                continue
    return found


def is_code(name: str) -> bool:
    """Whether a path in a shared policy's folder is that of a module in `code/`."""
    return bool(_IS_CODE.fullmatch(name))


def _read(path: Path) -> bytes:
    try:
        return read_small(path, MAX_FILE_BYTES)
    except OSError as error:
        raise UsageError(f"--with-code: {path}: {error.strerror}") from None
