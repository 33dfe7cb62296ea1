"""Action masks of environments with Gymnasium's interface: which choices are legal at present."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..spaces import ActionSpec, Discrete, MultiDiscrete
from .checking import EnvError

MASK_KEY = "action_mask"  # of infos, as in Gymnasium's own environments
MASK_METHOD = "action_masks"  # sb3-contrib's


def num_choices_of(actions: ActionSpec) -> int:
    """The number of entries of an action mask; 0 where actions are real numbers."""
    if isinstance(actions, Discrete):
        return actions.n
    return sum(actions.nvec) if isinstance(actions, MultiDiscrete) else 0


def offers_masks(env: Any) -> bool:
    """Whether an environment says which actions are legal: as `info["action_mask"]`, or by a method
    `action_masks()`. What fails in `reset` is left to the run.
    """
    if _mask_method(env):
        return True
    try:  # without a seed: this copy is only looked at
        _, info = env.reset()
    except Exception:
        return False
    return isinstance(info, Mapping) and MASK_KEY in info


def _mask_method(env: Any) -> Callable[[], Any] | None:
    if not env.has_wrapper_attr(MASK_METHOD):
        return None
    method: Callable[[], Any] = env.get_wrapper_attr(MASK_METHOD)
    return method


def joined(mask: Any) -> NDArray[Any]:
    """A mask of several choices, which may be a tuple of one for each, as one row."""
    parts = mask if isinstance(mask, tuple | list) else [mask]
    return np.concatenate([np.zeros(0, np.bool_), *(np.ravel(part) for part in parts)])


def mask_of(env: Any, info: Any, num_choices: int, may_be_empty: bool = False) -> NDArray[Any]:
    """The mask [num_choices] of an environment's present actions. Raises EnvError for one of
    another length, and for one with nothing legal: at the end of an episode all are then.
    """
    method = _mask_method(env)
    in_info = isinstance(info, Mapping) and MASK_KEY in info
    if not in_info and method is None:
        if may_be_empty:
            return np.ones(num_choices, np.bool_)
        raise EnvError(f"gives no info['{MASK_KEY}'], which it gave when the run began")
    mask = joined(info[MASK_KEY] if in_info else method() if method else ())
    if mask.shape != (num_choices,):
        raise EnvError(f"gives an action mask of {len(mask)} entries, expected {num_choices}")
    if not mask.any():
        if not may_be_empty:
            raise EnvError("gives an action mask in which no action is legal")
        return np.ones(num_choices, np.bool_)
    is_legal: NDArray[Any] = mask != 0
    return is_legal


def sampled_action(env: Any, info: Any, actions: ActionSpec) -> Any:
    """A random action of an environment, which is legal if it has masks. Raises EnvError."""
    space, num_choices = env.action_space, num_choices_of(actions)
    if not num_choices or (_mask_method(env) is None and MASK_KEY not in info):
        return space.sample()
    mask, nvec = mask_of(env, info, num_choices), getattr(actions, "nvec", (num_choices,))
    choices = np.split(mask, np.cumsum(nvec)[:-1])
    drawn = [space.np_random.choice(np.flatnonzero(choice)) for choice in choices]
    if isinstance(actions, MultiDiscrete):
        return np.asarray(drawn) + np.asarray(actions.start or 0)
    return np.int64(drawn[0] + getattr(actions, "start", 0))
