"""Observations of a rollout that stay in main memory, while a device collects and learns.

On the processor all of this is the same but for pinned memory and streams: what is there is there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from ..machine.staged_values import event_maker
from .rollout import Rollout

Drawn = Iterable[tuple[Tensor, Tensor | None]]


class StepObs:
    """Observations as they are collected: where the policy sees them, and where a step writes.

    Of a rollout on the device both are its own rows. Where its observations are in main memory
    one tensor [N, D] on the device holds the newest, and each is copied out in passing.
    """

    def __init__(self, rollout: Rollout) -> None:
        self._obs, device = rollout.obs, rollout.rewards.device
        self._now = None if rollout.places is None else torch.zeros_like(self._obs[-1]).to(device)

    def at(self, t: int) -> Tensor:
        """What is acted on in step `t` [N, D], on the device."""
        return self._obs[t] if self._now is None else self._now

    def after(self, t: int) -> Tensor:
        """Where step `t` writes what it led to [N, D], on the device."""
        return self._obs[t + 1] if self._now is None else self._now

    def keep(self, t: int) -> None:
        """Step `t` has written."""
        if self._now is not None:
            self._obs[t + 1].copy_(self._now, non_blocking=True)

    def go_on(self) -> None:
        """Begin a rollout with what the one before ended with."""
        self._obs[0].copy_(self.at(-1), non_blocking=True)

    def begin(self, obs: Tensor) -> None:
        """Begin the next rollout with `obs` [N, D], wherever they are."""
        self.at(-1).copy_(obs)

    @property
    def newest(self) -> Tensor:
        """What the next rollout begins with [N, D], on the device."""
        return self.at(-1)


class HostMinibatches:
    """Observations of minibatches, gathered in main memory while those before are learned from.

    A copy of what was gathered goes to the device on a stream of its own. There are two buffers on
    either side, which take turns: a minibatch's observations are good until the next but one is
    asked for. The host waits for the copy of two minibatches ago, and never for what is learned.
    """

    def __init__(self, rollout: Rollout, most_samples: int) -> None:
        """Of a minibatch there are at most `most_samples`."""
        device = rollout.rewards.device
        self._flat = rollout.obs.flatten(0, 1)
        make_stream: Any = torch.cuda.Stream
        self._aside = make_stream(device) if has_streams(device) else None
        shape = (most_samples, rollout.obs.shape[-1])
        self._buffers = [_Buffer(shape, device, rollout.obs.dtype) for _ in range(2)]
        self._is_there = event_maker(device)()
        self._turn = 0

    def draw_from_now(self) -> None:
        """All that minibatches are drawn by is there, or will be once the device gets so far."""
        self._is_there.record()

    def of(
        self, drawn: Drawn, places_at: Callable[[Tensor], Tensor]
    ) -> Iterator[tuple[Tensor, Tensor | None, Tensor]]:
        """The minibatches `drawn`, all of one size, and the observations [..., D] of each.

        `places_at` tells from the parts of one where its samples lie [...], int32. The drawing is
        done aside as well: the host, which has to know, waits for it and for nothing else.
        """
        with self._to_the_side():
            parts = list(drawn)
            places = torch.stack([places_at(index) for index, _ in parts]).cpu()
        for (index, weights), here in zip(parts, places, strict=True):
            self._used_here(index, weights)
            yield index, weights, self._fetched(here)

    def _fetched(self, places: Tensor) -> Tensor:
        """The observations [..., D] that lie at `places` [...], on the device."""
        before, buffer = self._buffers[1 - self._turn], self._buffers[self._turn]
        self._turn = 1 - self._turn
        before.was_read.record()  # what learns from it was given to the device by now
        size = places.numel()
        gathered = buffer.gathered[:size]
        buffer.was_copied.synchronize()
        torch.index_select(self._flat, 0, places.flatten(), out=gathered)
        if self._aside:
            self._aside.wait_event(buffer.was_read)
            with torch.cuda.stream(self._aside):
                buffer.copied[:size].copy_(gathered, non_blocking=True)
                buffer.was_copied.record()
            torch.cuda.current_stream().wait_event(buffer.was_copied)
        return buffer.copied[:size].view(*places.shape, -1)

    @contextlib.contextmanager
    def _to_the_side(self) -> Iterator[None]:
        if self._aside is None:
            yield
            return
        self._aside.wait_event(self._is_there)
        with torch.cuda.stream(self._aside):
            yield

    def _used_here(self, *tensors: Tensor | None) -> None:
        """Made aside, read by what learns: their memory is not to be given away before."""
        for x in tensors:
            if self._aside and x is not None:
                x.record_stream(torch.cuda.current_stream())


def has_streams(device: torch.device) -> bool:
    """Whether `device` does things in its own time, with memory of its own."""
    return device.type == "cuda"


class _Buffer:
    """Room for the observations of a minibatch, `shape` [B, D], in main memory and on `device`."""

    def __init__(self, shape: tuple[int, int], device: torch.device, dtype: torch.dtype) -> None:
        is_apart = has_streams(device)
        self.gathered = torch.empty(shape, dtype=dtype, pin_memory=is_apart)
        self.copied = torch.empty(shape, dtype=dtype, device=device) if is_apart else self.gathered
        make_event = event_maker(device)
        self.was_copied: Any = make_event()
        self.was_read: Any = make_event()
        self.was_read.record()  # what had this memory before may be under way
