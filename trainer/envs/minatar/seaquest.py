"""Seaquest: a submarine saves divers from fish and enemy submarines, and must surface for air."""

from __future__ import annotations

from numpy import float32, int32

from .bindings import draw_integer, draw_real
from .common import (
    DOWN,
    FIRE,
    LAST,
    LEFT,
    NOTHING,
    OWN,
    RAMPING,
    RIGHT,
    UP,
    begin_step,
    blank,
    fall,
    mark,
    sideways,
    upright,
    whole,
    within,
)

CHANNELS = {
    "front": "body",
    "back": "part",
    "friendly_bullet": "force",
    "trail": "trail",
    "enemy_bullet": "current",
    "fish": "obstacle",
    "enemy_submarine": "obstacle",
    "oxygen": "range",
    "divers_on_board": "goal",
    "diver": "goal",
}
MINIMAL_ACTIONS = (NOTHING, LEFT, UP, RIGHT, DOWN, FIRE)
HAS_RAMPING = True

(
    ROW,
    COLUMN,
    FACES_RIGHT,
    OXYGEN,
    ON_BOARD,
    AT_SURFACE,
    SPAWN_INTERVAL,
    SPAWN_TIMER,
    DIVER_TIMER,
    MOVE_INTERVAL,
    FIRE_TIMER,
    RAMP_INDEX,
    LISTS,
) = range(OWN, OWN + 13)

# Lists: how many things there are, then the things, the oldest first.
BULLET_ROOM, ENEMY_BULLET_ROOM, ENEMY_ROOM, DIVER_ROOM = 4, 16, 32, 4
BULLETS = LISTS
ENEMY_BULLETS = BULLETS + 1 + BULLET_ROOM
FISH = ENEMY_BULLETS + 1 + ENEMY_BULLET_ROOM
SUBMARINES = FISH + 1 + ENEMY_ROOM
DIVERS = SUBMARINES + 1 + ENEMY_ROOM
STATE_SIZE = DIVERS + 1 + DIVER_ROOM

# Bits of a thing: its column and its row, which are its cell, whether it goes right, and timers.
COLUMN_BITS, ONE_ROW, CELL, GOES_RIGHT, ONE_MOVE, ONE_SHOT = 15, 16, 255, 256, 512, 4096
MOVE_BITS, SHOT_BITS = 7 * ONE_MOVE, 15 * ONE_SHOT

FULL_OXYGEN, MOST_ON_BOARD, GAUGE = 200, 6, 10
DIVER_STEPS, DIVER_MOVE_STEPS, SHOT_STEPS, FIRE_STEPS = 30, 5, 10, 5
SHORTEST_SPAWN, SHORTEST_MOVE = 1, 2
LOWEST_ROW = 8
ONE_HALF, ONE_THIRD = float32(1 / 2), float32(1 / 3)


def reset(state, env):
    """Begin an episode: the submarine is at the surface of an empty sea."""
    state[ROW, env] = 0
    state[COLUMN, env] = 5
    state[FACES_RIGHT, env] = 0
    state[OXYGEN, env] = FULL_OXYGEN
    state[ON_BOARD, env] = 0
    state[AT_SURFACE, env] = 1
    state[SPAWN_INTERVAL, env] = state[SPAWN_TIMER, env] = 20
    state[DIVER_TIMER, env] = DIVER_STEPS
    state[MOVE_INTERVAL, env] = 5
    state[FIRE_TIMER, env] = state[RAMP_INDEX, env] = 0
    for field in range(LISTS, STATE_SIZE):
        state[field, env] = 0


def step(state, env, action):
    """Things appear, act and move in turn, and the oxygen falls. Returns (reward, terminated)."""
    done = begin_step(state, env, action)
    if state[SPAWN_TIMER, env] == 0:
        spawn_enemy(state, env)
        state[SPAWN_TIMER, env] = state[SPAWN_INTERVAL, env]
    if state[DIVER_TIMER, env] == 0:
        spawn_diver(state, env)
        state[DIVER_TIMER, env] = DIVER_STEPS
    act(state, env, done)
    reward = move_bullets(state, env)
    move_divers(state, env)
    hits, terminated = move_enemies(state, env, SUBMARINES, True)
    reward += hits
    terminated = move_enemy_bullets(state, env) or terminated
    hits, is_touched = move_enemies(state, env, FISH, False)
    reward += hits
    terminated = is_touched or terminated
    fall(state, env, SPAWN_TIMER, 0)
    fall(state, env, DIVER_TIMER, 0)
    fall(state, env, FIRE_TIMER, 0)
    terminated = terminated or state[OXYGEN, env] <= 0
    if state[ROW, env] > 0:
        state[OXYGEN, env] -= 1
        state[AT_SURFACE, env] = 0
    elif state[AT_SURFACE, env] == 0:
        if state[ON_BOARD, env] == 0:
            terminated = True
        else:
            reward += surface(state, env)
    return float32(reward), terminated


def act(state, env, done):
    """Perform the player's action."""
    column, row = whole(state, env, COLUMN), whole(state, env, ROW)
    if done == FIRE and state[FIRE_TIMER, env] == 0:
        heading = GOES_RIGHT if state[FACES_RIGHT, env] > 0 else 0
        append(state, env, BULLETS, BULLET_ROOM, row * ONE_ROW + column + heading)
        state[FIRE_TIMER, env] = FIRE_STEPS
    if sideways(done) != 0:
        state[FACES_RIGHT, env] = 1 if done == RIGHT else 0
    state[COLUMN, env] = within(column + sideways(done), 0, LAST)
    state[ROW, env] = within(row + upright(done), 0, LOWEST_ROW)


def player_cell(state, env):
    return whole(state, env, ROW) * ONE_ROW + whole(state, env, COLUMN)


def append(state, env, first, room, thing):
    """Add a thing to a list, which has room for as many as the rules allow."""
    count = whole(state, env, first)
    if count < room:
        state[first + 1 + count, env] = thing
        state[first, env] = count + 1


def remove(state, env, first, number):
    """Remove thing `number` of a list, from 0."""
    count = whole(state, env, first)
    for later in range(number + 1, count):
        state[first + later, env] = state[first + 1 + later, env]
    state[first, env] = count - 1


def oldest_at(state, env, first, cell):
    """The number of the oldest entry of a list in a cell; -1 if there is none."""
    for number in range(whole(state, env, first)):
        if whole(state, env, first + 1 + number) & CELL == cell:
            return number
    return -1


def leaves(thing):
    """Whether the next move of a thing leaves the grid."""
    return thing & COLUMN_BITS == (LAST if thing & GOES_RIGHT else 0)


def moved(thing):
    """The thing after a move within the grid."""
    return thing + (1 if thing & GOES_RIGHT else -1)


def at_an_edge(state, env):
    """Draw where a thing appears, in row 0 for the moment."""
    return GOES_RIGHT if draw_real(state, env) < ONE_HALF else LAST


def spawn_enemy(state, env):
    """Add an enemy, unless another enemy in its row comes from the other side."""
    enemy = at_an_edge(state, env)
    is_submarine = draw_real(state, env) < ONE_THIRD
    row = draw_integer(state, env, 1, LOWEST_ROW)
    enemy += row * ONE_ROW + whole(state, env, MOVE_INTERVAL) * ONE_MOVE
    if meets(state, env, FISH, enemy) or meets(state, env, SUBMARINES, enemy):
        return
    if is_submarine:
        append(state, env, SUBMARINES, ENEMY_ROOM, enemy + SHOT_STEPS * ONE_SHOT)
    else:
        append(state, env, FISH, ENEMY_ROOM, enemy)


def meets(state, env, first, enemy):
    """Whether a thing of a list is in the row of `enemy` and goes the other way."""
    for number in range(whole(state, env, first)):
        difference = whole(state, env, first + 1 + number) ^ enemy
        if difference & CELL < ONE_ROW and difference & GOES_RIGHT:
            return True
    return False


def spawn_diver(state, env):
    diver = at_an_edge(state, env)
    diver += draw_integer(state, env, 1, LOWEST_ROW) * ONE_ROW
    append(state, env, DIVERS, DIVER_ROOM, diver + DIVER_MOVE_STEPS * ONE_MOVE)


def move_bullets(state, env):
    """Move the player's bullets. Returns the number of enemies that they hit. If a fish and a
    submarine are in one cell, a bullet hits the fish.
    """
    hits = 0
    for number in range(whole(state, env, BULLETS) - 1, -1, -1):
        bullet = whole(state, env, BULLETS + 1 + number)
        if leaves(bullet):
            remove(state, env, BULLETS, number)
            continue
        bullet = moved(bullet)
        state[BULLETS + 1 + number, env] = bullet
        cell = bullet & CELL
        fish, submarine = (
            oldest_at(state, env, FISH, cell),
            oldest_at(state, env, SUBMARINES, cell),
        )
        if fish >= 0:
            remove(state, env, FISH, fish)
        elif submarine >= 0:
            remove(state, env, SUBMARINES, submarine)
        else:
            continue
        remove(state, env, BULLETS, number)
        hits += 1
    return hits


def move_divers(state, env):
    """Take divers on board that are in the player's cell before or after their move."""
    for number in range(whole(state, env, DIVERS) - 1, -1, -1):
        diver = whole(state, env, DIVERS + 1 + number)
        if is_taken(state, env, diver):
            remove(state, env, DIVERS, number)
        elif diver & MOVE_BITS:
            state[DIVERS + 1 + number, env] = diver - ONE_MOVE
        elif leaves(diver):
            remove(state, env, DIVERS, number)
        else:
            diver = moved(diver) + DIVER_MOVE_STEPS * ONE_MOVE
            if is_taken(state, env, diver):
                remove(state, env, DIVERS, number)
            else:
                state[DIVERS + 1 + number, env] = diver


def is_taken(state, env, diver):
    """Take a diver on board that is in the player's cell, if there is room. Returns whether."""
    if diver & CELL != player_cell(state, env) or state[ON_BOARD, env] >= MOST_ON_BOARD:
        return False
    state[ON_BOARD, env] += 1
    return True


def move_enemies(state, env, first, has_shots):
    """Move fish or submarines. A submarine that a bullet removes still shoots if its timer is over.
    Returns (number of hits, whether one touched the player).
    """
    hits, is_touched = 0, False
    player, interval = player_cell(state, env), whole(state, env, MOVE_INTERVAL)
    for number in range(whole(state, env, first) - 1, -1, -1):
        enemy = whole(state, env, first + 1 + number)
        is_touched = is_touched or enemy & CELL == player
        bullet = -1
        if enemy & MOVE_BITS:
            enemy -= ONE_MOVE
        elif leaves(enemy):
            remove(state, env, first, number)
            continue
        else:
            enemy = moved(enemy) + interval * ONE_MOVE
            if enemy & CELL == player:
                is_touched = True
            else:
                bullet = oldest_at(state, env, BULLETS, enemy & CELL)
        if has_shots:
            if enemy & SHOT_BITS:
                enemy -= ONE_SHOT
            else:
                enemy += SHOT_STEPS * ONE_SHOT
                shot = enemy & (CELL | GOES_RIGHT)
                append(state, env, ENEMY_BULLETS, ENEMY_BULLET_ROOM, shot)
        if bullet >= 0:
            remove(state, env, BULLETS, bullet)
            remove(state, env, first, number)
            hits += 1
        else:
            state[first + 1 + number, env] = enemy
    return hits, is_touched


def move_enemy_bullets(state, env):
    """Move the enemies' bullets. Returns whether one touched the player."""
    is_touched, player = False, player_cell(state, env)
    for number in range(whole(state, env, ENEMY_BULLETS) - 1, -1, -1):
        bullet = whole(state, env, ENEMY_BULLETS + 1 + number)
        is_touched = is_touched or bullet & CELL == player
        if leaves(bullet):
            remove(state, env, ENEMY_BULLETS, number)
        else:
            bullet = moved(bullet)
            state[ENEMY_BULLETS + 1 + number, env] = bullet
            is_touched = is_touched or bullet & CELL == player
    return is_touched


def surface(state, env):
    """Bring divers up, and fill the oxygen. Returns the reward.

    As in the original, the number on board falls below 0 after a full rescue.
    """
    reward = int32(0)
    state[AT_SURFACE, env] = 1
    if state[ON_BOARD, env] == MOST_ON_BOARD:
        reward = gauge(state, env)
        state[ON_BOARD, env] = 0
    state[OXYGEN, env] = FULL_OXYGEN
    state[ON_BOARD, env] -= 1
    if state[RAMPING, env] > 0:
        ramp(state, env)
    return reward


def gauge(state, env):
    """The tenths of the oxygen that are left, rounded down."""
    return int32(whole(state, env, OXYGEN) * GAUGE // FULL_OXYGEN)


def ramp(state, env):
    """Make enemies more frequent, and every second time faster as well."""
    is_slow = state[MOVE_INTERVAL, env] > SHORTEST_MOVE
    if state[SPAWN_INTERVAL, env] > SHORTEST_SPAWN or is_slow:
        if whole(state, env, RAMP_INDEX) % 2 == 1:
            fall(state, env, MOVE_INTERVAL, SHORTEST_MOVE)
        fall(state, env, SPAWN_INTERVAL, SHORTEST_SPAWN)
        state[RAMP_INDEX, env] += 1


def observe(state, env, obs):
    """Show everything except timers and intervals; trails show the headings of enemies."""
    blank(obs, env)
    row, column = whole(state, env, ROW), whole(state, env, COLUMN)
    mark(obs, env, row, column, 0)
    mark(obs, env, row, column + (-1 if state[FACES_RIGHT, env] > 0 else 1), 1)
    show(state, env, obs, BULLETS, 2, False)
    show(state, env, obs, ENEMY_BULLETS, 4, False)
    show(state, env, obs, FISH, 5, True)
    show(state, env, obs, SUBMARINES, 6, True)
    show(state, env, obs, DIVERS, 9, True)
    level = gauge(state, env)
    for tenth in range(GAUGE):
        mark(obs, env, LAST, tenth, 7, tenth < level)
    for diver in range(whole(state, env, ON_BOARD)):
        mark(obs, env, LAST, LAST - 1 - diver, 8)


def show(state, env, obs, first, channel, has_trails):
    """Mark the things of a list, and the cells behind them."""
    for number in range(whole(state, env, first)):
        thing = whole(state, env, first + 1 + number)
        row, column = (thing & CELL) // ONE_ROW, thing & COLUMN_BITS
        mark(obs, env, row, column, channel)
        behind = column + (-1 if thing & GOES_RIGHT else 1)
        if has_trails and 0 <= behind <= LAST:
            mark(obs, env, row, behind, 3)
