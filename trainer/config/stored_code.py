"""Which code a stored configuration may name: that of a checkpoint, a run.toml or a sweep.

What people type, and their own TOML files, is their own code. A stored configuration may be
anybody's: a run folder can be copied from anywhere. So a run carries seals, one for each piece of
code that its user named as it began: a keyed hash (HMAC) of the code's name, the user, the machine
and the working folder. The key is the user's own and never in a run's folder, so nobody else can
write a seal, and all that a seal permits is code that this user began a run with, from this folder.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...shared.errors import CheckpointError, ConfigError, NotHereError, UsageError
from ...shared.processes.host import machine_id
from ...shared.runs.owners import ALL_OF_OTHERS, is_own
from ...shared.runs.run_folder import home_folder
from ...shared.runs.small_file import create_anew, open_regular
from ...shared.text.harmless import one_line
from ..envs.names import GYMNASIUM_PREFIX, NATIVE_PREFIX, PETTINGZOO_PREFIX
from ..settings.importing import check_module, check_places, is_below, places_of

SEALS = "code_seals"  # the key of a manifest
# "1" in the environment is --trust-code, for this process and those that it starts.
SWITCH = "OPERANT_TRUST_CODE"
MOST_SEALS = 100
KEY_BYTES = 32
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


def added_seals(
    manifest: Mapping[str, Any], all_values: Iterable[Mapping[str, Any]]
) -> dict[str, list[str]]:
    """The entry of a manifest for the code that these configurations name, which the user begins or
    goes on with here; empty where they name none. Without a place for the key there is no seal, and
    the run needs --trust-code later.
    """
    codes = dict.fromkeys(code for values in all_values for code in named_code(values))
    key = _key(makes=True) if codes else b""
    new = [_seal(key, code) for code in codes] if key else []
    seals = list(dict.fromkeys((*_seals_in(manifest), *new)))[-MOST_SEALS:]
    return {SEALS: seals} if seals else {}


def check_stored_code(
    values: Mapping[str, Any],
    folder: Path,
    files: Iterable[Path],
    manifest: Callable[[], Mapping[str, Any]],
) -> None:
    """Ask before anything is made of stored `values`: they come from `files` in the `folder` of a
    run or a sweep, whose `manifest` has the seals. Says on standard error what --trust-code
    lets in.

    Raises UsageError, a line that names the code and its file, where they name code that this
    user did not begin a run with on this machine from the current folder.
    """
    for code in named_code(values):
        _check(code, folder, list(files), manifest())


def trusts_all_code() -> bool:
    return os.environ.get(SWITCH) == "1"


def _check(code: str, folder: Path, files: Sequence[Path], manifest: Mapping[str, Any]) -> None:
    shown, module = one_line(code, SHOWN), _module(code)
    if module:
        check_module(module)
        places = places_of(module)
        if not places:
            path = one_line(code.partition(":")[2], SHOWN)
            missing = one_line(module, SHOWN)
            raise NotHereError(f"'{path}': no module is called '{missing}', here or installed")
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
    line = f"operant: --trust-code: {shown} runs {what}"
    if line not in _said:
        _said.add(line)
        with suppress(OSError):  # the terminal may have gone
            print(line, file=sys.stderr, flush=True)


def _doubt(code: str, folder: Path, files: Sequence[Path], manifest: Mapping[str, Any]) -> str:
    """Why it may not be this user's own; empty where it is. A checkpoint outside of a run has no
    manifest.
    """
    if not manifest:
        return f"nothing proves that {one_line(str(files[-1]), SHOWN)} is of a run of yours"
    for path in (folder, *files):
        if not is_own(path):
            return f"{one_line(str(path), SHOWN)} is another user's, or a link"
    key = _key()
    own = _seal(key, code) if key else ""
    if own and any(hmac.compare_digest(own.encode(), s.encode()) for s in _seals_in(manifest)):
        return ""
    began = manifest.get("working_folder")
    where = f" (it names {one_line(began, SHOWN)})" if isinstance(began, str) else ""
    return (
        f"nothing proves that you began {one_line(folder.name, SHOWN)} on this machine from this "
        f"folder{where}"
    )


def _seals_in(manifest: Mapping[str, Any]) -> list[str]:
    seals = manifest.get(SEALS)
    return [seal for seal in seals if isinstance(seal, str)] if isinstance(seals, list) else []


def _module(code: str) -> str:
    """The module that `code` names; empty for a file."""
    library, _, rest = code.partition(":")
    if library == "mettagrid" and rest.endswith(".json"):
        return ""
    return rest.rpartition(":")[0] if ":" in rest else rest


def _text(table: Mapping[str, Any], key: str) -> str:
    value = table.get(key, "")
    if type(value) is not str:
        raise CheckpointError(f"{key} = {one_line(repr(value), 100)} is no text")
    return value


def _seal(key: bytes, code: str) -> str:
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:  # it was deleted
        return ""
    facts = json.dumps([1, os.getuid(), machine_id(), here, code])
    return hmac.new(key, facts.encode(), hashlib.sha256).hexdigest()


def _key(makes: bool = False) -> bytes:
    """The user's own key, which `makes` creates where there is none. Empty where there is no key,
    or others could read it.
    """
    # The home itself may be a link, as to a larger disk.
    path = Path(os.path.realpath(home_folder())) / f"code-{os.getuid()}.key"
    found = _read_key(path)
    if found or not makes:
        return found
    building = path.with_name(f".{path.name}.{os.getpid()}.building")
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with os.fdopen(create_anew(building), "wb") as file:
                file.write(secrets.token_bytes(KEY_BYTES))
            os.link(building, path)  # which fails where another process was first
        finally:
            building.unlink(missing_ok=True)
    return _read_key(path)


def _read_key(path: Path) -> bytes:
    try:
        fd = open_regular(path, path.parent)
    except OSError:
        return b""
    try:
        status, key = os.fstat(fd), os.read(fd, KEY_BYTES + 1)
    except OSError:
        return b""
    finally:
        os.close(fd)
    is_private = status.st_uid == os.getuid() and not status.st_mode & ALL_OF_OTHERS
    return key if is_private and len(key) == KEY_BYTES else b""
