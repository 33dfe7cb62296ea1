"""A warning for environments whose episodes do not end."""

from __future__ import annotations

from collections.abc import Mapping

COUNT = "episode/count"
# Env steps of each environment: nearly all episodes are shorter. A run may have fewer.
MANY, MANY_AT_END = 5_000, 1_000


class EndlessEpisodes:
    """Looks for the first episode that ends in this process."""

    def __init__(self, num_rows: int = 1, env_steps: int = 0) -> None:
        """`num_rows` episodes are played at a time; `env_steps` were before."""
        self._num_rows, self._before = num_rows, env_steps
        self._is_over = False  # an episode has ended, or the warning was given

    def warning(self, values: Mapping[str, float], env_steps: int, many: int = MANY) -> str:
        """The warning after an iteration with these metrics; empty except once."""
        self._is_over |= values.get(COUNT, 0.0) > 0
        num_steps = env_steps - self._before
        if self._is_over or num_steps < many * self._num_rows:
            return ""
        self._is_over = True
        return (
            f"no episode has ended after {num_steps:,} env steps: there are no returns until one "
            "does; if none ever does, set a time limit, as preprocessing.time_limit"
        )
