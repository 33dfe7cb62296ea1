"""Observations: tokens (cell, feature, value) of the window around an agent, nearest first."""

from __future__ import annotations

from numpy import int32

from .bindings import first_cell, max_ticks, num_agents, num_tokens, window_cells, window_steps
from .kinds import (
    AGENT,
    AGENT_ID,
    ALTAR,
    BATTERY_HELD,
    COMPLETION,
    COOLDOWN_LEFT,
    EMPTY,
    GENERATOR,
    GROUP,
    HEARTS_HELD,
    LAST_REWARD,
    MINE,
    ORE_HELD,
    OUTSIDE,
    REACH,
    TAG,
    TOKEN_SIZE,
    WALL,
    tag_of,
)
from .kinds import LAST_ACTION as ACTION_BEFORE
from .layout import ABOVE, BATTERIES, CELL, HEARTS, KINDS, LAST_ACTION, ORE, TICK, agent_row

EVERYWHERE, PADDING = 254, 255
HERE = REACH << 4 | REACH
OF_AGENT, OF_ALTAR, OF_GENERATOR = tag_of(AGENT), tag_of(ALTAR), tag_of(GENERATOR)
OF_MINE, OF_WALL = tag_of(MINE), tag_of(WALL)


def observe(state, env, obs):
    """Write the tokens of all agents, and padding behind them."""
    tick = int32(state[TICK, env])
    completion = min(256 * tick // max_ticks, 255)
    for agent in range(num_agents):
        row, own = env * num_agents + agent, agent_row(agent)
        say(obs, row, 0, EVERYWHERE, COMPLETION, completion)
        say(obs, row, 1, EVERYWHERE, ACTION_BEFORE, int32(state[own + LAST_ACTION, env]))
        say(obs, row, 2, EVERYWHERE, LAST_REWARD, 0)
        count = say_agent(state, env, obs, row, 3, HERE, agent)
        middle = first_cell + int32(state[own + CELL, env])
        for k in range(1, len(window_steps)):
            cell = int32(state[middle + window_steps[k], env])
            if cell in (EMPTY, OUTSIDE):
                continue
            if count >= num_tokens:
                break
            where = window_cells[k]
            kind = cell % KINDS
            if kind == WALL:
                say(obs, row, count, where, TAG, OF_WALL)
                count += 1
            elif kind == AGENT:
                count = say_agent(state, env, obs, row, count, where, cell >> ABOVE)
            else:
                count = say_station(obs, row, count, where, kind, (cell >> ABOVE) - tick - 1)
        for part in range(TOKEN_SIZE * count, TOKEN_SIZE * num_tokens):
            obs[row, part] = PADDING


def say(obs, row, number, where, feature, value):
    """Write one token if there is room."""
    if number < num_tokens:
        obs[row, TOKEN_SIZE * number] = where
        obs[row, TOKEN_SIZE * number + 1] = feature
        obs[row, TOKEN_SIZE * number + 2] = value


def say_agent(state, env, obs, row, count, where, agent):
    """Write an agent and its holdings; returns the number of tokens then, at most `num_tokens`."""
    own = agent_row(agent)
    say(obs, row, count, where, TAG, OF_AGENT)
    count += 1
    ore, batteries = int32(state[own + ORE, env]), int32(state[own + BATTERIES, env])
    hearts = int32(state[own + HEARTS, env])
    if ore > 0:
        say(obs, row, count, where, ORE_HELD, ore)
        count += 1
    if batteries > 0:
        say(obs, row, count, where, BATTERY_HELD, batteries)
        count += 1
    if hearts > 0:
        say(obs, row, count, where, HEARTS_HELD, hearts)
        count += 1
    say(obs, row, count, where, GROUP, 0)
    say(obs, row, count + 1, where, AGENT_ID, agent)
    return min(count + 2, num_tokens)


def say_station(obs, row, count, where, kind, ticks_left):
    """Write a station and its cooldown; returns the number of tokens then."""
    tag = OF_MINE
    if kind == GENERATOR:
        tag = OF_GENERATOR
    elif kind == ALTAR:
        tag = OF_ALTAR
    say(obs, row, count, where, TAG, tag)
    if ticks_left > 0:
        say(obs, row, count + 1, where, COOLDOWN_LEFT, ticks_left)
        return min(count + 2, num_tokens)
    return count + 1
