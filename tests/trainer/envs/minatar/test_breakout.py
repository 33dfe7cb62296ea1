"""Breakout by the rules in docs/minatar-rules.md."""

from __future__ import annotations

from minatar_games import OneGame

NOTHING, LEFT, UP, RIGHT = range(4)
GOES_ON = (0, False)


def put_ball(game, row, column, downwards, rightwards):
    game["ROW"], game["COLUMN"] = row, column
    game["DOWNWARDS"], game["RIGHTWARDS"] = downwards, rightwards


def test_it_begins_at_either_edge_in_a_cell_with_a_brick():
    for draw, column in ((0, 0), (1, 9)):
        game = OneGame("breakout", draw)
        assert game.draws.asked == [("integer", 0, 1)]
        assert game.cells("ball") == game.cells("trail") == [(3, column)]
        assert game.cells("paddle") == [(9, 4)]
        assert game.cells("brick") == [(row, c) for row in (1, 2, 3) for c in range(10)]
    assert game.step(NOTHING) == GOES_ON
    assert (game.cells("ball"), game.cells("trail")) == ([(4, 8)], [(3, 9)])


def test_a_missed_ball_ends_the_episode_in_the_last_row():
    game = OneGame("breakout", 0)
    assert game.steps(LEFT, 5) == [GOES_ON] * 5
    assert game.cells("paddle") == [(9, 0)]
    assert game.step(LEFT) == (0, True)
    assert game.cells("ball") == [(9, 6)]


def test_the_paddle_below_the_old_column_mirrors_and_below_the_new_one_reverses():
    for paddle, rightwards in ((5, 1), (6, -1)):
        game = OneGame("breakout", 0)
        put_ball(game, 8, 5, 1, 1)
        game["PADDLE"] = paddle
        assert game.step(UP) == GOES_ON
        assert game.cells("ball") == [(8, 6)]
        assert (game["DOWNWARDS"], game["RIGHTWARDS"]) == (-1, rightwards)


def test_a_brick_is_broken_once_while_the_ball_strikes():
    game = OneGame("breakout", 0)
    put_ball(game, 4, 4, -1, 1)
    assert game.step(NOTHING) == (1, False)
    assert (game.cells("ball"), game["DOWNWARDS"], game["STRIKING"]) == ([(4, 5)], 1, 1)
    assert (3, 5) not in game.cells("brick")
    put_ball(game, 4, 6, -1, 1)
    assert game.step(NOTHING) == GOES_ON  # it enters the cell of the brick
    assert game.cells("ball") == [(3, 7)]
    assert len(game.cells("brick")) == 29
    put_ball(game, 4, 6, 1, 1)
    game.step(NOTHING)
    assert game["STRIKING"] == 0


def test_walls_mirror_and_a_corner_mirrors_both_ways():
    game = OneGame("breakout", 0)
    game["BRICKS"] = 0
    put_ball(game, 0, 9, -1, 1)
    assert game.step(NOTHING) == GOES_ON
    assert game.cells("ball") == game.cells("trail") == [(0, 9)]
    assert (game["DOWNWARDS"], game["RIGHTWARDS"]) == (1, -1)


def test_bricks_are_back_when_the_ball_comes_down_and_not_before():
    game = OneGame("breakout", 0)
    game.state[game.rules.BRICKS :] = 0
    put_ball(game, 7, 5, 1, 1)
    game.step(NOTHING)
    assert game.cells("brick") == []
    assert game.step(NOTHING) == (0, True)  # also where it is missed
    assert len(game.cells("brick")) == 30


def test_a_sticky_step_repeats_the_action_before_over_the_end_of_an_episode():
    game = OneGame("breakout", 0)
    game.step(RIGHT, sticky=0.05)  # nothing was before
    assert game["PADDLE"] == 4
    game.step(RIGHT)
    game.step(LEFT, sticky=0.0999)
    assert game["PADDLE"] == 6
    game.reset(1)
    game.step(LEFT, sticky=0.05)
    assert game["PADDLE"] == 5
    game.step(LEFT, sticky=0.1)
    assert game["PADDLE"] == 4


def test_minimal_actions_are_numbered_in_their_order():
    game = OneGame("breakout", 0, minimal=True)
    game.step(2)
    assert game["PADDLE"] == 5
    game.step(0, sticky=0.0)  # what is repeated is the action of the game
    assert game["PADDLE"] == 6
    game.step(1)
    assert game["PADDLE"] == 5
