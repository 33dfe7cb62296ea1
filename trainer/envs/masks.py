"""Action masks of environments with Gymnasium's interface: which choices are legal at present."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..spaces import ActionSpec, Discrete, choices_of, starts_of
from .checking import EnvError
from .space_rows import env_action

MASK_KEY = "action_mask"  # of infos, as in Gymnasium's own environments
MASK_METHOD = "action_masks"  # sb3-contrib's


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
    """A mask of several choices as one row; it may be a tuple with a mask for each choice."""
    parts = mask if isinstance(mask, tuple | list) else [mask]
    return np.concatenate([np.zeros(0, np.bool_), *(np.ravel(part) for part in parts)])


def mask_of(
    env: Any, info: Any, choices: tuple[int, ...], is_over: bool = False
) -> NDArray[np.bool_]:
    """The mask [sum of `choices`] of the actions that an environment allows at present. Raises
    EnvError if its length is wrong or a choice has no legal option. At the end of an episode, where
    many environments allow nothing, such a choice allows everything.
    """
    method = _mask_method(env)
    if isinstance(info, Mapping) and MASK_KEY in info:
        mask = joined(info[MASK_KEY])
    elif method:
        mask = joined(method())
    elif is_over:
        return np.ones(sum(choices), np.bool_)
    else:
        raise EnvError(f"gives no info['{MASK_KEY}'], which it gave when the run began")
    if mask.shape != (sum(choices),):
        raise EnvError(f"gives an action mask of {len(mask)} entries, expected {sum(choices)}")
    is_legal: NDArray[np.bool_] = mask != 0
    for options in np.split(is_legal, np.cumsum(choices)[:-1]):  # views
        if not options.any():
            if not is_over:
                raise EnvError("gives an action mask in which no action is legal")
            options[:] = True
    return is_legal


def sampled_action(env: Any, info: Any, actions: ActionSpec) -> Any:
    """A random action, a legal one if the environment has masks. Raises EnvError."""
    space, choices = env.action_space, choices_of(actions)
    if not choices or (_mask_method(env) is None and MASK_KEY not in info):
        return space.sample()
    masks = np.split(mask_of(env, info, choices), np.cumsum(choices)[:-1])
    drawn = [space.np_random.choice(np.flatnonzero(mask)) for mask in masks]
    row = np.asarray(drawn) + starts_of(actions)
    return row[0] if isinstance(actions, Discrete) else env_action(space, row)
