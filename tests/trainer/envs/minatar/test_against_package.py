"""The games beside the package `minatar`, step by step, with the same draws in both.

The package is under the GPL-3.0 and no dependency: tests that need it are skipped without it.

    .venv/bin/pip install --no-deps minatar==1.0.15
    .venv/bin/pytest -m slow tests/trainer/envs/minatar/test_against_package.py

100,000 random steps a game, and as many again of policies that reach what random actions do not,
take four minutes in all.
"""

from __future__ import annotations

import logging

import numpy as np
import pytest
from minatar_games import OneGame, put_things, sea_thing

from operant.trainer.envs.minatar import rules_of
from operant.trainer.envs.minatar.common import STICKY

logging.disable(logging.WARNING)  # it warns that there is nothing to draw pictures with
try:
    minatar = pytest.importorskip("minatar", reason="pip install --no-deps minatar==1.0.15")
finally:
    logging.disable(logging.NOTSET)

pytestmark = pytest.mark.slow

NOTHING, LEFT, UP, RIGHT, DOWN, FIRE = range(6)
GAMES = ("breakout", "asterix", "freeway", "space_invaders", "seaquest")
NUM_STEPS = 100_000
NUM_SEA_STATES, STEPS_FROM_ONE = 4_000, 12

# Seaquest's in the package, and ours.
PACKAGE_TIMERS = {
    "e_spawn_speed": "SPAWN_INTERVAL",
    "e_spawn_timer": "SPAWN_TIMER",
    "d_spawn_timer": "DIVER_TIMER",
    "move_speed": "MOVE_INTERVAL",
    "shot_timer": "FIRE_TIMER",
    "ramp_index": "RAMP_INDEX",
}


class Tape:
    """The package's generator of numbers. It notes what was asked, as `PutIn` does, and given."""

    def __init__(self, seed):
        self.numbers = np.random.default_rng(seed)
        self.clear()

    def clear(self):
        self.asked, self.given = [], []

    def real(self):
        self.asked.append(("real",))
        self.given.append(float(self.numbers.random(dtype=np.float32)))
        return self.given[-1]

    def integer(self, low, high):
        self.asked.append(("integer", low, high))
        self.given.append(int(self.numbers.integers(low, high, endpoint=True)))
        return self.given[-1]

    def rand(self, size=None):
        return self.real() if size is None else np.array([self.real() for _ in range(size)])

    def randint(self, low, high=None, size=None):
        low, high = (0, low - 1) if high is None else (low, high - 1)
        if size is None:
            return self.integer(low, high)
        return np.array([self.integer(low, high) for _ in range(size)])


class Both:
    """A game in the package (`theirs`) and in operant (`ours`), which have to stay equal."""

    def __init__(self, game, seed=0, is_ramping=True, sticky=0.1):
        self.tape = Tape(seed)
        self.package = minatar.Environment(
            game, sticky_action_prob=sticky, difficulty_ramping=is_ramping
        )
        self.theirs = self.package.env
        self.package.random = self.theirs.random = self.tape
        self.package.reset()
        self.ours = OneGame(game, *self.tape.given, is_ramping=is_ramping)
        self.ours.state[STICKY] = sticky
        self.compare()

    def reset(self):
        self.tape.clear()
        self.package.reset()
        self.ours.reset(*self.tape.given)
        self.compare()

    def step(self, action):
        """Returns (reward, terminated)."""
        self.tape.clear()
        reward, terminated = self.package.act(action)
        sticky, *draws = self.tape.given
        result = self.ours.step(action, *draws, sticky=sticky)
        assert result == (reward, terminated)
        self.compare()
        return result

    def compare(self):
        assert self.ours.draws.asked == self.tape.asked
        differing = np.argwhere(self.package.state() != self.ours.obs)
        assert not len(differing), f"row, column, channel: {differing.tolist()}"

    def play(self, policy, num_steps, plays_on=False):
        """Returns the rewards up to each end, and those after the last."""
        returns = [0]
        for _ in range(num_steps):
            reward, terminated = self.step(int(policy(self.theirs)))
            returns[-1] += reward
            if terminated and plays_on:
                self.theirs.terminal = False
            elif terminated:
                self.reset()
            if terminated:
                returns.append(0)
        return returns


def random_policy(seed):
    numbers = np.random.default_rng(seed)
    return lambda game: numbers.integers(6)


def follow_the_ball(seed):
    """Breakout: to the ball's column, or to its next one when it is above the paddle."""
    numbers = np.random.default_rng(seed)

    def policy(game):
        target = game.ball_x
        if game.ball_y == 8 and numbers.random() < 0.3:
            target += game.ball_x - game.last_x
        if target == game.pos:
            return NOTHING
        return LEFT if target < game.pos else RIGHT

    return policy


def mostly(action, seed):
    """One action nine times in ten, and any other time a random one of all."""
    numbers = np.random.default_rng(seed)
    return lambda game: action if numbers.random() < 0.9 else numbers.integers(6)


@pytest.mark.parametrize("game", GAMES)
def test_channels_and_minimal_actions_are_the_packages(game):
    package, rules = minatar.Environment(game), rules_of(game)
    assert list(rules.MINIMAL_ACTIONS) == package.minimal_action_set()
    assert len(rules.CHANNELS) == package.n_channels


@pytest.mark.parametrize("game", GAMES)
def test_random_steps_are_equal(game):
    returns = Both(game, seed=1).play(random_policy(2), NUM_STEPS)
    assert len(returns) > 30
    assert sum(returns) > 0


@pytest.mark.parametrize("game", GAMES)
def test_random_steps_without_ramping_and_sticky_actions_are_equal(game):
    both = Both(game, seed=3, is_ramping=False, sticky=0.0)
    assert len(both.play(random_policy(4), NUM_STEPS // 4)) > 5
    assert both.theirs.difficulty_ramp() in (0, None)


@pytest.mark.parametrize("game", ["asterix", "seaquest"])
def test_steps_beyond_the_end_are_equal(game):
    """They reach the last ramp, rows that are all full, and fewer than no divers on board."""
    both = Both(game, seed=5)
    both.play(random_policy(6), NUM_STEPS // 2, plays_on=True)
    assert both.theirs.difficulty_ramp() == {"asterix": 9, "seaquest": 19}[game]


def test_space_invaders_later_waves_are_equal():
    """Beyond the end as well, where aliens come round from the lowest row."""
    both = Both("space_invaders", seed=7)
    for policy in (random_policy(8), mostly(FIRE, 8)):
        both.play(policy, NUM_STEPS // 2, plays_on=True)
    assert both.theirs.difficulty_ramp() == 6


def test_breakouts_second_walls_are_equal():
    assert max(Both("breakout", seed=9).play(follow_the_ball(10), NUM_STEPS // 2)) > 30


def test_freeways_crossings_are_equal():
    assert sum(Both("freeway", seed=11).play(mostly(UP, 12), NUM_STEPS // 2)) > 100


class Sea:
    """A state of Seaquest that can occur, in which several things meet within a few steps."""

    def __init__(self, numbers):
        self.numbers = numbers
        self.row = self.below(9)
        self.column = self.below(10)
        self.faces_right = self.column > 0 and (self.column == 9 or self.chance())
        self.rows = (max(self.row, 1), 1 + self.below(8))
        headings = [self.chance() for _ in range(9)]  # one of all enemies in a row
        self.fish = self.list(5, lambda row: (headings[row], self.below(3)))
        self.submarines = self.list(5, lambda row: (headings[row], self.below(3), self.below(3)))
        self.enemy_bullets = self.list(3, lambda row: (self.chance(),))
        bullets = self.list(2, lambda row: (self.chance(),))
        self.bullets = list({bullet[:2]: bullet for bullet in bullets}.values())
        self.on_board = int(numbers.choice((-1, 0, 1, 5, 6)))
        self.divers = self.list(3, lambda row: (self.chance(), self.below(2)))
        if self.chance():
            self.crowd_divers()
        self.oxygen = int(numbers.choice((0, 1, 7, 59, 200)))
        self.at_surface = self.row == 0 and self.chance()
        self.timers = {
            "SPAWN_INTERVAL": 1 + self.below(20),
            "SPAWN_TIMER": self.below(4),
            "DIVER_TIMER": self.below(4),
            "MOVE_INTERVAL": 2 + self.below(4),
            "FIRE_TIMER": self.below(3),
            "RAMP_INDEX": self.below(4),
        }

    def below(self, high):
        return int(self.numbers.integers(high))

    def chance(self):
        return bool(self.numbers.random() < 0.5)

    def list(self, most, rest_of):
        """Up to `most` different things in the few rows: (column, row, goes right, timers)."""
        things = []
        for _ in range(self.below(most + 1)):
            row = self.rows[self.below(2)]
            things.append((self.below(10), row, *rest_of(row)))
        return list(dict.fromkeys(things))

    def crowd_divers(self):
        """Two divers at the player, and one free place."""
        self.on_board = 5
        columns = [column for column in range(self.column - 1, self.column + 2) if 0 <= column < 10]
        divers = [
            (int(self.numbers.choice(columns)), self.rows[0], self.chance(), self.below(2))
            for _ in range(2)
        ]
        self.divers = list(dict.fromkeys(divers))

    def write(self, both):
        self.write_theirs(both.theirs)
        self.write_ours(both.ours)
        both.tape.clear()
        both.ours.draws.put()
        both.compare()

    def write_theirs(self, game):
        game.sub_x, game.sub_y, game.sub_or = self.column, self.row, self.faces_right
        game.e_fish, game.e_subs = list(map(list, self.fish)), list(map(list, self.submarines))
        game.f_bullets, game.divers = list(map(list, self.bullets)), list(map(list, self.divers))
        game.e_bullets = list(map(list, self.enemy_bullets))
        game.oxygen, game.diver_count = self.oxygen, self.on_board
        game.surface, game.terminal = self.at_surface, False
        for name, field in PACKAGE_TIMERS.items():
            setattr(game, name, self.timers[field])

    def write_ours(self, game):
        game["ROW"], game["COLUMN"], game["FACES_RIGHT"] = self.row, self.column, self.faces_right
        for name in ("FISH", "SUBMARINES", "BULLETS", "DIVERS", "ENEMY_BULLETS"):
            things = getattr(self, name.lower())
            put_things(
                game, name, *(sea_thing(row, column, *rest) for column, row, *rest in things)
            )
        game["OXYGEN"], game["ON_BOARD"] = self.oxygen, self.on_board
        game["AT_SURFACE"] = self.at_surface
        for name, value in self.timers.items():
            game[name] = value


def test_seaquests_crowded_rows_are_equal():
    both, numbers = Both("seaquest", seed=13), np.random.default_rng(14)
    num_rewards = 0
    for _ in range(NUM_SEA_STATES):
        Sea(numbers).write(both)
        for _ in range(STEPS_FROM_ONE):
            reward, terminated = both.step(int(numbers.integers(6)))
            num_rewards += reward > 0
            if terminated:
                break
    assert num_rewards > NUM_SEA_STATES / 10
