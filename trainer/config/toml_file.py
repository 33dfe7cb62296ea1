"""TOML files that people wrote, and the errors that they see."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from ... import configs
from ...shared.errors import ConfigError
from ...shared.runs.small_file import read_small, toml_table

PRESET_FOLDER = Path(configs.__file__).parent
MOST_BYTES = 2**20


def read_toml(path: Path) -> dict[str, Any]:
    """The values of a TOML file. Raises ConfigError, with the place where there is one."""
    text = ""
    try:
        text = read_small(path, MOST_BYTES).decode()
        return toml_table(text)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not a text file") from None
    except RecursionError:
        raise ConfigError(f"{path} nests too deeply") from None
    except tomllib.TOMLDecodeError as error:
        where = f"at line {len(text.splitlines())}, the last"
        raise ConfigError(f"{path}: {error}".replace("at end of document", where)) from None
    except ValueError as error:  # of a number with thousands of digits, or a key of as many parts
        raise ConfigError(f"{path}: {error}") from None
