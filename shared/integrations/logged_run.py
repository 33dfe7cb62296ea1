"""A run in the shape of wandb's: what `operant.init` returns."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ..page.events import Level
from ..text.plain_values import text_of
from .accepted import Accepted, say_once, stand_in, unknown_keywords
from .artifacts import Artifact, copy_file
from .media_folder import clean
from .never_raising import never_raises
from .tracked_run import TrackedRun


class AlertLevel(StrEnum):
    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"


_LEVELS: dict[str, Level] = {"INFO": "info", "WARN": "warning", "ERROR": "error"}


def _detail(name: str, default: Any) -> property:
    """What was given to `init`; a new value goes into run.toml."""

    def get(self: LoggedRun) -> Any:
        return self._manifest.get(name, default)

    def put(self: LoggedRun, value: Any) -> None:
        self._manifest[name] = value
        self._write_manifest()

    return property(get, put)


class LoggedRun(TrackedRun):
    """A run that takes all that wandb's takes, and never raises for it."""

    entity = _detail("entity", None)
    group = _detail("group", "")
    job_type = _detail("job_type", "")
    notes = _detail("notes", None)
    project = _detail("project", "")

    @never_raises()
    def log(
        self,
        data: Mapping[str, Any] | None = None,
        step: int | None = None,
        commit: bool | None = None,
        sync: bool | None = None,
        **unknown: Any,
    ) -> None:
        """As `TrackedRun.log`; without data, `commit=True` publishes what waits."""
        unknown_keywords("log", unknown)
        super().log({} if data is None else data, step, commit)

    @never_raises()
    def define_metric(self, name: Any, step_metric: Any = None, *_: Any, **__: Any) -> Any:
        """Draw metric `name`, or all that fit `prefix/*`, over `step_metric`, whose newest value
        goes into every row of theirs. Other arguments of wandb's have no effect.
        """
        name = text_of(name)
        step = "" if step_metric is None else text_of(getattr(step_metric, "name", step_metric))
        if step:
            self._draw_over(name, step)
        return SimpleNamespace(name=name, step_metric=step or None)

    @never_raises()
    def finish(
        self, exit_code: int | None = None, quiet: bool | None = None, **unknown: Any
    ) -> None:
        unknown_keywords("finish", unknown)
        super().finish(exit_code)

    @never_raises()
    def alert(
        self, title: str, text: str = "", level: str = "INFO", wait_duration: Any = 0
    ) -> None:
        """Add a message to the run; `level` is INFO, WARN or ERROR."""
        said = [words for part in (title, text) if (words := text_of(part))]
        self.event(_LEVELS.get(text_of(level), "info"), ": ".join(said))

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(self._manifest.get("tags", ()))

    @tags.setter
    @never_raises()
    def tags(self, tags: Iterable[str]) -> None:
        self._manifest["tags"] = [tags] if isinstance(tags, str) else [text_of(tag) for tag in tags]
        self._write_manifest()

    @property
    def disabled(self) -> bool:
        """Whether nothing is kept."""
        return self._run is None

    def watch(self, *_: Any, **__: Any) -> None:
        """Accepted, without effect."""
        say_once("watch", "watch() is accepted and has no effect: gradients are not logged")

    @never_raises(Artifact())
    def log_artifact(
        self, artifact_or_path: Any, name: str | None = None, *_: Any, **__: Any
    ) -> Artifact:
        """Copy the files of an artifact, or of a path, into the run's folder: `files/<name>/`."""
        if isinstance(artifact_or_path, Artifact):
            artifact = artifact_or_path
        elif not os.fspath(artifact_or_path):
            raise ValueError("the path of an artifact is empty")
        else:
            path = Path(artifact_or_path)
            artifact = Artifact(name or path.name)
            add = artifact.add_dir if path.is_dir() else artifact.add_file
            add(path)
        folder = clean(artifact.name)
        self._copy({os.path.join(folder, file): path for file, path in artifact.files.items()})
        return artifact

    log_model = log_artifact

    @never_raises([])
    def save(self, glob_str: Any = None, *_: Any, **__: Any) -> Any:
        """Copy each file that fits into the run's folder: `files/`. Returns their paths; True
        without a pattern.
        """
        if glob_str is None:
            return True
        paths = [os.path.abspath(path) for path in glob.glob(os.fspath(glob_str))]
        self._copy({os.path.basename(path): Path(path) for path in paths})
        if not paths:
            say_once(f"save {glob_str}", f"save(): no file fits '{glob_str}'")
        return paths

    def _copy(self, files: dict[str, Path]) -> None:
        """Copy files, by the names that they have in the run; one warning for all that fail."""
        if not self.is_open or self._run is None:
            return
        errors = []
        for name, path in files.items():
            try:
                copy_file(path, self._run.folder, name)
            except (OSError, ValueError) as error:
                errors.append(error)
        if errors:
            text = f"{len(errors)} of {len(files)} files are not kept: {errors[0]}"
            say_once(text, text)

    def __getattr__(self, name: str) -> Accepted:
        """Other attributes of wandb's runs are accepted."""
        return stand_in("run", name, dir(type(self)))
