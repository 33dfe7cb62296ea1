"""`operant.push` and `operant.pull`: share trained policies."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..commands.eval import DEFAULT_EPISODES
from ..commands.helpers.began_elsewhere import told_where_it_began
from ..shared.errors import check_argument
from ..shared.messages import log_warning
from ..shared.text.typed_numbers import whole_number
from ..trainer.experiment.checkpoints import NEWEST
from ..trainer.experiment.sharing import hub
from ..trainer.machine.threads import threads_kept
from .policies import MOST_EPISODES, check_checkpoint
from .runs import Run, folder_of
from .tracebacks import short_traceback


@short_traceback
def push(
    run: Run | str | Path | None,
    target: str | Path,
    *,
    checkpoint: str | int = NEWEST,
    num_episodes: int = DEFAULT_EPISODES,
    private: bool = False,
    with_code: bool = False,
) -> str:
    """Write a run's policy, its settings and a model card to the folder `target`, which is new,
    empty, or has a policy that was pushed before, or to the repository "hf:OWNER/NAME" of the
    Hugging Face Hub; `private` is for a new one.

    Returns the target: a path, or "hf:OWNER/NAME". The card shows the return over `num_episodes`
    greedy episodes. `checkpoint` is as in `load`. `with_code` adds the Python files of the modules
    that the run's settings name, as they are. Raises UsageError, CheckpointError if no checkpoint
    can be read, and OperantError if the Hub refuses.
    """
    num_episodes = whole_number("num_episodes", num_episodes, 1, MOST_EPISODES)
    check_checkpoint(checkpoint)
    check_argument("private", private, bool, "True or False")
    check_argument("with_code", with_code, bool, "True or False")
    place, folder = _place("target", target), folder_of(run)
    with told_where_it_began(folder), threads_kept():
        hub.push(
            folder, place, str(checkpoint), num_episodes,
            private=private, with_code=with_code, warn=log_warning,
        )  # fmt: skip
    return place


@short_traceback
def pull(source: str | Path, *, name: str = "") -> Run:
    """Make a run of a shared policy: a folder, or "hf:OWNER/NAME". Nothing in it is executed.

    `name` is the new run's; default: the source's. Raises UsageError, CheckpointError if it has no
    policy that can be read, and OperantError if the Hub refuses.
    """
    check_argument("name", name, str, "text")
    return Run(hub.pull(_place("source", source), name))


def _place(argument: str, given: Any) -> str:
    """A folder or `hf:OWNER/NAME` as text; a path is always a folder. Raises UsageError."""
    check_argument(argument, given, (str, os.PathLike), "a folder, or hf:OWNER/NAME")
    return given if isinstance(given, str) else os.path.abspath(given)
