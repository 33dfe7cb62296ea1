"""Checkpoints: all that a run needs to go on as if it had never stopped."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO

import torch

from ...shared.errors import CheckpointError, made_by
from ...shared.runs.owners import RefusedError, make_private_folder, opened_folder
from ...shared.runs.run_folder import Run
from ...shared.runs.small_file import bounded, written_whole
from ...shared.text.harmless import one_line
from ...shared.text.plain_values import described
from ..config.flat_keys import flat_keys
from ..config.from_values import saved_config
from ..config.stored_code import check_stored_code
from ..config.train_config import TrainConfig

FORMAT = 2  # 0.1 to 0.3 wrote 1
NEWEST = "newest"
CHECKPOINTS = "checkpoints"  # the folder of a run
_NUMBERED = re.compile(r"iteration-[0-9]+\.pt")
TABLES = ("config", "state")  # of a checkpoint; all else are counts
MAX_COUNT = 1 << 63

# What may differ between a checkpoint and the run that goes on from it.
FREE_KEYS = (
    "total_env_steps", "schedule_env_steps", "device", "num_threads", "compile", "evaluation",
    "checkpoint", "stop", "recorder", "gradients", "weights", "trace", "episodes",
)  # fmt: skip


class DamagedCheckpointError(CheckpointError):
    """A checkpoint cannot be read, or holds what none does."""


@dataclass(frozen=True)
class Checkpoint:
    """A moment of a run. `publish` is the newest publish number on its page at that moment, and
    `state` maps each part of the trainer to its state, tensors and plain values only.
    """

    iteration: int
    env_steps: int
    publish: int
    config: Mapping[str, Any]
    state: Mapping[str, Any]


def checkpoint_path(folder: Path, iteration: int) -> Path:
    return folder / f"iteration-{iteration:09d}.pt"


def list_checkpoints(folder: Path) -> list[Path]:
    """The checkpoints of a run, oldest first. Raises CheckpointError where `folder` is a link: a
    run could be copied from anywhere, and old checkpoints are deleted.
    """
    try:
        with opened_folder(folder, check_mode=False) as fd, os.scandir(fd) as entries:
            names = [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
    except RefusedError as error:
        raise CheckpointError(str(error)) from None
    except OSError:
        return []
    return [folder / name for name in sorted(names) if _NUMBERED.fullmatch(name)]


def save_checkpoint(folder: Path, checkpoint: Checkpoint, keep: int) -> Path:
    """Write a checkpoint in one step and delete those before it but for the newest `keep` - 1.

    Later ones, which could not be read when the run went on from this side of them, are left as
    they are and not counted. Raises OSError when the disk does not take it; the former checkpoints
    are then still there.
    """
    path = checkpoint_path(folder, checkpoint.iteration)
    write_checkpoint(path, checkpoint)
    for old in [other for other in list_checkpoints(folder) if other <= path][:-keep]:
        old.unlink(missing_ok=True)
    return path


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint in one step. Raises OSError when the disk does not take it."""
    make_private_folder(path.parent, parents=False)
    with written_whole(path) as file:
        write_tensors({"format": FORMAT, **vars(checkpoint)}, file)


def write_tensors(values: Mapping[str, Any], file: BinaryIO) -> None:
    """`torch.save`, which makes a RuntimeError of positions in the file of what the disk did not
    take. Raises OSError with the disk's own words.
    """
    refused: list[OSError] = []

    class Told:
        def write(self, data: bytes) -> int:
            try:
                return file.write(data)
            except OSError as error:
                refused.append(error)
                raise

        def flush(self) -> None:
            file.flush()

    try:
        torch.save(dict(values), Told())  # type: ignore[arg-type]
    except RuntimeError:
        if refused:
            raise refused[0] from None
        raise


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint; nothing in it is executed. Raises CheckpointError, and another UsageError
    where its configuration names code that is not the user's own, see `stored_code`.
    """
    checkpoint = read_checkpoint(path)
    run = Run(path.absolute().parent.parent)
    check_stored_code(
        checkpoint.config, run.folder, (run.manifest_path, path.parent, path), run.manifest
    )
    return checkpoint


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint to copy it: whose code its configuration names is not asked. Raises
    CheckpointError.
    """
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
        if saved["format"] == 1:
            raise CheckpointError(f"{path} was {made_by('0.3')}")
        if saved["format"] != FORMAT:
            raise CheckpointError(
                f"{path} has format {saved['format']}, and this version of operant reads {FORMAT}"
            )
        # What a newer version adds is no reason to refuse it.
        checkpoint = Checkpoint(**{field.name: saved[field.name] for field in fields(Checkpoint)})
    except CheckpointError:
        raise
    except Exception as error:  # torch raises whatever the broken bytes lead to
        reason = str(error).partition("\n")[0].partition(". ")[0][:200]
        raise DamagedCheckpointError(
            f"{path} cannot be read: {reason or type(error).__name__}"
        ) from None
    if problem := _problem(checkpoint):
        raise DamagedCheckpointError(f"{path} cannot be read: {problem}")
    return checkpoint


def _problem(checkpoint: Checkpoint) -> str:
    """The problem with a checkpoint's values, in words; empty if there is none."""
    for name, value in vars(checkpoint).items():
        if name in TABLES:
            if not isinstance(value, Mapping):
                return f"{name} is no table"
        elif type(value) is not int or not 0 <= value < MAX_COUNT:
            return f"{name} = {described(value)}: expected a whole number, 0 to 2^63 - 1"
    if not isinstance(checkpoint.config.get("env"), str):
        return "its config names no env"
    try:
        bounded(lambda: checkpoint.config)
    except ValueError as error:
        return f"config: {error}"
    return ""


def named_checkpoint(
    run: Run, name: str, warn: Callable[[str], None] = lambda _: None
) -> Checkpoint:
    """A run's checkpoint: its `newest` that can be read, that of iteration `name`, or the policy
    that was kept as `name`, as `best` is. Raises CheckpointError, which lists those there are.
    """
    if name == NEWEST:
        return latest_checkpoint(run.checkpoint_folder, warn)
    numbered = list_checkpoints(run.checkpoint_folder)
    known = {str(int(path.stem.removeprefix("iteration-"))): path for path in numbered}
    if numbered or run.checkpoint_folder.is_dir():
        kept = sorted(run.checkpoint_folder.glob("[!.]*.pt"))
        kept = [path for path in kept if not path.name.startswith("iteration-")]
        known |= {path.stem: path for path in kept if path.is_file()}
    if name not in known:
        names = ", ".join([NEWEST, *known]) if known else "none"
        raise CheckpointError(
            f"{run.id} has no checkpoint {one_line(name, 60)}; there are: {names}"
        )
    return load_checkpoint(known[name])


def latest_checkpoint(folder: Path, warn: Callable[[str], None] = lambda _: None) -> Checkpoint:
    """The newest checkpoint of a run that can be read; `warn` gets a line where that is not
    the newest of all.

    Raises CheckpointError where there is none, and what is wrong with the newest where none can be
    read. One of another format is no damage, and no reason to go back to an older one.
    """
    paths = list_checkpoints(folder)
    if not paths:
        raise CheckpointError(
            f"{folder.parent.name} has no checkpoint: none was due yet; the table [checkpoint] of "
            "the configuration says when one is"
        )
    damage: DamagedCheckpointError | None = None
    for path in reversed(paths):
        try:
            checkpoint = load_checkpoint(path)
        except DamagedCheckpointError as error:
            damage = damage or error
            continue
        if damage:
            warn(f"{damage}; {path.name} is taken instead")
        return checkpoint
    assert damage
    raise damage


def check_of_run(checkpoint: Checkpoint, run: Run) -> None:
    """Raises CheckpointError for a checkpoint of another environment or algorithm than the run's:
    somebody put it there.
    """
    own, config = run.manifest().get("config"), saved_config(checkpoint.config)
    if not isinstance(own, Mapping):
        return
    for key in ("env", "algorithm"):
        saved = checkpoint.config.get(key)
        if key in own and own[key] not in (saved, getattr(config, key)):
            raise CheckpointError(
                f"iteration {checkpoint.iteration} of {run.id} has {key} = "
                f"{one_line(str(saved), 60)}, and its run.toml {one_line(str(own[key]), 60)}: "
                "it is no checkpoint of this run"
            )


def check_same_config(checkpoint: Checkpoint, config: TrainConfig) -> None:
    """Raises CheckpointError when `config` is not the one that the checkpoint belongs to."""
    saved, wanted = (
        flat_keys(one.model_dump(mode="json")) for one in (saved_config(checkpoint.config), config)
    )
    for key in sorted(saved.keys() | wanted.keys()):
        if key.split(".")[0] not in FREE_KEYS and saved.get(key) != wanted.get(key):
            raise CheckpointError(
                f"the checkpoint has {key} = {saved.get(key)}, not {wanted.get(key)}; "
                "a resumed run keeps its configuration"
            )
