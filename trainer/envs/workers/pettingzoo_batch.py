"""PettingZoo's parallel environments, one after the other, as a batch: agents are rows."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....shared.errors import ConfigError
from ....shared.install_command import install_command
from ...settings.importing import import_from_here, imported
from ...spaces import ANY_NUMBERS, ActionSpec, ObsType
from ...spaces.encoders import Part
from ..checking import EnvError, flags_problem, obs_problem, reward_problem
from ..masks import MaskedSpace
from ..names import PETTINGZOO_PREFIX
from ..space_rows import ObsRows, env_action
from ..spaces import (
    action_spec,
    first_line,
    import_gymnasium,
    nearest_parallel_id,
    seen_in,
    with_mask,
)
from .arrays import Arrays, Counters


@dataclass(frozen=True)
class PettingZooSource:
    """How environments are made: by the `parallel_env` of a module, by `module:function`, or by an
    id of PettingZoo's own list, `family/name-v1`.
    """

    name: str
    obs_size: int
    actions: ActionSpec
    num_agents: int
    obs_type: ObsType = np.float32
    obs_shape: tuple[int, ...] = ()
    obs_range: tuple[float, float] = ANY_NUMBERS
    obs_parts: tuple[Part, ...] = ()
    mask_size: int = 0  # of these, the last of `obs_size` columns
    obs_space: Any = field(default=None, compare=False)
    action_space: Any = field(default=None, compare=False)

    @classmethod
    def of(cls, path: str) -> PettingZooSource:
        """Look at one copy of the environment. Raises ConfigError where it cannot be trained on."""
        gymnasium = import_gymnasium()
        env = maker(path)()
        wrong = f"env = '{PETTINGZOO_PREFIX}{path}'"
        agents = list(getattr(env, "possible_agents", ()))
        if not agents:
            other = f"; train gymnasium:{path}" if isinstance(env, gymnasium.Env) else ""
            raise ConfigError(
                f"{wrong}: it has no possible_agents, as parallel environments have{other}"
            )
        spaces = [(env.observation_space(agent), env.action_space(agent)) for agent in agents]
        for agent, (of_obs, of_actions) in zip(agents, spaces, strict=True):
            if (of_obs, of_actions) != spaces[0]:
                raise ConfigError(
                    f"{wrong}: {agent} has other spaces than {agents[0]}, and all agents share one "
                    "policy; supersuit.pad_observations_v0 and pad_action_space_v0 make them equal"
                )
        actions = action_spec(gymnasium, f"{PETTINGZOO_PREFIX}{path}", spaces[0][1])
        masked = MaskedSpace(gymnasium, spaces[0][0], actions, wrong)
        seen = seen_in(gymnasium, wrong, masked.space)
        seen = with_mask(seen, masked.size(None, lambda: env.reset()[1].values()))
        env.close()
        known = {"actions": actions, "obs_space": masked.space, "action_space": spaces[0][1]}
        return cls(path, num_agents=len(agents), **known, **seen)

    def for_workers(self) -> PettingZooSource:
        return self

    def make(self, num_envs: int, counters: Counters) -> PettingZooBatch:
        make = maker(self.name)
        envs = []
        for env in range(num_envs):
            counters.current[0] = env
            envs.append(make())
        return PettingZooBatch(envs, self, counters)


def maker(path: str) -> Callable[[], Any]:
    """What gives one parallel environment at every call. Raises ConfigError."""
    if ":" in path:
        made: Callable[[], Any] = imported("env", path)
        return made
    wrong, is_id = f"env = '{PETTINGZOO_PREFIX}{path}'", "/" in path
    try:
        # The installed library for an id: the current folder has no say in it.
        module = importlib.import_module("pettingzoo") if is_id else import_from_here(path)
    except ImportError as error:
        missing = f"; {install_command('pettingzoo')}" if error.name == "pettingzoo" else ""
        near = missing or nearest_parallel_id(path)
        raise ConfigError(f"{wrong}: {first_line(error)}{near}") from None
    if is_id:
        if not hasattr(module, "parallel_registry"):
            raise ConfigError(f"{wrong}: ids need PettingZoo 1.27 or newer")
        if path not in module.parallel_registry:
            near = nearest_parallel_id(path)
            raise ConfigError(f"{wrong}: PettingZoo lists no such parallel environment{near}")
        return lambda: module.make("parallel", path)
    if not hasattr(module, "parallel_env"):
        raise ConfigError(f"{wrong}: the module has no parallel_env")
    return module.parallel_env  # type: ignore[no-any-return]


class PettingZooBatch:
    """Environments one after the other. Row e A + i is agent i of `possible_agents`; one that has
    left, or has not come yet, is a row that is not valid. An episode is over when nobody is left.
    """

    def __init__(self, envs: list[Any], source: PettingZooSource, counters: Counters) -> None:
        self.obs_size, self.actions = source.obs_size, source.actions
        self.num_agents, self._name = source.num_agents, source.name
        self._envs, self._current = envs, counters.current
        agent = envs[0].possible_agents[0]
        self._space = envs[0].observation_space(agent)
        self._rows, self._action_space = ObsRows(source), source.action_space
        self._masked = MaskedSpace(import_gymnasium(), self._space, source.actions)
        self._mask_size = source.mask_size
        self._row_memory = np.zeros(source.obs_size, source.obs_type)
        # The agents of every environment that act next, with their rows.
        self._live: list[dict[Any, int]] = [{} for _ in envs]

    def attach(self, arrays: Arrays) -> None:
        self._arrays = arrays

    def reset(self, seeds: NDArray[Any]) -> None:
        for env, seed in enumerate(seeds.tolist()):
            self._begin(env, seed)

    def _begin(self, number: int, seed: int | None) -> None:
        """Begin an episode: its first observations, and who takes part."""
        self._current[0] = number
        env = self._envs[number]
        obs, infos = env.reset(seed=seed)
        if not env.agents:
            raise EnvError(f"env = 'pettingzoo:{self._name}': reset gives no agents")
        self._welcome(number, obs, infos)

    def _welcome(self, number: int, obs: dict[Any, Any], infos: dict[Any, Any]) -> None:
        env, first = self._envs[number], number * self.num_agents
        self._live[number] = live = {
            agent: first + i for i, agent in enumerate(env.possible_agents) if agent in env.agents
        }
        for agent, row in live.items():
            self._arrays.obs[row] = self._row(agent, obs[agent], infos.get(agent))

    def step(self) -> None:
        a = self._arrays
        a.valid[:] = False
        for array in (a.reward, a.terminated, a.truncated):
            array[:] = 0
        actions = a.actions.copy()
        for number, env in enumerate(self._envs):
            self._current[0] = number
            live = self._live[number]
            obs, rewards, terminated, truncated, infos = env.step(
                {agent: env_action(self._action_space, actions[row]) for agent, row in live.items()}
            )
            for agent, row in live.items():
                a.valid[row] = True
                reward = rewards.get(agent, 0.0)
                if problem := reward_problem(reward):
                    raise self._error(agent, problem)
                a.reward[row] = reward
                flags = [given.get(agent, False) for given in (terminated, truncated)]
                if problem := flags_problem(flags):
                    raise self._error(agent, problem)
                # One that is gone without a word has come to its end.
                gone = agent not in env.agents and not flags[1]
                a.terminated[row], a.truncated[row] = flags[0] or gone, flags[1]
                if agent in obs:
                    a.final_obs[row] = self._row(agent, obs[agent], infos.get(agent), True)
            if env.agents:
                self._welcome(number, obs, infos)
            else:
                self._begin(number, None)

    def _row(self, agent: Any, obs: Any, info: Any, is_over: bool = False) -> NDArray[Any]:
        """An observation, and behind it the action mask if there are any. Raises EnvError where
        `obs` is not in the space that all agents have. The next call writes to the same memory.
        """
        row = self._row_memory
        try:
            given = self._rows.row(self._masked.without_mask(obs))
            row[: self._rows.row_size] = given
            if self._mask_size:
                row[-self._mask_size :] = self._masked.masks(obs, info, None, is_over)[0]
            is_good = bool(np.isfinite(given).all())
        except EnvError as error:
            raise self._error(agent, str(error)) from None
        except (TypeError, ValueError, KeyError, IndexError, OverflowError):
            is_good = False
        if not is_good:
            raise self._error(agent, obs_problem(obs, self._space))
        return row

    def _error(self, agent: Any, problem: str) -> EnvError:
        return EnvError(f"env = 'pettingzoo:{self._name}': agent {agent!r} {problem}")

    def close(self) -> None:
        for env in self._envs:
            env.close()
