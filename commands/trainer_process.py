"""The process of a detached run: `python -m operant.commands.trainer_process FOLDER`.

It is given a prepared run folder and, to resume, the publish number of its newest checkpoint; and
the ranks that it is to start, as `Launch` has them. It may stop with who started it.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from pathlib import Path

from ..shared.lock import RunLock
from ..shared.run_folder import Run
from ..trainer.run.signals import Received, stop_requests
from .ended_at_once import ended_at_once


def main(
    folder: str,
    resume_publish: int | None = None,
    launch_argument: str = "",
    stops_with_standard_input: bool = False,
) -> int:
    run = Run(Path(folder))
    with stop_requests() as received:
        # Before anything that takes time: from here on the run is alive by its own lock.
        lock = RunLock(run.lock_path, 0)
        if stops_with_standard_input:
            stop_with_standard_input(received)
        from ..trainer.config.files import make_config
        from ..trainer.config.stored_code import check_stored_code
        from ..trainer.run.process import run_training
        from .progress import PlainProgress
        from .ranks.elastic import elastic_of
        from .ranks.launch import Launch
        from .ranks.launched import launched

        progress = PlainProgress(sys.stdout)
        values = run.manifest()["config"]
        if resume_publish is not None:  # else it is what was asked for a moment ago
            check_stored_code(values, run.folder, [run.manifest_path], run.manifest)
        config = make_config(values)
        launch = Launch.of_argument(launch_argument) if launch_argument else None
        elastic = elastic_of(launch, run, config, received)
        with launched(launch, run) as others:
            exit_code = run_training(
                run,
                lock,
                config,
                received,
                resume_publish=resume_publish,
                take_request=received.take,
                report=progress,
                report_phase=progress.phase,
                place=others.place,
                split=launch.split if launch else "",
                check_others=others.check,
            )
            others.wait(exit_code)
    if elastic:
        elastic.go_on(exit_code)
    return ended_at_once(exit_code) if launch else exit_code


def stop_with_standard_input(received: Received) -> None:
    """Stop in good order once nobody can write to it any more, unless that was asked for before."""

    def watch() -> None:
        while os.read(sys.stdin.fileno(), 4096):
            pass
        if not received:
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="starter", daemon=True).start()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--resume-publish", type=int)
    parser.add_argument("--launch", default="")
    parser.add_argument("--stops-with-standard-input", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    told = _arguments()
    sys.exit(main(told.folder, told.resume_publish, told.launch, told.stops_with_standard_input))
