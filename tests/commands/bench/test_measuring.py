"""Sides are measured alternately, and their samples summed up."""

from __future__ import annotations

from operant.commands.bench.measuring import Sample, alternate, timed


class Counted:
    """A side whose speed is told, and that notes when it was its turn."""

    def __init__(self, name, speeds, log):
        self.name, self._speeds, self._log = name, iter(speeds), log

    def prepare(self):
        self._log.append(f"prepare {self.name}")

    def measure(self, seconds):
        self._log.append(self.name)
        return Sample(next(self._speeds), 1.0, {"learn": 0.25})


def test_sides_take_turns_and_each_is_first_as_often_as_the_others():
    log = []
    sides = [Counted("a", [1, 5, 3, 4], log), Counted("b", [2, 2, 2, 2], log)]
    ours, theirs = alternate(sides, 4, seconds=1)
    assert log == ["prepare a", "prepare b", "a", "b", "b", "a", "a", "b", "b", "a"]
    assert ours["env_steps_per_s"] == {"median": 3.5, "min": 1.0, "max": 5.0}
    assert ours["env_steps"] == 13
    assert ours["phase_fractions"] == {"learn": 0.25}
    assert theirs["env_steps_per_s"]["median"] == 2.0


def test_work_is_repeated_until_the_time_is_over_and_counted():
    calls = []

    def work():
        calls.append(1)
        return 7

    sample = timed(work, seconds=0)
    assert (sample.env_steps, len(calls)) == (7, 1)
    assert sample.seconds > 0
