"""The command line: which command, and nothing imported that it does not need."""

from __future__ import annotations

import errno
import os
import sys

import click

from .commands.lazy_group import LazyGroup
from .commands.left_behind import complete_left_behind
from .shared.errors import OperantError
from .shared.harmless import one_line

COMMANDS = (
    "train", "monitor", "snapshot", "runs", "status", "stop", "trace", "eval", "play", "export",
    "record", "alerts", "note", "tag", "rename", "archive", "rm", "completion", "bench", "autotune",
    "sweep", "tinyphysics", "mcp", "stream", "rank",
)  # fmt: skip


@click.group(
    cls=LazyGroup,
    package=f"{__package__}.commands",
    names=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="operant-rl", prog_name="operant")
@click.pass_context
def cli(context: click.Context) -> None:
    """Train reinforcement-learning policies, and watch them from any terminal.

    `operant train --monitor` starts a run and shows it; `operant monitor --latest` comes back.
    """
    complete_left_behind(context.invoked_subcommand)


def main() -> None:
    """Run a command; errors are one line on standard error and an exit code."""
    if "_OPERANT_COMPLETE" in os.environ:  # a shell asks what could follow what was typed
        from .commands.completion import answer_shell

        sys.exit(answer_shell(cli))
    try:
        exit_code = cli(standalone_mode=False, prog_name="operant")
    except OperantError as error:
        sys.exit(_fail(str(error), error.exit_code))
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())  # nothing is wrong: someone wants to know what there is
        exit_code = 0
    except click.ClickException as error:
        sys.exit(_fail(error.format_message(), 2))
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except BrokenPipeError:
        _say_nothing_more()  # whoever read our output has gone
        sys.exit(0)
    except OSError as error:
        if error.errno != errno.EIO or any(map(os.isatty, (1, 2))):
            raise
        _say_nothing_more()  # the terminal has gone, and ignored is the signal that says so
        sys.exit(129)
    sys.exit(exit_code or 0)


def _say_nothing_more() -> None:
    """Standard output and error lead nowhere from here on, whatever is still in their buffers."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)


def _fail(text: str, exit_code: int) -> int:
    print(f"operant: {one_line(text)}", file=sys.stderr)
    return exit_code


if __name__ == "__main__":
    main()
