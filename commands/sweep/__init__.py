"""`operant sweep`: a search for the best values of a configuration's keys."""

from __future__ import annotations

import click

from ..lazy_group import LazyGroup

BEGIN = "begin"


class SweepGroup(LazyGroup):
    """`operant sweep CONFIG` begins one; what is no command's name is a configuration."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in self.list_commands(ctx):
            args = [BEGIN, *args]
        return super().parse_args(ctx, args)


@click.group(
    "sweep",
    cls=SweepGroup,
    package=__name__,
    names=(BEGIN, "list", "status", "stop", "enqueue"),
    add_help_option=False,
)
def command() -> None:
    """Search for the best values of a configuration's keys."""
