"""Episodes of the grid world: how they begin, and what a tick of all agents does."""

from __future__ import annotations

from numpy import float32, int32, uint64

from ...jit.streams import four_words
from .bindings import first_cell, lay_out, num_agents, steps_of_actions
from .kinds import AGENT, ALTAR, EMPTY, GENERATOR, HEART_LIMIT, MINE
from .layout import (
    ABOVE,
    BATTERIES,
    BATTERY_LIMIT,
    BATTERY_REWARD,
    BATTERY_REWARD_CAP,
    CELL,
    COOLDOWN,
    HEARTS,
    KINDS,
    LAST_ACTION,
    ORE,
    ORE_LIMIT,
    ORE_REWARD,
    ORE_REWARD_CAP,
    TICK,
    WANTED,
    WORTH,
    agent_row,
)

ZERO, ONE = float32(0.0), float32(1.0)
MOST_HEARTS = float32(HEART_LIMIT)
FIRST_PRIORITIES = 2**24  # blocks of draws before are the map's


def reset(state, env, random):
    """Begin an episode: no agent holds anything."""
    state[TICK, env] = ZERO
    for agent in range(num_agents):
        for field in (ORE, BATTERIES, HEARTS, LAST_ACTION, WANTED, WORTH):
            state[agent_row(agent) + field, env] = ZERO
    lay_out(state, env, random)


def step(state, env, random, actions, reward, terminated, valid):
    """One tick. Agents act on the world as it was before; if several want a cell, one gets it."""
    state[TICK, env] += ONE
    for agent in range(num_agents):
        want(state, env, agent, actions[env * num_agents + agent])
    for agent in range(num_agents):
        if state[agent_row(agent) + WANTED, env] > ZERO:
            if goes_first(state, env, agent, random):
                act(state, env, agent)
            else:
                state[agent_row(agent) + LAST_ACTION, env] = ZERO
    for agent in range(num_agents):
        reward[env * num_agents + agent] = settled(state, env, agent)
        terminated[env * num_agents + agent] = False
    return False


def step_alone(state, env, action):
    """One tick of a world with a single agent."""
    state[TICK, env] += ONE
    want(state, env, 0, action)
    if state[agent_row(0) + WANTED, env] > ZERO:
        act(state, env, 0)
    return settled(state, env, 0), False


def want(state, env, agent, action):
    """Write the cell that an agent wants: a free one to move to, or a station that it can use."""
    row = agent_row(agent)
    place = int32(state[row + CELL, env]) + steps_of_actions[action]
    cell = int32(state[first_cell + place, env])
    kind = cell % KINDS
    can = kind == EMPTY
    if kind in (MINE, GENERATOR, ALTAR):
        pays = kind == MINE
        pays = pays or (kind == GENERATOR and state[row + ORE, env] > ZERO)
        pays = pays or (kind == ALTAR and state[row + BATTERIES, env] > ZERO)
        can = pays and (cell >> ABOVE) <= int32(state[TICK, env])
    state[row + WANTED, env] = float32(place) if can else ZERO
    state[row + LAST_ACTION, env] = float32(action) if can else ZERO


def goes_first(state, env, agent, random):
    """Whether an agent comes first among those that want the same cell in this tick. A station
    without a cooldown serves all of them.
    """
    wanted = state[agent_row(agent) + WANTED, env]
    is_shared = state[COOLDOWN, env] == ZERO
    if is_shared and int32(state[first_cell + int32(wanted), env]) != EMPTY:
        return True
    for other in range(num_agents):
        if other != agent and state[agent_row(other) + WANTED, env] == wanted:
            theirs = priority(state, env, other, random)
            own = priority(state, env, agent, random)
            if theirs < own or (theirs == own and other < agent):
                return False
    return True


def priority(state, env, agent, random):
    """A number drawn for an agent in this tick: the smallest goes first."""
    block = FIRST_PRIORITIES + int32(state[TICK, env]) * ((num_agents + 3) // 4) + agent // 4
    words = four_words(random, block)
    which = agent % 4
    word = words[0]
    if which == 1:
        word = words[1]
    elif which == 2:
        word = words[2]
    elif which == 3:
        word = words[3]
    return uint64(word)


def act(state, env, agent):
    """Move to the cell that an agent wants, or use its station. `settled` marks the cell as taken
    once all have acted.
    """
    row = agent_row(agent)
    cell = int32(state[row + WANTED, env])
    if int32(state[first_cell + cell, env]) == EMPTY:
        state[first_cell + int32(state[row + CELL, env]), env] = float32(EMPTY)
        state[row + CELL, env] = float32(cell)
    else:
        use(state, env, row, cell)


def settled(state, env, agent):
    """Mark an agent's cell as taken; returns its reward."""
    row = agent_row(agent)
    state[first_cell + int32(state[row + CELL, env]), env] = float32(AGENT + (agent << ABOVE))
    before = state[row + WORTH, env]
    state[row + WORTH, env] = worth(state, env, row)
    return state[row + WORTH, env] - before


def use(state, env, row, cell):
    """Pay a station and take what it gives; goods above a limit are lost."""
    kind = int32(state[first_cell + cell, env]) % KINDS
    if kind == MINE:
        state[row + ORE, env] = min(state[row + ORE, env] + ONE, state[ORE_LIMIT, env])
    elif kind == GENERATOR:
        state[row + ORE, env] -= ONE
        most = state[BATTERY_LIMIT, env]
        state[row + BATTERIES, env] = min(state[row + BATTERIES, env] + ONE, most)
    else:
        state[row + BATTERIES, env] -= ONE
        state[row + HEARTS, env] = min(state[row + HEARTS, env] + ONE, MOST_HEARTS)
    ready = int32(state[TICK, env] + state[COOLDOWN, env])
    state[first_cell + cell, env] = float32(kind + (ready << ABOVE))


def worth(state, env, row):
    """The reward of an agent's holdings: hearts, ore up to a cap, and batteries up to a cap."""
    ore = state[row + ORE, env] * state[ORE_REWARD, env]
    batteries = state[row + BATTERIES, env] * state[BATTERY_REWARD, env]
    return (
        state[row + HEARTS, env]
        + min(ore, state[ORE_REWARD_CAP, env])
        + min(batteries, state[BATTERY_REWARD_CAP, env])
    )
