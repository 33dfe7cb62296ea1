"""The process of a detached run: `python -m operant.commands.helpers.trainer_process FOLDER`.

It is given a prepared run folder and, to resume, the publish number of its newest checkpoint; and
the ranks that it is to start, as `Launch` has them.
"""

from __future__ import annotations

import argparse
import atexit
import os
import pickle
import sys
from contextlib import nullcontext
from pathlib import Path

from ...shared.console.capture import start_console
from ...shared.messages import log_warning
from ...shared.processes.lock import RunLock
from ...shared.runs.run_folder import Run
from ...trainer.running.signals import stop_requests
from .following_rank import ended_at_once


def main(
    folder: str,
    resume_publish: int | None = None,
    launch: str = "",
    own_code: int | None = None,
) -> int:
    run = Run(Path(folder))
    with stop_requests() as requests:
        # Before anything that takes time: from here on the run is alive by its own lock.
        lock = RunLock(run.lock_path)
        # Before anything else prints, so that it is masked; up to the traceback of an error here.
        if console := start_console(run.console_path(), log_warning):
            atexit.register(console.stop)
        from ...trainer.config.from_values import make_config
        from ...trainer.config.stored_code import check_stored_code
        from ...trainer.running.process import Prepared, run_training
        from .progress import PlainProgress

        values = run.manifest()["config"]
        if own_code is not None:
            take_own_code(own_code)
        if resume_publish is not None:  # else it is what was asked for a moment ago
            check_stored_code(values, run.folder, [run.manifest_path], run.manifest)
        config = make_config(values)
        prepared, progress = Prepared(run, lock, config, resume_publish), PlainProgress(sys.stdout)
        if not launch:
            return run_training(prepared, requests, progress)
        from ..ranks.launch import Launch
        from ..ranks.launched import train_with_ranks

        reporting = nullcontext(progress)
        exit_code = train_with_ranks(Launch.of_argument(launch), prepared, requests, reporting)
    return ended_at_once(exit_code)


def take_own_code(file: int) -> None:
    """Register the environment and the network that the starting process pickled into the open
    unnamed `file`, after its `sys.path`.
    """
    from ...trainer.settings.own_code import take_pickled

    with os.fdopen(file, "rb") as pickled:
        sys.path[:] = pickle.load(pickled)
        take_pickled(pickled.read())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--resume-publish", type=int)
    parser.add_argument("--launch", default="")
    parser.add_argument("--own-code", type=int)
    return parser.parse_args()


if __name__ == "__main__":
    arguments = _arguments()
    sys.exit(main(**vars(arguments)))
