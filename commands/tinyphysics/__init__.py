"""`operant tinyphysics`: for people in the controls challenge."""

from __future__ import annotations

import importlib

import click

SUBCOMMANDS = ("download", "eval", "export")


class LazySubgroup(click.Group):
    """Each subcommand lives in a module of its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in SUBCOMMANDS:
            return None
        module = importlib.import_module(f".{cmd_name}", __package__)
        command: click.Command = module.command
        return command


@click.group("tinyphysics", cls=LazySubgroup)
def command() -> None:
    """The comma.ai controls challenge: its simulator for thousands of routes at once.

    `download` gets the model and the routes, `operant train tinyphysics_ppo` learns from them,
    `eval` says what a controller costs and `export` writes one for the challenge itself.
    """
