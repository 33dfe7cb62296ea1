"""Rollouts for replays, and checks that hold on the processor, in the simulator and on a GPU."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import torch
from torch.testing import assert_close

from operant.trainer.jit.graphs import Replayed
from operant.trainer.memory.replay import Priorities, Replay
from operant.trainer.memory.rollout import Rollout

FRAME = 3  # numbers of a frame


class Stream:
    """Rollouts that follow one another; every observation has a number of its own."""

    def __init__(self, num_envs: int, seed: int = 0) -> None:
        self.num_envs = num_envs
        self._generator = torch.Generator().manual_seed(seed)
        self._numbers = itertools.count(1)
        self._last = self._new_obs(1)[0]

    def _new_obs(self, count: int) -> torch.Tensor:
        shape = (count, self.num_envs, 2)
        numbers = [next(self._numbers) for _ in range(count * self.num_envs)]
        column = torch.tensor(numbers, dtype=torch.float32).view(count, self.num_envs, 1)
        return column.expand(shape) * torch.tensor([1.0, -1.0])

    def rollout(
        self, steps: int, terminates: float = 0.1, cuts: float = 0.1, dies: float = 0.1
    ) -> Rollout:
        """Steps that end in either way, or do nothing, with these chances."""

        def chosen(share: float) -> torch.Tensor:
            return torch.rand(shape, generator=self._generator) < share

        shape = (steps, self.num_envs)
        obs = torch.cat([self._last[None], self._new_obs(steps)])
        terminated, zeros = chosen(terminates), torch.zeros(shape)
        self._last = obs[-1]
        return Rollout(
            obs=obs,
            actions=torch.randint(0, 5, shape, generator=self._generator),
            rewards=torch.randn(shape, generator=self._generator),
            terminated=terminated,
            truncated=chosen(cuts) & ~terminated,
            final_obs=-self._new_obs(steps),
            log_probs=zeros, values=zeros, next_values=zeros,
            valid=~chosen(dies) if dies else None,
        )  # fmt: skip


class StackedStream(Stream):
    """Rollouts of stacks of frames, with a mask of `mask_size` numbers behind each."""

    def __init__(self, num_envs: int, stack: int, mask_size: int = 0, seed: int = 0) -> None:
        self.stack, self.mask_size = stack, mask_size
        self._drawn = torch.Generator().manual_seed(seed)
        # The first is in the middle of an episode: its older frames are others.
        self.frames = [self.drawn(num_envs, FRAME) for _ in range(stack)]
        super().__init__(num_envs, seed)
        self.mask = self.drawn(num_envs, mask_size)

    def drawn(self, *shape: int) -> torch.Tensor:
        return torch.randint(0, 256, shape, dtype=torch.uint8, generator=self._drawn)

    def begin(self, ended: torch.Tensor) -> None:
        """A step's frames where it goes on, and the first of an episode where one has `ended`."""
        first = self.drawn(self.num_envs, FRAME)
        self.frames = [torch.where(ended[:, None], first, frame) for frame in self.frames]

    def shown(self) -> torch.Tensor:
        return torch.cat([*self.frames, self.mask], 1)

    def rollout(self, steps: int, *chances: float, **named: float) -> Rollout:
        rollout = super().rollout(steps, *chances, **named)
        shown, finals = [self.shown()], []
        for ended in rollout.terminated | rollout.truncated:
            self.frames = [*self.frames[1:], self.drawn(self.num_envs, FRAME)]
            self.mask = self.drawn(self.num_envs, self.mask_size)
            finals.append(self.shown())
            self.begin(ended)
            shown.append(self.shown())
        rollout.obs, rollout.final_obs = torch.stack(shown), torch.stack(finals)
        return rollout


def in_order(rollout: Rollout) -> Rollout:
    """The same with its final observations as a GPU has them."""
    found = torch.zeros_like(rollout.final_obs)
    for env in range(rollout.rewards.shape[1]):
        mine = rollout.final_obs[rollout.truncated[:, env], env]
        found[: len(mine), env] = mine
    return replace(rollout, final_obs=found, finals_in_order=True)


def moved(rollout: Rollout, device: str) -> Rollout:
    tensors = {name: x.to(device) for name, x in vars(rollout).items() if torch.is_tensor(x)}
    return replace(rollout, **tensors)


def make_replay(capacity: int, num_envs: int, **settings: Any) -> Replay:
    """A replay of observations of two numbers and discrete actions."""
    return Replay(capacity, num_envs, 2, (), torch.int64, **{"seed": 1, **settings})


def make_stack_replay(capacity: int, num_envs: int, *, stack: int, **settings: Any) -> Replay:
    """A replay of observations that are stacks of frames of bytes."""
    settings = {"seed": 1, "obs_dtype": torch.uint8, **settings}
    return Replay(capacity, num_envs, stack * FRAME, (), torch.int64, stack=stack, **settings)


def check_same_as_processor(
    device: str, is_prioritised: bool, size: int = 64, pinned: bool = False, stack: int = 1
) -> None:
    """The kernels write, draw and update as the processor's loops do, final observations that are
    overwritten and updates that are refused included.
    """
    settings: dict[str, Any] = {
        "n_step": 3,
        "priorities": Priorities() if is_prioritised else None,
        "max_episode_steps": 10,  # in truth every fifth step or so is the last
    }
    stream, make = Stream(3), make_replay
    if stack > 1:
        stream, make = StackedStream(3, stack), make_stack_replay
        settings["stack"] = stack
    ours = make(3 * 20, 3, **settings)
    theirs = make(3 * 20, 3, **settings, device=device, pinned=pinned, with_kernels=True)
    errors = torch.Generator().manual_seed(5)
    batch, other = ours.make_batch(size), theirs.make_batch(size)
    for number, steps in enumerate([1, 15, 7, 20, 1, 2]):
        rollout = stream.rollout(steps, cuts=0.2)
        ours.write(rollout)
        theirs.write(moved(in_order(rollout), device))
        if number == 3:
            ours.end_episodes()
            theirs.end_episodes()
        for k in range(2):
            ours.sample(batch, 0.5)
            theirs.sample(other, torch.tensor(0.5, device=device))
            for field in fields(batch)[:7]:
                assert_close(getattr(other, field.name).cpu(), getattr(batch, field.name))
            error = torch.randn(size, generator=errors)
            if k == 1:
                error[3] = torch.nan
            ours.update_priorities(batch.index, error)
            theirs.update_priorities(other.index, error.to(device))
    assert is_prioritised == bool(ours.num_refused == 6)
    for name, tensor in ours.state_dict().items():
        assert_close(theirs.state_dict()[name], tensor)


def check_graph(is_prioritised: bool, strict: Callable[[], None]) -> None:
    """Writing, drawing and updating from a graph are those without one, and wait for nothing."""
    priorities = Priorities() if is_prioritised else None
    replays = [
        make_replay(3 * 40, 3, n_step=3, priorities=priorities, device="cuda", with_kernels=True)
        for _ in range(2)
    ]
    rollout = moved(in_order(Stream(3).rollout(7, cuts=0.2)), "cuda")
    batches = [replay.make_batch(64) for replay in replays]
    beta = torch.tensor(0.5, device="cuda")

    def work(k: int) -> None:
        replays[k].write(rollout)
        replays[k].sample(batches[k], beta)
        replays[k].update_priorities(batches[k].index, batches[k].returns)

    with torch.cuda.stream(torch.cuda.Stream()):
        replayed = Replayed(lambda: work(1), capture=True)
        replayed()  # which may run it without a graph first
        replayed()
        strict()
        for _ in range(20):
            replayed()
        torch.cuda.set_sync_debug_mode("default")
        while replays[0].state_dict()["draws"] < replays[1].state_dict()["draws"]:
            work(0)
        torch.cuda.synchronize()
    for field in fields(batches[0])[:7]:
        assert_close(*(getattr(batch, field.name) for batch in batches))
