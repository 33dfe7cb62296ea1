"""The command line. Only what the chosen command needs is imported."""

from __future__ import annotations

import contextlib
import errno
import os
import sys

import click

from .commands.helpers.left_behind import complete_left_behind
from .commands.lazy_group import LazyGroup
from .shared.errors import OperantError, UsageError, explained
from .shared.text.harmless import harmless_lines, one_line

COMMANDS = {
    "Train": ("train", "sweep", "eval", "play", "bench"),
    "Watch": ("monitor", "runs", "status", "logs", "trace", "alerts"),
    "Change": ("stop", "edit", "rm"),
    "Exchange": ("export", "push", "pull", "capture", "import", "tinyphysics", "completion"),
    "Started by operant itself": ("record", "stream", "rank"),
}

# Errors of streams without a file name, such as standard output.
OUTPUT_ERRORS = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

# Commands that import PyTorch, or write files into the working directory.
IN_A_FOLDER = frozenset((
    "train", "eval", "play", "export", "push", "pull", "capture", "import", "bench", "sweep",
    "tinyphysics", "stream", "rank",
))  # fmt: skip


@click.group(
    cls=LazyGroup,
    package=f"{__package__}.commands",
    sections=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="operant-rl", prog_name="operant")
@click.pass_context
def cli(context: click.Context) -> None:
    """Train reinforcement-learning policies and watch them from any terminal.

    `operant train --monitor` starts a run and opens the monitor; `operant monitor --latest` opens
    it again. RUN is a run's id, its name, any part of either that no other run has, or latest.
    """
    if context.invoked_subcommand in IN_A_FOLDER and not {"-h", "--help"} & {*sys.argv}:
        check_working_directory()
    complete_left_behind(context.invoked_subcommand)


def check_working_directory() -> None:
    """Raises UsageError if the working directory was deleted: relative paths then lead nowhere, and
    libraries fail with errors that explain nothing.
    """
    try:
        os.getcwd()
    except FileNotFoundError:
        raise UsageError("the working directory was deleted: cd to another folder first") from None


def main() -> None:
    """Run a command; errors are one line on standard error and an exit code."""
    _open_closed_streams()
    try:
        exit_code = _run()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()  # the interpreter would only complain
    except OSError as error:
        if error.filename is not None or error.errno not in OUTPUT_ERRORS:
            raise
        exit_code = _output_failed(error)
    sys.exit(exit_code)


def _run() -> int:
    if "_OPERANT_COMPLETE" in os.environ:  # a shell asks for completions
        from .commands.completion import answer_shell

        return answer_shell(cli)
    try:
        return cli(standalone_mode=False, prog_name="operant") or 0
    except OperantError as error:
        traced, text = explained(error)
        with contextlib.suppress(OSError):
            print(harmless_lines(traced), end="", file=sys.stderr)
        return _fail(text, error.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())  # not an error: the user asks for the commands
        return 0
    except click.ClickException as error:
        return _fail(error.format_message(), 2)
    except (click.Abort, KeyboardInterrupt):
        return 130
    except SystemExit as error:
        # click's wrapper of a closed pipe
        if type(sys.stdout).__name__.endswith("PacifyFlushWrapper"):
            return _output_failed(BrokenPipeError(errno.EPIPE, ""))
        return error.code if isinstance(error.code, int) else 1 if error.code else 0


def _open_closed_streams() -> None:
    """Open closed standard streams on /dev/null. Otherwise the next file that is opened would get
    their descriptor and their output.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest descriptor that is free
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115


def _output_failed(error: OSError) -> int:
    """Report an error of standard output; returns the exit code. A closed pipe is no error."""
    _discard_output(1)
    if isinstance(error, BrokenPipeError):
        return 0
    if error.errno == errno.EIO and not os.isatty(2):
        _discard_output(2)  # the terminal has gone, and its signal is ignored
        return 129
    return _fail(f"cannot write the output: {error.strerror}", 1)


def _discard_output(descriptor: int) -> None:
    """Redirect a descriptor to /dev/null, so that buffers can be flushed without an error."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _fail(text: str, exit_code: int) -> int:
    try:
        print(f"operant: {one_line(text)}", file=sys.stderr, flush=True)
    except OSError:
        _discard_output(2)
    return exit_code


if __name__ == "__main__":
    main()
