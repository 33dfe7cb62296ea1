"""Commands that are imported only when they are called."""

from __future__ import annotations

import importlib
import keyword
from collections.abc import Mapping, Sequence
from typing import Any

import click

from ..shared.errors import nearest
from .former import check_is_not_former


class LazyGroup(click.Group):
    """A group of commands, each in a module of its name in one package: `import` in `import_`.
    `sections` are the titles of its help, with the names of the commands below each.
    """

    def __init__(
        self, *args: Any, package: str, sections: Mapping[str, Sequence[str]], **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self._package, self._sections = package, sections
        self._names = tuple(name for names in sections.values() for name in names)

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
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            check_is_not_former(args[0])
            hint = nearest(args[0], self._names).replace("; did", " Did")
            raise click.UsageError(f"{error.message}{hint}", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by section, each with the first sentence of its help."""
        width = max(map(len, self._names))
        for title, names in self._sections.items():
            commands = [self.get_command(ctx, name) for name in names]
            rows = [
                (name.ljust(width), command.get_short_help_str(formatter.width))
                for name, command in zip(names, commands, strict=True)
                if command and not command.hidden
            ]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
