"""Other libraries can use operant's environments as a Gymnasium vector environment."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode

from operant.trainer.envs import load_spec
from operant.trainer.envs.as_gymnasium import GymnasiumVectorEnv
from operant.trainer.envs.names import ENV_NAMES

NUM_ENVS = 3


@pytest.fixture(params=ENV_NAMES)
def envs(request):
    return GymnasiumVectorEnv(request.param, NUM_ENVS)


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


@pytest.mark.parametrize("name", ["cart_pole", "mountain_car_continuous"])
def test_an_episode_goes_as_gymnasiums_own_from_the_same_start(name):
    """Over all of an episode, with a tolerance for what rounding becomes by its end."""
    envs = GymnasiumVectorEnv(name, 1)
    obs, _ = envs.reset(seed=4)
    theirs = gymnasium.make(load_spec(name).name)
    theirs.reset(seed=0)
    theirs.unwrapped.state = obs[0].astype(np.float64)
    envs.action_space.seed(0)
    for _ in range(2000):
        action = envs.action_space.sample()
        obs, reward, terminated, truncated, infos = envs.step(action)
        expected = theirs.step(action[0])
        ended = terminated[0] or truncated[0]
        seen = infos["final_obs"][0] if ended else obs[0]
        np.testing.assert_allclose(seen, expected[0], atol=1e-4)
        assert reward[0] == pytest.approx(expected[1], abs=1e-5)
        assert (terminated[0], truncated[0]) == expected[2:4]
        if ended:
            break
    assert ended


def test_gymnasiums_vector_wrappers_work_on_it():
    envs = GymnasiumVectorEnv("cart_pole", 4)
    wrapped = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)
    wrapped.reset(seed=1)
    lengths = []
    for _ in range(100):
        *_, infos = wrapped.step(wrapped.action_space.sample())
        if "episode" in infos:
            lengths += infos["episode"]["l"][infos["_episode"]].tolist()
    assert len(lengths) > 4
    assert min(lengths) > 5
