"""The speed of a run, and the time it still takes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

WINDOW_S = 30.0  # of training, at least
MARK_EVERY_S = 1.0  # a window is at most this, or one iteration, longer


class SpeedWindow:
    """Env steps per second over the newest 30 seconds of training, or over the last iteration if it
    took longer; the window may be up to a second longer.

    The caller's clock, in seconds, is stopped while the run does something else. The first
    iteration, which loads and warms up, counts only until there is another; the speed `is_steady`
    from the second on.
    """

    def __init__(self, clock_s: float, env_steps: float) -> None:
        """Begin at `clock_s`, with `env_steps` done already."""
        self._marks = deque([(clock_s, env_steps)])
        self._is_warm = self.is_steady = False
        self.per_s = 0.0

    def add(self, clock_s: float, env_steps: float) -> float:
        """Add the end of an iteration; returns the speed."""
        marks = self._marks
        while len(marks) > 1 and marks[1][0] <= clock_s - WINDOW_S:
            marks.popleft()
        since_s, steps_then = marks[0]
        self.per_s = (env_steps - steps_then) / max(clock_s - since_s, 1e-9)
        self.is_steady = self._is_warm
        if not self._is_warm:
            marks.clear()
            self._is_warm = True
        if not marks or clock_s - marks[-1][0] >= MARK_EVERY_S:
            marks.append((clock_s, env_steps))
        return self.per_s


def time_left_s(
    env_steps_left: int,
    env_steps_per_s: float,
    since_s: float = 0.0,
    pauses: Iterable[tuple[int, float]] = (),
) -> float | None:
    """Seconds to the end: training at this speed, less the `since_s` that have passed since the env
    steps were counted, plus `pauses`, as pairs of their number and their seconds.

    None if no speed is known, or if training has taken longer than estimated.
    """
    if env_steps_per_s <= 0:
        return None
    training_s = env_steps_left / env_steps_per_s - since_s
    if training_s <= 0 and env_steps_left > 0:
        return None
    return max(0.0, training_s) + sum(count * seconds for count, seconds in pauses)
