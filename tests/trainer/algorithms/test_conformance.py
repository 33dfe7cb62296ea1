"""Every algorithm does what runs expect of it, with every kind of actions it can choose."""

from __future__ import annotations

import io

import numpy as np
import onnxruntime
import pytest
import torch
from learning import differing, flat, iterate, learn, saved_state

from operant.trainer.config.from_values import make_config
from operant.trainer.config.sections import ALGORITHMS
from operant.trainer.config.train_config import algorithm_sections
from operant.trainer.envs.hosts import load_spec
from operant.trainer.experiment.build import device_experiment, processor_experiment
from operant.trainer.experiment.evaluation import evaluate
from operant.trainer.experiment.onnx_export import write_onnx
from operant.trainer.machine.threads import Threads
from operant.trainer.policies.actor_critic import ActorCritic
from operant.trainer.policies.q_network import QPolicy

pytestmark = pytest.mark.slow

ENVS = {"discrete": "cart_pole", "continuous": "mountain_car_continuous"}
SUPPORTED = []
for name, section in algorithm_sections().items():
    for kind, env in ENVS.items():
        if section().can_act(load_spec(env).actions):
            SUPPORTED.append(pytest.param((name, env), id=f"{name}-{kind}"))

# PPO with a policy that remembers.
for kind in ("lstm", "gru"):
    for actions, env in ENVS.items():
        SUPPORTED.append(pytest.param((f"ppo {kind}", env), id=f"ppo-{kind}-{actions}"))

SMALL = {
    "num_envs": 8, "rollout_steps": 16, "total_env_steps": 8 * 16 * 6, "num_threads": 1,
    "policy": {"hidden_sizes": [16, 16]},
    "evaluation": {"num_episodes": 5, "max_episode_steps": 50},
}  # fmt: skip
FROM_ROLLOUTS = {"normalization": {"obs": True, "reward": True}}
FROM_REPLAY = {"normalization": {"obs": True}, "replay": {"capacity": 8 * 100}}
OF_REPLAY = {"warmup_env_steps": 128, "batch_size": 32, "updates_per_env_step": 0.125}


def values_of(algorithm, **others):
    """A small run's configuration, whatever the algorithm learns from: "ppo", or "ppo lstm"."""
    algorithm, _, memory = algorithm.partition(" ")
    small = {**SMALL, "policy": {**SMALL["policy"], "memory": {"kind": memory or "none"}}}
    is_from_replay = "replay" in algorithm_sections()[algorithm].tables
    section = {"learning_rate": 1e-2, **(OF_REPLAY if is_from_replay else {})}
    besides = FROM_REPLAY if is_from_replay else FROM_ROLLOUTS
    return {**small, **besides, "algorithm": algorithm, algorithm: section, **others}


class Trained:
    """A run of four iterations by one algorithm, environment and executor, and its state after two
    of them, from which the tests go on.
    """

    def __init__(self, algorithm, env, executor):
        self.algorithm, self.env, self.executor = algorithm, env, executor
        self.threads = Threads(1)
        whole = self.make()
        self.first_weights = parameters(whole)
        self.values = iterate(whole, 2)
        self.half, self.saved = parameters(whole), saved_state(whole)
        iterate(whole, 2)
        self.end = whole.state_dict()

    def make(self, seed=1):
        config = make_config(values_of(self.algorithm, env=self.env, seed=seed))
        if self.executor == "device":  # as a GPU runs it, without graphs
            return device_experiment(config, torch.device("cpu"))
        return processor_experiment(config, self.threads)

    def resumed(self):
        """An experiment that goes on after two iterations."""
        made = self.make()
        made.load_state_dict(torch.load(io.BytesIO(self.saved), weights_only=True), 2)
        return made


@pytest.fixture(scope="module", params=["processor", "device"])
def executor(request):
    return request.param


@pytest.fixture(scope="module", params=SUPPORTED)
def trained(request, executor):
    made = Trained(*request.param, executor)
    yield made
    made.threads.close()


def parameters(experiment):
    return experiment.policy.flat_parameters.detach().clone()


def test_every_algorithm_of_the_table_is_tried():
    assert {case.values[0][0].split()[0] for case in SUPPORTED} == set(ALGORITHMS)


def test_iterations_move_the_policy_and_give_what_its_section_says(trained):
    experiment, values = trained.resumed(), trained.values
    assert torch.isfinite(trained.half).all()
    assert (trained.half != trained.first_weights).float().mean() > 0.5
    assert {metric.name for metric in experiment.algorithm.section.metrics} <= values.keys()
    assert all(np.isfinite(value) for name, value in values.items() if name.startswith("loss/"))
    assert experiment.env_steps == 2 * 8 * 16


def test_the_same_seed_gives_the_same_run_and_another_another(trained):
    same, other = trained.make(), trained.make(seed=2)
    for experiment in (same, other):
        iterate(experiment, 2)
    assert torch.equal(parameters(same), trained.half)
    assert not torch.equal(parameters(other), trained.half)


def test_a_resumed_run_equals_one_never_stopped_and_evaluations_change_nothing(trained):
    rest = trained.resumed()
    for _ in range(2):
        rest.evaluate(3)
        iterate(rest)
    assert rest.iteration == 4
    assert differing(trained.end, rest.state_dict()) == []


def test_a_time_limit_is_bootstrapped_from_the_final_observation_and_an_end_is_not(trained):
    def learned(terminated, final_obs):
        experiment = trained.resumed()
        rollout = experiment.collect()
        rollout.has_values = False
        rollout.truncated.zero_()
        rollout.terminated.zero_()
        rollout.truncated[3] = True
        rollout.terminated[3] = terminated
        rollout.final_obs.fill_(final_obs)
        learn(experiment)
        return parameters(experiment)

    # One that ends as its time is up has ended: what comes after counts for nothing.
    assert torch.equal(learned(True, 0.0), learned(True, 0.5))
    assert not torch.equal(learned(False, 0.0), learned(False, 0.5))


def test_greedy_episodes_are_the_same_every_time(trained):
    experiment = trained.resumed()
    one, other = experiment.evaluate(5), experiment.evaluate(5)
    assert one.returns.tolist() == other.returns.tolist()
    spec = load_spec(trained.env)
    directly = evaluate(experiment.policy, spec, 5, experiment.config.seed, 50)
    assert directly.returns.tolist() == one.returns.tolist()
    assert len(one.returns) == 5


def spoil_next_rollout(experiment, field, value):
    """One number of the next rollout becomes `value`, as if an environment had given it."""
    collector = experiment.collector
    collect = collector.collect

    def spoiled():
        rollout = collect()
        tensor = getattr(rollout, field)
        if not tensor.is_floating_point():
            pytest.skip("actions that can be counted are always finite")
        tensor[3, 2] = value
        collector.collect = collect
        return rollout

    collector.collect = spoiled


@pytest.mark.parametrize(
    ("field", "value"), [("obs", np.nan), ("rewards", -np.inf), ("actions", np.nan)]
)
def test_after_one_number_that_is_not_finite_the_run_learns_on(trained, field, value):
    experiment = trained.resumed()
    spoil_next_rollout(experiment, field, value)
    iterate(experiment)
    before = parameters(experiment)
    values = iterate(experiment, 2)
    assert (parameters(experiment) != before).float().mean() > 0.5
    assert all(np.isfinite(x) for name, x in values.items() if name.startswith("loss/"))
    state = experiment.state_dict()
    state["learner"].pop("replay", None)  # which holds what it was given
    assert [name for name, x in flat(state).items() if not x.float().isfinite().all()] == []
    assert all(x.isfinite().all() for x in experiment.algorithm.weights)
    if np.isnan(value):  # infinite rewards are clipped where they are normalised
        experiment.evaluate(3)  # on a GPU, notices are collected then
        (notice,) = [x for x in experiment.take_notices() if "finite" in x]
        what = {"obs": "observation", "actions": "action"}[field]
        assert f"the {what} nan (in step 3 of row 2" in notice or "which comes" not in notice


def scores_of(policy, obs):
    """Q-values or logits of discrete actions."""
    if isinstance(policy, QPolicy):
        return policy.values(obs)
    return policy.outputs(obs) if isinstance(policy, ActorCritic) else None


@pytest.mark.parametrize("executor", ["processor"], indirect=True)
def test_an_exported_policy_acts_as_it_does_here(tmp_path, trained):
    policy, obs_size = trained.resumed().policy, load_spec(trained.env).obs_size
    if policy.state_size:
        pytest.skip("test_recurrent_policies.py exports those that remember")
    obs = 3 * torch.randn(10_000, obs_size, generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        here = policy.greedy(obs).numpy()
        scores = scores_of(policy, obs)
    write_onnx(policy, obs_size, tmp_path / "policy.onnx", "a test")
    session = onnxruntime.InferenceSession(
        tmp_path / "policy.onnx", providers=["CPUExecutionProvider"]
    )
    (there,) = session.run(["action"], {"observation": obs.numpy()})
    (one,) = session.run(["action"], {"observation": obs[:1].numpy()})
    assert one.shape == (1, *here.shape[1:])
    if np.issubdtype(here.dtype, np.integer):
        best = scores.sort(-1).values
        is_tied = (best[:, -1] - best[:, -2] < 1e-5).numpy()
        assert (here == there)[~is_tied].all()
        assert is_tied.mean() < 0.01
    else:
        np.testing.assert_allclose(here, there, atol=1e-5)
