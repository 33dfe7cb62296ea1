"""Gymnasium's MuJoCo environments, stepped by mjbatch on several threads.

They are those of Gymnasium to the bit, reset noise included. Their whole state is in checkpoints.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from ....shared.errors import ConfigError
from ....shared.install_command import install_command
from ...machine.values import State
from ..checking import EnvError
from ..from_gymnasium import VectorBatch
from ..names import GYMNASIUM_PREFIX as PREFIX
from ..spaces import action_spec, check_mujoco, first_line, import_gymnasium, seen_in
from ..spec import HostedSpec
from ..workers.arrays import Counters
from ..workers.block import Block
from ..workers.hosted import HostedEnvs, ThisProcess
from .tasks import TASKS, Simulations

Array = NDArray[Any]

LOW = 2**64 - 1  # the lower half of a number of 128 bits


def can_host(env_id: str) -> bool:
    """Whether mjbatch has the rules of this environment and can be imported."""
    if env_id not in TASKS or importlib.util.find_spec("mjbatch") is None:
        return False
    try:
        import_mjbatch()
    except ImportError:
        return False
    return True


def describe(env_id: str, num_threads: int) -> HostedSpec:
    """Make one copy of the environment and describe it, to be stepped by mjbatch on `num_threads`
    threads. Raises ConfigError if mjbatch cannot step it.
    """
    setting = f"gymnasium.vectorization = mjbatch: env = '{PREFIX}{env_id}'"
    if env_id not in TASKS:
        raise ConfigError(f"{setting} is not one of {', '.join(TASKS)}; use sync")
    gymnasium = import_gymnasium(env_id)
    try:
        import_mjbatch()
        env = gymnasium.make(env_id)
    except (ImportError, gymnasium.error.Error, ValueError) as error:
        install = install_command("mujoco")
        raise ConfigError(f"{setting} needs mjbatch: {install} ({first_line(error)})") from None
    actions = action_spec(gymnasium, PREFIX + env_id, env.action_space)
    seen = seen_in(gymnasium, setting, env.observation_space)
    env.close()
    return HostedSpec(
        env_id, actions=actions, host="gymnasium", module=__name__, stepped_by="mjbatch",
        num_threads=num_threads, **seen,
    )  # fmt: skip


def make(spec: HostedSpec, num_envs: int, counters: Counters) -> VectorBatch:
    """Make `num_envs` environments."""
    return VectorBatch(MujocoVector(spec, num_envs), spec, num_envs, counters)


def import_mjbatch() -> Any:
    """The library. Raises ImportError if it is missing, or MuJoCo is not of the version that it
    was built for.
    """
    check_mujoco()
    return importlib.import_module("mjbatch")


class MujocoVector:
    """N environments of one id as Gymnasium's `VectorEnv` has them, which the caller resets."""

    metadata: Mapping[str, Any] = {"autoreset_mode": "Disabled"}

    def __init__(self, spec: HostedSpec, num_envs: int) -> None:
        env = import_gymnasium(spec.name).make(spec.name)
        self.single_observation_space = env.observation_space
        robot, limit = env.unwrapped, env.spec.max_episode_steps
        self._name, self._max_episode_steps, self._task = spec.name, limit, TASKS[spec.name]
        self._frame_skip = robot.frame_skip
        self._batch = import_mjbatch().Batch(robot.model, num_envs, spec.num_threads)
        for field in self._task.fields:
            self._batch.bind(field)
        self.sims = Simulations(
            robot.model, self._batch, robot.init_qpos.copy(), robot.init_qvel.copy(), robot.dt
        )
        self._actions = self._batch.bind("ctrl")
        self._batch.reset()
        self._initial_state = self.sims.state[0].copy()
        self.elapsed = np.zeros(num_envs, np.int64)
        self.generators = [np.random.default_rng() for _ in range(num_envs)]
        env.close()

    def reset(
        self, seed: int | None = None, options: Mapping[str, Array] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin an episode everywhere, or where the option "reset_mask" is; environment e has the
        random numbers of `seed` + e.
        """
        chosen = np.arange(len(self.elapsed))
        if options is not None:
            chosen = np.flatnonzero(options["reset_mask"])
        if seed is not None:
            self.generators = [np.random.default_rng(seed + int(env)) for env in chosen]
        sims = self.sims
        for env in chosen:
            sims.state[env] = self._initial_state
            sims.qpos[env], sims.qvel[env] = self._task.begin(sims, self.generators[env])
        self.elapsed[chosen] = 0
        self._batch.forward(chosen.astype(np.int32))
        return self._task.observe(sims), {}

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Observations [N, D], rewards [N], terminated [N], truncated [N] and no infos."""
        before = self.sims.qpos.copy()
        self._actions[:] = actions
        self._batch.step(nstep=self._frame_skip)
        self.elapsed += 1
        rewards, terminated = self._task.outcome(self.sims, actions, before)
        if not np.isfinite(rewards).all():
            env = int(np.argmin(np.isfinite(rewards)))
            raise EnvError(f"env = '{PREFIX}{self._name}': environment {env} gave {rewards[env]}")
        truncated = self.elapsed >= self._max_episode_steps
        return self._task.observe(self.sims), rewards, terminated, truncated, {}

    def close(self) -> None:
        """Threads end with the batch."""


class MujocoEnvs(HostedEnvs):
    """N of Gymnasium's MuJoCo environments, whose state is in checkpoints."""

    resumes_exactly = True

    @property
    def _block(self) -> Block:
        return cast("ThisProcess", self._carrier).block

    def state_dict(self) -> dict[str, Any]:
        """Everything that the next step depends on; the last axis is of the environments."""
        vector: MujocoVector = self._block.envs.envs
        arrays = {
            "state": vector.sims.state.T,
            "elapsed": vector.elapsed,
            "episode_return": self._block.returns,
            "random": _words(vector.generators),
        }
        return {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}

    def load_state_dict(self, state: State) -> None:
        """Raises ConfigError for the state of environments that mjbatch did not step."""
        if "random" not in state:
            raise ConfigError(
                "mjbatch cannot continue environments that something else stepped; "
                "use gymnasium.vectorization = sync"
            )
        block = self._block
        vector: MujocoVector = block.envs.envs
        vector.sims.state[:] = state["state"].numpy().T
        vector.elapsed[:] = block.lengths[:] = state["elapsed"].numpy()
        block.returns[:] = state["episode_return"].numpy()
        for generator, words in zip(vector.generators, state["random"].T.tolist(), strict=True):
            _set_words(generator, words)


def _words(generators: list[np.random.Generator]) -> Array:
    """The states of PCG64 generators, four words of 64 bits each: [4, N] int64."""
    words = np.zeros((4, len(generators)), np.uint64)
    for column, generator in enumerate(generators):
        state = cast("dict[str, Any]", generator.bit_generator.state)["state"]
        halves = (state[key] >> shift & LOW for key in ("state", "inc") for shift in (64, 0))
        words[:, column] = list(halves)
    return words.view(np.int64)


def _set_words(generator: np.random.Generator, words: list[int]) -> None:
    high, low, inc_high, inc_low = (word & LOW for word in words)
    whole = {"state": high << 64 | low, "inc": inc_high << 64 | inc_low}
    generator.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": whole,
        "has_uint32": 0,
        "uinteger": 0,
    }
