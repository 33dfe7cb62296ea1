"""A configuration as a TOML file that trains the same run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from ...shared.errors import UsageError
from ...shared.text.harmless import harmless, harmless_toml
from ...trainer.config.train_config import TrainConfig


def write_config(path: Path, config: TrainConfig, head: str) -> None:
    """Write a configuration as a TOML file below a comment. Raises UsageError."""
    values = _with_none(config.model_dump(mode="json"))
    if (workers := values.get("workers")) and workers["num_workers"] != "auto":
        # The workers of a preset are capped at the cores; a file with too many is refused.
        workers["num_workers"] = config.table("workers").plan(config.num_envs).num_workers
    try:
        with path.open("x") as file:
            file.write(f"# {harmless(head)}\n\n{harmless_toml(tomli_w.dumps(values))}")
    except OSError as error:
        raise UsageError(f"-o {path}: {error.strerror}") from None


def _with_none(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with `"none"` for None: it clears what a preset sets, and TOML has no null."""
    return {
        key: _with_none(value) if isinstance(value, Mapping) else "none" if value is None else value
        for key, value in values.items()
    }
