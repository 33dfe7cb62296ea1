"""PettingZoo's parallel environments, one after the other, as a batch: agents are rows."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....shared.errors import ConfigError
from ....shared.install_command import install_command
from ....shared.text.harmless import one_line
from ...settings.importing import import_from_here, imported
from ..checking import (
    WRONG_VALUES,
    EnvError,
    check_reset,
    flags_problem,
    in_words,
    obs_problem,
    reward_problem,
)
from ..masks import MaskedSpace, unused_in_info
from ..names import PETTINGZOO_PREFIX
from ..preprocessing.settings import Preprocessing
from ..space_rows import ObsRows, env_action
from ..spaces import (
    action_spec,
    first_line,
    import_gymnasium,
    nearest_parallel_id,
    seen_in,
    with_mask,
)
from ..spec import HostedSpec
from .arrays import Arrays, Counters

RESET_GIVES = "observations", "infos"
STEP_GIVES = "observations", "rewards", "terminations", "truncations", "infos"


def describe(path: str, preprocessing: Preprocessing) -> HostedSpec:
    """Make one copy of the environment and describe it: the `parallel_env` of a module, what
    `module:function` returns, or an id of PettingZoo's own list, `family/name-v1`. Raises
    ConfigError where it cannot be trained on.
    """
    gymnasium = import_gymnasium()
    env = maker(path)()
    wrong = f"env = '{PETTINGZOO_PREFIX}{path}'"
    agents = list(getattr(env, "possible_agents", ()))
    if not agents:
        other = f"; train gymnasium:{path}" if isinstance(env, gymnasium.Env) else ""
        raise ConfigError(
            f"{wrong}: it has no possible_agents, as parallel environments have{other}"
        )
    check_reset(env, wrong)
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
    return HostedSpec(
        path, actions=actions, num_agents=len(agents), host="pettingzoo", module=__name__,
        obs_space=masked.space, action_space=spaces[0][1], **seen,
    )  # fmt: skip


def make(spec: HostedSpec, num_envs: int, counters: Counters) -> PettingZooBatch:
    """Make `num_envs` environments, here or in a worker."""
    make_one = maker(spec.name)
    envs = []
    for env in range(num_envs):
        counters.current[0] = env
        envs.append(make_one())
    return PettingZooBatch(envs, spec, counters)


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

    def __init__(self, envs: list[Any], spec: HostedSpec, counters: Counters) -> None:
        self.obs_size, self.actions = spec.obs_size, spec.actions
        self.num_agents, self._spec = spec.num_agents, spec
        self._envs, self._current, self._notice = envs, counters.current, counters.notice
        agent = envs[0].possible_agents[0]
        self._space = envs[0].observation_space(agent)
        self._rows, self._action_space = ObsRows(spec), spec.action_space
        self._masked = MaskedSpace(import_gymnasium(), self._space, spec.actions)
        self._mask_size = spec.mask_size
        self._seeks_masks, self._num_choices = not spec.mask_size, sum(self._masked.choices)
        self._row_memory = np.zeros(spec.obs_size, spec.obs_type)
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
        obs, infos = self._dicts("reset", self._envs[number].reset(seed=seed), RESET_GIVES)
        if not self._envs[number].agents:
            raise self._error("reset", "gives no agents")
        self._welcome("reset", number, obs, infos)

    def _dicts(self, method: str, given: Any, names: tuple[str, ...]) -> tuple[Any, ...]:
        """What `method` gave: so many dictionaries. Raises EnvError for anything else."""
        if not isinstance(given, tuple) or len(given) != len(names):
            problem = f"gives {in_words(given)}, expected a tuple ({', '.join(names)})"
            raise self._error(method, problem)
        for name, each in zip(names, given, strict=True):
            if not isinstance(each, Mapping):
                problem = f"gives {name} = {one_line(repr(each), 60)}, expected a dict by agent"
                raise self._error(method, problem)
        return given

    def _welcome(self, method: str, number: int, obs: Any, infos: Any) -> None:
        """Take the observations of the agents that act next."""
        env, first = self._envs[number], number * self.num_agents
        self._live[number] = live = {
            agent: first + i for i, agent in enumerate(env.possible_agents) if agent in env.agents
        }
        for agent in env.agents:
            if agent not in live:
                raise self._error(
                    method, "gives it as an agent, and possible_agents lack it", agent
                )
            if agent not in obs:
                raise self._error(method, "gives no observation, and it is one of agents", agent)
            row = self._row(method, agent, obs[agent], infos.get(agent))
            self._arrays.obs[live[agent]] = row

    def step(self) -> None:
        a = self._arrays
        a.valid[:] = False
        for array in (a.reward, a.terminated, a.truncated):
            array[:] = 0
        actions = a.actions.copy()
        for number, env in enumerate(self._envs):
            self._current[0] = number
            live = self._live[number]
            given = env.step(
                {agent: env_action(self._action_space, actions[row]) for agent, row in live.items()}
            )
            obs, rewards, *flags, infos = self._dicts("step", given, STEP_GIVES)
            over = []
            for agent, row in live.items():
                self._take(row, agent, obs, rewards, flags, infos, agent in env.agents)
                if a.terminated[row] or a.truncated[row]:
                    over.append(agent)
            if set(env.agents) <= set(over):
                self._begin(number, None)
                continue
            for agent in set(over) & set(env.agents):
                problem = "ends its episode, and it stays one of agents: take it out of them"
                raise self._error("step", problem, agent)
            self._welcome("step", number, obs, infos)

    def _take(
        self, row: int, agent: Any, obs: Any, rewards: Any, flags: Any, infos: Any, stays: bool
    ) -> None:
        """Take what a step gave an agent that acted in it, and that `stays` among agents."""
        a = self._arrays
        a.valid[row] = True
        if stays and agent not in rewards:
            raise self._error("step", "gives no reward, and it is one of agents", agent)
        reward = rewards.get(agent, 0.0)
        terminated, truncated = [given.get(agent, False) for given in flags]
        if problem := reward_problem(reward) or flags_problem([terminated, truncated]):
            raise self._error("step", problem, agent)
        a.reward[row] = reward
        if agent in obs:
            a.final_obs[row] = self._row("step", agent, obs[agent], infos.get(agent), True)
        elif truncated and not terminated:
            terminated = True
            self._notice(
                f"{self._spec.setting}: step truncates agents without an observation: they count "
                "as terminated, because there is no state whose value could follow"
            )
        # One that is gone without a word has come to its end.
        a.terminated[row] = terminated or not (stays or truncated)
        a.truncated[row] = truncated
        if self._seeks_masks and (unused := unused_in_info(infos.get(agent), self._num_choices)):
            self._notice(f"{self._spec.setting}: {unused}")
            self._seeks_masks = False

    def _row(
        self, method: str, agent: Any, obs: Any, info: Any, is_over: bool = False
    ) -> NDArray[Any]:
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
            raise self._error(method, str(error), agent) from None
        except WRONG_VALUES:
            is_good = False
        if not is_good:
            raise self._error(method, obs_problem(obs, self._space), agent)
        return row

    def _error(self, method: str, problem: str, agent: Any = None) -> EnvError:
        of = "" if agent is None else f" of agent {agent!r}"
        return EnvError(f"{self._spec.setting}: {method}{of} {problem}")

    def close(self) -> None:
        for env in self._envs:
            env.close()
