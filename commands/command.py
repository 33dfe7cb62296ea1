"""The class of all commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from ..shared.errors import UsageError
from .former import check_is_not_former

# A captured command may have empty words.
MAY_BE_EMPTY = ("command_line",)


class Command(click.Command):
    """Refuses empty values, and answers a former option with what to write now."""

    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        """The same without a parent context: click keeps the option that it makes first."""
        return ["-h", "--help"]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        path = ctx.command_path.partition(" ")[2]
        if args:
            check_is_not_former(f"{path} {args[0]}")
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            check_is_not_former(f"{path} {error.option_name}")
            raise

    def make_parser(self, ctx: click.Context) -> Any:
        """click's parser, which checks what it read before anything is converted."""
        parser = super().make_parser(ctx)
        parse = parser.parse_args

        def parse_and_check(args: list[str]) -> Any:
            read = parse(args)
            if not ctx.resilient_parsing:  # a shell asks for completions
                self._check_nothing_is_empty(ctx, read[0])
            return read

        parser.parse_args = parse_and_check  # type: ignore[method-assign]
        return parser

    def _check_nothing_is_empty(self, ctx: click.Context, values: Mapping[str, Any]) -> None:
        """Raises UsageError for an empty argument or option value. A script passes one if a
        variable is not set, and it must not mean the latest run or the default.
        """
        for parameter in self.params:
            value = values.get(parameter.name or "")
            given = value if isinstance(value, (list, tuple)) else [value]
            if "" in given and parameter.name not in MAY_BE_EMPTY:
                is_option = isinstance(parameter, click.Option)
                name = parameter.opts[-1] if is_option else parameter.make_metavar(ctx)
                raise UsageError(f"{name.strip('[].')} is empty")


def json_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--json`: the decorated command gets `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")(
        function
    )
