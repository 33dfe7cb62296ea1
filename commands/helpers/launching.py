"""How a training process begins: its run folder, its process, and who waits for it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...monitor.runs.reading.file_tail import FileTail
from ...shared.console.console_file import without_time
from ...shared.errors import CheckpointError, OperantError, PageError, UsageError
from ...shared.page.requests import STOP_REASON
from ...shared.processes.lock import LAUNCHER, TRAINER, RunLock
from ...shared.processes.python_program import python_program
from ...shared.runs.find_runs import check_is_free, find_run
from ...shared.runs.provenance import code_files, provenance
from ...shared.runs.run_folder import PULLED_FROM, Run, create_run, make_run_id, runs_folder
from ...shared.runs.run_notes import check_name
from ...shared.runs.setting_sources import YOU, sources_in
from ...shared.runs.small_file import open_to_append
from ...shared.runs.status import holder_of, open_page, read_status
from ...shared.text.plain_values import described
from ...trainer.config.files import Resolved, changed_defaults, resolve
from ...trainer.config.from_values import parsed
from ...trainer.config.stored_code import code_owner
from ...trainer.config.train_config import TrainConfig
from ...trainer.envs.names import GYMNASIUM_PREFIX
from ...trainer.running.process import FirstRank, Prepared, Progress, run_training
from ...trainer.running.signals import Requests, stop_requests
from .machine import check_machine
from .output import print_ending, print_line, warn
from .progress import PlainProgress, progress_report

if TYPE_CHECKING:
    from ..ranks.launch import Launch

Reporting = contextlib.AbstractContextManager[Progress]
Train = Callable[[Prepared, Requests, Reporting], int]

LOOK_AGAIN_S = 0.02
CONSOLE_LINES = 20
VERSIONS_OF = ("operant-rl", "torch", "numba", "numpy")


class Waiting:
    """Prints on standard error what a run does before its first publish."""

    def __init__(self, run: Run, now: Callable[[], float] = time.monotonic) -> None:
        self._run, self._progress = run, PlainProgress(sys.stderr, now, prefix=f"{run.id}: ")

    def is_over(self) -> bool:
        """Whether the run has published."""
        status = read_status(self._run)
        if status.phase:
            self._progress.phase(
                status.phase, status.phase_done, status.phase_total, status.phase_unit,
                status.phase_left_s,
            )  # fmt: skip
        return status.env_steps is not None


def prepared_run(
    source: str | None,
    overrides: tuple[str, ...],
    name: str | None,
    resume: Run | str | None,
    lock_byte: int,
    check: Callable[[TrainConfig], None] = lambda _: None,
    *,
    more: Mapping[str, Any] | None = None,
    run_id: str = "",
    overlays: Sequence[str] = (),
) -> Prepared:
    """Check everything that can be checked, and `check` too, then make or reopen the run and lock
    its `lock_byte`. A new run's manifest also has the entries of `more`, and its id is `run_id`
    where that is given. `resume` is the run to go on with, or what `find_run` takes.

    Raises the UsageErrors that the user's input deserves; nothing is left behind then.
    """
    if resume:
        for option, given in (("with", overlays), ("name", name)):
            if given:
                raise UsageError(
                    f"{option} and resume exclude each other: a resumed run keeps its {option}"
                )
        resumed = resume if isinstance(resume, Run) else find_run(resume)
        return _resumed_run(resumed, source, overrides, lock_byte, check)
    if name is not None:
        _check_name(name)
    resolved = resolve(source, overrides, overlays)
    config = resolved.config
    check_machine(config)
    check(config)
    name = name or f"{config.env.removeprefix(GYMNASIUM_PREFIX)}-{config.algorithm}"
    manifest = {**provenance(VERSIONS_OF), "seed": config.seed, "device": config.device}
    manifest |= more or {}
    manifest |= _in_manifest(resolved)
    run_id = run_id or make_run_id(name)
    manifest |= code_owner(runs_folder() / run_id, [manifest["config"]])
    run, lock = create_run(name, manifest, lock_byte=lock_byte, run_id=run_id, files=code_files())
    return Prepared(run, lock, config)


def _check_name(name: Any) -> None:
    """Raises UsageError if a new run cannot be called `name`. Several may have the same `name`,
    which is only a part of their ids, but none that `operant edit --rename` gave a run.
    """
    if not isinstance(name, str) or not name.strip():
        raise UsageError(f"name = {described(name)}: expected text, as 'wide-network'")
    check_name(name)
    check_is_free(name)


def _in_manifest(resolved: Resolved) -> dict[str, Any]:
    """The tables `config`, `sources` and `defaults` of run.toml."""
    return {**resolved._asdict(), "config": resolved.config.model_dump(mode="json")}


def _changed(manifest: Mapping[str, Any], config: TrainConfig, keys: Collection[str]) -> Resolved:
    """The changed configuration of a run that goes on: you have set `keys`."""
    sources = {
        source: [key for key in listed if key not in keys]
        for source, listed in sources_in(manifest).items()
    }
    sources[YOU] = [*sources.get(YOU, []), *keys]
    defaults = manifest.get("defaults")
    before = defaults if isinstance(defaults, dict) else {}
    return Resolved(config, sources, changed_defaults(config, sources, before))


def _resumed_run(
    run: Run,
    source: str | None,
    overrides: tuple[str, ...],
    lock_byte: int,
    check: Callable[[TrainConfig], None],
) -> Prepared:
    """The run as its newest checkpoint that can be read has it, with what may change changed."""
    from ...trainer.config.from_values import saved_config
    from ...trainer.experiment.checkpoints import check_of_run, check_same_config, latest_checkpoint

    if holder_of(run):
        raise UsageError(f"{run.id} is still running; stop it before resuming it")
    if PULLED_FROM in run.manifest():
        raise UsageError(
            f"{run.id} was pulled: it has a policy and nothing else that training needs to go on"
        )
    # A trainer in this process says by itself what it cannot read.
    say = warn if lock_byte == LAUNCHER else lambda _: None
    checkpoint = latest_checkpoint(run.checkpoint_folder, say)
    check_of_run(checkpoint, run)
    config = saved_config(checkpoint.config, () if source else overrides)
    manifest = run.read_manifest()
    if source:
        resolved = resolve(source, overrides)
        config = resolved.config
    else:
        resolved = _changed(manifest, config, parsed(overrides))
    check_same_config(checkpoint, config)
    check_machine(config)
    dead_env_steps = int(checkpoint.state.get("dead_env_steps", 0))
    if checkpoint.iteration * config.rollout_size - dead_env_steps >= config.total_env_steps:
        raise CheckpointError(
            f"{run.id} is complete at {checkpoint.env_steps} env steps; total_env_steps = "
            f"{2 * max(config.total_env_steps, checkpoint.env_steps)} would continue it"
        )
    check(config)
    lock = RunLock(run.lock_path, lock_byte)
    manifest.pop(STOP_REASON, None)
    manifest |= _in_manifest(resolved)
    manifest |= code_owner(run.folder, [manifest["config"]])
    manifest.setdefault("resumed", []).append(
        {**provenance(VERSIONS_OF), "iteration": checkpoint.iteration}
    )
    with contextlib.suppress(OSError):  # a full disk is no reason not to train
        run.replace_files(code_files(), len(manifest["resumed"]))
        run.write_manifest(manifest)
    return Prepared(run, lock, config, checkpoint.publish)


def train_here(
    prepared: Prepared, requests: Requests, reporting: Reporting, ranks: FirstRank | None = None
) -> int:
    """Train in this process while `reporting` shows progress; returns the exit code."""
    with reporting as progress:
        return run_training(prepared, requests, progress, ranks=ranks)


def foreground_training(
    prepare: Callable[[int], Prepared], as_json: bool, train: Train = train_here
) -> int:
    """Train in this process, by `train`; returns its exit code."""
    with stop_requests() as requests:
        prepared = prepare(TRAINER)
        run = prepared.run
        try:
            exit_code = train(prepared, requests, progress_report(run.id, to_stderr=as_json))
        except SystemExit:  # of an environment, say: it would end without a word
            print_ending(run, as_json)
            raise
    print_ending(run, as_json)
    return exit_code


def detached_training(
    prepare: Callable[[int], Prepared],
    then_monitor: bool,
    as_json: bool,
    launch: Launch | None = None,
) -> int:
    """Train in a process of its own; returns 0 once it has published, and raises OperantError when
    it dies before. The monitor opens as soon as there is a page, and shows what happens until then.
    """
    prepared, process = begun(prepare, launch)
    run = prepared.run
    if then_monitor:
        from ...monitor.app import watch

        wait_until(lambda: has_page_of(run, process), run, process)
        prepared.lock.release()
        threading.Thread(target=process.wait, daemon=True).start()  # no zombie once it has ended
        watch(run)
        raise_if_dead(run, process)
    else:
        wait_for_numbers(prepared, process)

    print_ending(run, as_json)
    return 0


def wait_for_numbers(prepared: Prepared, process: subprocess.Popen[bytes]) -> None:
    """Return once the trainer has published, and release the run's lock in any case. Raises
    OperantError if the trainer dies before.
    """
    run = prepared.run
    waiting = Waiting(run)
    try:
        # A resumed run shows the page of its previous process until it has a new page.
        wait_until(lambda: waiting.is_over() and is_of(process, run), run, process)
    finally:
        prepared.lock.release()


def begun(
    prepare: Callable[[int], Prepared],
    launch: Launch | None = None,
    *,
    own_code_of: Callable[[TrainConfig], bytes] = lambda _: b"",
) -> tuple[Prepared, subprocess.Popen[bytes]]:
    """Start the trainer of a new run in a process of its own; return the prepared run and the
    process.

    The trainer starts other ranks as `launch` describes. `own_code_of` pickles an environment and
    a network that only this process knows. The caller releases the run's lock once the trainer
    holds its own. Raises UsageError if this Python cannot start another.
    """
    python = python_program()
    if python is None:
        raise UsageError(
            f"{sys.executable} is not a Python interpreter: it cannot train in the background"
        )
    prepared = prepare(LAUNCHER)
    run = prepared.run
    arguments = [str(run.folder)]
    if prepared.resume_publish is not None:
        arguments.append(f"--resume-publish={prepared.resume_publish}")
    listener = launch.listener if launch else None
    if launch:
        arguments.append(f"--launch={launch.as_argument()}")
    passed = [listener.fileno()] if listener else []
    with contextlib.ExitStack() as closes:
        console = closes.enter_context(os.fdopen(open_to_append(run.console_path()), "ab"))
        if own_code := own_code_of(prepared.config):
            file = closes.enter_context(tempfile.TemporaryFile())
            file.write(own_code)
            file.seek(0)
            passed.append(file.fileno())
            arguments.append(f"--own-code={file.fileno()}")
        process = subprocess.Popen(
            [python, "-P", "-m", "operant.commands.helpers.trainer_process", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
            start_new_session=True,
            pass_fds=passed,
        )
    if listener:
        listener.close()
    return prepared, process


def has_page_of(run: Run, process: subprocess.Popen[bytes]) -> bool:
    """Whether the page is that of this process, and not of one that the run goes on from."""
    try:
        reader = open_page(run)
    except PageError:
        return False
    try:
        return reader.header.pid == process.pid
    finally:
        reader.detach()


def is_of(process: subprocess.Popen[bytes], run: Run) -> bool:
    """Whether the run's numbers are those of this process, which may have ended by now."""
    return has_page_of(run, process) or process.poll() is not None


def wait_until(condition: Callable[[], bool], run: Run, process: subprocess.Popen[bytes]) -> None:
    """Return once `condition` holds. Raises OperantError with the end of the run's console
    when the process dies before.
    """
    while not condition():
        raise_if_dead(run, process)
        time.sleep(LOOK_AGAIN_S)


def raise_if_dead(run: Run, process: subprocess.Popen[bytes]) -> None:
    """Raises OperantError and prints the end of the console where a run ended without numbers."""
    if process.poll() is not None and read_status(run).env_steps is None:
        path = run.console_path()
        for line in FileTail(path).read()[-CONSOLE_LINES:]:
            print_line(without_time(line))
        raise OperantError(f"{run.id} died before its first publish; its console: {path}")
