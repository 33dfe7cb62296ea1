"""wandb's names for a script that logs with them: `from operant import wandb` in place of
`import wandb`. docs/your-own-loop.md lists the differences.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

from .shared.errors import UsageError, nearest
from .shared.integrations import current_run
from .shared.integrations.accepted import warn_once
from .shared.integrations.artifacts import Artifact
from .shared.integrations.begin import (
    UNKNOWN_INTERVAL_S,
    RunOptions,
    begin_run,
    disabled_run,
    script_name,
)
from .shared.integrations.current_run import open_run, set_current_run
from .shared.integrations.logged_run import AlertLevel, LoggedRun
from .shared.integrations.media import Histogram, Image, Table, Video
from .shared.integrations.values import as_mapping
from .shared.page.writer import DEFAULT_MAX_METRICS
from .shared.text.plain_values import text_of

__all__ = [
    "AlertLevel", "Artifact", "Histogram", "Image", "Run", "Settings", "Table", "Video", "alert",
    "config", "define_metric", "finish", "init", "log", "log_artifact", "log_model", "login", "run",
    "save", "summary", "watch",
]  # fmt: skip

Run = LoggedRun
Settings = SimpleNamespace

# Keywords that have a meaning for wandb's service alone.
ACCEPTED = (
    "allow_val_change", "anonymous", "config_exclude_keys", "config_include_keys", "dir", "force",
    "fork_from", "magic", "monitor_gym", "resume_from", "save_code", "settings", "sync_tensorboard",
    "tensorboard",
)  # fmt: skip
_OWN = (
    "config", "console", "entity", "group", "id", "job_type", "max_metrics", "mode", "name",
    "notes", "project", "publish_interval_s", "reinit", "resume", "tags",
)  # fmt: skip
_MODES = ("online", "offline", "shared", "disabled", "dryrun", "run")
# The order of wandb's positional arguments, if there are several.
_POSITIONS = ("entity", "project", "dir", "id", "name", "notes", "tags", "config")
# The keys that describe a run, and their variables of the environment.
_VARIABLES = {
    "project": "WANDB_PROJECT",
    "entity": "WANDB_ENTITY",
    "group": "WANDB_RUN_GROUP",
    "job_type": "WANDB_JOB_TYPE",
    "notes": "WANDB_NOTES",
}

# Threads that call `init` at the same time share a run, as consecutive calls do.
_beginning = threading.RLock()

Reinit = Literal["default", "return_previous", "finish_previous", "create_new"] | bool | None


class BeforeInit:
    """`config` and `summary` before `init`."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def _refuse(self, *_: Any) -> Any:
        raise UsageError(f"init() comes before {self._name}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    __setattr__ = __getitem__ = __setitem__ = _refuse


if TYPE_CHECKING:
    run: LoggedRun | None
    config: Any
    summary: Any


def _attribute(name: str) -> Any:
    """`run` is the run of this process while it is open, else None; `config` and `summary` are
    those of the run of this process. Raises AttributeError for other names.
    """
    if name == "run":
        return open_run()
    if name in ("config", "summary"):
        begun = current_run.current
        return getattr(begun, name) if begun else BeforeInit(name)
    if name.startswith("__"):  # Python looks for special names
        raise AttributeError(name)
    hint = nearest(name, __all__) or (
        "; `operant capture -- python train.py` records scripts that use more of wandb"
    )
    raise AttributeError(f"operant.wandb has no '{name}'{hint}")


if not TYPE_CHECKING:  # which finds misspelt names then
    __getattr__ = _attribute


def init(
    *positional: Any,
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
    publish_interval_s: float = UNKNOWN_INTERVAL_S,
    max_metrics: int = DEFAULT_MAX_METRICS,
    console: bool | None = None,
    **accepted: Any,
) -> LoggedRun:
    """Begin a run, which `operant runs`, `status`, `monitor` and `stop` then show.

    The run is named by `name`, `project` (also the only positional argument) or the script.
    `config` is a dict, a namespace, a dataclass, or the path of a file in JSON, TOML or YAML. If a
    run is open it is returned, unless `reinit` is "finish_previous" or "create_new". `id` with
    `resume="allow"` continues the run of that id, if there is one. With `publish_interval_s`, a
    loop that publishes less often than that counts as stalled. The page has room for `max_metrics`
    names. The run keeps what this process prints, unless `console` is False, WANDB_CONSOLE=off, or
    the process has an open run already. mode="disabled", WANDB_MODE=disabled and
    WANDB_DISABLED=true keep nothing. WANDB_PROJECT, WANDB_NAME and similar variables replace
    missing arguments.

    Raises UsageError for an id that cannot be resumed as requested. Other mistakes, and a folder
    that cannot be written, give a warning.
    """
    _check(accepted, mode)
    with _beginning:
        former = open_run()
        if former:
            if reinit in (None, False, "default", "return_previous"):
                return former
            if reinit in (True, "finish_previous"):
                former.finish()
        arguments = {
            "project": project, "name": name, "entity": entity, "group": group,
            "job_type": job_type, "tags": tags, "notes": notes, "config": config, "id": id,
        }  # fmt: skip
        arguments |= _by_position(positional)
        details = _details(arguments)
        name = arguments["name"] or os.environ.get("WANDB_NAME")
        options = RunOptions(
            name=text_of(name or details.get("project") or script_name()),
            details=details,
            config=_config(arguments["config"]),
            id=arguments["id"],
            resume=_resume(resume),
            publish_interval_s=publish_interval_s,
            max_metrics=max_metrics,
            console=_keeps_console(console, accepted.get("settings")),
        )
        begun = disabled_run(options) if _is_disabled(mode) else begin_run(options)
        set_current_run(begun)
    if accepted.get("sync_tensorboard") or accepted.get("tensorboard"):
        from .shared.integrations.tensorboard_events import follow

        follow()
    return begun


def _keeps_console(console: bool | None, settings: Any) -> bool:
    """Whether to keep the console: by `console`, else by wandb's settings and environment. By
    default the first run of a process keeps it, except in a notebook, which prints elsewhere.
    """
    if console is not None:
        return console
    known = settings if isinstance(settings, Mapping) else getattr(settings, "__dict__", {})
    setting = known.get("console") or os.environ.get("WANDB_CONSOLE")
    return setting != "off" and open_run() is None and "ipykernel" not in sys.modules


def _by_position(positional: Sequence[Any]) -> dict[str, Any]:
    """Positional arguments, by name."""
    names = ("project",) if len(positional) == 1 else _POSITIONS
    return dict(zip(names, positional, strict=False))


def _details(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The description of a run, from the arguments and else from wandb's variables of the
    environment; without the keys that neither gives.
    """
    details = {
        key: arguments[key] or os.environ.get(variable) for key, variable in _VARIABLES.items()
    }
    tags = arguments["tags"]
    details["tags"] = _tags(os.environ.get("WANDB_TAGS", "").split(",") if tags is None else tags)
    return {key: value for key, value in details.items() if value}


def _check(keywords: Iterable[str], mode: str | None) -> None:
    """Warn of unknown keywords and modes, which may be misspelt."""
    for keyword in keywords:
        if keyword not in ACCEPTED:
            near = nearest(keyword, (*_OWN, *ACCEPTED))
            warn_once(f"init {keyword}", f"init() knows no keyword '{keyword}'{near}")
    if mode not in (None, *_MODES):
        warn_once(
            f"mode {mode}",
            f"mode = '{mode}' is unknown: expected one of {', '.join(_MODES)}; the run is kept",
        )


def _is_disabled(mode: str | None) -> bool:
    mode = mode or os.environ.get("WANDB_MODE")
    switched_off = os.environ.get("WANDB_DISABLED", "").lower() in ("true", "1", "yes", "on")
    return mode == "disabled" or (mode is None and switched_off)


def _config(config: Any) -> dict[str, Any]:
    try:
        return as_mapping(config)
    except UsageError as error:
        warn_once("config", f"{error}: it is not kept")
        return {}


def _tags(tags: Any) -> list[str]:
    listed = [tags] if isinstance(tags, str) else tags
    try:
        return [text_of(tag) for tag in listed if tag]
    except TypeError:
        return [text_of(tags)]


def _resume(resume: bool | str | None) -> str | None:
    if isinstance(resume, str):
        return "allow" if resume == "auto" else resume
    return "allow" if resume else None


def _method_of_run(method: str) -> Callable[..., Any]:
    """A function that calls a method of the run of this process."""

    def function(*arguments: Any, **keywords: Any) -> Any:
        if current_run.current is None:
            raise UsageError(f"init() comes before {method}()")
        return getattr(current_run.current, method)(*arguments, **keywords)

    function.__name__ = method
    function.__doc__ = getattr(LoggedRun, method).__doc__
    return function


def log(
    data: Mapping[str, Any] | None = None,
    step: int | None = None,
    commit: bool | None = None,
    sync: bool | None = None,
    **unknown: Any,
) -> None:
    """Publish `data`, a dict that may be nested, in the run of this process.

    Values of one `step` go together in one row. It is published when another step comes, with
    `commit=True`, or after 0.1 s; without a step each call is a row, unless `commit=False`. Raises
    UsageError before `init`.
    """
    _method_of_run("log")(data, step, commit, sync, **unknown)


alert = _method_of_run("alert")
define_metric = _method_of_run("define_metric")
log_artifact = _method_of_run("log_artifact")
log_model = _method_of_run("log_model")
save = _method_of_run("save")
watch = _method_of_run("watch")


def login(*_: Any, **__: Any) -> bool:
    """Do nothing: operant has no accounts."""
    return True


def finish(exit_code: int | None = None, quiet: bool | None = None, **unknown: Any) -> None:
    """End the run of this process, if there is one."""
    if current_run.current:
        current_run.current.finish(exit_code, quiet, **unknown)
