"""A run in the shape of wandb's: what `operant.init` returns."""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from ..errors import nearest
from ..page.events import Level
from ..text.plain_values import text_of
from .accepted import Accepted, accepted_method, say_once, unknown_keywords
from .artifacts import Artifact, artifact_of, find_artifact, keep_artifact
from .never_raising import never_raises
from .tracked_run import TrackedRun
from .wandb_names import RUN


class AlertLevel(StrEnum):
    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"


_LEVELS: dict[str, Level] = {"INFO": "info", "WARN": "warning", "ERROR": "error"}


class Settings:
    """Any keywords as attributes; `mode` is heeded, the others mean something to wandb alone."""

    def __init__(self, *_: Any, **keywords: Any) -> None:
        vars(self).update(keywords)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return None

    def update(self, *others: Any, **keywords: Any) -> None:
        vars(self).update(keywords)


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

    url = project_url = sweep_url = sweep_id = None
    settings = Settings()
    start_time: float = 0.0  # when `init` was called, in seconds since 1970

    entity = _detail("entity", None)
    group = _detail("group", "")
    job_type = _detail("job_type", "")
    notes = _detail("notes", None)
    project = _detail("project", "")

    log_code = accepted_method("log_code")
    pin_config_keys = accepted_method("pin_config_keys")
    restore = accepted_method("restore")
    to_html = accepted_method("to_html")
    unwatch = accepted_method("unwatch")
    watch = accepted_method("watch")

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.start_time = time.time()
        self.starting_step = self.step

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

    @never_raises(Settings())
    def define_metric(self, name: Any, step_metric: Any = None, *_: Any, **__: Any) -> Settings:
        """Draw metric `name`, or all that fit `prefix/*`, over `step_metric`, whose newest value
        goes into every row of theirs. What wandb takes besides has no effect.
        """
        name = text_of(name)
        step = "" if step_metric is None else text_of(getattr(step_metric, "name", step_metric))
        if step:
            self._draw_over(name, step)
        return Settings(name=name, step_metric=step or None)

    @never_raises()
    def finish(
        self, exit_code: int | None = None, quiet: bool | None = None, **unknown: Any
    ) -> None:
        unknown_keywords("finish", unknown)
        super().finish(exit_code)

    join = finish

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
    def path(self) -> str:
        """entity/project/id, without those that were not given."""
        return "/".join(filter(None, (self.entity, self.project, self.id)))

    @property
    def disabled(self) -> bool:
        """Whether nothing is kept."""
        return self._run is None

    @property
    def offline(self) -> bool:
        """Nothing is uploaded."""
        return True

    @property
    def sync_dir(self) -> str:
        return self.dir

    def project_name(self) -> str:
        return str(self.project)

    def get_url(self) -> None:
        return None

    get_project_url = get_sweep_url = get_url

    def display(self, *_: Any, **__: Any) -> bool:
        return False

    @never_raises()
    def mark_preempting(self, *_: Any, **__: Any) -> None:
        self.event("info", "the loop says that it is about to be preempted")

    def status(self) -> Any:
        return Settings(sync_items_pending=0)

    @never_raises()
    def log_artifact(
        self,
        artifact_or_path: Any = None,
        name: str | None = None,
        type: str | None = None,
        aliases: Any = None,
        **_: Any,
    ) -> Artifact:
        """Keep a reference to the files of an artifact, or of a path."""
        try:
            artifact = artifact_of(artifact_or_path, name, type)
            if self.is_open and not self.disabled:
                keep_artifact(Path(self.dir), artifact, aliases)
            say_once(
                "artifacts", "artifacts are kept as references to their files, which stay in place"
            )
        except Exception as error:  # whatever a foreign object or a disk raises
            say_once(f"artifact {name}", f"an artifact is not kept: {error}")
            return Artifact(text_of(name or "artifact"))
        return artifact

    upsert_artifact = finish_artifact = log_artifact

    def use_artifact(self, artifact_or_name: Any = None, *_: Any, **__: Any) -> Artifact:
        """The newest artifact of that name that this user's runs refer to."""
        if isinstance(artifact_or_name, Artifact):
            return artifact_or_name
        name = text_of(artifact_or_name)
        found = find_artifact(name)
        if found is None:
            say_once(f"use {name}", f"no run here refers to an artifact '{name}': it is empty")
        return found or Artifact(name.rpartition("/")[2].partition(":")[0])

    @never_raises()
    def log_model(self, path: Any, name: str | None = None, aliases: Any = None, **_: Any) -> None:
        self.log_artifact(path, name, "model", aliases)

    def use_model(self, name: str, *_: Any, **__: Any) -> str:
        """The path of the model's file, or of its folder where it has several."""
        artifact = self.use_artifact(name)
        return artifact.file() if artifact.file_count == 1 else artifact.download()

    def link_artifact(self, artifact: Any = None, *_: Any, **__: Any) -> Any:
        return artifact

    @never_raises()
    def link_model(self, path: Any, *_: Any, name: str | None = None, **__: Any) -> None:
        self.log_model(path, name)

    @never_raises([])
    def save(self, glob_str: Any = None, *_: Any, **__: Any) -> Any:
        """Keep a reference to each file that fits. Returns their paths; True without a pattern."""
        if glob_str is None:
            return True
        paths = [os.path.abspath(path) for path in glob.glob(os.fspath(glob_str))]
        for path in paths:
            self.log_artifact(path, type="file")
        if not paths:
            say_once(f"save {glob_str}", f"save(): no file fits '{glob_str}'")
        return paths

    def __getattr__(self, name: str) -> Any:
        """What wandb's runs have besides is accepted; what they have not is a mistake."""
        if name in RUN:
            return Accepted(f"run.{name}")
        raise AttributeError(f"a run has no '{name}'{nearest(name, dir(type(self)))}")
