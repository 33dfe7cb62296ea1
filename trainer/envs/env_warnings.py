"""Warnings of what operant ignores in other libraries' environments (scales, images, some masks),
and of slow steps.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ...shared.install_command import install_command
from ..settings.facts import Facts
from ..spaces import choices_of
from ..spaces.encoders import MLP
from .hosts import host_of
from .masks import UNUSED_METHODS, MaskedSpace, unused_in_info, unused_key, unused_masks
from .mujoco.tasks import TASKS
from .names import GYMNASIUM_PREFIX
from .spaces import import_gymnasium

MIN_IMAGE_SIDE = 8  # pixels; smaller arrays are taken for boards or grids


def env_warnings(facts: Facts, seed: int) -> list[str]:
    """A line for each part of the environment that the run does not handle as its authors meant,
    with what to do about it. Makes and resets one copy of the environment, also where workers
    step it; what fails here is left to the run.
    """
    host = host_of(facts.env)
    with contextlib.suppress(Exception), contextlib.closing(host.make_one(facts.spec)) as env:
        spec, info = facts.spec, env.reset(seed=seed)[1]
        space = env.observation_space
        if hasattr(env, "possible_agents"):
            agent = env.possible_agents[0]
            space, info = space(agent), info.get(agent)
        space = MaskedSpace(import_gymnasium(), space, spec.actions).space
        # Encoders of images, and networks of the user's, get scaled numbers in their shape.
        of_obs = _of_observations(space, facts.normalizes_obs) if facts.encoder == MLP else ()
        num_choices = sum(choices_of(spec.actions))
        of_masks = () if spec.mask_size else _of_masks(env, space, info, num_choices)
        found = (*of_obs, *of_masks, *_of_stepping(facts))
        return list(dict.fromkeys(found))  # several parts may have the same
    return []


def _of_stepping(facts: Facts) -> Iterator[str]:
    env_id = facts.env.removeprefix(GYMNASIUM_PREFIX)
    if env_id not in TASKS or facts.tables["gymnasium"].vectorization != "auto":
        return
    if facts.spec.stepped_by != "mjbatch":
        from .mujoco.host import can_host  # imports PyTorch

        why = install_command("mujoco")
        if can_host(env_id):
            why = "leave [workers] and [preprocessing] at their defaults"
        yield f"{env_id} is stepped without mjbatch, which would be faster: {why}"


def _of_observations(space: Any, is_scaled: bool) -> Iterator[str]:
    parts = getattr(space, "spaces", None)
    if isinstance(parts, Mapping):
        if not is_scaled:
            yield (
                f"observations are dictionaries ({', '.join(map(str, parts))}): their parts are "
                "joined as they are, unscaled; scale them in a wrapper, or set "
                "normalization.obs=true"
            )
        parts = parts.values()
    elif parts is not None and not is_scaled:
        yield (
            f"observations are tuples of {len(parts)} parts, which are joined as they are, "
            "unscaled; scale them in a wrapper, or set normalization.obs=true"
        )
    for part in [space] if parts is None else parts:
        shape = getattr(part, "shape", None) or ()
        if len([side for side in shape if side >= MIN_IMAGE_SIDE]) >= 2:
            yield (
                f"observations are images of {'x'.join(map(str, shape))} = {prod(shape):,} inputs "
                "without convolutions: give bytes (uint8) or numbers from 0 to 1, with "
                "policy.encoder = auto, or give features as a vector"
            )
        if getattr(part, "dtype", None) == np.uint8 and prod(shape) > 1 and not is_scaled:
            yield (
                "observations are bytes, 0 to 255, and are not scaled: scale them in a wrapper, or "
                "set normalization.obs=true"
            )


def _of_masks(env: Any, space: Any, info: Any, num_choices: int) -> Iterator[str]:
    spaces = getattr(space, "spaces", None)
    if isinstance(spaces, Mapping):
        flatdim = import_gymnasium().spaces.flatdim
        if key := unused_key(spaces, num_choices, flatdim):
            yield unused_masks(f"the key {key!r} of observations")
    if warning := unused_in_info(info, num_choices):
        yield warning
    has = getattr(env, "has_wrapper_attr", None) or partial(hasattr, getattr(env, "unwrapped", env))
    yield from (unused_masks(f"the method {name}()") for name in UNUSED_METHODS if has(name))
