"""What people log and configure, as numbers for a page and as plain values for a file."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
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
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain(as_mapping(value))
    # A number of numpy, or a tensor of one element.
    try:
        item = value.item()
    except Exception:
        item = None
    return item if isinstance(item, bool | int | float) else _text(value)


def as_mapping(config: Any) -> dict[str, Any]:
    """A configuration as a dict: of a mapping, a dataclass, a namespace such as argparse's, absl's
    flags, an object that makes a dict of itself, or the path of a file.

    Raises UsageError for anything else.
    """
    if config is None:
        return {}
    if isinstance(config, Mapping):
        return {str(key): value for key, value in config.items()}
    if isinstance(config, str | os.PathLike):
        return config_in_file(config)
    if isinstance(config, type):
        raise UsageError(f"config = {config!r} is a class, not an object")
    for method in ("flag_values_dict", "model_dump", "to_dict", "as_dict"):
        with contextlib.suppress(Exception):
            return as_mapping(dict(getattr(config, method)()))
    if dataclasses.is_dataclass(config):
        return {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    if hasattr(config, "__dict__"):
        return {key: value for key, value in vars(config).items() if not key.startswith("_")}
    with contextlib.suppress(Exception):
        return as_mapping(dict(config))
    raise UsageError(f"config = {config!r} is neither a dict nor a namespace nor a dataclass")


def config_in_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The configuration in a file of JSON, TOML or (where PyYAML is installed) YAML; entries that
    hold a `value`, as wandb writes them, give that.

    Raises UsageError for what cannot be read.
    """
    try:
        text = Path(path).read_text()
        if str(path).endswith(".json"):
            found = json.loads(text)
        elif str(path).endswith(".toml"):
            found = tomllib.loads(text)
        else:
            found = importlib.import_module("yaml").safe_load(text)
    except Exception as error:  # an optional library has errors of its own
        raise UsageError(f"config = '{path}' cannot be read: {error}") from None
    if not isinstance(found, Mapping):
        raise UsageError(f"config = '{path}' holds no mapping")
    return {
        str(key): about["value"] if isinstance(about, Mapping) and "value" in about else about
        for key, about in found.items()
        if key not in ("wandb_version", "_wandb")
    }


def _text(value: Any) -> str:
    """Text that can be written as UTF-8; command lines may hold other bytes."""
    try:
        return str(value).encode("utf-8", "replace").decode()
    except Exception:
        return f"<{type(value).__name__}>"
