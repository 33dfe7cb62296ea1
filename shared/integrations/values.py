"""What people log and configure: as names and numbers for a page, as a mapping for a file."""

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
    """Names and values of a nested mapping, its levels joined by `/`, as metrics are named.

    What cannot be read of it, as of a mapping that holds itself or raises, `warn` is told of, and
    the rest comes all the same. Raises TypeError for what is no mapping.
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
    """`value` as a number: of Python, numpy or a tensor of one element. None for anything else, and
    for a number that is masked.
    """
    if type(value) is float:
        return value
    # Whatever a foreign object raises here, it is no number.
    try:
        if isinstance(value, str | bytes | bytearray):
            return None
        if hasattr(value, "compressed") and not value.compressed().size:
            return None  # masked: numpy would give what lies below the mask
        return float(value.item() if hasattr(value, "item") else value)
    except Exception:
        return None


def as_mapping(config: Any) -> dict[str, Any]:
    """A configuration as a dict: of a mapping, a dataclass, a namespace such as argparse's, absl's
    flags, an object that makes a dict of itself, or the path of a file.

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
        raise UsageError(f"config = '{path}' is not a mapping")
    return {
        str(key): about["value"] if isinstance(about, Mapping) and "value" in about else about
        for key, about in found.items()
        if key not in ("wandb_version", "_wandb")
    }
