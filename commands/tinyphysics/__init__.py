"""`operant tinyphysics`: for people in the controls challenge."""

from __future__ import annotations

import click

from ..lazy_group import LazyGroup


@click.group("tinyphysics", cls=LazyGroup, package=__name__, names=("download", "eval", "export"))
def command() -> None:
    """The comma.ai controls challenge: its simulator for thousands of routes at once.

    `download` gets the model and the routes, `operant train tinyphysics_ppo` learns from them,
    `eval` says what a controller costs and `export` writes one for the challenge itself.
    """
