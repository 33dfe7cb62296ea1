"""`operant rank`: a process that `operant train` starts, here or over ssh."""

from __future__ import annotations

import os
import sys
import threading
from dataclasses import fields
from typing import Any

import click

from ..shared.errors import OperantError, UsageError
from ..shared.processes.life_pipe import killed_when_closed
from .command import Command

STANDARD_INPUT = 0


@click.command("rank", cls=Command, hidden=True)
def command() -> int:
    """Run one rank, as the first line of standard input describes.

    `operant train --processes` and `--nodes` start this; you need not call it yourself. It ends
    when the process that started it closes standard input or ends.
    """
    from .ranks.rank_process import go_to_folder, read_task

    if sys.stdin.isatty():
        raise UsageError("a rank is started by `operant train --processes` or `--nodes`")
    task = read_task(STANDARD_INPUT)
    end_with_standard_input()
    go_to_folder(task)
    if task["do"] == "ask":
        from .ranks.answering import answer

        answer(task)
        return 0
    if task["do"] == "train":
        return train(task)
    raise OperantError(f"this version of operant does not know the task '{task['do']}' of a rank")


def train(task: dict[str, Any]) -> int:
    """Train as the rank that the task says, to the end."""
    from ..trainer.distributed.place import Place
    from .helpers.following_rank import ended_at_once, following_rank

    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")  # one line says what is wrong
    known = {each.name for each in fields(Place)}
    place = Place(**{name: value for name, value in task["place"].items() if name in known})
    return ended_at_once(following_rank(place, None, task["split"]))


def end_with_standard_input() -> None:
    """End this process, whatever it does then, once nobody can write to its standard input."""
    killed_when_closed(STANDARD_INPUT)

    def watch() -> None:
        while os.read(STANDARD_INPUT, 4096):
            pass
        os._exit(1)

    threading.Thread(target=watch, name="starter", daemon=True).start()
