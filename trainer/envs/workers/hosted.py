"""Environments of other libraries as `VectorEnv` has its own, stepped here or by workers."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Protocol

import numpy as np

from ...machine.values import State
from ...settings.own_code import user_code
from ..checking import EnvError, action_problem
from ..spec import HostedSpec
from ..vector import Transitions
from .arrays import Array
from .block import Block
from .processes import Processes
from .region import Fields, Layout, own_fields
from .worker import RESET, STEP


class Carrier(Protocol):
    """W workers, from 0."""

    fields: Fields

    def start(self, command: bytes, workers: Sequence[int]) -> None:
        """Give these workers something to do."""

    def finish(self, workers: Sequence[int]) -> None:
        """Until they have done it. Raises whatever went wrong."""

    def close(self) -> None: ...


class ThisProcess:
    """One block in this process, which performs every call at once. What its environments raise
    is raised as it is, and an EnvError with the environment's number.
    """

    def __init__(self, spec: HostedSpec, layout: Layout, first_env: int) -> None:
        self._first_env = first_env
        self.fields = own_fields(layout)
        arrays, counters = self.fields.of_worker(0)
        arrays.valid[:] = True
        with user_code(f"{spec.setting}: making it"):
            envs = import_module(spec.module).make(spec, layout.num_envs, counters)
        self.block = Block(envs, layout.num_agents, arrays, counters)

    def start(self, command: bytes, workers: Sequence[int]) -> None:
        try:
            if command == RESET:
                self.block.reset(self.fields.seeds[0])
            elif command == STEP:
                self.block.step()
        except EnvError as error:
            env = int(self.fields.current[0, 0])
            if env < 0:
                raise
            raise EnvError(f"{error}, in environment {self._first_env + env}") from None

    def finish(self, workers: Sequence[int]) -> None:
        """It is done."""

    def close(self) -> None:
        self.block.close()


def first_seed(seed: int, stream: int, num_resumed: int = 0) -> int:
    """The seed of environment 0; each next one has the next number."""
    entropy = (int(seed), int(stream), num_resumed)
    return int(np.random.SeedSequence(entropy).generate_state(1)[0])


class HostedEnvs:
    """N environments of A agents, a row each, with the interface of `VectorEnv`.

    They are shared out among W workers and these among k groups, `groups`, of consecutive rows
    each. `send` gives a group its actions, which it steps with on its own; `receive` waits for what
    came of that. So while one group's actions are computed the other k - 1 step.

    An environment has its own column of the rollout, [T, N], whatever group it is in, and every
    group is served once in each step, in order: no step of a slow one is overwritten by a faster
    one, and there is nothing to allot, neither by a counter nor from a list of free rows. The data
    depends neither on W nor on k.
    """

    resumes_exactly = False  # other people's environments do not tell their state

    def __init__(
        self, spec: HostedSpec, num_envs: int, seed: int, stream: int, first_env: int = 0
    ) -> None:
        """W divides N, and k divides W; see `dividing`. Raises what environments raise when they
        are made, from workers as WorkerError.
        """
        plan = spec.plan
        num_blocks = plan.num_workers or 1
        self.spec, self.num_envs = spec, num_envs
        self.num_rows = num_envs * spec.num_agents
        self.has_dead_steps = spec.some_agents_retire or spec.resets_in_next_step
        self._seed, self._stream, self._num_resumed = seed, stream, 0
        self._first_env = first_env
        layout = Layout(
            num_blocks,
            num_envs // num_blocks,
            spec.num_agents,
            spec.obs_size,
            spec.actions,
            spec.obs_type,
        )
        self._carrier: Carrier = (
            Processes(spec, layout, first_env, plan.timeout_s)
            if plan.num_workers
            else ThisProcess(spec, layout, first_env)
        )
        self._rows = self._carrier.fields.rows()
        self._noticed: set[str] = set()
        self._workers = np.arange(num_blocks).reshape(plan.async_factor, -1).tolist()
        size = self.num_rows // plan.async_factor
        self.groups = tuple(slice(i * size, (i + 1) * size) for i in range(plan.async_factor))

    def reset(self, obs: Array) -> None:
        """Begin an episode everywhere; writes `obs` [R, D]."""
        first = first_seed(self._seed, self._stream, self._num_resumed) + self._first_env
        seeds = self._carrier.fields.seeds
        seeds[:] = (first + np.arange(self.num_envs, dtype=np.uint64)).reshape(seeds.shape)
        self._carrier.start(RESET, range(len(seeds)))
        self._carrier.finish(range(len(seeds)))
        obs[:] = self._rows.obs
        self._carrier.fields.totals[:] = 0  # a reset ends episodes, which do not count

    def step(self, actions: Array, out: Transitions) -> None:
        """Step every environment with its own of `actions` [R, ...]; writes `out`."""
        for group, rows in enumerate(self.groups):
            self.send(group, actions[rows])
        for group in range(len(self.groups)):
            self.receive(group, out)

    def send(self, group: int, actions: Array) -> None:
        """Have a group step with `actions` [R / k, ...]. Raises EnvError for NaN and infinity."""
        if problem := action_problem(actions):
            raise EnvError(f"{self.spec.setting}: {problem}")
        self._rows.actions[self.groups[group]] = actions
        self._carrier.start(STEP, self._workers[group])

    def receive(self, group: int, out: Transitions) -> None:
        """Wait for a group's step; writes its rows of `out`. Raises what went wrong in it."""
        self._carrier.finish(self._workers[group])
        rows, of_group = self._rows, self.groups[group]
        out.obs[of_group] = rows.obs[of_group]
        out.reward[of_group] = rows.reward[of_group]
        terminated, truncated = rows.terminated[of_group], rows.truncated[of_group]
        out.terminated[of_group] = terminated
        out.truncated[of_group] = truncated
        if self.has_dead_steps:
            out.valid[of_group] = rows.valid[of_group]
        done = terminated | truncated
        if done.any():
            out.final_obs[of_group][done] = rows.final_obs[of_group][done]

    def take_episode_totals(self) -> tuple[int, float, float]:
        """(count, summed return, summed length) of the episodes that ended since the last call."""
        totals = self._carrier.fields.totals
        count, return_, length = totals.sum(0).tolist()
        totals[:] = 0
        return int(count), return_, length

    def take_notices(self) -> list[str]:
        """Return the workers' notices since the last call, each line once."""
        lines = self._carrier.fields.notices.tobytes().replace(b"\0", b"").decode().splitlines()
        new = [line for line in dict.fromkeys(lines) if line not in self._noticed]
        self._noticed.update(new)
        return new

    def state_dict(self) -> State:
        """How often a run went on; of the environments themselves there is nothing to keep."""
        return {"num_resumed": self._num_resumed}

    def load_state_dict(self, state: State) -> None:
        """Afterwards a `reset` begins episodes that no former one was."""
        self._num_resumed = state["num_resumed"] + 1

    def close(self) -> None:
        """End the environments, and the processes that they run in."""
        self._carrier.close()
