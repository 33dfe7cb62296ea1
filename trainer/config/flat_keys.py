"""Tables within tables as one, with keys as people write them: `ppo.gamma`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def flat_keys(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The values of all tables by their whole keys."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= flat_keys(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat
