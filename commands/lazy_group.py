"""Commands that are imported only when they are called."""

from __future__ import annotations

import importlib
import keyword
import os
from collections.abc import Sequence
from typing import Any

import click

from ..shared.errors import UsageError, nearest

# Empty: the text of a note removes it, a picture presses no keys, a captured command has no words.
MAY_BE_EMPTY = ("text", "press", "command_line")


class LazyGroup(click.Group):
    """A group of commands, each in a module of its name in one package: `import` in `import_`."""

    def __init__(self, *args: Any, package: str, names: Sequence[str], **options: Any) -> None:
        super().__init__(*args, **options)
        self._package, self._names = package, tuple(names)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._names:
            return None
        name = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name
        module = importlib.import_module(f".{name}", self._package)
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Like click's, and suggests the nearest command for an unknown one."""
        try:
            name, command, rest = super().resolve_command(ctx, args)
        except click.UsageError as error:
            hint = nearest(args[0], self._names).replace("; did", " Did")
            raise click.UsageError(f"{error.message}{hint}", ctx) from None
        if command and "_OPERANT_COMPLETE" not in os.environ:
            check_nothing_is_empty(command, rest)
        return name, command, rest


def check_nothing_is_empty(command: click.Command, arguments: list[str]) -> None:
    """Raises UsageError for an empty argument or option value. A script passes one if a variable is
    not set, and it must not mean the latest run or the default.
    """
    if isinstance(command, click.Group):  # its commands are checked
        return
    try:
        parser = command.make_parser(click.Context(command))
        values, _, _ = parser.parse_args(list(arguments))
    except click.ClickException:
        return  # the parser itself reports it better
    for parameter in command.params:
        value = values.get(parameter.name or "")
        values_given = value if isinstance(value, (list, tuple)) else [value]
        if "" in values_given and parameter.name not in MAY_BE_EMPTY:
            is_option = isinstance(parameter, click.Option)
            name = (
                parameter.opts[-1] if is_option else parameter.make_metavar(click.Context(command))
            )
            raise UsageError(f"{name.strip('[].')} is empty")
