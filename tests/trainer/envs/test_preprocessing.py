"""Frames, actions, rewards and episodes after preprocessing, on a small game and on Atari's."""

from __future__ import annotations

from contextlib import closing

import gymnasium
import numpy as np
import pytest
from frame_envs import FRAMES_OF_A_LIFE, Vectors, game
from gymnasium.wrappers import FrameStackObservation
from image_envs import Large

from operant.shared.errors import ConfigError
from operant.trainer.config.files import load_config
from operant.trainer.config.from_values import make_config
from operant.trainer.envs.hosts import describe, load_spec, make_envs
from operant.trainer.envs.preprocessing.settings import Preprocessing
from operant.trainer.envs.preprocessing.wrappers import preprocessed
from operant.trainer.envs.vector import Transitions
from operant.trainer.envs.workers.dividing import SERIAL, WorkerPlan
from operant.trainer.envs.workers.gymnasium_batch import maker
from operant.trainer.jit.streams import EVALUATION, TRAINING

GAME, VECTORS = "gymnasium:frame_envs:Game", "gymnasium:frame_envs:Vectors"


def after_steps(env, num_steps, action=1):
    """The result of the last of these steps, after a reset."""
    env.reset(seed=1)
    return [env.step(action) for _ in range(num_steps)][-1]


def test_a_skip_repeats_the_action_sums_rewards_and_shows_the_brighter_of_two_frames():
    env = game(frame_skip=3)
    obs, reward, *_ = after_steps(env, 1)
    assert env.unwrapped.actions == [1, 1, 1]
    assert reward == 9.0
    assert obs[-1, -1].tolist() == [3, 0, 0]  # the third frame
    assert obs[0, 0].tolist() == [255, 255, 255]  # the corner, which the second alone has


def test_grey_and_smaller_images_are_bytes():
    env = game(greyscale=True, resize=(20, 12))
    obs = after_steps(env, 2)[0]
    assert obs.shape == env.observation_space.shape == (20, 12)
    assert obs.dtype == env.observation_space.dtype == np.uint8
    assert obs[0, 0] >= 254
    assert obs[-1, -1] == 0  # red of brightness 2, of which a fifth is seen
    assert game(resize=(20, 12)).observation_space.shape == (20, 12, 3)


def test_a_stack_shows_the_last_frames_oldest_first_and_begins_with_the_first_one():
    env = game(greyscale=True, frame_stack=3, resize=(10, 9))
    first = env.reset(seed=1)[0]
    assert first.shape == env.observation_space.shape == (3, 10, 9)
    assert (first == first[0]).all()
    frames = [env.step(1)[0] for _ in range(3)][-1]
    assert (frames[:, 0, 0] > 99).tolist() == [False, True, False]  # frames 1, 2 and 3


def test_stacked_colours_are_channels_and_stacked_vectors_are_longer():
    colours = game(frame_stack=2)
    obs = after_steps(colours, 3)[0]
    assert obs.shape == colours.observation_space.shape == (6, 40, 36)
    assert obs[:, -1, -1].tolist() == [2, 0, 0, 3, 0, 0]
    first = preprocessed(Large(), Preprocessing(frame_stack=2))  # whose channels come first
    obs = first.reset(seed=1)[0]
    assert obs.shape == first.observation_space.shape == (8, 40, 36)
    assert (obs[:4] == obs[4:]).all()
    numbers = preprocessed(Vectors(), Preprocessing(frame_stack=2))
    assert after_steps(numbers, 3)[0].tolist() == [2, 8, 3, 7]
    assert numbers.observation_space.high.tolist() == [10, 10, 10, 10]


def test_a_stack_with_more_channels_than_columns_is_refused():
    with pytest.raises(ConfigError, match=r"images are 36 wide: stack 11 at most, or enlarge"):
        game(frame_stack=12)
    with pytest.raises(ConfigError, match="stack 35 at most"):
        game(greyscale=True, frame_stack=36)
    assert game(frame_stack=11).observation_space.shape == (33, 40, 36)


def test_a_sticky_action_repeats_the_frame_before():
    env = game(sticky_actions=0.5)
    env.reset(seed=3)
    given = [i % 3 for i in range(11)]
    for action in given:
        env.step(action)
    taken = env.unwrapped.actions
    assert taken[0] == given[0]
    repeats = [taken[i] == taken[i - 1] != given[i] for i in range(1, 11)]
    assert 0 < sum(repeats) < 10
    assert all(taken[i] in (given[i], taken[i - 1]) for i in range(1, 11))


def test_games_begin_with_frames_without_an_action():
    env = game(noop_starts=4, frame_skip=2)
    lengths = set()
    for seed in range(20):
        env.reset(seed=seed)
        assert set(env.unwrapped.actions) == {0}
        lengths.add(len(env.unwrapped.actions))
    assert lengths == {1, 2, 3, 4}  # frames: the skip counts those of actions alone


def test_a_time_limit_counts_steps_and_truncates():
    env = game(frame_skip=2, time_limit=3)
    assert after_steps(env, 2)[2:4] == (False, False)
    assert after_steps(env, 3)[2:4] == (False, True)


def test_a_lost_life_ends_an_episode_and_the_next_goes_on_with_the_game():
    env = game(life_loss=True)
    *_, terminated, _, info = after_steps(env, FRAMES_OF_A_LIFE)
    assert terminated
    assert info["game"] == (3.0, False)
    obs, info = env.reset()
    assert env.unwrapped.frame == FRAMES_OF_A_LIFE
    assert obs[-1, -1, 0] == FRAMES_OF_A_LIFE
    assert info["lives"] == 1
    for _ in range(FRAMES_OF_A_LIFE):
        *_, terminated, _, info = env.step(1)
    assert terminated
    assert info["game"] == (3.0, True)
    env.reset()
    assert env.unwrapped.frame == 0
    env.step(1)
    env.reset()  # in the middle of a life
    assert env.unwrapped.frame == 0


def played(settings, plan=SERIAL, stream=TRAINING, steps=12):
    """Rewards, ends and the totals of steps in two environments."""
    spec = load_spec(GAME, plan, Preprocessing(**settings))
    with closing(make_envs(spec, 2, 1, stream)) as envs:
        out = Transitions.of(envs.spec, 2)
        envs.reset(out.obs)
        rows = []
        for _ in range(steps):
            envs.step(np.array([1, 2]), out)
            rows.append((out.reward.copy(), out.terminated.copy()))
        rewards, ends = map(np.array, zip(*rows, strict=True))
        return rewards, ends, envs.take_episode_totals()


@pytest.mark.slow
@pytest.mark.parametrize("plan", [SERIAL, WorkerPlan(2)])
def test_what_is_learned_from_is_split_and_what_is_reported_is_whole(plan):
    rewards, ends, totals = played({"life_loss": True, "reward_sign": True}, plan)
    assert (rewards == 1).all()
    assert np.flatnonzero(ends[:, 0]).tolist() == [5, 11]  # both lives
    assert totals == (2, 72.0, 24.0)  # two games of 12 frames that pay 3


def test_evaluations_play_whole_games_for_their_own_rewards():
    rewards, ends, totals = played({"life_loss": True, "reward_sign": True}, stream=EVALUATION)
    assert (rewards == 3).all()
    assert np.flatnonzero(ends[:, 0]).tolist() == [11]
    assert totals == (2, 72.0, 24.0)


def test_observations_of_a_stack_stay_bytes_and_final_ones_are_those_of_the_lost_life():
    settings = Preprocessing(life_loss=True, greyscale=True, resize=(36, 36), frame_stack=4)
    spec = load_spec(GAME, preprocessing=settings)
    assert (spec.obs_shape, spec.obs_type, spec.obs_range) == ((4, 36, 36), np.uint8, (0, 255))
    with closing(make_envs(spec, 1, 1, TRAINING)) as envs:
        out = Transitions.of(spec, 1)
        assert out.obs.dtype == np.uint8
        envs.reset(out.obs)
        for _ in range(FRAMES_OF_A_LIFE):
            envs.step(np.array([1]), out)
        assert out.terminated[0]
        corners = out.final_obs.reshape(4, 36, 36)[:, 0, 0] > 99
        assert corners.tolist() == [False, True, False, True]  # frames 3 to 6
        assert (out.obs.reshape(4, 36, 36)[:, 0, 0] > 99).all()  # frame 6, four times


@pytest.mark.parametrize(
    ("env", "settings", "problem"),
    [
        (VECTORS, {"greyscale": True},
         r"preprocessing\.greyscale = true: it is for colour images \[height, width, 3\] of bytes "
         r"\(uint8, 0 to 255\), and observations are \(2,\) of float32"),
        (VECTORS, {"noop_starts": 3}, r"preprocessing\.noop_starts = 3: .* no action NOOP"),
        (VECTORS, {"full_action_space": True}, r"full_action_space = true: it is for Atari's"),
        ("gymnasium:image_envs:Floats", {"resize": (4, 4)}, r"resize = \[4, 4\]: .*of float32"),
        ("gymnasium:frame_envs:NoLives", {"life_loss": True}, r"gives no info\['lives'\]; use fal"),
        ("gymnasium:FramesGame-v0", {"frame_stack": 5, "frame_skip": 2, "time_limit": 4},
         r"preprocessing\.frame_stack = 5: episodes have at most 4 steps; stack fewer frames"),
        ("gymnasium:FrozenLake-v1", {"frame_stack": 2}, r"frame_stack = 2: observations are Disc"),
    ],
)  # fmt: skip
def test_a_setting_without_a_use_is_one_line(env, settings, problem):
    with pytest.raises(ConfigError, match=problem):
        load_spec(env, preprocessing=Preprocessing(**settings))


def test_a_missing_opencv_is_answered_with_the_command(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cv2", None)
    with pytest.raises(ConfigError, match=r"opencv is not installed: pip install .*\[atari"):
        game(resize=(4, 4))


def config_of(env=GAME, **settings):
    return make_config({"env": env, "preprocessing": settings, "num_envs": 2})


def test_a_protocol_is_settings_that_keys_win_over():
    config = config_of(protocol="deepmind", frame_stack=2, resize=40)
    found = describe(config).preprocessing
    assert (found.frame_stack, found.resize, found.life_loss) == (2, (40, 40), True)
    assert config.facts().encoder == "nature"
    assert describe(config_of()).preprocessing == Preprocessing()


def test_an_encoder_that_needs_larger_images_says_so():
    settings = {"greyscale": True, "resize": 20}
    with pytest.raises(ConfigError, match=r"nature needs images of at least 36 x 36"):
        make_config({"env": GAME, "preprocessing": settings, "policy": {"encoder": "nature"}})


def test_an_environment_that_is_vectorised_by_itself_takes_no_settings():
    with pytest.raises(ConfigError, match=r"^preprocessing\.frame_stack = 2: gymnasium\.vec"):
        make_config({
            "env": "gymnasium:CartPole-v1", "gymnasium": {"vectorization": "own"},
            "preprocessing": {"frame_stack": 2},
        })  # fmt: skip


class TestAtari:
    @pytest.fixture(autouse=True)
    def _needs_the_package(self):
        pytest.importorskip("ale_py")
        pytest.importorskip("cv2")

    @pytest.mark.slow
    def test_pong_is_that_of_gymnasiums_own_wrapper(self):
        """500 random steps, no-ops and the ends of two short games with them."""
        settings = Preprocessing(
            frame_skip=4, greyscale=True, resize=(84, 84), frame_stack=4, sticky_actions=0.25,
            noop_starts=30, time_limit=200,
        )  # fmt: skip
        ours = maker("ALE/Pong-v5", preprocessing=settings)()
        raw = gymnasium.make("ALE/Pong-v5", frameskip=1, repeat_action_probability=0.25)
        timed = gymnasium.wrappers.TimeLimit(gymnasium.wrappers.AtariPreprocessing(raw), 200)
        theirs = FrameStackObservation(timed, 4)
        actions = np.random.default_rng(5).integers(6, size=500)
        assert (ours.reset(seed=7)[0] == theirs.reset(seed=7)[0]).all()
        num_over = 0
        for action in actions:
            mine, other = ours.step(action), theirs.step(action)
            assert (mine[0] == other[0]).all()
            assert mine[1:4] == other[1:4]
            if mine[2] or mine[3]:
                num_over += 1
                assert (ours.reset()[0] == theirs.reset()[0]).all()
        assert num_over == 2

    def test_an_id_starts_from_the_protocol_of_its_references(self):
        config = load_config("ALE/Pong-v5", ["algorithm=dqn"])
        assert config.table("preprocessing").protocol == "deepmind"
        spec = describe(config)
        assert (spec.obs_shape, spec.actions.n, config.facts().encoder) == (
            (4, 84, 84),
            6,
            "nature",
        )
        config = load_config("ALE/Pong-v5", ["preprocessing.protocol=machado"])
        assert describe(config).actions.n == 18

    def test_an_environment_that_skips_frames_itself_is_refused(self):
        env = gymnasium.make("ALE/Pong-v5")
        with pytest.raises(ConfigError, match=r"frame_skip = 4: the environment skips frames itse"):
            preprocessed(env, Preprocessing(frame_skip=4))
