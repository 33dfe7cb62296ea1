"""Environments with what `Preprocessing` says, by Gymnasium's wrappers in one order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces, wrappers

from ....shared.errors import ConfigError
from ....shared.install_command import install_command
from ...spaces.encoders import image_of
from ..workers.arrays import GAME
from .settings import Preprocessing

NOOP = "NOOP"


def made(
    make: Callable[..., Any], spec: Any, settings: Preprocessing, options: dict[str, Any]
) -> Any:
    """An environment of `make`, which takes options of Gymnasium's `spec` unless that is None.
    Raises ConfigError where it has no use for one of the settings.
    """
    if spec is None or not str(spec.entry_point).startswith("ale_py"):
        env = make(**options)
        return preprocessed(env, settings) if isinstance(env, gymnasium.Env) else env
    # Atari's emulator repeats actions and turns frames grey by itself.
    ale: dict[str, Any] = {
        "full_action_space": settings.full_action_space,
        "repeat_action_probability": settings.sticky_actions,
        "frameskip": settings.frame_skip and 1,
    }
    if settings.greyscale and spec.kwargs.get("obs_type", "rgb") == "rgb":
        ale["obs_type"] = "grayscale"
        settings = replace(settings, greyscale=None)
    given = {key: value for key, value in ale.items() if value is not None}
    left = replace(settings, full_action_space=None, sticky_actions=None)
    return preprocessed(make(**given, **options), left)


def preprocessed(env: Any, settings: Preprocessing) -> Any:
    """`env` with the settings. Raises ConfigError where it has no use for one."""
    if settings.full_action_space:
        raise _error("full_action_space", "true", "it is for Atari's games, such as ALE/Pong-v5")
    if settings.sticky_actions:
        env = wrappers.StickyAction(env, settings.sticky_actions)
    if settings.noop_starts:
        env = NoopStarts(env, settings.noop_starts)
    skip = settings.frame_skip or 1
    frames = getattr(env.spec, "max_episode_steps", None)
    limits = [limit for limit in (settings.time_limit, frames and -(-frames // skip)) if limit]
    if settings.frame_skip and getattr(env.unwrapped, "_frameskip", 1) != 1:
        own = env.unwrapped._frameskip
        raise _error("frame_skip", skip, f"the environment skips frames itself, frameskip = {own}")
    if skip > 1:
        _check_box("frame_skip", skip, env)
        env = wrappers.MaxAndSkipObservation(env, skip)
    if settings.time_limit:
        env = wrappers.TimeLimit(env, settings.time_limit)
    if settings.splits_games:
        env = Games(env, bool(settings.life_loss), bool(settings.reward_sign))
    if settings.greyscale:
        _check_image("greyscale", "true", env, "colour images [height, width, 3]", (3,), (3,))
        env = wrappers.GrayscaleObservation(env)
    if settings.resize:
        side = list(settings.resize)
        _check_image("resize", side, env, "images [height, width] or [height, width, n]", (2, 3))
        try:
            env = wrappers.ResizeObservation(env, settings.resize)
        except gymnasium.error.DependencyNotInstalled:
            missing = f"opencv is not installed: {install_command('atari')}"
            raise _error("resize", side, missing) from None
    if settings.frame_stack and settings.frame_stack > 1:
        if limits and settings.frame_stack > min(limits):
            reason = f"episodes have at most {min(limits)} steps; stack fewer frames"
            raise _error("frame_stack", settings.frame_stack, reason)
        env = _stacked(env, settings.frame_stack)
    return env


def _stacked(env: Any, depth: int) -> Any:
    """Frames along the first axis, as channels if they have some, or end to end if vectors."""
    _check_box("frame_stack", depth, env)
    shape = env.observation_space.shape
    image, env = image_of(shape), wrappers.FrameStackObservation(env, depth)
    if image and depth * image.channels >= image.width:  # which would be taken for the channels
        most = (image.width - 1) // image.channels
        reason = f"images are {image.width} wide: stack {most} at most, or enlarge them by resize"
        raise _error("frame_stack", depth, reason)
    if len(shape) == 2:
        return env
    last = image is not None and image.channel_axis == 2

    def joined(frames: Any) -> Any:
        frames = np.moveaxis(frames, -1, 1) if last else frames
        return frames.reshape(-1, *frames.shape[2:]) if image else frames.reshape(-1)

    stack = env.observation_space
    low, high = joined(stack.low), joined(stack.high)
    return wrappers.TransformObservation(env, joined, spaces.Box(low, high, low.shape, stack.dtype))


class NoopStarts(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Games begin with 1 to `most` frames without an action."""

    def __init__(self, env: Any, most: int) -> None:
        super().__init__(env)
        self._most = most
        meanings = getattr(env.unwrapped, "get_action_meanings", lambda: [""])()
        if meanings[0] != NOOP:
            reason = "the environment has no action NOOP as its first; use 0"
            raise _error("noop_starts", most, reason)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        for _ in range(self.unwrapped.np_random.integers(1, self._most + 1)):
            obs, _, terminated, truncated, info = self.env.step(0)
            if terminated or truncated:
                obs, info = self.env.reset(options=options)
        return obs, info


class Games(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Episodes that a lost life ends, and signs of rewards; `info[GAME]` has the game's own reward,
    and whether the game is over. After a lost life the next episode goes on with the game.
    """

    def __init__(self, env: Any, ends_lives: bool, signs: bool) -> None:
        super().__init__(env)
        self._ends_lives, self._signs = ends_lives, signs
        self._goes_on = False  # the game does, while the episode is over

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        if not self._goes_on or seed is not None:
            self._last = self.env.reset(seed=seed, options=options)
        self._goes_on = False
        self._lives = self._lives_in(self._last[1])
        return self._last

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._last = obs, info
        is_over = bool(terminated or truncated)
        lives = self._lives_in(info)
        self._goes_on = lives < self._lives and not is_over
        self._lives = lives
        info = {**info, GAME: (float(reward), is_over)}
        reward = float(np.sign(float(reward))) if self._signs else reward
        return obs, reward, terminated or self._goes_on, truncated, info

    def _lives_in(self, info: dict[str, Any]) -> int:
        if not self._ends_lives:
            return 0
        if info.get("lives") is None:
            raise _error("life_loss", "true", "the environment gives no info['lives']; use false")
        return int(info["lives"])


def _check_box(key: str, value: Any, env: Any) -> None:
    space = env.observation_space
    if not isinstance(space, spaces.Box):
        raise _error(key, value, f"observations are {space}; it is for one array of numbers")


def _check_image(
    key: str,
    value: Any,
    env: Any,
    expected: str,
    num_axes: tuple[int, ...],
    channels: tuple[int, ...] = (),
) -> None:
    """Raises ConfigError unless observations are bytes of an image as `expected`."""
    _check_box(key, value, env)
    space = env.observation_space
    is_image = len(space.shape) in num_axes and (not channels or space.shape[-1] in channels)
    is_bytes = space.dtype == np.uint8 and (space.low == 0).all() and (space.high == 255).all()
    if not (is_image and is_bytes):
        raise _error(
            key,
            value,
            f"it is for {expected} of bytes (uint8, 0 to 255), and observations are "
            f"{space.shape} of {space.dtype}",
        )


def _error(key: str, value: Any, reason: str) -> ConfigError:
    return ConfigError(f"preprocessing.{key} = {value}: {reason}")
