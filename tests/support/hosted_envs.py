"""Environments of other libraries' kinds, that workers import by name; some get into trouble."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from pathlib import Path

import gymnasium
import numpy as np


class Count(gymnasium.Env):
    """Shows how many steps there were, the last action and a random number; pays the count."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float32)
    action_space = gymnasium.spaces.Discrete(3, start=1)

    def obs(self, action=0):
        return np.array([self.count, action, self.np_random.random()], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        self.length = int(self.np_random.integers(3, 9))
        return self.obs(), {}

    def step(self, action):
        self.count += 1
        is_over = self.count >= self.length
        ends = (is_over and self.length % 2 == 0, is_over)
        return self.obs(action), float(self.count), *ends, {}


def make_stack():
    """Counts in stacks of three."""
    return gymnasium.wrappers.FrameStackObservation(Count(), 3)


class Endless(Count):
    """Never ends by itself."""

    def step(self, action):
        self.count += 1
        return self.obs(action), 1.0, False, False, {}


class Slow(Endless):
    """Sleeps for as many microseconds as $HOSTED_ENVS_US says."""

    def step(self, action):
        time.sleep(int(os.environ["HOSTED_ENVS_US"]) * 1e-6)
        return super().step(action)


class Troubled(Endless):
    """In the environment that was seeded with $TROUBLED_SEED what $TROUBLE says happens, in its
    third step, or where it is made.
    """

    is_troubled = False

    def __init__(self):
        if os.environ["TROUBLE"] == "cannot be made":
            raise RuntimeError("there is no simulator")

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self.is_troubled = str(seed) == os.environ.get("TROUBLED_SEED")
        return super().reset(seed=seed)

    def step(self, action):
        if self.is_troubled and self.count == 2:
            TROUBLES[os.environ["TROUBLE"]]()
            if os.environ["TROUBLE"] == "changes shape":
                return np.zeros(1, np.float32), 0.0, False, False, {}
        return super().step(action)


def _raise():
    raise RuntimeError("the wheel\nfell off")


def _hang():
    while True:
        time.sleep(0.01)


def _hang_with_the_interpreter():
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    ctypes.PyDLL(None).sleep(10_000)


TROUBLES = {
    "raises": _raise,
    "hangs": _hang,
    "holds the interpreter": _hang_with_the_interpreter,
    "changes shape": lambda: None,
    "is killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "crashes": lambda: ctypes.string_at(0),
    "exits": lambda: sys.exit(3),
    "exits at once": lambda: os._exit(3),
}


class Printing(Endless):
    """Prints its steps, and is killed after the third where $HOSTED_ENVS_END says so."""

    def step(self, action):
        print("step", self.count + 1)
        if self.count == 2 and os.environ.get("HOSTED_ENVS_END") == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(action)


class Closing(Troubled):
    """Leaves a file in $CLOSED once it is closed; one of a pair takes $CLOSE_S seconds for that."""

    seed = None

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self.seed = seed
        return super().reset(seed=seed)

    def close(self):
        if self.seed is None:  # it was only looked at
            return
        time.sleep(float(os.environ["CLOSE_S"]) if self.seed % 2 == 0 else 0)
        Path(os.environ["CLOSED"], str(self.seed)).touch()


def make_count():
    return Count()


def make_endless():
    return Endless()


def make_drawn():
    return gymnasium.make("CartPole-v1", render_mode="rgb_array")


def make_slow():
    return Slow()


def make_troubled():
    return Troubled()


def make_printing():
    return Printing()


def make_closing():
    return Closing()
