"""Images of Gymnasium's environments arrive as rows of bytes, wherever they are stepped."""

from __future__ import annotations

from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from image_envs import STEPS, RegularLarge
from vector_envs import vector_envs

from operant.trainer.envs.hosts import load_spec, make_envs
from operant.trainer.envs.spaces import seen_in
from operant.trainer.envs.vector import Transitions
from operant.trainer.envs.workers.dividing import WorkerPlan
from operant.trainer.jit.streams import TRAINING

LARGE = load_spec("gymnasium:image_envs:RegularLarge")


@pytest.mark.parametrize(
    ("space", "dtype", "shape", "limits"),
    [
        (spaces.Box(0, 255, (4, 3), np.uint8), np.uint8, (4, 3), (0, 255)),
        (spaces.Box(0, 1, (4, 3, 2), np.bool_), np.uint8, (4, 3, 2), (0, 1)),
        (spaces.MultiBinary((4, 3)), np.uint8, (4, 3), (0, 1)),
        (spaces.Box(-2, 3, (4, 3), np.float32), np.float32, (4, 3), (-2, 3)),
        (spaces.Box(-2, 3, (4, 3), np.int8), np.float32, (4, 3), (-2, 3)),
    ],
)
def test_arrays_keep_their_shape_and_bytes_their_type(space, dtype, shape, limits):
    seen = seen_in(gymnasium, "env", space)
    assert seen == {
        "obs_size": np.prod(shape), "obs_type": dtype, "obs_shape": shape, "obs_range": limits,
    }  # fmt: skip


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(0, 255, (12,), np.uint8),
        spaces.Discrete(12),
    ],
)
def test_all_else_is_a_vector_of_numbers(space):
    assert seen_in(gymnasium, "env", space) == {"obs_size": 12}


def own_envs():
    """Stands in for an environment's own vector version."""
    mode = gymnasium.vector.AutoresetMode.SAME_STEP
    make = gymnasium.vector.SyncVectorEnv
    return vector_envs(lambda n: make([RegularLarge] * n, autoreset_mode=mode), 4)


MAKERS = {
    "here": lambda: make_envs(LARGE, 4, 1, TRAINING),
    "in workers": lambda: make_envs(replace(LARGE, plan=WorkerPlan(num_workers=2)), 4, 1, TRAINING),
    "by its own": own_envs,
}


@pytest.mark.slow
@pytest.mark.parametrize("where", MAKERS)
def test_pictures_and_those_that_episodes_end_with_arrive_whole(where):
    known = RegularLarge()
    envs = MAKERS[where]()
    try:
        out = Transitions.of(envs.spec, 4)
        envs.reset(out.obs)
        assert out.obs.dtype == np.uint8
        pictures = [known.reset()[0]]
        for _ in range(STEPS):
            assert (out.obs == pictures[-1].reshape(-1)).all()
            envs.step(np.zeros(4, np.int64), out)
            pictures.append(known.step(0)[0])
        assert out.truncated.all()
        assert (out.final_obs == pictures[-1].reshape(-1)).all()
        assert (out.obs == pictures[0].reshape(-1)).all()  # of the next episode
    finally:
        envs.close()
