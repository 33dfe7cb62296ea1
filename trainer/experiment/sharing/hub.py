"""Policies on the Hugging Face Hub, by huggingface_hub: `hf:OWNER/NAME` and local folders."""

from __future__ import annotations

import fnmatch
import importlib
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ....shared.errors import OperantError, UsageError
from ....shared.install_command import install_command
from ....shared.runs.run_folder import SHARED_CODE, Run
from ....shared.runs.run_notes import MANIFEST_FILE
from ....shared.text.harmless import one_line
from ....shared.text.plain_values import described
from ..checkpoints import CHECKPOINTS
from .author_code import MAX_FILE_BYTES, MAX_FILES, is_code
from .model_card import CARD_FILE
from .policy_folder import (
    FILES,
    PushedPolicy,
    Warn,
    check_size,
    file_errors,
    take_policy_folder,
    write_policy_folder,
)

PREFIX = "hf:"
WEIGHTS = f"{CHECKPOINTS}/iteration-*.pt"
_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*", re.ASCII)
OF_THE_HUB = {".gitattributes"}


class HubError(OperantError):
    """The Hugging Face Hub refused, or cannot be reached."""


def push(
    run: Run,
    target: str,
    checkpoint: str,
    num_episodes: int,
    *,
    private: bool = False,
    with_code: bool = False,
    warn: Warn = lambda _: None,
) -> PushedPolicy:
    """Write a run's policy to the folder `target`, or to the repository `hf:OWNER/NAME`, which is
    made if it is missing. `OWNER/NAME` is refused where there is no folder OWNER: it may mean
    either. Raises UsageError, CheckpointError and HubError.
    """
    name = _repository(target)
    if name is None:
        folder = Path(target)
        if _NAME.fullmatch(target) and not folder.parent.exists():
            raise UsageError(
                f"{target}: there is no folder {folder.parent}; {PREFIX}{target} is the repository "
                f"of the Hugging Face Hub, and ./{target} a new folder"
            )
        source = Path(os.path.realpath(folder)).name
        return write_policy_folder(
            run, folder, source, checkpoint, num_episodes, warn, with_code=with_code
        )
    hub = _huggingface_hub()
    with _hub_errors(target):
        _check_repository(hub.HfApi(), name, target, private)
    with tempfile.TemporaryDirectory(prefix="operant-push-") as temporary:
        folder = Path(temporary, name.partition("/")[2])
        pushed = write_policy_folder(
            run, folder, target, checkpoint, num_episodes, warn, with_code=with_code
        )
        with _hub_errors(target):
            api = hub.HfApi()
            api.create_repo(name, private=private, exist_ok=True)
            api.upload_folder(
                repo_id=name,
                folder_path=folder,
                delete_patterns=[WEIGHTS, f"{SHARED_CODE}/*"],
                commit_message=f"Policy of {run.id}, iteration {pushed.iteration}",
            )
    return pushed


def pull(source: str, name: str = "") -> Run:
    """Make a run of the policy in the folder `source` or the repository `hf:OWNER/NAME`; its name
    is `name`, by default the source's. Nothing in it is executed.

    Raises UsageError, CheckpointError and HubError.
    """
    repository = _repository(source)
    if repository is None:
        folder = Path(source)
        with file_errors(source):
            if not folder.is_dir():
                known = source if _NAME.fullmatch(source) else "OWNER/NAME"
                raise UsageError(f"{source} is no folder; a policy of the Hub is {PREFIX}{known}")
            return take_policy_folder(folder, source, name or folder.resolve().name)
    hub = _huggingface_hub()
    with tempfile.TemporaryDirectory(prefix="operant-pull-") as temporary:
        folder = Path(temporary)
        with _hub_errors(source):
            sizes = _wanted_files(hub.HfApi(), repository)
            check_size(source, sum(sizes.values()))
            hub.snapshot_download(repository, local_dir=folder, allow_patterns=[*sizes])
            for path, size in sizes.items():
                if (got := (folder / path).stat().st_size) != size:
                    raise HubError(f"{source}: {path} has {got} bytes, and the Hub lists {size}")
        with file_errors(source):
            return take_policy_folder(folder, source, name or repository.partition("/")[2])


def _wanted_files(api: Any, repository: str) -> dict[str, int]:
    """The files of a shared policy with the sizes that the Hub lists; of weights the newest."""
    tree = api.list_repo_tree(repository, recursive=True)
    sizes = {entry.path: int(entry.size) for entry in tree if hasattr(entry, "size")}
    weights = sorted(fnmatch.filter(sizes, WEIGHTS))[-1:]
    code = sorted(path for path in sizes if is_code(path) and sizes[path] <= MAX_FILE_BYTES)
    wanted = (MANIFEST_FILE, CARD_FILE, *weights, *code[:MAX_FILES])
    return {path: sizes[path] for path in wanted if path in sizes}


def _repository(text: str) -> str | None:
    """OWNER/NAME of `hf:OWNER/NAME`; None for a folder. Raises UsageError."""
    try:
        is_path = bool(text) and b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        is_path = False
    if not is_path:
        raise UsageError(f"{described(text)}: expected a folder, or {PREFIX}OWNER/NAME")
    if not text.startswith(PREFIX):
        return None
    name = text.removeprefix(PREFIX)
    if not _NAME.fullmatch(name):
        raise UsageError(f"{one_line(text, 100)}: expected {PREFIX}OWNER/NAME")
    return name


def _check_repository(api: Any, name: str, target: str, private: bool) -> None:
    """Raises UsageError if a repository has other files than a shared policy's, or if it is public
    and a private one is wanted.
    """
    if not api.repo_exists(name):
        return
    others = {path.partition("/")[0] for path in api.list_repo_files(name)} - {*FILES, *OF_THE_HUB}
    if others:
        few = ", ".join(sorted(others)[:3])
        raise UsageError(f"{target} has other files in it ({few}): name a new repository")
    if private and not api.repo_info(name).private:
        raise UsageError(f"{target} is there already and public: make it private on the Hub first")


def _huggingface_hub() -> Any:
    try:
        return importlib.import_module("huggingface_hub")
    except ImportError:
        raise UsageError(f"{PREFIX} needs huggingface_hub: {install_command('hub')}") from None


@contextmanager
def _hub_errors(what: str) -> Iterator[None]:
    """Turn errors of the Hub or the network into a HubError of one line."""
    missing = importlib.import_module("huggingface_hub.errors").RepositoryNotFoundError
    try:
        yield
    except (UsageError, HubError):
        raise
    except missing:
        raise HubError(
            f"{what}: no such repository, or you may not read it; `hf auth login` signs you in"
        ) from None
    except Exception as error:  # of huggingface_hub, and of whichever HTTP library it uses
        raise HubError(f"{what}: {one_line(str(error), 300) or type(error).__name__}") from None
