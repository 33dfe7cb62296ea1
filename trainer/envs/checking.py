"""Checks of what an environment with Gymnasium's interface returns. Each function describes the
problem in words that follow "reset" or "step", such as "gives the reward nan, expected a finite
number"; the text is empty if there is no problem.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...shared.errors import ConfigError, OperantError
from ...shared.messages import log_warning
from ...shared.text.harmless import one_line
from ...shared.text.plain_values import described_error

FLAGS = "terminated", "truncated"
WRAPPING = "gymnasium", "pettingzoo", __name__.partition(".")[0]  # packages with wrappers
TRUTH_VALUES = bool, np.bool_
# What NumPy raises for values of another type, structure or size; a tensor with a gradient is a
# RuntimeError.
WRONG_VALUES = TypeError, ValueError, KeyError, IndexError, OverflowError, RuntimeError


class EnvError(OperantError):
    """An environment returned what its spaces or Gymnasium's interface do not allow."""


def check_reset(env: Any, setting: str) -> None:
    """Raises ConfigError if `reset` takes no seed. The wrappers of libraries take one and hand it
    on; those of a user may leave it out.
    """
    while _package(env) in WRAPPING and env is not env.unwrapped and hasattr(env, "env"):
        env = env.env
    try:
        inspect.signature(env.reset).bind(seed=0)
    except ValueError:  # a compiled method, whose signature is not known
        return
    except TypeError:
        raise ConfigError(
            f"{setting}: reset takes no seed, expected reset(self, seed=None, options=None)"
        ) from None


def _package(env: Any) -> str:
    return type(env).__module__.partition(".")[0]


def close_all(envs: Iterable[Any], name: str) -> None:
    """Close all; warn once of those that cannot be: nothing that was learned depends on it."""
    failures = []
    for env in envs:
        try:
            env.close()
        except Exception as error:
            failures.append(described_error(error))
    if failures:
        log_warning(f"env = 'gymnasium:{name}': close fails: {failures[0]}")


def reset_problem(given: Any, space: Any) -> str:
    """The problem of what `reset` returned; `space` is the space of observations."""
    if not isinstance(given, tuple) or len(given) != 2 or not isinstance(given[1], Mapping):
        return f"gives {in_words(given)}, expected a tuple (obs, info)"
    return obs_problem(given[0], space)


def step_problem(given: Any, space: Any) -> str:
    """The problem of what `step` returned."""
    if not isinstance(given, tuple) or len(given) != 5:
        return (
            f"gives {in_words(given)}, expected a tuple (obs, reward, terminated, truncated, info)"
        )
    obs, reward, *flags, _ = given
    return obs_problem(obs, space) or reward_problem(reward) or flags_problem(flags)


def obs_problem(obs: Any, space: Any, key: str = "") -> str:
    """The problem of an observation, or of its part at `key`, such as `['camera'][0]`."""
    what = f"observation{key}" if key else "an observation"
    parts = getattr(space, "spaces", None)
    if isinstance(parts, Mapping):
        if not isinstance(obs, Mapping):
            return f"gives {what} that is {in_words(obs)}, expected a dict"
        if missing := [name for name in parts if name not in obs]:
            return f"gives {what} without the key {missing[0]!r}, which observation_space has"
        found = (obs_problem(obs[name], each, f"{key}[{name!r}]") for name, each in parts.items())
        return next(filter(None, found), "")
    if parts is not None:
        if not isinstance(obs, tuple | list) or len(obs) != len(parts):
            return f"gives {what} that is {in_words(obs)}, expected a tuple of {len(parts)}"
        pairs = enumerate(zip(obs, parts, strict=True))
        found = (obs_problem(x, each, f"{key}[{i}]") for i, (x, each) in pairs)
        return next(filter(None, found), "")
    if getattr(obs, "requires_grad", False):
        return f"gives {what} with a gradient; call its detach()"
    try:
        array = np.asarray(obs)
    except (ValueError, RuntimeError):  # rows of different lengths, or a tensor with a gradient
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        return f"gives {what} of type {array.dtype}, expected {space.dtype}"
    if array.shape != space.shape:
        return f"gives {what} of shape {array.shape}, and observation_space has {space.shape}"
    if array.dtype.kind == "f":
        if np.issubdtype(space.dtype, np.integer):
            return f"gives {what} of {array.dtype}, and observation_space has {space.dtype}"
        if not (np.abs(array) <= np.finfo(np.float32).max).all():
            return f"gives {what} with NaN or infinity: {one_line(str(obs), 100)}"
    elif hasattr(space, "low") and overflows(array, space):
        span = f"{array.min()} to {array.max()}"
        return f"gives {what} with numbers from {span}, and observation_space has {space.dtype}"
    elif not hasattr(space, "low") and not space.contains(obs):
        return f"gives {what} {one_line(str(obs), 60)}, which is not in {space}"
    return ""


def action_problem(actions: NDArray[Any]) -> str:
    """The problem of `actions` [..., size] that a policy gives; choices have none."""
    if actions.dtype.kind != "f" or np.isfinite(actions).all():
        return ""
    rows = actions.reshape(-1, actions.shape[-1])
    wrong = rows[np.argmin(np.isfinite(rows).all(1))]
    return (
        f"the policy gives step an action with NaN or infinity: {one_line(str(wrong), 60)}; "
        "if observations are large numbers, set normalization.obs=true"
    )


def rounds(obs: NDArray[Any], space: Any) -> bool:
    """Whether these are floating-point numbers and the space has integers: flattening would round
    them without a word.
    """
    return obs.dtype.kind == "f" and bool(space.dtype.kind in "iu")


def overflows(obs: NDArray[Any], space: Any) -> bool:
    """Whether these are whole numbers that the smaller type of the space would change."""
    if space.dtype.kind not in "iu" or np.can_cast(obs.dtype, space.dtype) or not obs.size:
        return False
    limits = np.iinfo(space.dtype)
    return bool(obs.min() < limits.min or obs.max() > limits.max)


def flattening_changes(obs: Any, space: Any) -> bool:
    """Whether flattening would round a part of an observation, take it for another choice, or put
    its numbers where those of another part belong. Raises what a wrong structure leads to.
    """
    for part, each in _pairs(obs, space):
        if rounds(part, each) or (each.shape and part.shape != each.shape):
            return True
        if overflows(part, each):
            return True
        if not hasattr(each, "low"):  # choices, or truth values
            count = getattr(each, "nvec", getattr(each, "n", 2) if hasattr(each, "start") else 2)
            first = part.astype(np.int64) - getattr(each, "start", 0)
            if (first < 0).any() or (first >= count).any():
                return True
    return False


def _pairs(obs: Any, space: Any) -> Iterator[tuple[NDArray[Any], Any]]:
    """The parts of an observation as arrays, and their spaces."""
    parts = getattr(space, "spaces", None)
    if parts is None:
        yield np.asarray(obs), space
        return
    if isinstance(parts, Mapping):
        parts, obs = parts.values(), [obs[name] for name in parts]
    for given, each in zip(obs, parts, strict=True):
        yield from _pairs(given, each)


def reward_problem(reward: Any) -> str:
    try:
        # A tensor with a gradient is no array.
        is_other = isinstance(reward, str | bytes) or np.iscomplexobj(np.asarray(reward))
        number = np.nan if is_other else float(reward)
    except WRONG_VALUES:
        number = np.nan
    if np.isfinite(number):
        return ""
    hint = "; call its detach()" if getattr(reward, "requires_grad", False) else ""
    return f"gives the reward {one_line(repr(reward), 60)}, expected a finite number{hint}"


def flags_problem(flags: Any) -> str:
    """The problem of `terminated` and `truncated`."""
    for name, flag in zip(FLAGS, flags, strict=True):
        if not isinstance(flag, TRUTH_VALUES):
            return f"gives {name} = {one_line(repr(flag), 60)}, expected True or False"
    return ""


def in_words(given: Any) -> str:
    """The type of what a method returned."""
    if isinstance(given, tuple):
        return f"a tuple of {len(given)}"
    return f"a {type(given).__name__}"
