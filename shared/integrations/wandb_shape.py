"""The functions of wandb's module, so that a script works with `import operant as wandb`.
`docs/your-own-loop.md` lists the differences and the names without effect.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from ..errors import UsageError, nearest
from ..page.writer import DEFAULT_MAX_METRICS
from ..text.plain_values import text_of
from . import current_run
from .accepted import Accepted, say_once
from .begin import UNKNOWN_INTERVAL_S, Wanted, begin_run, disabled_run, script_name
from .current_run import open_run, set_current_run
from .logged_run import LoggedRun
from .values import as_mapping

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
    """`operant.config` and `operant.summary` before `init`."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def _refuse(self, *_: Any) -> Any:
        raise UsageError(f"operant.init() comes before operant.{self._name}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    __setattr__ = __getitem__ = __setitem__ = _refuse


if TYPE_CHECKING:
    run: LoggedRun | None


def __getattr__(name: str) -> Any:
    """`run` is the run of this process while it is open, else None."""
    if name == "run":
        return open_run()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# The configuration and summary of the run of this process, as `import operant as wandb` has them.
config: Any = BeforeInit("config")
summary: Any = BeforeInit("summary")


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
        # A stand-in, such as that of `wandb.util.generate_id()`, is no argument.
        arguments = {k: None if isinstance(v, Accepted) else v for k, v in arguments.items()}
        details = _details(arguments)
        name = arguments["name"] or os.environ.get("WANDB_NAME")
        wanted = Wanted(
            name=text_of(name or details.get("project") or script_name()),
            details=details,
            config=_config(arguments["config"]),
            id=arguments["id"],
            resume=_resume(resume),
            publish_interval_s=publish_interval_s,
            max_metrics=max_metrics,
            console=_keeps_console(console, accepted.get("settings")),
        )
        begun = disabled_run(wanted) if _is_disabled(mode) else begin_run(wanted)
        _make_current(begun)
    if accepted.get("sync_tensorboard") or accepted.get("tensorboard"):
        from .tensorboard_events import follow

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
            say_once(f"init {keyword}", f"init() knows no keyword '{keyword}'{near}")
    if mode not in (None, *_MODES):
        say_once(
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
        say_once("config", f"{error}: it is not kept")
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


def _make_current(begun: LoggedRun) -> None:
    global config, summary
    set_current_run(begun)
    config, summary = begun.config, begun.summary


def of_current(method: str) -> Callable[..., Any]:
    """A function that calls a method of the run of this process."""

    def function(*arguments: Any, **keywords: Any) -> Any:
        if current_run.current is None:
            raise UsageError(f"operant.init() comes before operant.{method}()")
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
    """Call `log` of the run of this process."""
    of_current("log")(data, step, commit, sync, **unknown)


alert = of_current("alert")
define_metric = of_current("define_metric")
save = of_current("save")
watch = of_current("watch")


def finish(exit_code: int | None = None, quiet: bool | None = None, **unknown: Any) -> None:
    """End the run of this process, if there is one."""
    if current_run.current:
        current_run.current.finish(exit_code, quiet, **unknown)
