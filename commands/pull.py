"""`operant pull`: get a policy that somebody shared."""

from __future__ import annotations

import click

from .command import Command, json_option


@click.command("pull", cls=Command)
@click.argument("source", metavar="FOLDER|hf:OWNER/NAME")
@click.option("--name", default="", help="Name of the new run. Default: the source's.")
@json_option
def command(source: str, name: str, as_json: bool) -> None:
    """Make a run of a policy that `operant push` shared.

    `operant eval`, `play` and `export` take the new run like any other. Nothing in it is executed;
    a policy whose environment, network or algorithm is code of its author needs --trust-code.
    """
    from ..trainer.experiment.sharing.hub import pull
    from .helpers.output import print_json, print_line

    pulled = pull(source, name)
    if as_json:
        print_json({"id": pulled.id, "folder": str(pulled.folder), "source": source})
    else:
        print_line(f"{pulled.id}: pulled from {source}")
