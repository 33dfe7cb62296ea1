"""Batched environments of one's own, which write into arrays that they are given."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest
from learning import iterate

from operant.shared.errors import ConfigError
from operant.trainer.config.from_values import make_config
from operant.trainer.envs.hosts import load_spec, make_envs
from operant.trainer.envs.vector import Transitions
from operant.trainer.envs.workers.dividing import WorkerPlan
from operant.trainer.envs.workers.hosted import first_seed
from operant.trainer.envs.workers.processes import WorkerError
from operant.trainer.jit.streams import TRAINING


@pytest.mark.slow
@pytest.mark.parametrize("plan", [WorkerPlan(), WorkerPlan(2), WorkerPlan(4, 2)])
def test_they_step_here_and_in_workers_alike(plan):
    spec = load_spec("native:native_envs:make", plan)
    with closing(make_envs(spec, 4, 1, TRAINING)) as envs:
        out = Transitions.empty(2, 4)
        envs.reset(out.obs)
        seeds = (first_seed(1, TRAINING) + np.arange(4)) % 1000
        assert out.obs.tolist() == [[seed, 0] for seed in seeds]
        for _ in range(4):
            envs.step(np.array([0, 1, 1, 0]), out)
        assert out.reward.tolist() == [0, 1, 1, 0]
        assert out.terminated.all()
        assert not out.truncated.any()
        assert out.final_obs[:, 1].tolist() == [4] * 4
        assert out.obs[:, 1].tolist() == [0] * 4
        assert envs.take_episode_totals() == (4, 8.0, 16.0)


@pytest.mark.slow
def test_what_fails_for_all_at_once_names_no_environment():
    spec = load_spec("native:native_envs:make_failing", WorkerPlan(2))
    with closing(make_envs(spec, 4, 1, TRAINING)) as envs:
        out = Transitions.empty(2, 4)
        envs.reset(out.obs)
        with pytest.raises(WorkerError, match=r"^worker \d \(environments \d to \d\): RuntimeE"):
            envs.step(np.zeros(4, np.int64), out)


def test_rows_of_agents_that_are_gone_count_for_nothing():
    with closing(make_envs(load_spec("native:native_envs:make_pairs"), 1, 1, TRAINING)) as envs:
        out = Transitions.empty(2, 2)
        envs.reset(out.obs)
        flags = []
        for _ in range(4):
            envs.step(np.zeros(2, np.int64), out)
            flags.append([out.valid.tolist(), out.terminated.tolist(), out.reward.tolist()])
        assert flags == [
            [[True, True], [False, True], [1, 1]],
            [[True, False], [False, False], [1, 0]],
            [[True, False], [False, False], [1, 0]],
            [[True, False], [True, False], [1, 0]],
        ]
        assert envs.take_episode_totals() == (2, 5.0, 5.0)


@pytest.mark.slow
def test_a_policy_learns_on_them(make_experiment):
    experiment = make_experiment("env=native:native_envs:make", "workers.num_workers=2")
    assert iterate(experiment)["episode/length"] == 4
    experiment.close()


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["env=native:native_envs:make_none"], "object has no obs_size, actions, attach, reset"),
        (["env=native:numpy:pi"], "env: 'numpy:pi': pi is not a function but 3.14"),
        (["env=native:native_envs"], "'native_envs' is not a path: write module:function"),
        (["env=native:nowhere:make"], "'nowhere:make': no module is called 'nowhere', here or"),
    ],
)
def test_what_is_not_as_the_protocol_has_it_is_refused_in_one_line(overrides, words):
    with pytest.raises(ConfigError, match=words) as caught:
        make_config({}, overrides)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "raise RuntimeError('two\\nlines \\x1b[31m')",
            "importing broken fails: RuntimeError: two",
        ),
        ("import sys; sys.exit(3)", "importing broken fails: SystemExit: 3"),
    ],
)
def test_a_module_that_cannot_be_imported_is_one_line(tmp_path, monkeypatch, text, words):
    (tmp_path / "broken.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    for env in ("native:broken:make", "gymnasium:broken:make"):
        with pytest.raises(ConfigError, match=words) as caught:
            make_config({}, [f"env={env}"])
        assert "\n" not in str(caught.value)
        assert "\x1b" not in str(caught.value)
