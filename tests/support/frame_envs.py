"""A small game that shows pictures, whose frames, lives and rewards are known."""

from __future__ import annotations

import gymnasium
import numpy as np

from operant.trainer.envs.preprocessing.settings import Preprocessing

FRAMES_OF_A_LIFE = 6
LIVES = 2


class Game(gymnasium.Env):
    """Frame k is of the brightness k in its red channel, and only even frames show a white corner.
    A frame pays 3. Each of two lives lasts six frames; the game keeps the actions it is given.
    """

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    observation_space = gymnasium.spaces.Box(0, 255, (40, 36, 3), np.uint8)
    action_space = gymnasium.spaces.Discrete(3)

    def __init__(self, render_mode="rgb_array"):
        self.render_mode = render_mode

    def get_action_meanings(self):
        return ["NOOP", "LEFT", "RIGHT"]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.frame, self.actions = 0, []
        return self.picture(), self.info()

    def picture(self):
        picture = np.zeros((40, 36, 3), np.uint8)
        picture[..., 0] = self.frame
        if self.frame % 2 == 0:
            picture[:4, :4] = 255
        return picture

    def info(self):
        return {"lives": LIVES - self.frame // FRAMES_OF_A_LIFE}

    def step(self, action):
        self.frame += 1
        self.actions.append(int(action))
        is_over = self.frame == LIVES * FRAMES_OF_A_LIFE
        return self.picture(), 3.0, is_over, False, self.info()

    def render(self):
        return self.picture()


class NoLives(Game):
    def info(self):
        return {}


class Vectors(gymnasium.Env):
    """Counts its steps, five an episode."""

    observation_space = gymnasium.spaces.Box(0, 10, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return self.obs(), {}

    def obs(self):
        return np.array([self.count, 10 - self.count], np.float32)

    def step(self, action):
        self.count += 1
        return self.obs(), 1.0, self.count == 5, False, {}


for name in ("Game", "NoLives"):  # workers import them by these ids
    gymnasium.register(f"Frames{name}-v0", entry_point=f"frame_envs:{name}")


def game(**settings):
    """A game with these settings."""
    from operant.trainer.envs.preprocessing.wrappers import preprocessed

    return preprocessed(Game(), Preprocessing(**settings))
