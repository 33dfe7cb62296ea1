"""Action masks of environments of other libraries: which choices are legal at present."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...shared.errors import ConfigError
from ...shared.text.harmless import one_line
from ..spaces import ActionSpec, Box, Discrete, choices_of, starts_of
from .checking import EnvError
from .space_rows import env_action

MASK_KEY = "action_mask"  # of observations and infos, as in PettingZoo, Gymnasium and RLlib
# In infos of vector environments, and which environments gave one.
MASK_KEYS = MASK_KEY, f"_{MASK_KEY}"
MASK_METHOD = "action_masks"  # sb3-contrib's
# Where other libraries have masks, which are not used: keys of observations and infos, and methods.
UNUSED_KEYS = frozenset((
    MASK_KEY, "mask", "action_masks", "valid_actions", "valid_action_mask", "legal_actions",
))  # fmt: skip
UNUSED_METHODS = (
    "action_mask", "valid_action_mask", "get_action_mask", "valid_actions", "legal_actions",
)  # fmt: skip


def mask_method(env: Any) -> Callable[[], Any] | None:
    """The method of an environment, behind its wrappers, that gives its masks."""
    if hasattr(env, "has_wrapper_attr"):
        found = env.get_wrapper_attr(MASK_METHOD) if env.has_wrapper_attr(MASK_METHOD) else None
    else:
        found = getattr(env, MASK_METHOD, None)
    method: Callable[[], Any] | None = found
    return method


def unused_masks(where: str) -> str:
    """The warning about masks that an environment has, such as `info['mask']`."""
    return (
        "the environment offers action masks that operant does not use: illegal actions will be "
        f"tried; it has {where}, and operant uses 'action_mask' of observations or of all infos, "
        "that of reset included, and action_masks(), where actions are discrete"
    )


def unused_key(entries: Mapping[str, Any], num_choices: int, size_of: Callable[[Any], int]) -> str:
    """The key of a mask that is not used among these. What is called `mask` may be anything else of
    another size.
    """
    found = sorted(UNUSED_KEYS & entries.keys())
    return next((k for k in found if k != "mask" or size_of(entries[k]) == num_choices), "")


def unused_in_info(info: Any, num_choices: int) -> str:
    """The warning about a mask in an info that is not used; empty if there is none."""
    if not isinstance(info, Mapping) or UNUSED_KEYS.isdisjoint(info):
        return ""
    key = unused_key(info, num_choices, _size)
    return unused_masks(f"info['{key}']") if key else ""


def _size(mask: Any) -> int:
    """The number of entries of anything in an info; 0 for what is no array."""
    try:
        return int(np.size(mask))
    except (TypeError, ValueError, RuntimeError):  # lists of several lengths, tensors elsewhere
        return 0


def joined(mask: Any, num_rows: int = 1) -> NDArray[Any]:
    """Masks [num_rows, ...]; that of several choices may be a tuple with one for each choice."""
    parts = mask if isinstance(mask, tuple) or _is_ragged(mask) else [mask]
    return np.concatenate([np.asarray(part).reshape(num_rows, -1) for part in parts], 1)


def _is_ragged(mask: Any) -> bool:
    return isinstance(mask, list) and any(isinstance(part, list | tuple) for part in mask)


class MaskError(EnvError):
    """A mask is wrong: that in the row `row`."""

    def __init__(self, problem: str, row: Any = 0) -> None:
        super().__init__(problem)
        self.row = int(row)


def legal(masks: NDArray[Any], choices: tuple[int, ...], is_over: Any = False) -> NDArray[np.bool_]:
    """`masks` [N, sum of `choices`] as truth values. Raises MaskError for anything else, and if a
    choice has no legal option. At the end of an episode, where many environments allow nothing,
    such a choice allows everything: `is_over` [N].
    """
    if masks.shape[-1] != sum(choices):
        raise MaskError(
            f"gives an action mask of {masks.shape[-1]} entries, expected {sum(choices)}"
        )
    if masks.dtype.kind not in "biuf":
        raise MaskError(f"gives an action mask of type {masks.dtype}, expected numbers 0 and 1")
    is_legal: NDArray[np.bool_] = masks == 1
    is_other = ~is_legal & (masks != 0)
    if is_other.any():
        row = is_other.any(-1).argmax()
        other = masks[row, is_other[row].argmax()]
        raise MaskError(
            f"gives an action mask with {other:g}, expected 0 (illegal) and 1 (legal)", row
        )
    for options in np.split(is_legal, np.cumsum(choices)[:-1], -1):  # views
        has_none = ~options.any(-1)
        if has_none.any():
            is_wrong = has_none & ~np.asarray(is_over, np.bool_)
            if is_wrong.any():
                problem = "gives an action mask in which no action is legal"
                raise MaskError(problem, is_wrong.argmax())
            options[has_none] = True
    return is_legal


class MaskedSpace:
    """A space of observations, and the action masks that come with them: under the key
    `action_mask` of dictionaries or infos, or from a method.
    """

    def __init__(self, gymnasium: Any, space: Any, actions: ActionSpec, wrong: str = "") -> None:
        """Raises ConfigError, which begins with what is `wrong`, if a mask among observations does
        not fit the actions.
        """
        self.choices = choices_of(actions)
        parts = dict(space.spaces) if isinstance(space, gymnasium.spaces.Dict) else {}
        self.has_key = bool(self.choices) and MASK_KEY in parts
        self.space, self._key = space, ""  # `space` has no mask
        if not self.has_key:
            return
        size = gymnasium.spaces.flatdim(parts.pop(MASK_KEY))
        if size != sum(self.choices):
            raise ConfigError(
                f"{wrong}: observations have an '{MASK_KEY}' of {size} entries, and actions have "
                f"{sum(self.choices)} choices"
            )
        self.space = gymnasium.spaces.Dict(parts)
        if len(parts) == 1:
            ((self._key, self.space),) = parts.items()

    def without_mask(self, obs: Any) -> Any:
        """An observation of `space`, from one with a mask. Raises KeyError or TypeError."""
        return obs[self._key] if self._key else obs

    def size(self, method: Callable[[], Any] | None, infos: Callable[[], Iterable[Any]]) -> int:
        """The number of entries of a mask; 0 if an environment with this method and these `infos`,
        of a reset, has none. What fails in the reset is left to the run.
        """
        total = sum(self.choices)
        if self.has_key or method or not total:
            return total
        with contextlib.suppress(Exception):  # without a seed: this copy is only looked at
            return total if any(MASK_KEY in info for info in infos()) else 0
        return 0

    def masks(
        self,
        obs: Any,
        info: Any,
        method: Callable[[], Any] | None,
        is_over: Any = False,
        num_rows: int = 1,
    ) -> NDArray[np.bool_]:
        """Masks [num_rows, sum of `choices`] of an observation and its info, or of a batch. Raises
        MaskError for a wrong one, or if there is none before the end of an episode.
        """
        total = sum(self.choices)
        is_given = np.ones(num_rows, np.bool_)
        if self.has_key:
            given = obs[MASK_KEY]
        elif isinstance(info, Mapping) and MASK_KEY in info:
            given = info[MASK_KEY]
            is_given[:] = info.get(MASK_KEYS[1], True)
        elif method:
            given = method()
        else:
            given, is_given[:] = np.ones((num_rows, total)), False
        is_missing = ~(is_given | is_over)
        if is_missing.any():
            problem = f"gives no info['{MASK_KEY}'], which it gave when the run began"
            raise MaskError(problem, is_missing.argmax())
        try:
            rows = joined(given, num_rows)
        except ValueError:
            said = one_line(repr(given), 60)
            raise MaskError(f"gives the action mask {said}, expected {total} numbers") from None
        if not is_given.all():
            rows[~is_given] = 1
        return legal(rows, self.choices, is_over)


def sampled_action(env: Any, space: MaskedSpace, obs: Any, info: Any, actions: ActionSpec) -> Any:
    """A random action as a policy's reach the environment, a legal one if there are masks. Raises
    EnvError.
    """
    random = np.random.default_rng(0)
    if isinstance(actions, Box):
        numbers = random.uniform(actions.low, actions.high).astype(np.float32)
        return env_action(env.action_space, numbers)
    method = mask_method(env)
    mask = np.ones(sum(space.choices), np.bool_)
    if space.size(method, lambda: [info]):
        (mask,) = space.masks(obs, info, method)
    each = np.split(mask, np.cumsum(space.choices)[:-1])
    drawn = [random.choice(np.flatnonzero(options)) for options in each]
    row = np.asarray(drawn) + starts_of(actions)
    return env_action(env.action_space, row[0] if isinstance(actions, Discrete) else row)
