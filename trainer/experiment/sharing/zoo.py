"""The trained policies that come with operant, one for each of some environments: `make zoo`."""

from __future__ import annotations

from pathlib import Path

from ....shared.errors import UsageError, nearest
from ....shared.runs.run_folder import Run
from ....shared.text.harmless import one_line
from ...envs.names import own_version

FOLDER = Path(__file__).parents[3] / "zoo"


def shipped_policy(env: str) -> Run:
    """The folder of the policy for `env`. Raises UsageError, which lists those there are."""
    names = sorted(path.name for path in FOLDER.iterdir() if (path / "run.toml").is_file())
    if env not in names:
        own = own_version(env)
        hint = f"; did you mean '{own}'?" if own in names else nearest(env, names)
        raise UsageError(
            f"operant comes with no trained policy for {one_line(env, 60)}{hint}; there are: "
            + ", ".join(names)
        )
    return Run(FOLDER / env)
