"""A greedy episode on the way, as a file that `operant play` shows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ....shared.episodes.episode_file import write_moments
from ....shared.episodes.scene import Episodes, Moment
from ....shared.runs.owners import make_private_folder
from ....shared.runs.run_folder import EPISODE_ENDING
from ....shared.runs.small_file import create_anew
from ...config import TrainConfig
from ...experiment.trained_policy import TrainedPolicy
from ...experiment.untrained import make_policy
from ...playing import make_episodes
from .tracing import delete_old


class EpisodeRecorder:
    """Plays the first episode of the run's seed with copies of the policy, on the processor."""

    def __init__(self, config: TrainConfig, folder: Path) -> None:
        self._config, self._folder = config, folder

    def record(self, policy: Any, iteration: int) -> Path:
        """Write the episode that `policy` plays now. Waits for the device. Raises OSError."""
        copied: Any = make_policy(self._config)
        copied.load_state_dict({name: x.cpu() for name, x in policy.state_dict().items()})
        episodes = make_episodes(TrainedPolicy(copied, self._config, iteration))
        name = f"iteration-{iteration:09d}{EPISODE_ENDING}"
        building = self._folder / f".building-{name}"
        make_private_folder(self._folder, parents=False)
        try:
            with os.fdopen(create_anew(building), "wb") as file:
                write_moments(file, episodes.env, episodes.seed, self._moments(episodes))
            building.rename(self._folder / name)
        except BaseException:
            building.unlink(missing_ok=True)
            raise
        finally:
            episodes.close()
        delete_old(self._folder, f"*{EPISODE_ENDING}", self._config.episodes.keep)
        return self._folder / name

    def _moments(self, episodes: Episodes) -> Iterator[Moment]:
        episodes.begin(episodes.seed, 0)
        yield episodes.moment(0)
        for _ in range(self._config.episodes.max_steps):
            is_over = episodes.step()
            yield episodes.moment(0)
            if is_over:
                break
