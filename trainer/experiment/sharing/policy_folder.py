"""A folder with one trained policy: its settings, its checkpoint and a model card.

It is laid out as a run's folder, so `operant.load`, `eval` and `play` read it like one.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ....shared.errors import CheckpointError, UsageError
from ....shared.runs.find_runs import own_runs
from ....shared.runs.run_folder import PULLED_FROM, SHARED_CODE, Run, create_run
from ....shared.runs.run_notes import MANIFEST_FILE
from ....shared.runs.small_file import BUILDING, read_small
from ....shared.runs.status import read_status
from ....shared.text.harmless import harmless_lines, one_line
from ....shared.text.masking import masked
from ....shared.text.plain_values import plain
from ...config.stored_code import named_code
from ...envs.names import GYMNASIUM_PREFIX
from ...settings.own_code import PREFIX as OWN_PREFIX
from ..checkpoints import (
    CHECKPOINTS,
    FREE_KEYS,
    checkpoint_path,
    list_checkpoints,
    named_checkpoint,
    read_checkpoint,
    write_checkpoint,
)
from ..evaluation import cut_off_message, evaluate
from ..trained_policy import trained_in
from .author_code import author_code, pulled_code
from .model_card import CARD_FILE, Results, model_card

RETURN = "evaluation/return"
FILES = {CARD_FILE, MANIFEST_FILE, CHECKPOINTS, SHARED_CODE}
MAX_CARD_BYTES = 1 << 20
MAX_BYTES = 1 << 30  # of a policy that is pulled
# Settings that say nothing about the policy and may name addresses, commands or paths.
LEFT_OUT = ("recorder", "kickstart")
# Of a run's run.toml; the others name folders and commands of this machine.
KEYS = ("created", "seed", "versions", "summary")
Warn = Callable[[str], None]


@dataclass(frozen=True)
class PushedPolicy:
    """A policy that was written to be shared, and how good it is."""

    iteration: int
    results: Results


def write_policy_folder(
    run: Run,
    folder: Path,
    source: str,
    checkpoint: str,
    num_episodes: int,
    warn: Warn,
    *,
    with_code: bool = False,
) -> PushedPolicy:
    """Evaluate a run's policy over greedy episodes and write it to `folder`, which replaces a
    policy that is there. `source` is what the model card tells readers to pull. With `with_code`,
    the files of the modules that its configuration names are written as well.

    Raises CheckpointError, and UsageError if the folder has other files in it.
    """
    with file_errors(folder):
        _check_target(folder, run)
    saved = named_checkpoint(run, checkpoint, warn)
    trained = trained_in(saved)
    config = trained.config
    if config.env == "tinyphysics":
        raise UsageError(f"{run.id}: episodes of tinyphysics are routes; push cannot score them")
    limit = config.evaluation.max_episode_steps
    played = evaluate(trained.policy, trained.spec, num_episodes, config.seed, limit)
    if played.num_cut_off:
        warn(cut_off_message(played, limit))
    mean, deviation = float(played.returns.mean()), float(played.returns.std())
    results = Results(mean, deviation, played.num_episodes, _returns_of_seeds(run))

    summary = {"return_mean": mean, "return_std": deviation, "episodes": played.num_episodes}
    settings = {key: value for key, value in saved.config.items() if key not in LEFT_OUT}
    shared = masked(plain({**_kept(run.manifest()), "config": settings, "summary": summary}))
    names = config.env.removeprefix(GYMNASIUM_PREFIX), config.policy.encoder, config.algorithm
    of_a_script = [name for name in names if name.startswith(OWN_PREFIX)]
    code = [*named_code(saved.config), *of_a_script]
    files = author_code(saved.config) if with_code else {}
    if with_code and not files:
        warn("--with-code: the policy needs no module of yours whose file is known")
    card = model_card(shared, results, source, saved.env_steps, code, list(files))
    weights = replace(saved, config=shared["config"], state={"policy": saved.state["policy"]})
    path = checkpoint_path(folder / CHECKPOINTS, saved.iteration)
    with file_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        # First of all: where this process is killed, the folder is known as a policy's.
        Run(folder).write_manifest({"id": run.id, **shared})
        write_checkpoint(path, weights)
        for old in list_checkpoints(folder / CHECKPOINTS):
            if old != path:
                old.unlink()
        (folder / CARD_FILE).write_text(card)
        if (folder / SHARED_CODE).exists():
            shutil.rmtree(folder / SHARED_CODE)
        write_files(folder, files)
        for written in (folder, *folder.rglob("*")):  # made private, as those of runs
            written.chmod(0o755 if written.is_dir() else 0o644)
    return PushedPolicy(saved.iteration, results)


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write `files` to their paths in `folder`. Raises OSError."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


@contextmanager
def file_errors(place: str | Path) -> Iterator[None]:
    """Turn an error of the file system at `place` into a UsageError, one line."""
    try:
        yield
    except OSError as error:
        where = one_line(str(error.filename or place), 300)
        raise UsageError(f"{where}: {error.strerror or error}") from None


def take_policy_folder(folder: Path, source: str, name: str) -> Run:
    """Make a run called `name` of a folder that `write_policy_folder` wrote. Nothing in it is
    executed. Raises CheckpointError if it has no policy, or one that cannot be read.
    """
    manifest = Run(folder).read_manifest()
    paths = list_checkpoints(folder / CHECKPOINTS)
    if not paths or "config" not in manifest:
        raise CheckpointError(f"{source} has no policy of operant's: no run.toml and checkpoint")
    check_size(source, _unpacked_bytes(paths[-1]))
    checkpoint = read_checkpoint(paths[-1])
    pulled = {**_kept(manifest), "config": dict(checkpoint.config), PULLED_FROM: source}
    run, lock = create_run(name, pulled)
    try:
        write_checkpoint(checkpoint_path(run.checkpoint_folder, checkpoint.iteration), checkpoint)
        with suppress(OSError, ValueError):  # a policy needs no card, and follows no link for one
            card = read_small(folder / CARD_FILE, MAX_CARD_BYTES, folder)
            text = harmless_lines(card.decode("utf-8", "replace"))
            (run.folder / CARD_FILE).write_text(text)
        write_files(run.folder, pulled_code(folder))
    except BaseException:
        shutil.rmtree(run.folder, ignore_errors=True)
        raise
    finally:
        lock.release()
    return run


def check_size(source: str, num_bytes: int) -> None:
    """Raises UsageError if a policy is too large to pull."""
    if num_bytes > MAX_BYTES:
        raise UsageError(
            f"{source} has {num_bytes / 2**30:.1f} GiB; a policy of at most {MAX_BYTES >> 30} GiB "
            "can be pulled"
        )


def _unpacked_bytes(path: Path) -> int:
    """The size of a checkpoint in memory, as far as its file says: parts of it may be compressed.
    PyTorch refuses parts that have another size than they say. Raises CheckpointError.
    """
    try:
        packed = path.stat().st_size
        if packed > MAX_BYTES:
            return packed
        with zipfile.ZipFile(path) as archive:
            return max(packed, sum(part.file_size for part in archive.infolist()))
    except (OSError, zipfile.BadZipFile, ValueError) as error:
        raise CheckpointError(f"{path} cannot be read: {one_line(str(error), 200)}") from None


def _check_target(folder: Path, run: Run) -> None:
    """Raises UsageError if `folder` is the run's own, or has other files than a shared policy's."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise UsageError(f"{folder} is a file: name a folder for the policy")
    if folder.resolve() == run.folder.resolve():
        raise UsageError(f"{folder} is the run's own folder: name a new folder for the policy")
    names = {path.name for path in folder.iterdir() if not path.name.startswith(BUILDING)}
    is_policy = "summary" in Run(folder).manifest() and names <= FILES
    if names and not is_policy:
        raise UsageError(f"{folder} has other files in it: name a new folder for the policy")
    for path in folder.rglob("*"):
        if path.is_symlink():  # what it points to would be overwritten
            raise UsageError(f"{path} is a link: remove it, or name a new folder for the policy")


def _kept(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {key: manifest[key] for key in KEYS if key in manifest}


def _returns_of_seeds(run: Run) -> dict[int, float]:
    """The newest evaluation of each seed that a run's configuration was trained with here."""
    config = _but_for_seed(run.manifest().get("config", {}))
    found: dict[int, float] = {}
    for other in own_runs():
        theirs = other.manifest().get("config", {})
        if _but_for_seed(theirs) != config:
            continue
        status = read_status(other)
        if status.state == "finished" and RETURN in status.metrics:
            found.setdefault(int(theirs["seed"]), status.metrics[RETURN])
    return dict(sorted(found.items()))


def _but_for_seed(config: Mapping[str, Any]) -> dict[str, Any]:
    free = {"seed", *FREE_KEYS} - {"total_env_steps"}
    return {key: value for key, value in config.items() if key not in free}
