"""Environments of other libraries: the same data however many processes step them."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import psutil
import pytest
import torch

from operant.trainer.collecting.collector import Collector, GroupedCollector
from operant.trainer.envs.hosts import load_spec, make_envs
from operant.trainer.envs.vector import Transitions
from operant.trainer.envs.workers.dividing import WorkerPlan
from operant.trainer.envs.workers.hosted import first_seed
from operant.trainer.jit.streams import TRAINING

pytestmark = pytest.mark.slow

COUNT = "gymnasium:hosted_envs:make_count"
NUM_ENVS = 4
FIRST_ACTION = 1  # of its space
# More workers than this machine may have cores, which is slow and nothing else.
PLANS = {"serial": WorkerPlan(), "1": WorkerPlan(4), "4": WorkerPlan(4, 4)}


def played(env, plan, num_steps=20, num_envs=NUM_ENVS, seed=3):
    """Data of `num_steps` steps, with actions that depend on observations."""
    with closing(make_envs(load_spec(env, plan), num_envs, seed, TRAINING)) as envs:
        out = Transitions.empty(envs.spec.obs_size, envs.num_rows)
        envs.reset(out.obs)
        seen = [out.obs.copy()]
        for _ in range(num_steps):
            envs.step((out.obs[:, 0] % 3).astype(np.int64) + FIRST_ACTION, out)
            seen += [x.copy() for x in out]
        return seen, envs.take_episode_totals()


@pytest.fixture(scope="module")
def serial():
    return played(COUNT, PLANS["serial"])


@pytest.mark.parametrize("name", ["1", "4"])
def test_workers_give_what_stepping_here_gives(serial, name):
    seen, totals = played(COUNT, PLANS[name])
    assert all(map(np.array_equal, seen, serial[0]))
    assert totals == serial[1]
    assert totals[0] > 4


def test_an_environment_plays_as_it_would_by_itself(serial):
    from hosted_envs import Count

    env = Count()
    obs, _ = env.reset(seed=first_seed(3, TRAINING) + 2)
    seen = iter(serial[0])
    assert next(seen)[2].tolist() == obs.tolist()
    for _ in range(20):
        out = Transitions(*(next(seen) for _ in range(6)))
        obs, reward, terminated, truncated, _ = env.step(int(obs[0]) % 3 + FIRST_ACTION)
        assert out.reward[2] == reward
        assert out.terminated[2] == terminated
        assert out.truncated[2] == (truncated and not terminated)
        if terminated or truncated:
            assert out.final_obs[2].tolist() == obs.tolist()
            obs, _ = env.reset()
        assert out.obs[2].tolist() == obs.tolist()
    assert serial[1][0] > 0


def collected(make_experiment, *overrides):
    """Two rollouts of a policy that explores, as copies."""
    experiment = make_experiment("num_envs=4", *overrides)
    try:
        rollouts = []
        for _ in range(2):
            rollout = experiment.collect()
            rollouts.append([
                getattr(rollout, name).clone()
                for name in ("obs", "actions", "rewards", "terminated", "truncated", "log_probs")
            ])  # fmt: skip
        return rollouts, experiment.collector
    finally:
        experiment.close()


@pytest.mark.parametrize(
    ("env", "memory"),
    [("gymnasium:MountainCarContinuous-v0", "none"), (COUNT, "lstm")],
)
def test_a_policy_that_explores_collects_the_same_in_any_number_of_groups(
    make_experiment, monkeypatch, env, memory
):
    overrides = (f"env={env}", f"policy.memory.kind={memory}")
    monkeypatch.setattr("operant.trainer.envs.workers.section.num_cores", lambda: 4)
    serial, collector = collected(make_experiment, *overrides)
    assert type(collector) is Collector
    for groups in (1, 4):
        workers = ("workers.num_workers=4", f"workers.async_factor={groups}")
        rollouts, collector = collected(make_experiment, *overrides, *workers)
        assert type(collector) is (GroupedCollector if groups > 1 else Collector)
        for ours, theirs in zip(rollouts, serial, strict=True):
            for x, y in zip(ours, theirs, strict=True):
                # Products of fewer rows are rounded otherwise.
                torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-5)


def test_a_policy_with_noise_of_each_row_is_refused_in_groups(make_experiment, monkeypatch):
    monkeypatch.setattr("operant.trainer.envs.workers.section.num_cores", lambda: 2)
    before = set(psutil.Process().children())
    with pytest.raises(Exception, match=r"workers.async_factor = 2: .* use 1$"):
        make_experiment(
            "env=gymnasium:Pendulum-v1", "algorithm=sac", "sac.exploration=state_dependent",
            "workers.num_workers=2", "workers.async_factor=2", "replay.capacity=1000",
        )  # fmt: skip
    assert set(psutil.Process().children()) == before


@pytest.mark.parametrize("plan", [WorkerPlan(), WorkerPlan(2)])
def test_episodes_before_a_reset_are_not_counted_after_it(plan):
    with closing(make_envs(load_spec("native:native_envs:make", plan), 4, 1, TRAINING)) as envs:
        out = Transitions.empty(2, 4)
        for num_steps in (6, 4):  # episodes of 4 steps: one is over, and 2 steps of another
            envs.reset(out.obs)
            for _ in range(num_steps):
                envs.step(np.ones(4, np.int64), out)
        # After the reset 4 environments had one episode each; before it they had one as well.
        assert envs.take_episode_totals() == (4, 16.0, 16.0)
        assert envs.take_episode_totals() == (0, 0.0, 0.0)


def test_the_region_has_no_name_and_a_worker_imports_neither_torch_nor_numba(make_experiment):
    experiment = make_experiment("env=gymnasium:CartPole-v1", "workers.num_workers=2")
    (worker, _) = psutil.Process().children()[-2:]
    paths = [mapped.path for mapped in worker.memory_maps()]
    assert any("memfd:operant-workers" in path for path in paths)
    assert not any(path.startswith("/dev/shm") for path in paths)
    assert not any("/torch/" in path or "/llvmlite/" in path for path in paths)
    experiment.close()


def test_where_episodes_begin_anew_a_policy_remembers_nothing(make_experiment):
    experiment = make_experiment(f"env={COUNT}", "policy.memory.kind=lstm")
    state = experiment.state_dict()
    experiment.collect()
    assert experiment.collector.state_dict()["memory"].any()
    experiment.load_state_dict(state, 1)
    assert not experiment.collector.state_dict()["memory"].any()
    experiment.close()


def test_an_environment_that_this_process_registered_runs_in_workers(make_experiment):
    import cloudpickle
    import gymnasium
    import hosted_envs

    gymnasium.register("Registered-v0", lambda: hosted_envs.Count(), max_episode_steps=4)
    assert cloudpickle.dumps(gymnasium.spec("Registered-v0"))
    seen, totals = played("gymnasium:Registered-v0", WorkerPlan(2))
    again, same = played("gymnasium:Registered-v0", WorkerPlan())
    assert all(map(np.array_equal, seen, again))
    assert totals == same
    assert totals[0] >= 4 * 20 // 4  # none is longer than 4 steps
