"""Seaquest by the rules in docs/minatar-rules.md."""

from __future__ import annotations

import pytest
from minatar_games import OneGame
from minatar_games import put_things as put
from minatar_games import sea_thing as thing

NOTHING, LEFT, UP, RIGHT, DOWN, FIRE = range(6)
GOES_ON = (0, False)
FROM_LEFT, FROM_RIGHT, SUBMARINE, FISH = 0.49, 0.5, 0.33, 0.34


def begun(row=4, column=5, **fields):
    """A game below the surface, in which nothing appears."""
    game = OneGame("seaquest")
    game["ROW"], game["COLUMN"], game["AT_SURFACE"] = row, column, row == 0
    game["SPAWN_TIMER"] = game["DIVER_TIMER"] = 9999
    for field, value in fields.items():
        game[field] = value
    return game


def test_it_begins_at_the_surface_facing_left_and_loses_no_oxygen_there():
    game = OneGame("seaquest")
    assert (game.cells("front"), game.cells("back")) == ([(0, 5)], [(0, 6)])
    assert game.cells("oxygen") == [(9, column) for column in range(10)]
    game["SPAWN_TIMER"] = game["DIVER_TIMER"] = 9999
    assert game.steps(UP, 300) == [GOES_ON] * 300
    assert game["OXYGEN"] == 200


def test_the_first_enemy_appears_on_step_21_and_the_first_diver_on_step_31():
    game = OneGame("seaquest")
    game.steps(NOTHING, 20)
    game.step(NOTHING, FROM_LEFT, FISH, 3)
    assert game.draws.asked[1:] == [("real",), ("real",), ("integer", 1, 8)]
    assert (game.cells("fish"), game.cells("trail")) == ([(3, 0)], [])
    game.steps(NOTHING, 4)
    assert game.cells("fish") == [(3, 0)]
    game.step(NOTHING)
    assert (game.cells("fish"), game.cells("trail")) == ([(3, 1)], [(3, 0)])
    game.steps(NOTHING, 4)
    game.step(NOTHING, FROM_RIGHT, 8)
    assert game.draws.asked[1:] == [("real",), ("integer", 1, 8)]
    assert game.cells("diver") == [(8, 9)]


def test_an_enemy_does_not_appear_against_one_in_its_row():
    for row, side, count in ((3, FROM_RIGHT, 1), (3, FROM_LEFT, 2), (4, FROM_RIGHT, 2)):
        game = begun(row=0)
        put(game, "SUBMARINES", thing(3, 5, True, 5, 10))
        game["SPAWN_TIMER"] = 0
        game.step(NOTHING, side, FISH, row)
        assert len(game.cells("fish") + game.cells("enemy_submarine")) == count


def test_the_player_keeps_to_the_grid_and_turns_at_the_edge():
    game = begun(row=8, column=0)
    game.step(DOWN)
    assert game.cells("front") == [(8, 0)]
    game["COLUMN"], game["FACES_RIGHT"] = 9, 1
    game.step(RIGHT)
    assert (game.cells("front"), game.cells("back")) == ([(8, 9)], [(8, 8)])
    game.step(LEFT)
    assert (game.cells("front"), game.cells("back")) == ([(8, 8)], [(8, 9)])


def test_bullets_move_as_they_are_fired_every_fifth_step():
    game, fired = begun(), []
    for _ in range(11):
        fired.append(game["FIRE_TIMER"] == 0)
        game.step(FIRE)
    assert fired == [k % 5 == 0 for k in range(11)]
    assert game.cells("friendly_bullet") == [(4, 4)]
    game.step(NOTHING)
    assert game.cells("friendly_bullet") == [(4, 3)]


def test_a_bullet_hits_the_oldest_fish_of_a_cell_before_submarines():
    game = begun()
    put(game, "FISH", thing(4, 3, True, 3), thing(4, 3, True, 4))
    put(game, "SUBMARINES", thing(4, 3, True, 3, 9))
    left = []
    for _ in range(3):
        put(game, "BULLETS", thing(4, 4, False))
        assert game.step(NOTHING) == (1, False)
        left.append((game["FISH"], game["SUBMARINES"]))
        assert game["BULLETS"] == 0
    assert left == [(1, 1), (0, 1), (0, 0)]
    game = begun()
    put(game, "FISH", thing(4, 3, True, 3), thing(4, 3, True, 4))
    put(game, "BULLETS", thing(4, 4, False))
    game.step(NOTHING)
    assert game.state[game.rules.FISH + 1, 0] == thing(4, 3, True, 3)  # of the newer, one less


def test_a_submarine_that_moves_into_a_bullet_is_hit_and_shoots_once_more():
    game = begun()
    put(game, "SUBMARINES", thing(6, 2, True))
    put(game, "BULLETS", thing(6, 2, True))
    # The bullet moves to where the submarine comes afterwards.
    assert game.step(NOTHING) == (1, False)
    assert (game["SUBMARINES"], game["BULLETS"]) == (0, 0)
    assert game.cells("enemy_bullet") == [(6, 4)]  # made in column 3, and moved


@pytest.mark.parametrize("kind", ["FISH", "SUBMARINES", "ENEMY_BULLETS"])
def test_a_touch_before_or_after_a_move_ends_the_episode(kind):
    for column in (5, 4):
        game = begun()
        put(game, kind, thing(4, column, True, 0, 5))
        assert game.step(NOTHING) == (0, True)
    game = begun()
    put(game, kind, thing(4, 3, True, 0, 5))
    assert game.step(NOTHING) == GOES_ON


def test_a_submarine_shoots_every_11_steps():
    game, seen = begun(row=1), []
    put(game, "SUBMARINES", thing(7, 5, True, 0, 10))
    game["MOVE_INTERVAL"] = 7
    for _ in range(24):
        before = game["ENEMY_BULLETS"]
        game.step(NOTHING)
        seen.append(game["ENEMY_BULLETS"] > before)
    assert [k for k, is_shot in enumerate(seen) if is_shot] == [10, 21]


def test_divers_are_taken_where_there_is_a_place():
    game = begun(ON_BOARD=5)
    put(game, "DIVERS", thing(4, 4, True), thing(4, 5, False, 3))
    game.step(NOTHING)
    # The newest first: it took the last place, and the other stays in the player's cell.
    assert (game["ON_BOARD"], game.cells("diver")) == (6, [(4, 5)])
    assert game.cells("divers_on_board") == [(9, column) for column in range(3, 9)]
    put(game, "DIVERS", thing(4, 9, True))
    game.step(NOTHING)
    assert game.cells("diver") == []


def test_without_oxygen_the_episode_ends_a_step_after_it_is_gone():
    game = begun(OXYGEN=1)
    assert game.step(NOTHING) == GOES_ON
    assert (game["OXYGEN"], game.cells("oxygen")) == (0, [])
    assert game.step(NOTHING) == (0, True)
    assert (game["OXYGEN"], game.cells("oxygen")) == (-1, [])


def test_surfacing_without_divers_ends_the_episode_and_with_some_costs_one():
    game = begun(row=1)
    assert game.step(UP) == (0, True)
    assert game["AT_SURFACE"] == 0
    game = begun(row=1, ON_BOARD=2, OXYGEN=77)
    assert game.step(UP) == GOES_ON
    assert (game["ON_BOARD"], game["OXYGEN"], game["AT_SURFACE"]) == (1, 200, 1)


def test_a_rescue_of_six_is_rewarded_and_leaves_minus_one_on_board():
    game = begun(row=1, ON_BOARD=6, OXYGEN=199)
    assert game.step(UP) == (9, False)
    assert (game["ON_BOARD"], game.cells("divers_on_board")) == (-1, [])
    game.step(DOWN)
    assert game.step(UP) == GOES_ON
    assert game["ON_BOARD"] == -2


def test_surfacing_ramps_until_both_intervals_are_at_their_least():
    for is_ramping, last in ((True, (1, 2, 19)), (False, (20, 5, 0))):
        game, intervals = OneGame("seaquest", is_ramping=is_ramping), []
        for _ in range(25):
            game["SPAWN_TIMER"] = game["DIVER_TIMER"] = 99
            game["ON_BOARD"] = 3
            game.step(DOWN)
            game.step(UP)
            intervals.append((game["SPAWN_INTERVAL"], game["MOVE_INTERVAL"], game["RAMP_INDEX"]))
        assert intervals[-1] == last
        if is_ramping:
            assert intervals[:4] == [(19, 5, 1), (18, 4, 2), (17, 4, 3), (16, 3, 4)]
