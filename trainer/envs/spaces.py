"""Observations and actions of Gymnasium's spaces, read without PyTorch, also in workers."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import itertools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ...shared.errors import ConfigError
from ...shared.install_command import install_command
from ..spaces import (
    ANY_NUMBERS,
    ActionSpec,
    Box,
    Discrete,
    MultiDiscrete,
    choices_of,
    starts_of,
)
from ..spaces.encoders import MLP, Part
from .names import GYMNASIUM_PREFIX, PETTINGZOO_PREFIX

FLOAT_BYTES = 4
MAX_CHOICES = 1 << 20  # of a policy's actions
NO_BOUND = 1e18  # authors write infinity as float32's largest number, or as sys.maxsize
# In ids that ale_py registers when it is imported, such as ALE/Pong-v5 and PongNoFrameskip-v4.
ATARI = re.compile(r"^(gymnasium:)?(ALE/|\w+NoFrameskip-v\d)")
_ROBOTS = (
    r"(Ant|HalfCheetah|Hopper|Humanoid|HumanoidStandup|Inverted(Double)?Pendulum|Pusher|Reacher"
    r"|Swimmer|Walker2d)"
)
MUJOCO = re.compile(rf"(gymnasium:)?{_ROBOTS}-v[45]")
# Ids that Gymnasium lists but cannot make with today's MuJoCo.
OLD_MUJOCO = re.compile(rf"{_ROBOTS}-v[123]|Pusher-v4")


def import_gymnasium(env_id: str = "") -> Any:
    """The library, which knows `env_id` if a package that is installed registers it. Raises
    ConfigError when the library or that package is not installed.
    """
    try:
        import gymnasium
    except ModuleNotFoundError:
        extra = "mujoco" if MUJOCO.fullmatch(env_id) else "gymnasium"
        raise ConfigError(f"gymnasium is not installed: {install_command(extra)}") from None
    if MUJOCO.fullmatch(env_id):
        check_mujoco()
    if is_atari(env_id) and env_id not in gymnasium.registry:
        try:
            gymnasium.register_envs(importlib.import_module("ale_py"))
        except ImportError:
            raise ConfigError(
                f"env = 'gymnasium:{env_id}': ale_py is not installed: {install_command('atari')}"
            ) from None
    return gymnasium


def check_mujoco() -> None:
    """Raises ConfigError if MuJoCo is installed, but not what MUJOCO_GL tells it to draw with."""
    try:
        importlib.import_module("mujoco")
    except ImportError:  # those who need it say what to install
        return
    except Exception as error:
        raise ConfigError(
            f"MUJOCO_GL={os.environ.get('MUJOCO_GL')}: MuJoCo cannot draw with that here "
            f"({first_line(error)}); egl needs Mesa or the driver of a GPU, osmesa needs the "
            "system's package libosmesa6"
        ) from None


def is_atari(env: str) -> bool:
    """Whether an id, with `gymnasium:` or without it, is one of Atari's games."""
    return bool(ATARI.match(env))


def check_version(env_id: str) -> None:
    """Raises ConfigError for an old version of MuJoCo's environments."""
    if OLD_MUJOCO.fullmatch(env_id):
        new = env_id.partition("-")[0] + "-v5"
        raise ConfigError(
            f"env = '{GYMNASIUM_PREFIX}{env_id}': Gymnasium cannot make this version with today's "
            f"MuJoCo; use {new}"
        )


def why_not_made(error: BaseException) -> str:
    """The reason that Gymnasium gives, and the command that installs MuJoCo if it is missing."""
    reason = first_line(error)
    if reason.startswith("MuJoCo is not installed"):
        return f"MuJoCo is not installed: {install_command('mujoco')}"
    return reason


def knows_id(env_id: str) -> bool:
    """Whether Gymnasium has an environment of that id. If Gymnasium is missing, all names with a
    version count, and all of Atari's games do in any case: a later error says what to install.
    """
    if is_atari(env_id) or (is_id(env_id) and importlib.util.find_spec("gymnasium") is None):
        return True
    try:
        import_gymnasium(env_id).spec(env_id)
    except Exception:  # whatever it says of an id that it doesn't know
        return False
    return True


def is_id(env: str) -> bool:
    """Whether a name looks like an id of Gymnasium's: it ends in a version, such as `-v5`."""
    return ":" not in env and bool(re.search(r"-v\d+$", env))


def known_ids() -> list[str]:
    """The ids that Gymnasium knows; none where it is not installed."""
    try:
        return sorted(import_gymnasium().registry)
    except ConfigError:
        return []


def nearest_parallel_id(name: str) -> str:
    """`; did you mean 'pettingzoo:sisl/pursuit-v5'?` for `sisl/pursuit`, `pursuit_v4` and others
    that are near an id of PettingZoo's parallel environments; nothing where none is.
    """
    with suppress(ImportError):
        ids = getattr(importlib.import_module("pettingzoo"), "parallel_registry", ())
        ends = {id_.rpartition("/")[2]: f"'{PETTINGZOO_PREFIX}{id_}'" for id_ in ids}
        end = re.sub(r"_v(?=\d+$)", "-v", name.rpartition("/")[2])
        for match in difflib.get_close_matches(end, ends, n=1, cutoff=0.7):
            return f"; did you mean {ends[match]}?"
    return ""


def full_name(env: str) -> str:
    """`gymnasium:CartPole-v1` for `CartPole-v1`, if Gymnasium knows that id; else `env`."""
    return GYMNASIUM_PREFIX + env if is_id(env) and knows_id(env) else env


def action_spec(gymnasium: Any, name: str, space: Any) -> ActionSpec:
    """Actions of a tuple or a dictionary are joined. Raises ConfigError for actions that no policy
    of ours gives.
    """
    spaces = gymnasium.spaces
    if isinstance(space, spaces.Tuple | spaces.Dict):
        joined = _joined([action_spec(gymnasium, name, part) for part in leaves(space)])
        if joined is None:
            raise ConfigError(
                f"env = '{name}': actions are {space}; parts must all be choices, or all be real "
                "numbers"
            )
        return joined
    if isinstance(space, spaces.Discrete | spaces.MultiDiscrete):
        num_choices = int(np.sum(space.n if isinstance(space, spaces.Discrete) else space.nvec))
        if num_choices > MAX_CHOICES:
            raise ConfigError(
                f"env = '{name}': actions are {space}; a policy has an output for each choice, at "
                f"most {MAX_CHOICES:,}: use fewer choices, several of a MultiDiscrete, or a Box"
            )
    if isinstance(space, spaces.Discrete):
        return Discrete(int(space.n), int(space.start))
    if isinstance(space, spaces.MultiDiscrete) and space.nvec.ndim == 1 and space.nvec.size:
        start = tuple(map(int, space.start)) if space.start.any() else ()
        return MultiDiscrete(tuple(map(int, space.nvec)), start)
    if isinstance(space, spaces.MultiBinary) and len(space.shape) == 1:
        return MultiDiscrete((2,) * space.shape[0])
    is_real = isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.floating)
    bounds = [abs(float(x)) for x in (*space.low.flat, *space.high.flat)] if is_real else []
    if bounds and len(space.shape) == 1 and max(bounds) < NO_BOUND:
        return Box(tuple(map(float, space.low)), tuple(map(float, space.high)))
    raise ConfigError(
        f"env = '{name}': actions are {space}; they may be Discrete, a row of MultiDiscrete or "
        "MultiBinary, a bounded row of Box of floating-point numbers, or a Tuple or Dict of such; "
        f"bounds from {NO_BOUND:g} on count as none"
    )


def _joined(parts: Sequence[ActionSpec]) -> ActionSpec | None:
    """One row of all parts; None if there are none, or real numbers beside choices."""
    boxes = [part for part in parts if isinstance(part, Box)]
    if not parts or 0 < len(boxes) < len(parts):
        return None
    if boxes:
        low, high = (itertools.chain(*(getattr(x, end) for x in boxes)) for end in ("low", "high"))
        return Box(tuple(low), tuple(high))
    choices = [choices_of(part) for part in parts]
    starts = [starts_of(part) for part in parts]
    start = tuple(itertools.chain(*starts))
    return MultiDiscrete(tuple(itertools.chain(*choices)), start if any(start) else ())


def seen_in(gymnasium: Any, wrong: str, space: Any) -> dict[str, Any]:
    """`obs_size`, `obs_type`, `obs_shape`, `obs_range` and `obs_parts` of a space.
    Arrays of bytes or truth values of two axes or more are kept as bytes, all else as float32. If a
    part of a dictionary or a tuple is an image of bytes, rows are packed: each part has its type.
    Raises ConfigError, which begins with what is `wrong`, for spaces that cannot be flattened.
    """
    spaces = gymnasium.spaces
    for part in leaves(space):
        known = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)
        if not isinstance(part, known):
            raise ConfigError(
                f"{wrong}: observations have {part}; Box, Dict, Tuple, Discrete, MultiDiscrete and "
                "MultiBinary are supported"
            )
    if not any(spaces.flatdim(part) for part in leaves(space)):
        raise ConfigError(f"{wrong}: observations are {space}, which has no numbers in it")
    try:
        flat = spaces.flatten_space(space)
    except ValueError:
        raise ConfigError(
            f"{wrong}: observations are {space}, with an empty part; leave it out"
        ) from None
    if hasattr(space, "spaces"):
        parts = tuple(_parts(gymnasium, wrong, space))
        seen = {"obs_size": flat.shape[0], "obs_parts": parts}
        if not any(part.obs_type is np.uint8 and part.encoder != MLP for part in parts):
            return seen
        end = parts[-1].offset + parts[-1].obs_bytes
        return {**seen, "obs_shape": flat.shape, "obs_type": np.uint8, "obs_size": aligned(end)}
    is_array = isinstance(space, (gymnasium.spaces.Box, gymnasium.spaces.MultiBinary))
    if not is_array or len(space.shape) < 2 or not flat.shape[0]:
        return {"obs_size": flat.shape[0]}
    limits = float(flat.low.min()), float(flat.high.max())
    is_bytes = flat.dtype in (np.uint8, np.bool_, np.int8) and limits[0] >= 0
    return {
        "obs_size": flat.shape[0],
        "obs_type": np.uint8 if is_bytes else np.float32,
        "obs_shape": tuple(map(int, space.shape)),
        "obs_range": limits,
    }


def with_mask(seen: dict[str, Any], mask_size: int) -> dict[str, Any]:
    """The result of `seen_in`, with rows that end with `mask_size` columns of an action mask."""
    size = seen["obs_size"] + mask_size
    is_packed = "obs_parts" in seen and seen.get("obs_type") is np.uint8
    return {**seen, "mask_size": mask_size, "obs_size": aligned(size) if is_packed else size}


def aligned(num_bytes: int) -> int:
    """The next multiple of the size of a float32, so that packed rows can be read as such."""
    return -(-num_bytes // FLOAT_BYTES) * FLOAT_BYTES


def leaves(space: Any) -> Iterator[Any]:
    """The spaces in a dictionary or a tuple, and in those in it; or `space` itself."""
    return (leaf for _, leaf in named_leaves(space))


def named_leaves(space: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """`leaves` with their keys and places, as `arms/0/camera`, below `name`."""
    spaces = getattr(space, "spaces", None)
    if spaces is None or type(space).__name__ == "OneOf":  # which has one of its spaces at a time
        yield name, space
        return
    for key, part in spaces.items() if isinstance(spaces, Mapping) else enumerate(spaces):
        yield from named_leaves(part, f"{name}/{key}" if name else str(key))


def _parts(gymnasium: Any, wrong: str, space: Any) -> Iterator[Part]:
    """The parts of a dictionary or a tuple, in the order in which they are flattened."""
    start = end = 0
    for leaf in leaves(space):
        is_small = leaf.dtype == np.uint8 or not isinstance(leaf, gymnasium.spaces.Box)
        seen = {
            "obs_shape": (),
            "obs_type": np.uint8 if is_small else np.float32,
            "obs_range": ANY_NUMBERS,
            **seen_in(gymnasium, wrong, leaf),
        }
        offset = end if seen["obs_type"] is np.uint8 else aligned(end)
        part = Part(start=start, offset=offset, **seen)
        yield part
        start, end = start + part.obs_size, part.offset + part.obs_bytes


def first_line(error: BaseException) -> str:
    """The first line of what an error says."""
    return str(error).strip().partition("\n")[0]
