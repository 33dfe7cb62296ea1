"""Asterix by the rules in docs/minatar-rules.md."""

from __future__ import annotations

import pytest
from minatar_games import OneGame

NOTHING, LEFT, UP, RIGHT, DOWN, FIRE = range(6)
GOES_ON = (0, False)
FROM_LEFT, FROM_RIGHT, GOLD, ENEMY = 0.49, 0.5, 0.33, 0.34
SPAWN_STEP = 11


def before_the_first():
    game = OneGame("asterix")
    assert game.steps(FIRE, SPAWN_STEP - 1) == [GOES_ON] * (SPAWN_STEP - 1)
    assert game.cells("player") == [(5, 5)]
    return game


@pytest.mark.parametrize(
    ("side", "kind", "channel", "column", "trail"),
    [(FROM_LEFT, GOLD, "gold", 1, 0), (FROM_RIGHT, ENEMY, "enemy", 8, 9)],
)
def test_the_first_appears_on_step_11_and_moves_at_once(side, kind, channel, column, trail):
    game = before_the_first()
    game.step(NOTHING, side, kind, 2)
    assert game.draws.asked == [("real",)] * 3 + [("integer", 0, 7)]
    assert game.cells(channel) == [(3, column)]  # slot 2, moves with it on step 6, 11, 16
    assert game.cells("trail") == [(3, trail)]


def test_it_moves_every_fifth_step_and_leaves_at_the_other_edge():
    game = before_the_first()
    game.step(NOTHING, FROM_LEFT, GOLD, 0)
    game["SPAWN_TIMER"] = 1000
    seen = []
    for _ in range(50):
        game.step(NOTHING)
        seen.append([column for _, column in game.cells("gold")])
    assert seen == sum(([[column]] * 5 for column in range(2, 10)), [[1]] * 4) + [[]] * 6


def test_gold_is_taken_and_an_enemy_ends_the_episode_and_stays():
    for kind, outcome, left in ((GOLD, (1, False), 0), (ENEMY, (0, True), 1)):
        game = before_the_first()
        game["COLUMN"], game["MOVE_TIMER"] = 1, 3
        assert game.step(LEFT, FROM_LEFT, kind, 4) == outcome
        assert game.cells("player") == [(5, 0)]
        assert game["SLOTS"] == 0
        assert (game.state[game.rules.SLOTS + 4, 0] > 0) == left


def test_what_moves_into_the_player_touches_it():
    game = before_the_first()
    game["COLUMN"] = 8
    assert game.step(NOTHING, FROM_RIGHT, GOLD, 4) == (1, False)


def test_only_empty_slots_are_drawn_and_none_where_all_are_full():
    game = before_the_first()
    game["MOVE_TIMER"] = game["RAMP_TIMER"] = 1000
    for count in range(8, 0, -1):
        game["SPAWN_TIMER"] = 0
        game.step(NOTHING, FROM_LEFT, GOLD, count - 1)
        assert game.draws.asked[-1] == ("integer", 0, count - 1)
        assert game.cells("gold")[0] == (count, 0)
    game["SPAWN_TIMER"] = 0
    game.step(NOTHING, FROM_LEFT, GOLD)
    assert game["SPAWN_TIMER"] == 9


def test_it_ramps_every_102_steps_nine_times_and_the_player_keeps_to_its_rows():
    for is_ramping in (True, False):
        game, intervals = OneGame("asterix", is_ramping=is_ramping), []
        for number in range(1000):
            game["SPAWN_TIMER"] = 1000
            game.step((UP, DOWN)[number // 10 % 2])
            assert 1 <= game["ROW"] <= 8
            intervals.append((game["SPAWN_INTERVAL"], game["MOVE_INTERVAL"]))
        changes = [k + 1 for k in range(1, 1000) if intervals[k] != intervals[k - 1]]
        assert changes == ([102 * k for k in range(1, 10)] if is_ramping else [])
        if is_ramping:
            assert intervals[101::102] == [
                (9, 5), (8, 4), (7, 4), (6, 3), (5, 3), (4, 2), (3, 2), (2, 1), (1, 1),
            ]  # fmt: skip
