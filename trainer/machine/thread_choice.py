"""The number of threads, chosen while a run trains, and again when its speed changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from statistics import median

from .threads import Threads

WINDOW = 16  # iterations whose median is the speed: a single slow one is no reason
CHANGE = 1.5  # iterations this many times longer are a speed that fell by a third
FIRST_S = 2.0  # of iterations before the first choice, where they are fewer than `WINDOW`
TRIALS = 3  # iterations with each number of threads, of which the fastest counts
LONG_S = 1.0  # an iteration that says enough by itself
PAUSE_S = 5.0  # of iterations between two choices, twice as many after each that changed nothing
MOST_PAUSE_S = 320.0


class ThreadChoice:
    """Tries all numbers of threads, and does again once iterations take half as long again as
    before, or once they take that much less. Real iterations are what is tried with: their results
    do not depend on the number.
    """

    def __init__(self, threads: Threads, candidates: Sequence[int]) -> None:
        self._threads, self._candidates = threads, tuple(candidates)
        self._recent: deque[float] = deque(maxlen=WINDOW)
        self._reference_s: float | None = None
        self._since_choice_s, self._pause_s = 0.0, PAUSE_S
        self._was_timed = False  # the number is the fastest of `candidates`
        self._trials: dict[int, list[float]] = {}  # seconds by number, while there are trials
        self._before = threads.num_threads

    @property
    def is_settled(self) -> bool:
        """Whether no other number is being tried, nor about to be for the first time."""
        return self._was_timed and not self._trials

    def iteration(self, seconds: float) -> str:
        """Take the seconds of an iteration; set the number of threads of the next one.

        Returns a notice if a choice changes the number, else an empty text.
        """
        if self._trials:
            return self._tried(seconds)
        self._recent.append(seconds)
        self._since_choice_s += seconds
        if len(self._recent) == WINDOW or self._wants_first():
            typical_s = median(self._recent)
            if not self._was_timed or self._is_due(typical_s):
                self._was_timed = True
                self._trials = {count: [] for count in self._candidates}
                self._before = self._threads.num_threads
                self._threads.num_threads = self._candidates[0]
        return ""

    def _wants_first(self) -> bool:
        """Whether the first choice can be made: what the very first iteration had to compile is
        behind.
        """
        return not self._was_timed and len(self._recent) > 1 and self._since_choice_s > FIRST_S

    def _is_due(self, typical_s: float) -> bool:
        """Whether iterations take as long as never before since the last choice."""
        if self._reference_s is None:
            self._reference_s = typical_s
        if self._since_choice_s < self._pause_s:
            return False
        return not 1 / CHANGE < typical_s / self._reference_s < CHANGE

    def _tried(self, seconds: float) -> str:
        self._trials[self._threads.num_threads].append(seconds)
        for count, times in self._trials.items():
            if len(times) < (1 if seconds > LONG_S else TRIALS):
                self._threads.num_threads = count
                return ""
        fastest_s = {count: min(times) for count, times in self._trials.items()}
        chosen = min(fastest_s, key=lambda count: fastest_s[count])
        self._threads.num_threads = chosen
        self._recent.clear()
        self._reference_s, self._since_choice_s, self._trials = None, 0.0, {}
        if chosen == self._before:
            self._pause_s = min(2 * self._pause_s, MOST_PAUSE_S)
            return ""
        self._pause_s = PAUSE_S
        measured = ", ".join(f"{1000 * s:.1f} ms with {count}" for count, s in fastest_s.items())
        return (
            f"threads: {chosen} from now on, {self._before} before; an iteration takes {measured}"
        )
