"""An image of bytes, shown once, which only a policy with memory can name at the end."""

from __future__ import annotations

import numpy as np
import pytest

import operant
from operant.trainer.config.files import load_config
from operant.trainer.envs.hosts import load_spec
from operant.trainer.envs.image_recall import BAR, COLUMN, NUM_BARS, NUM_STEPS, ROW, SIDE
from operant.trainer.envs.vector import Transitions, VectorEnv

pytestmark = pytest.mark.slow

PRESET = "image_recall_memory_ppo"
PATTERNS = (
    ((0, 0, 0), (1, 1, 1), (0, 0, 0)),
    ((0, 1, 0), (0, 1, 0), (0, 1, 0)),
    ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    ((0, 0, 1), (0, 1, 0), (1, 0, 0)),
)


@pytest.fixture
def begun():
    envs = VectorEnv(load_spec("image_recall"), 300, seed=1)
    out = Transitions.of(envs.spec, 300)
    envs.reset(out.obs)
    return envs, out


def test_the_first_image_alone_shows_the_bar(begun):
    envs, out = begun
    images = out.obs.reshape(-1, SIDE, SIDE).copy()
    assert images.dtype == np.uint8
    fields = envs.state.fields.astype(int)
    assert set(fields[BAR]) == set(range(NUM_BARS))
    assert set(fields[ROW]) == set(fields[COLUMN]) == set(range(SIDE - 2))
    for image, bar, row, column in zip(images, *fields[[BAR, ROW, COLUMN]], strict=True):
        expected = np.zeros((SIDE, SIDE), np.uint8)
        expected[row : row + 3, column : column + 3] = 255 * np.array(PATTERNS[bar])
        assert np.array_equal(image, expected)
    for number in range(1, NUM_STEPS):
        envs.step(np.zeros(300, np.int64), out)
        images = out.obs.reshape(-1, SIDE, SIDE)
        inside = images[:, 1:-1, 1:-1].any((1, 2)).sum()
        if number < NUM_STEPS - 1:
            assert (np.count_nonzero(images, (1, 2)) == 1).all()
        else:
            assert (images[:, 0] == 255).all()
        assert inside < 300  # the dot is anywhere, whatever the bar


def test_only_the_last_action_pays(begun):
    envs, out = begun
    bars = envs.state.fields[BAR].astype(np.int64)
    wrong = (bars + 1) % NUM_BARS
    for number in range(NUM_STEPS):
        is_last = number == NUM_STEPS - 1
        actions = np.where(np.arange(300) % 2, bars, wrong) if is_last else bars
        envs.step(actions, out)
        assert out.terminated.all() == is_last
        assert out.reward.tolist() == [float(is_last and env % 2) for env in range(300)]


def test_its_policy_has_convolutions_and_its_images_stay_bytes():
    config = load_config(PRESET)
    assert (config.facts().encoder, config.policy.memory.kind) == ("minatar", "lstm")
    fused = ["device=cuda", "rollout=fused"]
    with pytest.raises(operant.UsageError, match="rollout = fused: image_recall takes its steps"):
        operant.train(PRESET, **dict(part.split("=") for part in fused))


def test_memory_alone_names_the_image():
    """Without memory one of four is right."""
    small = {"total_env_steps": 120_000, "num_threads": 1}
    assert operant.evaluate(operant.train(PRESET, **small), 200).mean > 0.9
    run = operant.train(PRESET, **small, **{"policy.memory.kind": "none"})
    assert operant.evaluate(run, 200).mean < 0.4
