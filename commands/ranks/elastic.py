"""A run of several ranks that continues automatically after a rank is lost, with the machines that
answer.

After a loss all ranks end, and rank 0's process executes `operant train --resume` with the same
ranks, except on machines that do not answer. Only the training since the newest checkpoint is lost:
any number of ranks continues exactly.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ...shared.errors import OperantError, UsageError
from ...shared.runs.run_folder import Run
from ...shared.text.harmless import one_line
from .nodes import Node, listening

if TYPE_CHECKING:
    from ...trainer.config.train_config import TrainConfig
    from .launch import Launch

ASK_AGAIN, ASK_AGAIN_S = "OPERANT_ASK_AGAIN_S", 30.0
MAX_IN_VAIN = 3  # how often in a row a run may end without a newer checkpoint
IN_VAIN = "OPERANT_RESUMED_IN_VAIN"  # the environment variable that counts them


def goes_on_by_itself() -> bool:
    """Whether this process continues a run that lost a rank."""
    return IN_VAIN in os.environ


def say_left_out(node: Node, error: OperantError) -> None:
    """For `meeting_place`: tell the user that the run continues without a machine."""
    with suppress(OSError):  # the terminal may have gone
        print(f"operant: {node.name} is left out: {one_line(str(error), 300)}", file=sys.stderr)


def is_ready(node: Node, config: TrainConfig) -> bool:
    """Whether a machine answers, can train and reaches this one."""
    from .asking import meeting_place

    try:  # at any port: the ranks of the run are using MASTER_PORT
        with listening("", 0) as listener:
            meeting_place([node], config, listener, os.environ)
    except OperantError:
        return False
    return True


def ask_again_s(environ: Mapping[str, str]) -> float:
    """Raises UsageError if $OPERANT_ASK_AGAIN_S is not a number of seconds."""
    text = environ.get(ASK_AGAIN, "")
    try:
        seconds = float(text or ASK_AGAIN_S)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 86_400:
        raise UsageError(f"{ASK_AGAIN} = {text} is not a number of seconds between 0.1 and 86400")
    return seconds


class Elastic:
    """Continues a run of `launch` once it has ended."""

    def __init__(
        self, launch: Launch, run: Run, config: TrainConfig, stop_signals: Sequence[int]
    ) -> None:
        self._stop_signals = stop_signals
        self._launch, self._run, self._config = launch, run, config
        self._first_checkpoint = _newest(run)
        self._takes_back = False
        self._is_over = threading.Event()
        if launch.left_out:
            threading.Thread(target=self._ask_again, name="left out", daemon=True).start()

    def _ask_again(self) -> None:
        """Stop the run in good order once a machine that is left out answers again."""
        while not self._is_over.wait(ask_again_s(os.environ)):
            if any(is_ready(node, self._config) for node in self._launch.left_out):
                self._takes_back = not (self._is_over.is_set() or self._stop_signals)
                if self._takes_back:
                    os.kill(os.getpid(), signal.SIGTERM)
                return

    def go_on(self, exit_code: int, as_json: bool = False) -> None:
        """Execute the next process of the run in place of this one if the run continues. It does
        not continue after a stop signal of a user, even if a rank was lost as well.
        """
        self._is_over.set()
        if len(self._stop_signals) > self._takes_back:
            return
        newest = _newest(self._run)
        in_vain = 0 if newest > self._first_checkpoint else int(os.environ.get(IN_VAIN, "0")) + 1
        is_lost = exit_code == 1 and newest >= 0 and in_vain <= MAX_IN_VAIN
        is_for_more = self._takes_back and exit_code == 128 + signal.SIGTERM
        if not (is_lost or is_for_more):
            return
        with suppress(OSError):
            print(f"operant: {self._run.id} goes on after iteration {newest}", file=sys.stderr)
            sys.stderr.flush()
            sys.stdout.flush()
        os.environ[IN_VAIN] = str(in_vain)
        arguments = ["train", "--resume", self._run.id, "--elastic", *self._launch.again()]
        if as_json:
            arguments.append("--json")
        os.execv(sys.executable, [sys.executable, "-P", "-m", "operant", *arguments])


def _newest(run: Run) -> int:
    """The iteration of the newest checkpoint, -1 if there is none."""
    from ...trainer.experiment.checkpoints import latest_checkpoint

    try:
        return latest_checkpoint(run.checkpoint_folder).iteration
    except OperantError:
        return -1
