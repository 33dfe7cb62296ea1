"""The command line: which command, and nothing imported that it does not need."""

from __future__ import annotations

import sys

import click

from .commands.lazy_group import LazyGroup
from .shared.errors import OperantError
from .shared.harmless import one_line

COMMANDS = (
    "train", "monitor", "snapshot", "runs", "status", "stop", "eval", "export", "record", "bench",
    "tinyphysics", "stream",
)  # fmt: skip


@click.group(
    cls=LazyGroup,
    package=f"{__package__}.commands",
    names=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="operant-rl", prog_name="operant")
def cli() -> None:
    """Train reinforcement-learning policies, and watch them from any terminal.

    `operant train --monitor` starts a run and shows it; `operant monitor --latest` comes back.
    """


def main() -> None:
    """Run a command; errors are one line on standard error and an exit code."""
    try:
        exit_code = cli(standalone_mode=False, prog_name="operant")
    except OperantError as error:
        sys.exit(_fail(str(error), error.exit_code))
    except click.ClickException as error:
        sys.exit(_fail(error.format_message(), 2))
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output has gone: nothing more to say
        sys.exit(0)
    sys.exit(exit_code or 0)


def _fail(text: str, exit_code: int) -> int:
    print(f"operant: {one_line(text)}", file=sys.stderr)
    return exit_code


if __name__ == "__main__":
    main()
