"""`operant.train`: the command `operant train` as a function."""

from __future__ import annotations

import contextlib
import importlib
import importlib.machinery
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from ..commands.helpers.launching import Prepared, begun, prepared_run, wait_for_numbers
from ..commands.helpers.progress import PlainProgress
from ..shared.errors import UsageError, check_argument
from ..shared.page.requests import STOP_REASON, give_reason
from ..shared.processes.interrupts import interrupts_held
from ..trainer import algorithms
from ..trainer.config.train_config import TrainConfig
from ..trainer.envs.names import GYMNASIUM_PREFIX
from ..trainer.envs.own_envs import check_own
from ..trainer.machine.forks import check_not_forked
from ..trainer.running.callbacks import Callbacks, callbacks_of, check_callbacks
from ..trainer.running.signals import stop_requests
from ..trainer.settings.importing import check_module
from ..trainer.settings.own_code import PREFIX as OWN_PREFIX
from ..trainer.settings.own_code import pickled_own, register
from .runs import BY_STOP, Run, folder_of, listed, stops_here
from .tracebacks import short_traceback

if TYPE_CHECKING:
    from ..shared.page.writer import OnPhase
    from ..shared.runs.run_folder import Run as RunFolder

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
    hardware: str = "",
    **settings: Any,
) -> Run:
    """Train a policy as a run that the monitor can show, and return the run when it has ended.

    `env` is the argument of the command (an environment, a preset or a TOML file), or a
    `gymnasium.Env` class or a function that returns one, which a script or a notebook's cell may
    define. Default: "cart_pole", as in the command.

    `settings` are the keys of the configuration, with tables as dicts: `num_envs=16`,
    `ppo={"learning_rate": 3e-4}`. `operant train --help-config` lists all keys.

    `policy` is a `torch.nn.Module` class of your own, or a function that returns a module: called
    with the shape of observations, it maps observations to the features that operant's heads begin
    with. A dict is the table of settings: `policy={"hidden_sizes": [64]}`.

    `algorithm` is a name, such as "sac", or a class of your own that is derived from one of
    `operant.algorithms`. Default: "ppo".

    `callbacks` are objects with any of the methods `on_start`, `on_iteration`, `on_evaluation`,
    `on_checkpoint` and `on_end`, each called with a `LiveRun`. An exception in one of them ends the
    run, with a checkpoint.

    With `detach`, a process of its own trains, and `train` returns once that has published: then
    use `run.wait()`, `run.stop()` and `run.status()`. `resume` continues a run from its newest
    checkpoint, with its settings; if a script defined its environment, network or algorithm,
    another process gives them once more as `env`, `policy` and `algorithm`.

    `name` is the middle part of the run's id, by default the environment and the algorithm. Several
    runs may have the same, also at the same time: each has an id and a folder of its own. A name
    that `operant rename` gave another run, or one with a slash or a colon, is a UsageError.

    `operant stop` and the monitor's stop end the run in good order, and `train` returns it. Ctrl-C,
    or a notebook's interrupt, finishes the iteration, saves a checkpoint and raises
    KeyboardInterrupt; `operant.runs()[0]` is the run. A second one ends training at once. SIGTERM
    from elsewhere ends the script too, with a checkpoint and the exit code 143.

    Raises UsageError, one line with the key, its value and the rule, if the input is wrong. Other
    exceptions of training are raised after the run is marked as failed.
    """
    check_argument("detach", detach, bool, "True or False")
    check_argument("hardware", hardware, str, "the name of an overlay, or its file")
    if isinstance(policy, Mapping):
        settings["policy"] = policy
    elif policy is not None:
        settings["policy.encoder"] = network_name(policy)
    overrides = [*overrides_of(settings)]
    if algorithm is not None and not isinstance(algorithm, str):
        algorithm = algorithm_name(algorithm)
    for key, value in (("algorithm", algorithm), ("total_env_steps", total_env_steps)):
        overrides += [] if value is None else overrides_of({key: value})
    resumed = None if resume is None else listed(folder_of(resume))
    source = _source_again(env, resumed) if resumed else _source(env)

    def prepare(rank: int) -> Prepared:
        return prepared_run(source, tuple(overrides), name, resumed, rank, hardware=hardware)

    check_callbacks(callbacks)
    if detach and callbacks:
        raise UsageError("callbacks run in this process: detach = True takes none")
    if detach:
        return _detached(prepare)
    with interrupts_held():
        importlib.import_module(".policies", __package__)  # which imports PyTorch
    return _here(prepare, callbacks)


def _here(prepare: Callable[[int], Prepared], callbacks: Sequence[Any]) -> Run:
    """Train in this process, and leave the process as it was."""
    from ..trainer.running.process import run_training
    from .policies import Policy  # which imports PyTorch

    check_not_forked()
    errors: list[BaseException] = []
    called = Callbacks(callbacks, Policy.of)

    def ask_to_stop() -> None:
        give_reason(prepared.run, BY_STOP)
        received.append(signal.SIGTERM)

    with stop_requests(ends_process=False) as received, _threads_kept():
        prepared = prepare(0)
        called.add(callbacks_of(prepared.config))
        run = Run(prepared.run)
        stops_here[run.id] = ask_to_stop, threading.get_ident()
        try:
            run_training(
                prepared.run, prepared.lock, prepared.config, received,
                resume_publish=prepared.resume_publish, take_request=received.take,
                report_phase=_compiling_said(),
                on_error=errors.append,
                callbacks=called,
            )  # fmt: skip
        finally:
            del stops_here[run.id]
    if errors:
        raise errors[0]
    # A stop that somebody asked for is the run's end, and not the script's.
    if not received or STOP_REASON in prepared.run.manifest():
        return run
    if received[0] == signal.SIGINT:
        is_over = run.status().state == "finished"
        ended = "finished" if is_over else "stopped and saved a checkpoint"
        hint = "" if is_over else f"; operant.train(resume={run.id!r}) goes on"
        raise KeyboardInterrupt(f"{run.id} {ended}{hint}")
    sys.exit(128 + received[0])


def _compiling_said() -> OnPhase:
    """Says on standard error how far compiling is, every few seconds."""
    progress = PlainProgress(sys.stderr)

    def say(name: str, *how_far: Any) -> None:
        if name == "compiling":
            progress.phase(name, *how_far)

    return say


def _detached(prepare: Callable[[int], Prepared]) -> Run:
    """Train in a process of its own; return once it has published."""
    prepared, process = begun(prepare, own_code_of=_code_for_another_process)
    _children.append(process)
    wait_for_numbers(prepared, process)
    return Run(prepared.run, process)


def _code_for_another_process(config: TrainConfig) -> bytes:
    """`sys.path`, and the pickled environment, network and algorithm that the other process cannot
    import.
    """
    names = (config.env.removeprefix(GYMNASIUM_PREFIX), config.policy.encoder, config.algorithm)
    pickled = pickled_own(names)
    return pickle.dumps(sys.path) + pickled if pickled else b""


def _source(env: EnvLike | None) -> str | None:
    """The argument of `operant train` for `env`. Raises UsageError."""
    if env is None or isinstance(env, str):
        return env
    if isinstance(env, os.PathLike):
        return os.fspath(env)
    if not callable(env):
        raise UsageError(
            f"env = {env!r:.80}: expected a name, or a class or function that makes an "
            "environment; several are made of it"
        )
    check_own(env)
    return GYMNASIUM_PREFIX + (_importable(env) or register(env))


def _source_again(env: EnvLike | None, resumed: RunFolder) -> str | None:
    """As `_source`, for a run that goes on: a class or function takes the name that the run's
    environment has, if a script defined that too, and the settings stay the run's.
    """
    name = str(resumed.manifest().get("config", {}).get("env")).removeprefix(GYMNASIUM_PREFIX)
    if not callable(env) or not name.startswith(OWN_PREFIX):
        return _source(env)
    check_own(env)
    register(env, name)
    return None


def network_name(policy: Any) -> str:
    """The value of `policy.encoder` for a network of the user's. Raises UsageError."""
    torch = sys.modules.get("torch")  # it has been imported if there is a module
    if not callable(policy) or (torch and isinstance(policy, torch.nn.Module)):
        raise UsageError(
            f"policy = {policy!r:.80}: expected a torch.nn.Module class, or a function that takes "
            "the shape of observations and returns a module"
        )
    return _importable(policy) or register(policy)


def algorithm_name(algorithm: Any) -> str:
    """The value of `algorithm` for a class of the user's. Raises UsageError."""
    if not isinstance(algorithm, type):
        raise UsageError(
            f"algorithm = {algorithm!r:.80}: expected a name, or a class that is derived from one "
            "of operant.algorithms"
        )
    package, _, module = algorithm.__module__.rpartition(".")
    if package == algorithms.__name__ and algorithms.ALGORITHMS.get(module) == algorithm.__name__:
        return module
    return _importable(algorithm) or register(algorithm)


def _importable(make: Callable[..., Any]) -> str:
    """`module:name`, which any process in this folder can import; empty if there is no such name,
    for example for a class that a script or a notebook's cell defines.
    """
    module, name = getattr(make, "__module__", ""), getattr(make, "__qualname__", "")
    if not module or module == "__main__" or not name.isidentifier():
        return ""
    if getattr(sys.modules.get(module), name, None) is not make:
        return ""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    beside_script = os.path.dirname(os.path.abspath(script)) if script else ""
    places = [os.getcwd(), *(place for place in sys.path if place and place != beside_script)]
    top = module.partition(".")[0]
    if importlib.machinery.PathFinder.find_spec(top, places) is None:
        return ""
    with contextlib.suppress(UsageError):  # a module with the name of one of Python's
        check_module(module)
        return f"{module}:{name}"
    return ""


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
    value = value.item() if hasattr(value, "item") else value  # numbers of NumPy and PyTorch
    value = list(value) if isinstance(value, tuple) else value
    value = os.fspath(value) if isinstance(value, os.PathLike) else value
    try:
        return tomli_w.dumps({"value": value}).partition("=")[2].strip()
    except (TypeError, ValueError):
        raise UsageError(
            f"{key} = {value!r:.80}: expected a number, text, true or false, a list or a dict"
        ) from None


@contextmanager
def _threads_kept() -> Iterator[None]:
    """Restore the user's numbers of threads: training sets PyTorch's to one."""
    import numba
    import torch

    num_torch, num_numba = torch.get_num_threads(), numba.get_num_threads()
    try:
        yield
    finally:
        numba.set_num_threads(num_numba)
        torch.set_num_threads(num_torch)
