"""Threads are chosen again when the speed says so."""

from __future__ import annotations

from operant.trainer.machine.thread_choice import PAUSE_S, ThreadChoice
from operant.trainer.machine.threads import Threads


class Machine:
    """Iterations whose seconds depend on the number of threads, as told."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.threads = Threads(1)
        self.threads.num_threads = 2
        self.choice = ThreadChoice(self.threads, (1, 2))
        self.notices = []
        self.num_single = 0  # iterations with one thread

    def run(self, seconds):
        """Iterations for at least that long."""
        while seconds > 0:
            took = self.seconds[self.threads.num_threads]
            seconds -= took
            self.num_single += self.threads.num_threads == 1
            notice = self.choice.iteration(took)
            self.notices += [notice] if notice else []


def chosen(seconds):
    """A machine on which two threads were found to be the fastest."""
    machine = Machine(seconds)
    machine.run(4 * PAUSE_S)
    assert (machine.threads.num_threads, machine.num_single, machine.notices) == (2, 3, [])
    assert machine.choice.is_settled
    return machine


def test_a_neighbour_makes_it_one_thread_and_its_leaving_two_again():
    machine = chosen({1: 0.40, 2: 0.25})
    machine.seconds = {1: 0.80, 2: 1.75}  # a busy core, for which one thread waits at every loop
    machine.run(60)
    assert machine.threads.num_threads == 1
    assert machine.notices == [
        "threads: 1 from now on, 2 before; an iteration takes 800.0 ms with 1, 1750.0 ms with 2"
    ]

    machine.seconds = {1: 0.40, 2: 0.25}
    machine.run(60)
    assert machine.threads.num_threads == 2
    assert machine.notices[1:] == [
        "threads: 2 from now on, 1 before; an iteration takes 400.0 ms with 1, 250.0 ms with 2"
    ]


def test_a_speed_that_falls_by_less_than_a_third_is_left_alone():
    machine = chosen({1: 0.50, 2: 0.20})
    machine.seconds = {1: 0.10, 2: 0.29}  # 0.29 / 0.20 = 1.45
    machine.run(60)
    assert (machine.threads.num_threads, machine.notices) == (2, [])


def test_single_slow_iterations_are_no_reason():
    machine = chosen({1: 0.5, 2: 0.2})
    for _ in range(100):
        machine.run(0.2 * 7)
        machine.choice.iteration(3.0)
    assert machine.notices == []


def test_a_choice_that_changes_nothing_is_made_less_and_less_often():
    machine = chosen({1: 0.5, 2: 0.2})
    for slow in range(40):  # the speed jumps, and two threads are always better
        factor = 1 + slow % 2
        machine.seconds = {1: 0.5 * factor, 2: 0.2 * factor}
        machine.run(20)
    assert machine.threads.num_threads == 2
    # After 10 s, 20, 40, 80, 160, 320 s of the 1200 or so; each takes up to three iterations.
    assert 3 < machine.num_single <= 3 * 8
    assert machine.notices == []


def test_the_first_choice_among_long_iterations_takes_one_of_each():
    machine = Machine({1: 9.0, 2: 14.0})
    machine.run(14 + 14 + 9 + 14)  # the first compiles; then there is one to compare with
    assert machine.threads.num_threads == 1
    assert machine.notices == [
        "threads: 1 from now on, 2 before; an iteration takes 9000.0 ms with 1, 14000.0 ms with 2"
    ]
