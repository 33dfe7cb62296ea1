"""The process of a detached run: `python -m operant.commands.trainer_process FOLDER [PUBLISH]`.

It is given a prepared run folder and, to resume, the publish number of its newest checkpoint.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ..shared.lock import RunLock
from ..shared.run_folder import Run
from ..trainer.run.signals import stop_requests


def main(folder: str, resume_publish: str | None = None) -> int:
    run = Run(Path(folder))
    # Before anything that takes time: from here on the run is alive by its own lock.
    lock = RunLock(run.lock_path, 0)
    with stop_requests() as received:
        from ..trainer.config.files import make_config
        from ..trainer.run.process import run_training
        from .progress import PlainProgress

        progress = PlainProgress(sys.stdout)
        config = make_config(run.manifest()["config"])
        return run_training(
            run,
            lock,
            config,
            received,
            resume_publish=None if resume_publish is None else int(resume_publish),
            take_request=received.take,
            report=progress,
            report_phase=progress.phase,
        )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
