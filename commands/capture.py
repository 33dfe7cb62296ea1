"""`operant capture`: run any command as a run."""

from __future__ import annotations

import click

from .command import Command


@click.command(
    "capture",
    cls=Command,
    # Options behind the command are the command's own.
    context_settings={"allow_interspersed_args": False},
)
@click.option("--name", help="Name of the run. Default: the script or the program.")
@click.argument("command_line", nargs=-1, required=True, metavar="COMMAND [ARG]...")
def command(command_line: tuple[str, ...], name: str | None) -> int:
    """Run any training script and keep what it logs as a run.

    operant capture -- python train.py --lr 0.001

    The script needs no edit. Whatever it logs through wandb, TensorBoard, tensorboardX,
    Stable-Baselines3 or Lightning's CSVLogger is also a metric of the run; its own files are
    written as before. The run ends with the command and has its exit code, as this command has.
    """
    from ..shared.integrations.capture import capture

    def say(text: str) -> None:
        click.echo(f"operant: {text}", err=True)

    return capture(command_line, name, say)
