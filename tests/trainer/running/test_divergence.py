"""Weights that are no longer numbers end a run, with what they come from."""

from __future__ import annotations

import contextlib
import itertools

import gymnasium
import numpy as np
import pytest
import torch
from learning import differing, iterate

from operant.shared import MetricsReader, MetricsWriter
from operant.trainer.config.from_values import make_config
from operant.trainer.config.metrics import metrics_of
from operant.trainer.envs.checking import EnvError
from operant.trainer.envs.workers import gymnasium_batch
from operant.trainer.experiment.build import processor_experiment
from operant.trainer.experiment.checkpoints import list_checkpoints, load_checkpoint
from operant.trainer.machine.threads import Threads
from operant.trainer.running.health import DivergedError, NothingLearnedError, check_weights
from operant.trainer.running.loop import train


class Bad(gymnasium.Env):
    """Sixteen steps an episode; something in the third of all is not a number."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)

    def __init__(self, reward=1.0, seen=0.0, is_continuous=False, every_episode=False):
        self.reward, self.seen, self.num_episodes = reward, seen, 0
        self.every_episode, self.actions = every_episode, []
        box = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
        self.action_space = box if is_continuous else gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.num_episodes, self.count = self.num_episodes + 1, 0
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.count += 1
        self.actions.append(action)
        is_bad = self.count == 10 and (self.every_episode or self.num_episodes == 3)
        obs = np.array([0.5, self.seen if is_bad else 0.0], np.float32)
        return obs, self.reward if is_bad else 1.0, False, self.count == 16, {}


@pytest.fixture
def register(monkeypatch):
    """Registers `operant/Bad-v0` with arguments; gives the environments that are made of it. Their
    numbers are not checked, as those of other hosts are not.
    """
    monkeypatch.setattr(gymnasium_batch, "is_finite", lambda numbers: True)
    monkeypatch.setattr("gymnasium.envs.registration.registry", {})

    def register(**given):
        made = []

        def make(**_):
            made.append(Bad(**given))
            return made[-1]

        gymnasium.register("operant/Bad-v0", make, disable_env_checker=True)
        return made

    return register


def train_on_bad(config, operant_pages, tmp_path, fails=""):
    """The page after a training, for reading."""
    metrics = metrics_of(config)
    page = MetricsWriter.create(operant_pages / "p", "run", metrics, publish_interval_s=1)
    with pytest.raises(NothingLearnedError, match=fails) if fails else contextlib.nullcontext():
        train(config, page, tmp_path)
    return MetricsReader.attach(operant_pages / "p")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"reward": float("nan")}, "an environment gave the reward nan (in step 9 of row 0"),
        ({"reward": float("inf")}, "an environment gave the reward inf (in step 9 of row 0"),
        # Of the observation that the step led to, which the next one begins with.
        ({"seen": float("nan")}, "an environment gave the observation nan (in step 10 of row 0"),
    ],
)
@pytest.mark.parametrize("memory", ["none", "gru"])
def test_a_number_that_is_not_finite_costs_an_update_and_is_told(
    small_config, operant_pages, tmp_path, register, given, told, memory
):
    register(**given)
    config = small_config(
        "env=gymnasium:operant/Bad-v0", "num_envs=1", "rollout_steps=32", "total_env_steps=320",
        "ppo.num_minibatches=1", "checkpoint.every_iterations=1", "checkpoint.keep=99",
        "evaluation.every_iterations=0", f"policy.memory.kind={memory}",
    )  # fmt: skip
    reader = train_on_bad(config, operant_pages, tmp_path)
    (event,) = [x.text for x in reader.events() if "was skipped" in x.text]
    assert event == (
        f"an update was skipped, since its gradient was not finite: {told} of the rollout); "
        "updates/skipped counts such updates"
    )
    # Two episodes are one rollout; the bad one is in the second.
    policies = [load_checkpoint(path).state["policy"] for path in list_checkpoints(tmp_path)]
    moved = [bool(differing(a, b)) for a, b in itertools.pairwise(policies)]
    assert moved[:2] == [False, True]
    assert all(x.isfinite().all() for x in policies[-1].values())


def test_iterations_that_learn_nothing_are_told_once_and_at_the_end(
    small_config, operant_pages, tmp_path, register
):
    register(reward=float("nan"), every_episode=True)
    config = small_config(
        "env=gymnasium:operant/Bad-v0", "num_envs=1", "rollout_steps=32", "total_env_steps=160",
        "ppo.num_minibatches=1", "ppo.num_epochs=3", "evaluation.every_iterations=0",
        "ppo.learning_rate=0.5",
    )  # fmt: skip
    reader = train_on_bad(
        config, operant_pages, tmp_path, fails="nothing was learned in the last 5"
    )
    assert list_checkpoints(tmp_path)
    assert reader.read().metrics["updates/skipped"] == 15
    assert [event.text for event in reader.events() if event.level == "warning"] == [
        "iteration 1 learned nothing: 3 of its 3 updates were skipped",
        "15 of the 15 updates of these 5 iterations were skipped, so little was learned: look for "
        "NaN and infinity in observations and rewards",
    ]


@pytest.mark.parametrize("algorithm", ["ppo", "sac", "ddpg"])
def test_actions_that_are_no_numbers_reach_no_environment(
    operant_pages, tmp_path, register, algorithm
):
    envs = register(seen=float("nan"), is_continuous=True, every_episode=True)
    replay, section = {}, {}
    if algorithm != "ppo":
        replay = {"replay": {"capacity": 4000}}
        section = {"warmup_env_steps": 32, "batch_size": 16}
    config = make_config({
        "env": "gymnasium:operant/Bad-v0", "algorithm": algorithm, "num_envs": 1,
        "rollout_steps": 16, "total_env_steps": 160, "num_threads": 1,
        "evaluation": {"every_iterations": 0}, algorithm: section, **replay,
    })  # fmt: skip
    with pytest.raises(EnvError, match="gives step an action with NaN or infinity"):
        train_on_bad(config, operant_pages, tmp_path)
    assert np.isfinite([action for env in envs for action in env.actions]).all()


def test_weights_that_are_not_the_policys_count_as_well(make_experiment):
    config = make_config({
        "env": "pendulum", "algorithm": "sac", "num_envs": 4, "rollout_steps": 8,
        "num_threads": 1, "replay": {"capacity": 4000},
    })  # fmt: skip
    threads = Threads(1)
    experiment = processor_experiment(config, threads)
    experiment.algorithm.log_alpha.fill_(torch.nan)
    with pytest.raises(DivergedError, match=r"^weights of critics, targets or alpha are no longer"):
        check_weights(experiment, {"loss/value": float("nan")})
    threads.close()


def test_updates_that_go_too_far_are_told_apart(make_experiment):
    experiment = make_experiment()
    iterate(experiment)
    with torch.no_grad():
        experiment.policy.flat_parameters[3] = float("inf")
    with pytest.raises(DivergedError, match=r"since iteration 1: .* a smaller learning rate"):
        check_weights(experiment, {"loss/policy": 0.1, "loss/value": float("nan")})


def test_an_update_that_was_skipped_ends_nothing(make_experiment):
    experiment = make_experiment()
    check_weights(experiment, {"loss/policy": float("nan")})
