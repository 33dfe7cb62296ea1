"""The command line as people use it: exit codes, and what is printed where."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Any
from unittest import mock

from operant.cli import main

# Those that commands handle.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
PATIENCE_S = 600  # a first run compiles, on a busy machine for minutes

SHORT = ("--set", "total_env_steps=4096", "--set", "evaluation.num_episodes=5",
         "--set", "num_threads=1")  # fmt: skip
# Many more steps than any test waits for.
ENDLESS = ("--set", "total_env_steps=1e12", "--set", "evaluation.every_iterations=0",
           "--set", "num_threads=1", "--set", "checkpoint.every_iterations=0")  # fmt: skip


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the tests' Python to its end: with `-c` and code, most often."""
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def operant_process(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command in a process to its end, without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "operant", *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        stdin=subprocess.DEVNULL,
        **options,
    )


def operant(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command in this process to its end, without a terminal.

    A process of its own needs seconds of processor time to import PyTorch. What it would have for
    itself is put back: standard streams, environment variables, where modules are found, and what
    signals do.
    """
    exit_code: Any = 0
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    with ExitStack() as stack:
        nowhere = stack.enter_context(open(os.devnull, "rb"))
        out, err = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(2))
        with (
            mock.patch.dict(os.environ),
            mock.patch.object(sys, "argv", ["operant", *arguments]),
            mock.patch.object(sys, "path", [*sys.path]),
            _standard_streams(nowhere, out, err),
        ):
            try:
                main()
            except SystemExit as end:
                exit_code = end.code or 0
            finally:
                for number, handler in handlers.items():
                    signal.signal(number, handler)
        stdout, stderr = _text_of(out), _text_of(err)
    return subprocess.CompletedProcess(arguments, exit_code, stdout, stderr)


@contextmanager
def _standard_streams(*files: IO[bytes]) -> Iterator[None]:
    """Standard input, output and error are these files, for processes that are started as well."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(number) for number in range(3)]
    for number, file in enumerate(files):
        os.dup2(file.fileno(), number)
    try:
        with (
            open(0, encoding="utf-8", closefd=False) as stdin,
            open(1, "w", encoding="utf-8", closefd=False) as stdout,
            open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False) as stderr,
            mock.patch.multiple(sys, stdin=stdin, stdout=stdout, stderr=stderr),
        ):
            yield
    finally:
        for number, descriptor in enumerate(kept):
            os.dup2(descriptor, number)
            os.close(descriptor)


def _text_of(file: IO[bytes]) -> str:
    file.seek(0)
    return io.TextIOWrapper(file, encoding="utf-8").read()


def operant_json(*arguments: str) -> Any:
    """The JSON that a command prints; it must succeed and print nothing else."""
    done = operant(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def error_line(*arguments: str, code: int = 2) -> str:
    """The one line that a command fails with, and nothing on standard output."""
    done = operant(*arguments)
    assert done.returncode == code, (done.stdout, done.stderr)
    assert done.stdout == ""
    assert done.stderr.startswith("operant: ")
    assert done.stderr.count("\n") == 1
    return done.stderr
