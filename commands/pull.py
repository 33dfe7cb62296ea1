"""`operant pull`: get a policy that somebody shared."""

from __future__ import annotations

import click


@click.command("pull")
@click.argument("source", metavar="FOLDER|hf:OWNER/NAME")
@click.option("--name", default="", help="Name of the new run. Default: the source's.")
def command(source: str, name: str) -> None:
    """Make a run of a policy that `operant push` shared.

    `operant eval`, `play` and `export` take the new run like any other. Nothing in it is executed;
    a policy whose environment, network or algorithm is code of its author needs --trust-code.
    """
    from ..trainer.experiment.sharing.hub import pull
    from .helpers.output import print_line

    print_line(f"{pull(source, name).id}: pulled from {source}")
