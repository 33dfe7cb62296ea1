"""`operant.train`: the command `operant train` as a function."""

from __future__ import annotations

import importlib
import importlib.machinery
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import tomli_w

from ..commands.helpers.launching import begun, prepared_run, wait_for_numbers
from ..commands.helpers.progress import PlainProgress, progress_report
from ..shared.errors import UsageError, check_argument
from ..shared.page.requests import STOP_REASON, give_reason
from ..shared.processes.interrupts import interrupts_held
from ..shared.processes.lock import TRAINER
from ..shared.text.plain_values import described
from ..trainer.config.flat_keys import flat_keys
from ..trainer.config.train_config import TrainConfig
from ..trainer.envs.names import GYMNASIUM_PREFIX
from ..trainer.envs.own_envs import check_own
from ..trainer.running.callbacks import Callbacks, check_callbacks
from ..trainer.running.process import Prepared, run_training
from ..trainer.running.signals import stop_requests
from ..trainer.settings.own_code import pickled_own
from .own_names import algorithm_name, network_name, own_name
from .runs import BY_STOP, Run, folder_of, listed, stops_here
from .tracebacks import short_traceback

EnvLike = str | Path | Callable[..., Any]

_children: list[
    subprocess.Popen[bytes]
] = []  # keeps the handles: Popen warns when it is deleted before its process ends


@short_traceback
def train(
    env: EnvLike | None = None,
    *,
    algorithm: str | Callable[..., Any] | None = None,
    policy: Callable[..., Any] | Mapping[str, Any] | None = None,
    total_env_steps: int | None = None,
    callbacks: Sequence[Any] = (),
    detach: bool = False,
    name: str | None = None,
    resume: Run | str | Path | None = None,
    presets: Sequence[str] = (),
    progress: bool | None = None,
    **settings: Any,
) -> Run:
    """Train a policy as a run that the monitor can show, and return the run when it has ended.

    `env` is the argument of the command (an environment, a preset or a TOML file), or a
    `gymnasium.Env` class or a function that returns one, which a script or a notebook's cell may
    define. Default: "cart_pole", as in the command.

    `settings` are the keys of the configuration, with tables as dicts: `num_envs=16`,
    `ppo={"learning_rate": 3e-4}`. `operant train --keys` lists all keys. `presets` are overlays on
    the configuration, such as "fast" or "gpu_small".

    `policy` is a `torch.nn.Module` class of your own, or a function that returns a module: called
    with the shape of observations, it maps observations to the features that operant's heads begin
    with. A dict is the table of settings: `policy={"hidden_sizes": [64]}`.

    `algorithm` is a name, such as "sac", or a class of your own that is derived from one of
    `operant.algorithms`. Default: "ppo".

    `callbacks` are objects with any of the methods `on_start`, `on_iteration`, `on_evaluation`,
    `on_checkpoint` and `on_end`, each called with a `LiveRun`. An exception in one of them ends the
    run, with a checkpoint.

    With `progress` a bar or lines on standard error show how far the run is; by default only
    compiling is shown, and with False nothing.

    With `detach`, a process of its own trains, and `train` returns once that has published: then
    use `run.wait()`, `run.stop()` and `run.status()`. `resume` continues a run from its newest
    checkpoint, with its settings; if a script defined its environment, network or algorithm,
    another process gives them once more as `env`, `policy` and `algorithm`.

    `name` is the middle part of the run's id, by default the environment and the algorithm. Several
    runs may have the same, also at the same time: each has an id and a folder of its own. A name
    that `operant edit --rename` gave another run, or one with a slash or a colon, is a UsageError.

    `operant stop` and the monitor's stop end the run in good order, and `train` returns it. Ctrl-C,
    or a notebook's interrupt, finishes the iteration, saves a checkpoint and raises
    KeyboardInterrupt; `operant.runs()[0]` is the run. A second one ends training at once. SIGTERM
    from elsewhere ends the script too, with a checkpoint and the exit code 143.

    Raises UsageError, one line with the key, its value and the rule, if the input is wrong. Other
    exceptions of training are raised after the run is marked as failed.
    """
    check_argument("detach", detach, bool, "True or False")
    if progress is not None:
        check_argument("progress", progress, bool, "True, False or None")
    if "callback" in settings:  # as in Stable-Baselines3
        raise UsageError("callback: did you mean callbacks, a list, as callbacks=[Mine()]?")
    check_argument("presets", presets, (list, tuple), "a list of overlays, as ['fast']")
    resumed = None if resume is None else listed(folder_of(resume))
    former = flat_keys(resumed.manifest().get("config", {})) if resumed else {}
    if isinstance(policy, Mapping):
        settings["policy"] = policy
    elif policy is not None:
        settings["policy.encoder"] = network_name(policy, former.get("policy.encoder"))
    overrides = [*overrides_of(settings)]
    if algorithm is not None and not isinstance(algorithm, str):
        algorithm = algorithm_name(algorithm, former.get("algorithm"))
    for key, value in (("algorithm", algorithm), ("total_env_steps", total_env_steps)):
        overrides += [] if value is None else overrides_of({key: value})
    source = _source(env, str(former.get("env")))

    def prepare(lock_byte: int) -> Prepared:
        return prepared_run(source, tuple(overrides), name, resumed, lock_byte, overlays=presets)

    check_callbacks(callbacks)
    if detach and callbacks:
        raise UsageError("callbacks run in this process: detach = True takes none")
    if detach and progress:
        raise UsageError("progress is shown by this process: detach = True shows none")
    if detach:
        return _detached(prepare)
    with interrupts_held():
        importlib.import_module(".policies", __package__)  # which imports PyTorch
    return _here(prepare, callbacks, progress)


def _here(
    prepare: Callable[[int], Prepared], callbacks: Sequence[Any], progress: bool | None
) -> Run:
    """Train in this process, and leave the process as it was."""
    from ..trainer.machine.threads import check_not_forked, threads_kept  # imports PyTorch
    from .policies import Policy

    check_not_forked()
    called = Callbacks(callbacks, Policy.of)

    def ask_to_stop() -> None:
        give_reason(prepared.run, BY_STOP)
        requests.request_stop(signal.SIGTERM)

    with stop_requests(ends_process=False) as requests, threads_kept():
        prepared = prepare(TRAINER)
        run = Run(prepared.run)
        stops_here[run.id] = ask_to_stop, threading.get_ident()
        compiling = _Compiling(sys.stderr) if progress is None else None
        shown = progress_report(run.id, to_stderr=True) if progress else nullcontext(compiling)
        try:
            with shown as report:
                run_training(prepared, requests, report, callbacks=called, raises=True)
        finally:
            del stops_here[run.id]
    # A stop that somebody asked for is the run's end, and not the script's.
    if not requests.stop or STOP_REASON in prepared.run.manifest():
        return run
    if requests[0] == signal.SIGINT:
        is_over = run.status().state == "finished"
        ended = "finished" if is_over else "stopped and saved a checkpoint"
        hint = "" if is_over else f"; operant.train(resume={run.id!r}) goes on"
        raise KeyboardInterrupt(f"{run.id} {ended}{hint}")
    sys.exit(128 + requests[0])


class _Compiling(PlainProgress):
    """Prints how far compiling is, every few seconds, and nothing else."""

    def __call__(self, values: Mapping[str, float], iteration: int, env_steps: int) -> None:
        pass

    def phase(self, name: str, *how_far: Any) -> None:
        if name == "compiling":
            super().phase(name, *how_far)


def _detached(prepare: Callable[[int], Prepared]) -> Run:
    """Train in a process of its own; return once it has published."""
    prepared, process = begun(prepare, own_code_of=_code_for_another_process)
    _children.append(process)
    wait_for_numbers(prepared, process)
    run = Run(prepared.run)
    run._process = process
    return run


def _code_for_another_process(config: TrainConfig) -> bytes:
    """`sys.path`, and the pickled environment, network and algorithm that the other process cannot
    import.
    """
    names = (config.env.removeprefix(GYMNASIUM_PREFIX), config.policy.encoder, config.algorithm)
    pickled = pickled_own(names, "train without detach")
    return pickle.dumps(sys.path) + pickled if pickled else b""


def _source(env: EnvLike | None, former: str = "") -> str | None:
    """The argument of `operant train` for `env`, where `former` is the environment of a run that is
    resumed; None where both are the same, so that the run keeps its settings. Raises UsageError.
    """
    if env is None or isinstance(env, str):
        return env
    if isinstance(env, os.PathLike):
        return os.fspath(env)
    if not callable(env):
        raise UsageError(
            f"env = {described(env)}: expected a name, or a class or function that makes an "
            "environment; several are made of it"
        )
    check_own(env)
    name = GYMNASIUM_PREFIX + own_name(env, former.removeprefix(GYMNASIUM_PREFIX))
    return None if name == former else name


def overrides_of(settings: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """`key=value` for each setting, with nested tables flattened. Raises UsageError."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            known = None if value or prefix else TrainConfig.model_fields.get(key)
            if known and not hasattr(known.annotation, "model_fields"):
                raise UsageError(f"{key} = {{}}: it is one setting, and a dict is a table of them")
            yield from overrides_of(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}={_toml(f'{prefix}{key}', value)}"


def _toml(key: str, value: Any) -> str:
    if value is None:
        return "none"
    try:
        return tomli_w.dumps({"value": _plain(value)}).partition("=")[2].strip()
    except (TypeError, ValueError, RuntimeError):
        raise UsageError(
            f"{key} = {described(value)}: expected a number, text, true or false, a list or a dict"
        ) from None


def _plain(value: Any) -> Any:
    """`value` without arrays and numbers of NumPy and PyTorch, tuples and paths."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value
