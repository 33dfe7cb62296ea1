"""What people log and configure, as numbers for a page and as plain values for a file."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import UsageError


def flattened(values: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Names and values of a nested mapping, its levels joined by `/`, as metrics are named."""
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from flattened(value, f"{name}/")
        else:
            yield name, value


def number_of(value: Any) -> float | None:
    """`value` as a number: of Python, numpy or a tensor of one element. None for anything else."""
    if isinstance(value, float):
        return value
    if isinstance(value, str | bytes):
        return None
    # Whatever a foreign object raises here, it is no number.
    try:
        return float(value.item() if hasattr(value, "item") else value)
    except Exception:
        return None


def plain(value: Any) -> Any:
    """`value` in what TOML can hold: numbers, text, lists and tables, anything else as its text."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {_text(key): plain(v) for key, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(v) for v in value if v is not None]
    if isinstance(value, str):
        return _text(value)
    # A number of numpy, or a tensor of one element.
    try:
        item = value.item()
    except Exception:
        item = None
    return item if isinstance(item, bool | int | float) else _text(value)


def as_mapping(config: Any) -> dict[str, Any]:
    """A configuration as a dict: of a mapping, a dataclass or a namespace such as argparse's.

    Raises UsageError for anything else.
    """
    if config is None:
        return {}
    if isinstance(config, Mapping):
        return {str(key): value for key, value in config.items()}
    if dataclasses.is_dataclass(config) and not isinstance(config, type):
        return dataclasses.asdict(config)
    if hasattr(config, "__dict__") and not isinstance(config, type):
        return {key: value for key, value in vars(config).items() if not key.startswith("_")}
    raise UsageError(f"config = {config!r} is neither a dict nor a namespace nor a dataclass")


def _text(value: Any) -> str:
    """Text that can be written as UTF-8; command lines may hold other bytes."""
    try:
        return str(value).encode("utf-8", "replace").decode()
    except Exception:
        return f"<{type(value).__name__}>"
