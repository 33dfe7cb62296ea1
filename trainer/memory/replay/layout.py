"""How large a replay is: the shapes of its arrays, what they need, and whether there is room."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import psutil
import torch

from ....shared.errors import ConfigError

Shapes = dict[str, tuple[tuple[int, ...], torch.dtype]]

PART = 32  # leaves, parts and blocks that one sum is made of
BLOCK = PART * PART  # leaves of a block
# Final observations of an environment whose time limit is not known.
FEWEST_FINALS = 8
ROWS_PER_FINAL = 16
FRAMES_PER_FINAL = 24  # of stacks of frames


@dataclass(frozen=True)
class Layout:
    """Shapes of a replay of at most `capacity` transitions of `num_envs` environments.

    Each environment has a ring of `num_steps` transitions, and one place more: that of the newest
    observation, whose action is still to come. Final observations lie in a smaller ring of
    `num_finals` for each environment: as many as `max_episode_steps` allows, where time limits are
    all that cuts episodes short, and a sixteenth of the steps where it is None.

    Observations that are a `stack` of frames, oldest first, and `mask_size` numbers behind them are
    kept as their newest frame and those numbers. There are so many more places for frames that the
    oldest transition has its older ones.

    Raises ConfigError when the ring is shorter than `n_step`.
    """

    capacity: int
    num_envs: int
    obs_size: int
    action_shape: tuple[int, ...] = ()
    action_dtype: torch.dtype = torch.int64
    n_step: int = 1
    is_prioritised: bool = False
    max_episode_steps: int | None = None
    obs_dtype: torch.dtype = torch.float32
    stack: int = 1
    mask_size: int = 0

    def __post_init__(self) -> None:
        if self.num_steps < self.n_step:
            raise ConfigError(
                f"n_step = {self.n_step} is longer than the replay: replay.capacity = "
                f"{self.capacity} keeps {self.num_steps} steps of each of {self.num_envs} "
                "environments"
            )

    @property
    def num_steps(self) -> int:
        """Transitions of each environment."""
        return self.capacity // self.num_envs

    @property
    def num_slots(self) -> int:
        """Places of the ring in time."""
        return self.num_steps + 1

    @property
    def num_places(self) -> int:
        """Places of observations in time."""
        return self.num_slots + self.stack - 1

    @property
    def kept_size(self) -> int:
        """Numbers that are kept of an observation."""
        return (self.obs_size - self.mask_size) // self.stack + self.mask_size

    @property
    def num_finals(self) -> int:
        """Final observations of each environment."""
        if self.max_episode_steps is None:
            per_final = ROWS_PER_FINAL if self.stack == 1 else FRAMES_PER_FINAL
            wanted = max(FEWEST_FINALS, self.num_steps // per_final)
        else:
            wanted = self.num_steps // self.max_episode_steps + 1
        return min(wanted, self.num_steps)

    @property
    def num_leaves(self) -> int:
        """Priorities, up to a whole block."""
        return _up_to(self.num_slots * self.num_envs, BLOCK)

    @property
    def ring_shapes(self) -> Shapes:
        """Shapes and dtypes of the fields of `Ring`."""
        rows, finals = self.num_slots * self.num_envs, self.num_finals * self.num_envs
        frames = self.num_places * self.num_envs
        return {
            "obs": ((frames, self.kept_size), self.obs_dtype),
            "finals": ((finals, self.kept_size), self.obs_dtype),
            "depths": ((frames if self.stack > 1 else 0,), torch.uint8),
            "actions": ((rows, math.prod(self.action_shape)), self.action_dtype),
            "rewards": ((rows,), torch.float32),
            "endings": ((rows,), torch.int32),
            "owners": ((finals,), torch.int32),
            "num_cut": ((self.num_envs,), torch.int64),
            "written": ((1,), torch.int64),
            "draws": ((1,), torch.int64),
        }

    @property
    def priority_shapes(self) -> Shapes:
        """Shapes and dtypes of the fields of `PriorityArrays`; empty for uniform draws."""
        leaves = self.num_leaves if self.is_prioritised else 0
        blocks = _up_to(leaves // BLOCK, PART)
        return {
            "leaves": ((leaves,), torch.float32),
            "parts": ((leaves // PART,), torch.float64),
            "blocks": ((blocks,), torch.float64),
            "groups": ((blocks // PART,), torch.float64),
            "cumulative": ((blocks,), torch.float64),
            "max_leaf": ((1,), torch.float32),
            "num_refused": ((1,), torch.int64),
        }

    @property
    def obs_bytes(self) -> int:
        """Bytes of all observations."""
        return _bytes_of({name: self.ring_shapes[name] for name in ("obs", "finals")})

    @property
    def pinned_obs_bytes(self) -> int:
        """Bytes of all observations in pinned memory: PyTorch gives it out in powers of two."""
        shapes = {name: self.ring_shapes[name] for name in ("obs", "finals")}
        return sum(2 ** (_bytes_of({name: x}) - 1).bit_length() for name, x in shapes.items())

    @property
    def needed_bytes(self) -> int:
        """Bytes of all arrays."""
        return _bytes_of(self.ring_shapes) + _bytes_of(self.priority_shapes)


def check_memory(layout: Layout, device: torch.device, pinned: bool = False) -> None:
    """Raises ConfigError where a replay does not fit; `pinned` observations are in main memory."""
    on_gpu = device.type == "cuda"
    in_main = layout.needed_bytes
    if on_gpu:
        free, _ = torch.cuda.mem_get_info(device)
        on_device = layout.needed_bytes - layout.obs_bytes if pinned else layout.needed_bytes
        check_fits(layout.capacity, on_device, free, "the GPU's ")
        in_main = layout.pinned_obs_bytes if pinned else 0
    check_fits(layout.capacity, in_main, free_main_bytes())


def check_fits(capacity: int, needed: int, free: int, whose: str = "") -> None:
    """Raises ConfigError that says how much there is, and what would fit."""
    if needed <= free:
        return
    parts = 2
    while needed > free * parts and parts < capacity:
        parts *= 2
    halve = "halve it" if parts == 2 else f"divide it by {parts}"
    raise ConfigError(
        f"replay.capacity = {capacity} needs {needed / 2**30:,.1f} GiB of {whose}memory, "
        f"{free / 2**30:,.1f} are free: {halve}, to {capacity // parts}"
    )


def free_main_bytes() -> int:
    """Main memory that this process can still have, within its container's limit."""
    free = int(psutil.virtual_memory().available)
    try:
        limit, used = (
            Path("/sys/fs/cgroup", name).read_text() for name in ("memory.max", "memory.current")
        )
        return min(free, int(limit) - int(used))
    except (OSError, ValueError):  # no container, or one without a limit
        return free


def _up_to(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple


def _bytes_of(shapes: Shapes) -> int:
    return sum(math.prod(shape) * dtype.itemsize for shape, dtype in shapes.values())
