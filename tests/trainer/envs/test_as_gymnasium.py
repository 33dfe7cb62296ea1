"""Other libraries can use operant's environments as a Gymnasium vector environment."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode

from operant.trainer.envs.as_gymnasium import GymnasiumVectorEnv
from operant.trainer.envs.names import ENV_NAMES

NUM_ENVS = 3


@pytest.fixture(params=["cart_pole"])
def envs(request):
    return GymnasiumVectorEnv(request.param, NUM_ENVS)


@pytest.mark.slow
@pytest.mark.parametrize("envs", ENV_NAMES, indirect=True)
def test_spaces_are_those_of_gymnasiums_own(envs):
    if envs.operant_spec.name not in gymnasium.registry:
        pytest.skip("Gymnasium has no such environment")
    theirs = gymnasium.make_vec(envs.operant_spec.name, NUM_ENVS, vectorization_mode="sync")
    assert envs.single_action_space == theirs.single_action_space
    assert envs.action_space == theirs.action_space
    assert envs.single_observation_space.shape == theirs.single_observation_space.shape
    for bound in ("low", "high"):
        ours = getattr(envs.observation_space, bound)
        np.testing.assert_allclose(ours, getattr(theirs.observation_space, bound), rtol=1e-6)
    assert envs.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP


@pytest.mark.slow
@pytest.mark.parametrize("envs", ENV_NAMES, indirect=True)
def test_what_is_given_has_the_promised_shapes_and_types(envs):
    envs.action_space.seed(1)
    obs, infos = envs.reset(seed=1)
    assert obs in envs.observation_space
    assert infos == {}
    for _ in range(250):
        obs, rewards, terminated, truncated, infos = envs.step(envs.action_space.sample())
        assert obs in envs.observation_space
        assert rewards.shape == terminated.shape == truncated.shape == (NUM_ENVS,)
        assert (rewards.dtype, terminated.dtype, truncated.dtype) == (np.float32, bool, bool)
        ended = terminated | truncated
        assert ("final_obs" in infos) == ended.any()
        for env in np.flatnonzero(ended):
            assert infos["_final_obs"][env]
            assert infos["final_obs"][env] in envs.single_observation_space
            assert not np.array_equal(infos["final_obs"][env], obs[env])
        if ended.any():
            assert all(infos["final_obs"][env] is None for env in np.flatnonzero(~ended))


def test_the_same_seed_gives_the_same_rollout(envs):
    def rollout():
        envs.action_space.seed(2)
        steps = [envs.reset(seed=5)]
        steps += [envs.step(envs.action_space.sample()) for _ in range(30)]
        return steps

    first, second = rollout(), rollout()
    assert data_equivalence(first, second)


def test_a_reset_without_a_seed_is_another_each_time_and_follows_from_the_seed(envs):
    def resets():
        return [envs.reset(seed=3)[0], envs.reset()[0], envs.reset()[0]]

    first, second = resets(), resets()
    assert data_equivalence(first, second)
    assert len(np.unique(np.concatenate(first), axis=0)) == 3 * NUM_ENVS


def test_earlier_answers_are_left_alone_unless_asked_otherwise(envs):
    obs, _ = envs.reset(seed=1)
    kept = obs.copy()
    envs.step(envs.action_space.sample())
    assert np.array_equal(obs, kept)
    shared = GymnasiumVectorEnv("cart_pole", 1, copy=False)
    obs, _ = shared.reset(seed=1)
    assert shared.step(np.array([1]))[0] is obs


def test_wrong_use_is_said_in_words(envs):
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.step(envs.action_space.sample())
    with pytest.raises(ValueError, match="no reset options"):
        envs.reset(options={"low": 0})
    envs.reset(seed=1)
    with pytest.raises(ValueError, match="actions have shape"):
        envs.step(envs.action_space.sample()[:1])
    envs.close()
    assert envs.closed
