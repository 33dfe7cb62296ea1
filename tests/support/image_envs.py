"""Environments that show pictures, and networks of one's own for what environments show."""

from __future__ import annotations

import gymnasium
import numpy as np
from torch import nn

STEPS = 8  # of an episode


class Sides(gymnasium.Env):
    """A bright square is on the left or on the right; 1 for the action that says where."""

    shape: tuple[int, ...] = (8, 8, 3)
    observation_space = gymnasium.spaces.Box(0, 255, shape, np.uint8)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return self.picture(), {}

    def draw(self, highest):
        return int(self.np_random.integers(highest))

    def picture(self):
        height, width = 8, 8
        self.side = self.draw(2)
        picture = np.zeros((height, width), np.uint8)
        row, column = self.draw(height - 3), self.draw(width // 2 - 3) + self.side * width // 2
        picture[row : row + 3, column : column + 3] = 255
        return self.shown(picture)

    def shown(self, picture):
        return np.repeat(picture[:, :, None], 3, 2)

    def step(self, action):
        reward = self.reward(action)
        self.count += 1
        return self.picture(), reward, False, self.count == STEPS, {}

    def reward(self, action):
        return float(action == self.side)


class Large(Sides):
    """The same in 40 x 36 pixels, of four channels, the first axis, for the Nature network."""

    shape = (4, 40, 36)
    observation_space = gymnasium.spaces.Box(0, 255, shape, np.uint8)

    def shown(self, picture):
        large = np.kron(picture, np.ones((5, 5), np.uint8))[:, 2:38]
        return np.repeat(large[None], 4, 0)


class Regular(Sides):
    """Shows the same pictures in every episode, so that it goes on exactly where one begins."""

    def draw(self, highest):
        self.drawn = getattr(self, "drawn", 0) + 1
        return (self.drawn * self.drawn // 3) % highest

    def reset(self, *, seed=None, options=None):
        self.drawn = 0
        return super().reset(seed=seed)


class RegularLarge(Regular, Large):
    """Large pictures, the same in every episode."""


class Aimed(Regular):
    """A real-valued action, which is to be near -1 or 1."""

    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def reward(self, action):
        return -abs(float(action[0]) - (2 * self.side - 1))


class AimedLarge(Aimed, RegularLarge):
    """A real-valued action for large pictures."""


class Grey(Sides):
    """Without an axis of channels."""

    observation_space = gymnasium.spaces.Box(0, 255, (8, 8), np.uint8)

    def shown(self, picture):
        return picture


class Floats(Sides):
    """Numbers from 0 to 1 in place of bytes."""

    observation_space = gymnasium.spaces.Box(0, 1, (8, 8, 3), np.float32)

    def shown(self, picture):
        return super().shown(picture).astype(np.float32) / 255


class Unscaled(Large):
    """Numbers up to 255."""

    observation_space = gymnasium.spaces.Box(0, 255, (4, 40, 36), np.float32)

    def shown(self, picture):
        return super().shown(picture).astype(np.float32)


class Table(Sides):
    """Two axes of any numbers: no picture."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (8, 8), np.float32)

    def shown(self, picture):
        return picture.astype(np.float32)


class Pair(nn.Module):
    """A small network for observations of any shape."""

    def __init__(self, obs_shape):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(), nn.Linear(int(np.prod(obs_shape)), 12), nn.LayerNorm(12), nn.Tanh()
        )

    def forward(self, obs):
        return self.layers(obs)


class NoModule:
    def __init__(self, obs_shape):
        pass


class WrongShape(Pair):
    def forward(self, obs):
        return super().forward(obs)[0]


class NoParameters(nn.Module):
    def __init__(self, obs_shape):
        super().__init__()

    def forward(self, obs):
        return obs.flatten(1)


class NaNs(Pair):
    def forward(self, obs):
        return super().forward(obs) / 0 * 0


class NoTensor(Pair):
    def forward(self, obs):
        return [1.0]


class Unused(Pair):
    def __init__(self, obs_shape):
        super().__init__(obs_shape)
        self.idle = nn.Linear(3, 3)


class Frozen(Pair):
    def __init__(self, obs_shape):
        super().__init__(obs_shape)
        self.requires_grad_(False)


class Doubles(Pair):
    def __init__(self, obs_shape):
        super().__init__(obs_shape)
        self.double()


class Drops(Pair):
    def __init__(self, obs_shape):
        super().__init__(obs_shape)
        self.layers.append(nn.Dropout(0.5))


class DropsSome(Pair):
    def forward(self, obs):
        return nn.functional.dropout(super().forward(obs), 0.5, self.training)


class Centred(Pair):
    def forward(self, obs):
        features = super().forward(obs)
        return features - features.mean(0)


class InPlace(Pair):
    def forward(self, obs):
        return super().forward(obs.mul_(0.5))


class InDoubles(Pair):
    def forward(self, obs):
        return super().forward(obs).double()


class Fails(Pair):
    def __init__(self, obs_shape):
        raise KeyError("no weights")
