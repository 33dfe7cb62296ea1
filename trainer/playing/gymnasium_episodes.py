"""Episodes of a Gymnasium environment, as it draws itself.

Episode k of a seed is the one that the environment number k of an evaluation with that seed plays.
"""

from __future__ import annotations

import os
import sys
from inspect import signature
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...shared.episodes.scene import Frame, Moment
from ...shared.errors import UsageError
from ..envs.checking import action_problem
from ..envs.masks import MaskedSpace, mask_method
from ..envs.names import GYMNASIUM_PREFIX
from ..envs.own_envs import own_env
from ..envs.preprocessing.settings import AS_IT_IS, Preprocessing
from ..envs.space_rows import env_action
from ..envs.spaces import first_line, import_gymnasium
from ..envs.workers.gymnasium_batch import is_factory, maker
from ..envs.workers.hosted import first_seed
from ..experiment.trained_policy import TrainedPolicy
from ..jit.streams import EVALUATION
from ..settings.importing import imported
from ..settings.own_code import user_code

MODE = "rgb_array"
TRACKING = "track"  # the camera of Gymnasium's walking robots


class GymnasiumEpisodes:
    """Episodes of the environment with that id, made anew with `render_mode="rgb_array"`."""

    num_episodes: int | None = None

    num_agents = 1

    def __init__(self, trained: TrainedPolicy) -> None:
        """Raises UsageError where the environment does not draw itself."""
        self.env, self.seed = trained.config.env, trained.config.seed
        self._trained = trained
        spec = trained.spec
        whole_games = spec.preprocessing.for_evaluation()
        self._env, gymnasium = make_drawn(spec.name, whole_games), import_gymnasium()
        self._flatten, self._has_masks = gymnasium.spaces.flatten, spec.mask_size > 0
        self._masked = MaskedSpace(gymnasium, self._env.observation_space, spec.actions)
        self._method = mask_method(self._env)

    def begin(self, seed: int, number: int) -> None:
        obs, info = self._env.reset(seed=first_seed(seed, EVALUATION) + number)
        self._obs = self._row(obs, info)
        self._elapsed, self._return, self._ending = 0, 0.0, ""
        self._memory = self._trained.first_state(1)

    def step(self) -> bool:
        if self._ending:
            return True
        obs = torch.from_numpy(self._obs.reshape(1, -1))
        actions, self._memory = self._trained.step(obs, self._memory)
        if problem := action_problem(actions.numpy()):
            raise UsageError(f"{self.env}: {problem}")
        action = env_action(self._env.action_space, actions.numpy()[0])
        obs, reward, terminated, truncated, info = self._env.step(action)
        self._obs = self._row(obs, info)
        self._elapsed += 1
        self._return += float(reward)
        self._ending = "ended" if terminated else "time limit" if truncated else ""
        return bool(self._ending)

    def _row(self, obs: Any, info: Any) -> NDArray[np.float32]:
        """The observation as the policy takes it, with the action mask at its end."""
        row = self._flatten(self._masked.space, self._masked.without_mask(obs))
        row = np.asarray(row, np.float32)
        if not self._has_masks:
            return row
        return np.append(row, self._masked.masks(obs, info, self._method, is_over=True)[0])

    def moment(self, selected: int) -> Moment:
        try:
            pixels = np.asarray(self._env.render())
        except Exception as error:  # whatever a library says that has nothing to draw with
            reason = f"{type(error).__name__}: {first_line(error)}"
            raise UsageError(f"{self.env} cannot be drawn: {reason}") from None
        if pixels.ndim != 3 or pixels.shape[2] != 3 or not pixels.size:
            raise UsageError(f"{self.env} draws no RGB picture: its shape is {pixels.shape}")
        view = Frame(np.ascontiguousarray(pixels, np.uint8))
        is_over = bool(self._ending)
        return Moment(view, self._elapsed, (self._return,), (self._ending,), is_over)

    def close(self) -> None:
        self._env.close()


def make_drawn(name: str, preprocessing: Preprocessing = AS_IT_IS) -> Any:
    """A Gymnasium environment that draws itself; a user's class or function gets the argument
    `render_mode` if it takes one. Raises UsageError.
    """
    gymnasium = import_gymnasium(name)
    if own := own_env(name) or (imported("env", name) if is_factory(name) else None):
        takes_mode = "render_mode" in signature(own).parameters
        options: dict[str, Any] = {"render_mode": MODE} if takes_mode else {}
        with user_code(f"env = '{GYMNASIUM_PREFIX}{name}': making it"):
            made = maker(name, preprocessing=preprocessing, **options)()
        if made.render_mode != MODE:
            made.close()
            raise UsageError(
                f"{GYMNASIUM_PREFIX}{name} cannot be shown: its render_mode is "
                f"{made.render_mode!r}, and not '{MODE}'"
            )
        check_display(name, made)
        return made
    try:
        one = gymnasium.make(name)
        modes = one.metadata.get("render_modes") or []
        camera = _camera_of(one)
        one.close()
        if MODE not in modes:
            available = ", ".join(map(str, modes)) or "none"
            raise UsageError(
                f"{GYMNASIUM_PREFIX}{name} cannot be shown: it has no render_mode "
                f"'{MODE}' (it has: {available})"
            )
        env = maker(name, preprocessing=preprocessing, render_mode=MODE, **camera)()
        check_display(name, env)
    except (gymnasium.error.Error, ImportError, AttributeError, ValueError, TypeError) as error:
        raise UsageError(f"{GYMNASIUM_PREFIX}{name} cannot be shown: {first_line(error)}") from None
    return env


def _camera_of(env: Any) -> dict[str, Any]:
    """The option for a camera that follows the robot, where a MuJoCo model has one."""
    if not hasattr(env.unwrapped, "mujoco_renderer"):
        return {}
    cameras = [env.unwrapped.model.camera(i).name for i in range(env.unwrapped.model.ncam)]
    return {"camera_name": TRACKING} if TRACKING in cameras else {}


def check_display(name: str, env: Any) -> None:
    """Raises UsageError where MuJoCo would look for a display in vain."""
    is_mujoco = hasattr(env.unwrapped, "mujoco_renderer")
    has_display = any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "MUJOCO_GL")))
    if is_mujoco and sys.platform == "linux" and not has_display:
        env.close()
        raise UsageError(
            f"{GYMNASIUM_PREFIX}{name} cannot be drawn: MuJoCo looks for a display, and there is "
            "none; set MUJOCO_GL=egl in the environment, or osmesa, with libosmesa6 installed"
        )
