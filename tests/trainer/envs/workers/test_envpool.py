"""EnvPool's environments: episodes begin in the step that ends one, and games are whole."""

from __future__ import annotations

import sys
from contextlib import closing

import numpy as np
import pytest

from operant.shared.errors import ConfigError
from operant.trainer.envs.hosts import load_spec, make_envs
from operant.trainer.envs.preprocessing.settings import Preprocessing
from operant.trainer.envs.vector import Transitions
from operant.trainer.envs.workers.dividing import WorkerPlan
from operant.trainer.jit.streams import TRAINING


def test_a_missing_package_is_answered_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "envpool", None)
    with pytest.raises(ConfigError, match="envpool is not installed: pip install "):
        load_spec("envpool:Pong-v5")


class TestWithThePackage:
    @pytest.fixture(autouse=True)
    def _needs_the_package(self):
        pytest.importorskip("envpool")

    def test_an_episode_begins_in_the_step_in_which_the_last_one_ends(self):
        spec = load_spec("envpool:CartPole-v1")
        with closing(make_envs(spec, 2, 1, TRAINING)) as envs:
            assert not envs.has_dead_steps
            out = Transitions.of(spec, 2)
            envs.reset(out.obs)
            lengths = []
            for step in range(40):
                envs.step(np.array([1, step % 2]), out)
                if out.terminated[0]:
                    lengths.append(step)
                    assert abs(out.final_obs[0, 2]) > 0.2095  # it fell
                    assert abs(out.obs[0]).max() <= 0.05  # and stands again
            assert 3 <= len(lengths) <= 5
            # An action to the right speeds the first step of an episode up: none is left out.
            count, return_, length = envs.take_episode_totals()
            assert return_ == length
            assert count >= len(lengths)

    def test_what_happens_depends_on_the_seed_and_not_on_workers(self):
        found = []
        for seed, plan in ((1, None), (1, WorkerPlan(2)), (2, None)):
            spec = load_spec("envpool:CartPole-v1", plan)
            with closing(make_envs(spec, 4, seed, TRAINING)) as envs:
                out = Transitions.of(spec, 4)
                envs.reset(out.obs)
                for step in range(25):
                    envs.step(np.arange(4) % 2 ^ step % 2, out)
                found.append(out.obs.copy())
        assert (found[0] == found[1]).all()
        assert (found[0] != found[2]).any()

    def test_lives_end_episodes_and_games_are_reported(self):
        settings = Preprocessing(life_loss=True, reward_sign=True, noop_starts=1)
        spec = load_spec("envpool:Breakout-v5", preprocessing=settings)
        assert (spec.obs_shape, spec.obs_type) == ((4, 84, 84), np.uint8)
        ends, most, games = 0, 0.0, (0, 0.0, 0.0)
        with closing(make_envs(spec, 1, 1, TRAINING)) as envs:
            out = Transitions.of(spec, 1)
            envs.reset(out.obs)
            actions = np.random.default_rng(1).integers(4, size=(2000, 1))
            for action in actions:
                envs.step(action, out)
                most = max(most, out.reward[0])
                ends += int(out.terminated[0])
                if ends == 5:
                    games = envs.take_episode_totals()
                    break
        assert most == 1.0
        assert games[0] == 1
        assert games[1] > 0

    def test_a_time_limit_truncates_and_ends_the_game(self):
        settings = Preprocessing(time_limit=5, reward_sign=True)
        spec = load_spec("envpool:Pong-v5", preprocessing=settings)
        with closing(make_envs(spec, 1, 1, TRAINING)) as envs:
            out = Transitions.of(spec, 1)
            envs.reset(out.obs)
            flags = []
            for _ in range(10):
                envs.step(np.array([0]), out)
                flags.append(bool(out.truncated[0]))
            assert flags == [False, False, False, False, True] * 2
            assert envs.take_episode_totals() == (2, 0.0, 10.0)

    @pytest.mark.parametrize(
        ("task", "settings", "problem"),
        [
            ("Pongg-v5", {}, r"env = 'envpool:Pongg-v5': EnvPool has no such task; did you mean"),
            ("CartPole-v1", {"greyscale": True}, r"greyscale = True: .* CartPole-v1 has no gray"),
            ("CartPole-v1", {"resize": (4, 4)}, r"preprocessing\.resize: .* has no images"),
            ("CheetahRun-v1", {}, r"observations must be a Box"),
            ("Pong-v5", {"frame_stack": 4, "time_limit": 3}, r"frame_stack = 4: .* at most 3 step"),
        ],
    )
    def test_what_cannot_be_is_one_line(self, task, settings, problem):
        with pytest.raises(ConfigError, match=problem):
            load_spec(f"envpool:{task}", preprocessing=Preprocessing(**settings))
