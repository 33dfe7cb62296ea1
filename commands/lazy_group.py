"""Commands that are imported only when they are called."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import click

from ..shared.errors import nearest


class LazyGroup(click.Group):
    """A group of commands, each in a module of its name in one package."""

    def __init__(self, *args: Any, package: str, names: Sequence[str], **options: Any) -> None:
        super().__init__(*args, **options)
        self._package, self._names = package, tuple(names)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._names:
            return None
        module = importlib.import_module(f".{cmd_name}", self._package)
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's, and an unknown command is answered with the nearest one."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            hint = nearest(args[0], self._names).replace("; did", " Did")
            raise click.UsageError(f"{error.message}{hint}", ctx) from None
