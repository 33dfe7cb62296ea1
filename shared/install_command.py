"""The command that installs an extra into this Python, from where operant itself was installed."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

PACKAGE = "operant-rl"
_FOLDER = Path(__file__).absolute().parents[1]


def install_command(extra: str) -> str:
    """`pip install -e '.[mujoco]'` in a checkout that is the current folder; elsewhere with the
    checkout's path. `pip install '/path/to/operant_rl.whl[mujoco]'` after an installation from that
    wheel, else with the package's name.
    """
    origin = _origin()
    url = str(origin.get("url", ""))
    place = Path(unquote(urlsplit(url).path)) if url.startswith("file://") else None
    if place is None or not place.exists():
        return f"pip install {shlex.quote(f'{PACKAGE}[{extra}]')}"
    shown = "." if place.samefile(".") else place
    option = "-e " if origin.get("dir_info", {}).get("editable") else ""
    return f"pip install {option}{shlex.quote(f'{shown}[{extra}]')}"


def _origin() -> dict[str, Any]:
    """The installer's record of the folder or file that it installed (PEP 610)."""
    from importlib.metadata import PackageNotFoundError, distribution  # slow to import

    try:
        written = distribution(PACKAGE).read_text("direct_url.json")
    except PackageNotFoundError:  # a checkout that runs without being installed
        return {"url": _FOLDER.as_uri(), "dir_info": {"editable": True}}
    found = json.loads(written or "{}")
    return found if isinstance(found, dict) else {}
