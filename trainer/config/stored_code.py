"""Which code a stored configuration may name: that of a checkpoint, a run.toml or a sweep.

What people type, and their own TOML files, is their own code. A stored configuration may be
anybody's: a run folder can be copied from anywhere. So a run whose user names code records that
user, the machine, the run's folder and the working folder. The code is imported where all four
are the present ones and the run's files are the user's own, else with --trust-code alone.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...shared.errors import CheckpointError, ConfigError, NotHereError, UsageError
from ...shared.messages import LOGGER
from ...shared.processes.host import machine_id
from ...shared.runs.owners import is_own
from ...shared.text.harmless import one_line
from ..envs.names import GYMNASIUM_PREFIX, NATIVE_PREFIX, PETTINGZOO_PREFIX
from ..settings.importing import check_module, check_places, is_below, places_of

CODE_OWNER = "code_owner"  # a table of run.toml and sweep.toml
# "1" in the environment is --trust-code, for this process and those that it starts.
SWITCH = "OPERANT_TRUST_CODE"
SHOWN = 200  # characters of a name or a path
_said: set[str] = set()  # what --trust-code lets in, a line each


def named_code(values: Mapping[str, Any]) -> list[str]:
    """The code that a configuration with these values imports, by the names it uses:
    `gymnasium:module:name`, `pettingzoo:module`, `native:module:function`, `mettagrid:file.json`,
    `encoder:module:Class` for a network and `algorithm:module:Class`. Registered ids name none.

    Raises CheckpointError for values that are not text, which validation could turn into text.
    """
    env = _text(values, "env")
    mettagrid = values.get("mettagrid", {})
    if not isinstance(mettagrid, dict):
        raise CheckpointError("mettagrid is not a table")
    game = _text(mettagrid, "config")
    policy = values.get("policy", {})
    if not isinstance(policy, dict):
        raise CheckpointError("policy is not a table")
    encoder, algorithm = _text(policy, "encoder"), _text(values, "algorithm")
    rest = env.partition(":")[2]
    is_id = (env.startswith(GYMNASIUM_PREFIX) and ":" not in rest) or (
        env.startswith(PETTINGZOO_PREFIX) and ":" not in rest and "/" in rest
    )
    is_hosted = env.startswith((GYMNASIUM_PREFIX, PETTINGZOO_PREFIX, NATIVE_PREFIX))
    found = [env] if is_hosted and not is_id else []
    found += [f"encoder:{encoder}"] if ":" in encoder else []
    found += [f"algorithm:{algorithm}"] if ":" in algorithm else []
    # A game as JSON names classes, which MettaGrid imports.
    return found + ([f"mettagrid:{game}"] if game else [])


def code_owner(folder: Path, all_values: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The entry of the manifest of a run or sweep in `folder` which its user begins or goes on with
    here; empty where these configurations name no code.
    """
    names_code = any(named_code(values) for values in all_values)
    return {CODE_OWNER: _owner(folder)} if names_code else {}


def check_stored_code(
    values: Mapping[str, Any],
    folder: Path,
    files: Iterable[Path],
    manifest: Callable[[], Mapping[str, Any]],
) -> None:
    """Ask before anything is made of stored `values`: they come from `files` in the `folder` of a
    run or a sweep, whose `manifest` says who began it. Says on standard error what --trust-code
    lets in.

    Raises UsageError, a line that names the code and its file, where they name code that this
    user did not begin a run with on this machine from the current folder.
    """
    for code in named_code(values):
        _check(code, folder, list(files), manifest())


def trusts_all_code() -> bool:
    return os.environ.get(SWITCH) == "1"


def _check(code: str, folder: Path, files: Sequence[Path], manifest: Mapping[str, Any]) -> None:
    shown, module = one_line(code, SHOWN), module_of(code)
    if module:
        check_module(module)
        places = places_of(module)
        if not places:
            path = one_line(code.partition(":")[2], SHOWN)
            missing = one_line(module, SHOWN)
            raise NotHereError(
                f"'{path}': no module is called '{missing}', here or installed", module=missing
            )
        what = f"{one_line(module, SHOWN)} ({one_line(places[-1], SHOWN)})"
    else:
        places = [code.partition(":")[2]]
        check_places(shown, places)
        what = one_line(os.path.abspath(places[0]), SHOWN)
    if manifest and any(is_below(place, folder) for place in places):
        raise ConfigError(
            f"{shown} would run {what}, which lies in {folder}: nothing is imported from there"
        )
    doubt = _doubt(code, folder, files, manifest)
    if not doubt:
        return
    if not trusts_all_code():
        raise UsageError(
            f"{shown} would run {what}, and {doubt}; --trust-code runs it if you trust that file"
        )
    line = f"--trust-code: {shown} runs {what}"
    if line not in _said:
        _said.add(line)
        LOGGER.info("%s", line)


def _doubt(code: str, folder: Path, files: Sequence[Path], manifest: Mapping[str, Any]) -> str:
    """Why it may not be this user's own; empty where it is. A checkpoint outside of a run has no
    manifest.
    """
    if not manifest:
        return f"nothing proves that {one_line(str(files[-1]), SHOWN)} is of a run of yours"
    for path in (folder, *files):
        if not is_own(path):
            return f"{one_line(str(path), SHOWN)} is another user's, or a link"
    owner = _owner(folder)
    if owner and manifest.get(CODE_OWNER) == owner:
        return ""
    began = manifest.get("working_folder")
    where = f" (it names {one_line(began, SHOWN)})" if isinstance(began, str) else ""
    return (
        f"{one_line(folder.name, SHOWN)} does not say that you began it on this machine, in this "
        f"place and from this folder{where}"
    )


def _owner(folder: Path) -> dict[str, Any]:
    """This user and machine, the `folder` of a run and the working folder; empty where the working
    folder was deleted. The id of a machine is private to it, so a hash stands for it.
    """
    try:
        working_folder = os.getcwd()
    except OSError:
        return {}
    return {
        "user": os.getuid(),
        "machine": hashlib.sha256(machine_id().encode()).hexdigest()[:16],
        "folder": os.path.realpath(folder),
        "working_folder": os.path.realpath(working_folder),
    }


def module_of(code: str) -> str:
    """The module that one of `named_code` names; empty for a file."""
    library, _, rest = code.partition(":")
    if library == "mettagrid" and rest.endswith(".json"):
        return ""
    return rest.rpartition(":")[0] if ":" in rest else rest


def _text(table: Mapping[str, Any], key: str) -> str:
    value = table.get(key, "")
    if type(value) is not str:
        raise CheckpointError(f"{key} = {one_line(repr(value), 100)} is no text")
    return value
