"""`operant tinyphysics`: for people in the controls challenge."""

from __future__ import annotations

import click

from ..lazy_group import LazyGroup


@click.group(
    "tinyphysics",
    cls=LazyGroup,
    package=__name__,
    sections={"Commands": ("download", "eval", "export")},
)
def command() -> None:
    """Simulate routes of the comma.ai controls challenge.

    `download` gets the model and the routes, `operant train tinyphysics_ppo` trains on them, `eval`
    prints the costs of a controller, and `export` writes a controller file for the challenge.
    """
