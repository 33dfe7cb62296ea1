"""Callbacks that come with operant; `trainer/running/callbacks.py` has the others."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from ..commands.helpers.progress import progress_report
from ..monitor.play.filming import write_episode, writer_for
from ..shared.errors import UsageError
from ..shared.runs.owners import make_private_folder
from ..shared.text.plain_values import described
from ..shared.text.typed_numbers import whole_number
from ..trainer.playing import make_episodes
from ..trainer.running.callbacks import LiveRun


class ProgressBar:
    """Show progress on standard error: a bar in a terminal, otherwise a line every two seconds."""

    def on_start(self, run: LiveRun) -> None:
        self._open = ExitStack()
        self._report = self._open.enter_context(progress_report(run.id, to_stderr=True))

    def on_iteration(self, run: LiveRun) -> None:
        self._report(run.metrics, run.iteration, run.env_steps)

    def on_end(self, run: LiveRun) -> None:
        self._open.close()


class RecordVideo:
    """Record a greedy episode every `every_env_steps` env steps, in `videos` of the run's folder.

    Training waits meanwhile. It needs the extra `media`.
    """

    def __init__(
        self, every_env_steps: int, *, ending: str = "gif", max_steps: int = 1000, seed: int = 1
    ) -> None:
        """`ending` is gif or mp4. An episode is shown for at most `max_steps` env steps."""
        if ending not in ("gif", "mp4"):
            raise UsageError(f"ending = {described(ending)}: expected gif or mp4")
        self._every, self._ending = whole_number("every_env_steps", every_env_steps, 1), ending
        self._max_steps = whole_number("max_steps", max_steps, 1)
        self._seed = whole_number("seed", seed, 0, 2**63 - 1)
        self._next = 0

    def on_start(self, run: LiveRun) -> None:
        writer_for(run.folder / f"video.{self._ending}")  # raises now if a package is missing
        policy: Any = run.policy()
        make_episodes(policy._trained).close()  # raises now if the environment cannot be drawn
        self._next = run.env_steps + self._every

    def on_iteration(self, run: LiveRun) -> None:
        if run.env_steps < self._next:
            return
        self._next = run.env_steps + self._every
        folder = run.folder / "videos"
        make_private_folder(folder)
        policy: Any = run.policy()
        episodes = make_episodes(policy._trained)
        path = folder / f"env-steps-{run.env_steps:012d}.{self._ending}"
        try:
            write_episode(path, episodes, self._seed, 20.0, 20.0, self._max_steps, None)
        finally:
            episodes.close()
