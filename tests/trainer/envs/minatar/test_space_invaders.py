"""Space Invaders by the rules in docs/minatar-rules.md."""

from __future__ import annotations

from minatar_games import OneGame

NOTHING, LEFT, UP, RIGHT, DOWN, FIRE = range(6)
GOES_ON = (0, False)


def alone(row, column, **fields):
    """A game with one alien."""
    game = OneGame("space_invaders")
    put(game, "ALIENS", *[0] * 10)
    game.state[game.rules.ALIENS + row] = 1 << column
    for field, value in fields.items():
        game[field] = value
    return game


def put(game, field, *rows):
    first = getattr(game.rules, field)
    game.state[first : first + len(rows), 0] = rows


def test_a_wave_has_24_aliens_that_first_move_on_step_13_and_shoot_on_step_11():
    game = OneGame("space_invaders")
    assert game.cells("alien") == [(row, c) for row in range(4) for c in range(2, 8)]
    assert game.cells("cannon") == [(9, 5)]
    game.steps(NOTHING, 10)
    assert game.cells("enemy_bullet") == []
    game.step(NOTHING)
    assert game.cells("enemy_bullet") == [(3, 5)]
    game.step(NOTHING)
    assert game.cells("enemy_bullet") == [(4, 5)]
    game.step(NOTHING)
    assert game.cells("alien")[0] == (0, 1)
    assert game.cells("alien_left") == game.cells("alien")
    assert game.cells("alien_right") == []


def test_the_cannon_fires_every_fifth_step_and_a_hit_is_rewarded():
    game, fired = OneGame("space_invaders"), []
    for _ in range(12):
        before = game["FIRE_TIMER"]
        reward, _ = game.step(FIRE)
        fired.append(before == 0)
        if len(fired) == 1:
            assert game.cells("friendly_bullet") == [(8, 5)]
        assert reward == (len(fired) in (6, 12))  # to row 3 in six steps, then to row 2 in seven
    assert fired == [k % 5 == 0 for k in range(12)]
    assert len(game.cells("alien")) == 22


def test_a_bullet_or_an_alien_at_the_cannon_ends_the_episode():
    game = OneGame("space_invaders")
    put(game, "ENEMY_BULLETS", *[0] * 8, 1 << 4)
    assert game.step(NOTHING) == GOES_ON
    put(game, "ENEMY_BULLETS", *[0] * 8, 1 << 4)
    assert game.step(LEFT) == (0, True)
    assert alone(9, 5).step(NOTHING) == (0, True)
    assert alone(9, 6, MOVE_TIMER=0).step(NOTHING) == (0, True)  # it comes
    assert alone(9, 7, MOVE_TIMER=0).step(NOTHING) == GOES_ON


def test_at_an_edge_aliens_turn_and_sink_and_from_the_last_row_they_end_the_episode():
    game = alone(4, 0, MOVE_TIMER=0, SHOT_TIMER=5)
    assert game.step(NOTHING) == GOES_ON
    assert game.cells("alien_right") == [(5, 0)]
    assert game["MOVE_TIMER"] == 0  # one alien: on every step
    game.step(NOTHING)
    assert game.cells("alien_right") == [(5, 1)]
    game = alone(9, 9, MOVE_TIMER=0, RIGHTWARDS=1)
    assert game.step(NOTHING) == (0, True)
    assert game.cells("alien_left") == [(0, 9)]


def test_the_lowest_alien_of_the_nearest_column_shoots_and_of_two_the_left():
    game = OneGame("space_invaders")
    put(game, "ALIENS", 1 << 3 | 1 << 7, 1 << 3, 1 << 9, 0)
    game["SHOT_TIMER"] = 0
    game.step(NOTHING)
    assert game.cells("enemy_bullet") == [(1, 3)]


def test_a_cleared_wave_comes_again_and_faster_with_ramping():
    for is_ramping, intervals in ((True, [11, 10, 9, 8, 7, 6, 6]), (False, [12] * 7)):
        game = OneGame("space_invaders", is_ramping=is_ramping)
        found = []
        for _ in intervals:
            put(game, "ALIENS", 0, 0, 0, 1 << 2, *[0] * 6)
            put(game, "BULLETS", *[0] * 4, 1 << 2)
            game["MOVE_TIMER"] = game["SHOT_TIMER"] = 99
            put(game, "ENEMY_BULLETS", *[0] * 10)
            assert game.step(NOTHING) == (1, False)
            assert len(game.cells("alien")) == 24
            found.append(game["MOVE_INTERVAL"])
        assert found == intervals
