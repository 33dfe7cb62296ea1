"""Converts logged values to names and numbers, and configurations to dicts."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..text.plain_values import described, described_error, text_of

MAX_DEPTH = 16
# The methods by which an object turns into a dict: of Hugging Face, absl, pydantic and others.
_METHODS = ("to_sanitized_dict", "flag_values_dict", "model_dump", "to_dict", "as_dict")


def flattened(values: Any, warn: Callable[[str], None]) -> Iterator[tuple[str, Any]]:
    """The names and values of a nested mapping; names of nested levels are joined by `/`.

    Calls `warn` for parts that cannot be read (a mapping that raises or contains itself), and goes
    on with the others. Raises TypeError if `values` is not a mapping.
    """
    if not _is_mapping(values):
        raise TypeError(f"expected a dict, got {described(values)}")
    yield from _flattened(values, "", warn, MAX_DEPTH)


def _flattened(
    values: Mapping[Any, Any], prefix: str, warn: Callable[[str], None], depth: int
) -> Iterator[tuple[str, Any]]:
    try:
        items = list(values.items())
    except Exception as error:
        warn(f"{prefix or 'what is logged'} cannot be read: {described_error(error)}")
        return
    for key, value in items:
        name = f"{prefix}{text_of(key)}"
        if not _is_mapping(value):
            yield name, value
        elif depth == 1:
            warn(f"'{described(name)}' is more than {MAX_DEPTH} levels deep: it is not kept")
        else:
            yield from _flattened(value, f"{name}/", warn, depth - 1)


def _is_mapping(value: Any) -> bool:
    try:
        return isinstance(value, Mapping)
    except Exception:  # asks the object for its class, and it may answer with an error
        return False


def number_of(value: Any) -> float | None:
    """`value`, a number of Python or numpy or a tensor of one element, as a float. None for
    anything else, and for a masked number.
    """
    if type(value) is float:
        return value
    # An object that raises here is not a number.
    try:
        if isinstance(value, str | bytes | bytearray):
            return None
        if hasattr(value, "compressed") and not value.compressed().size:
            return None  # masked: numpy would give the value below the mask
        return float(value.item() if hasattr(value, "item") else value)
    except Exception:
        return None


def as_mapping(config: Any) -> dict[str, Any]:
    """A configuration as a dict. It may be a mapping, a dataclass, a namespace such as argparse's,
    absl's flags, an object with a method such as `to_dict`, or the path of a file.

    Raises UsageError for anything else.
    """
    if config is None:
        return {}
    if isinstance(config, Mapping):
        return {text_of(key): value for key, value in config.items()}
    if isinstance(config, str | os.PathLike):
        return config_in_file(config)
    if isinstance(config, type):
        raise UsageError(f"config = {described(config)} is a class, not an object")
    for method in _METHODS:
        with contextlib.suppress(Exception):
            return as_mapping(dict(getattr(config, method)()))
    if dataclasses.is_dataclass(config):
        return {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    if hasattr(config, "__dict__"):
        return {key: value for key, value in vars(config).items() if not key.startswith("_")}
    with contextlib.suppress(Exception):
        return as_mapping(dict(config))
    raise UsageError(
        f"config = {described(config)} is neither a dict nor a namespace nor a dataclass"
    )


def config_in_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The configuration in a file of JSON, TOML or (if PyYAML is installed) YAML. Of an entry with
    a `value`, as wandb writes them, the value.

    Raises UsageError if the file cannot be read.
    """
    try:
        text = Path(path).read_text()
        if str(path).endswith(".json"):
            config = json.loads(text)
        elif str(path).endswith(".toml"):
            config = tomllib.loads(text)
        else:
            config = importlib.import_module("yaml").safe_load(text)
    except Exception as error:  # an optional library has errors of its own
        raise UsageError(f"config = '{path}' cannot be read: {error}") from None
    if not isinstance(config, Mapping):
        raise UsageError(f"config = '{path}' is not a mapping")
    return {
        str(key): entry["value"] if isinstance(entry, Mapping) and "value" in entry else entry
        for key, entry in config.items()
        if key not in ("wandb_version", "_wandb")
    }
