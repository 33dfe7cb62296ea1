"""Freeway by the rules in docs/minatar-rules.md."""

from __future__ import annotations

from minatar_games import OneGame

NOTHING, LEFT, UP, RIGHT, DOWN = range(5)
GOES_ON = (0, False)
SPEEDS = (1, 2, 3, 4, 5, 1, 2, 3)
SIDES = (0.51,) * 4 + (0.49,) * 4  # right, then left


def begun():
    return OneGame("freeway", *SPEEDS, *SIDES)


def test_speeds_are_drawn_before_directions_and_all_cars_begin_at_the_left():
    game = begun()
    assert game.draws.asked == [("integer", 1, 5)] * 8 + [("real",)] * 8
    assert game.cells("chicken") == [(9, 4)]
    assert game.cells("car") == [(row, 0) for row in range(1, 9)]
    assert game.cells("trail_1") == [(1, 9), (6, 1)]
    assert game.cells("trail_5") == [(5, 1)]


def test_a_car_moves_once_in_its_speed_and_one_more_steps_and_over_the_edge():
    game = begun()
    seen = []
    for _ in range(6):
        game.step(NOTHING)
        seen.append((game.cells("car")[0][1], game.cells("car")[5][1]))
    assert seen == [(0, 0), (1, 9), (1, 9), (2, 8), (2, 8), (3, 7)]
    for _ in range(14):
        game.step(NOTHING)
    assert game.cells("car")[0] == (1, 0)


def test_the_chicken_first_moves_on_step_4_and_then_every_third():
    game = begun()
    rows = []
    for _ in range(8):
        game.step(UP)
        rows.append(game["ROW"])
    assert rows == [9, 9, 9, 8, 8, 8, 7, 7]
    game["MOVE_TIMER"] = 0
    game.step(LEFT)
    assert (game["ROW"], game["MOVE_TIMER"]) == (7, 0)
    game["ROW"] = 9
    game.step(DOWN)
    assert (game["ROW"], game["MOVE_TIMER"]) == (9, 2)


def test_a_crossing_is_rewarded_and_draws_new_speeds_for_cars_where_they_are():
    game = begun()
    for _ in range(3):
        game.step(NOTHING)
    before = game.cells("car")
    game["ROW"] = 1
    assert game.step(UP, *(5,) * 8, *(0.9,) * 8) == (1, False)
    assert game.cells("chicken") == [(9, 4)]
    assert game.cells("car") == before
    assert len(game.cells("trail_5")) == 8


def test_a_car_sends_the_chicken_back_as_it_comes_and_as_it_stands():
    for column, timer in ((4, 3), (3, 0)):
        game = begun()
        game["ROW"], game["COLUMNS"], game["TIMERS"] = 1, column, timer
        assert game.step(NOTHING) == GOES_ON
        assert game["ROW"] == 9
    game = begun()
    game["ROW"], game["COLUMNS"], game["TIMERS"] = 1, 3, 1
    game.step(NOTHING)
    assert game["ROW"] == 1


def test_an_episode_has_2501_steps():
    game = begun()
    assert game.steps(DOWN, 2500) == [GOES_ON] * 2500
    assert game.step(DOWN) == (0, True)
