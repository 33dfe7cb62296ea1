"""Runs in the call shapes that people know from wandb, so that `import operant as wandb` serves a
plain script. What differs, and what is accepted without effect: `docs/your-own-loop.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal

from ..errors import UsageError, nearest
from ..events import Level
from ..writer import DEFAULT_MAX_METRICS
from .begin import UNKNOWN_INTERVAL_S, Wanted, begin_run, script_name
from .tracked_run import TrackedRun
from .values import as_mapping

# Keywords that mean something to wandb's service alone.
ACCEPTED = (
    "allow_val_change", "anonymous", "config_exclude_keys", "config_include_keys", "dir", "force",
    "fork_from", "magic", "monitor_gym", "resume_from", "save_code", "settings", "sync_tensorboard",
    "tensorboard",
)  # fmt: skip
_OWN = (
    "config", "entity", "group", "id", "job_type", "max_metrics", "mode", "name", "notes",
    "project", "publish_interval_s", "rank", "reinit", "resume", "tags", "world_size",
)  # fmt: skip
_MODES = ("online", "offline", "shared", "disabled")

Reinit = Literal["default", "return_previous", "finish_previous", "create_new"] | bool | None


class AlertLevel(StrEnum):
    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"


_LEVELS: dict[str, Level] = {"INFO": "info", "WARN": "warning", "ERROR": "error"}


class Media:
    """Stands for wandb's images, tables and the like: it can be made and used, and is not kept."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments, **keywords: None


Artifact = Audio = Graph = Histogram = Html = Image = Molecule = Object3D = Plotly = Media
Settings = Table = Video = Media


def _without_effect(name: str) -> Callable[..., None]:
    def method(self: LoggedRun, *arguments: Any, **keywords: Any) -> None:
        self.warn_once(f"{name}()", f"{name}() is accepted, and nothing comes of it")

    method.__doc__ = "Accepted for wandb's sake, without effect."
    return method


class LoggedRun(TrackedRun):
    """What `init` returns."""

    url = None

    define_metric = _without_effect("define_metric")
    log_artifact = _without_effect("log_artifact")
    log_code = _without_effect("log_code")
    log_model = _without_effect("log_model")
    mark_preempting = _without_effect("mark_preempting")
    save = _without_effect("save")
    unwatch = _without_effect("unwatch")
    watch = _without_effect("watch")

    def alert(
        self, title: str, text: str = "", level: str = "INFO", wait_duration: Any = 0
    ) -> None:
        """Add a message to the run; `level` is INFO, WARN or ERROR."""
        self.event(_LEVELS.get(str(level), "info"), f"{title}: {text}" if text else title)

    def __getattr__(self, name: str) -> Any:
        """Project, entity, group, job_type, tags, notes: as given to `init`."""
        if name in _DETAILS:
            return self._manifest.get(name)
        raise AttributeError(f"a run has no '{name}'{nearest(name, dir(type(self)))}")


_DETAILS = ("project", "entity", "group", "job_type", "tags", "notes")


class BeforeInit:
    """`operant.config` and `operant.summary` while there is no run."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def _refuse(self, *_: Any) -> Any:
        raise UsageError(f"operant.init() comes before operant.{self._name}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    __setattr__ = __getitem__ = __setitem__ = _refuse


# The run of this process, its configuration and its summary, as `import operant as wandb` has them.
run: LoggedRun | None = None
config: Any = BeforeInit("config")
summary: Any = BeforeInit("summary")


def init(
    *,
    project: str | None = None,
    name: str | None = None,
    config: Any = None,
    id: str | None = None,
    resume: bool | str | None = None,
    mode: str | None = None,
    reinit: Reinit = None,
    entity: str | None = None,
    group: str | None = None,
    job_type: str | None = None,
    tags: Sequence[str] | str | None = None,
    notes: str | None = None,
    rank: int = 0,
    world_size: int = 1,
    publish_interval_s: float = UNKNOWN_INTERVAL_S,
    max_metrics: int = DEFAULT_MAX_METRICS,
    **accepted: Any,
) -> LoggedRun:
    """Begin a run, which `operant runs`, `status`, `monitor` and `stop` then know.

    It is called after `name`, `project` or the script. `config` is a dict, a namespace or a
    dataclass. While a run is open it is returned, unless `reinit` is "finish_previous" or
    "create_new". `id` with `resume="allow"` goes on with the run of that id, if there is one; with
    a `rank` of `world_size` it joins the run that rank 0 has begun. A loop that publishes at least
    every `publish_interval_s` is called stalled when it does not. The page has room for
    `max_metrics` names. mode="disabled" keeps nothing.

    Raises UsageError for what is asked wrongly; where nothing can be written it warns and goes on.
    """
    _check(accepted, mode)
    if run and run.is_open:
        if reinit in (None, False, "default", "return_previous"):
            return run
        if reinit in (True, "finish_previous"):
            run.finish()
    details = {
        "project": project, "entity": entity, "group": group, "job_type": job_type,
        "tags": [tags] if isinstance(tags, str) else tags, "notes": notes,
    }  # fmt: skip
    wanted = Wanted(
        name=name or project or script_name(),
        details={key: value for key, value in details.items() if value is not None},
        config=as_mapping(config),
        id=id,
        resume=_resume(resume),
        rank=rank,
        world_size=world_size,
        publish_interval_s=publish_interval_s,
        max_metrics=max_metrics,
    )
    begun = LoggedRun(None, dict(wanted._asdict())) if mode == "disabled" else None
    begun = begun or begin_run(LoggedRun, wanted)
    if accepted.get("sync_tensorboard"):
        begun.warn_once("sync", "sync_tensorboard does nothing: use operant's SummaryWriter")
    _make_current(begun)
    return begun


def _check(keywords: Iterable[str], mode: str | None) -> None:
    for keyword in keywords:
        if keyword not in ACCEPTED:
            near = nearest(keyword, (*_OWN, *ACCEPTED))
            raise UsageError(f"init() knows no keyword '{keyword}'{near}")
    if mode not in (None, *_MODES):
        raise UsageError(f"mode = '{mode}' is none of {', '.join(_MODES)}")


def _resume(resume: bool | str | None) -> str | None:
    if isinstance(resume, str):
        return "allow" if resume == "auto" else resume
    return "allow" if resume else None


def _make_current(begun: LoggedRun) -> None:
    global run, config, summary
    run, config, summary = begun, begun.config, begun.summary


def open_run() -> LoggedRun | None:
    """The run of this process while it is open: other integrations log into it."""
    return run if run and run.is_open else None


def _current(function: str) -> LoggedRun:
    if run is None:
        raise UsageError(f"operant.init() comes before operant.{function}()")
    return run


def log(data: Mapping[str, Any], step: int | None = None, commit: bool | None = None) -> None:
    """`log` of the run of this process."""
    _current("log").log(data, step, commit)


def alert(title: str, text: str = "", level: str = "INFO", wait_duration: Any = 0) -> None:
    _current("alert").alert(title, text, level)


def define_metric(*arguments: Any, **keywords: Any) -> None:
    _current("define_metric").define_metric(*arguments, **keywords)


def watch(*arguments: Any, **keywords: Any) -> None:
    _current("watch").watch(*arguments, **keywords)


def save(*arguments: Any, **keywords: Any) -> None:
    _current("save").save(*arguments, **keywords)


def finish(exit_code: int | None = None, quiet: bool | None = None) -> None:
    """End the run of this process, if there is one."""
    if run:
        run.finish(exit_code)


def login(*arguments: Any, **keywords: Any) -> bool:
    """There is no service, and nobody to log in."""
    return True
