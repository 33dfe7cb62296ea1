"""Every algorithm learns through convolutions, and through a network of the user's."""

from __future__ import annotations

import itertools

import numpy as np
import onnxruntime
import pytest
import torch
from image_envs import STEPS
from learning import iterate

from operant.trainer.config.from_values import make_config
from operant.trainer.config.sections import ALGORITHMS
from operant.trainer.config.train_config import algorithm_sections
from operant.trainer.envs.hosts import describe
from operant.trainer.experiment.build import device_experiment, processor_experiment
from operant.trainer.experiment.onnx_export import write_onnx
from operant.trainer.machine.threads import Threads

# CrossQ takes vectors alone: its batch renormalisation has no encoder before it.
CASES = [*(name for name in ALGORITHMS if name != "crossq"), "ppo lstm"]
ENCODERS = ("nature", "impala", "minatar", "image_envs:Pair")


def values_of(algorithm, encoder, env=None, **others):
    """A small run; of `Pair` the environment is one of operant's own."""
    name, _, memory = algorithm.partition(" ")
    section = algorithm_sections()[name]
    is_real = section.action_kinds == ("Box",)
    if env is None and encoder == "image_envs:Pair":
        env = "pendulum" if is_real else "cart_pole"
    elif env is None:
        size = "Large" if encoder == "nature" else ""
        env = f"gymnasium:image_envs:{'Aimed' if is_real else 'Regular'}{size}"
    from_replay = "replay" in section.tables
    own = {"batch_size": 16, "warmup_env_steps": 16, "updates_per_env_step": 0.25}
    return {
        "env": env, "algorithm": name, "num_envs": 2, "rollout_steps": STEPS,
        "total_env_steps": 2 * STEPS * 8, "num_threads": 1,
        "policy": {
            "encoder": encoder, "hidden_sizes": [16], "memory": {"kind": memory or "none"}
        },
        name: own if from_replay else {"num_epochs": 2, "num_minibatches": 2},
        **({"replay": {"capacity": 200}} if from_replay else {}), **others,
    }  # fmt: skip


@pytest.fixture
def make():
    made = []

    def make_one(algorithm, encoder, executor="processor", **others):
        config = make_config(values_of(algorithm, encoder, **others))
        if executor == "device":  # as a GPU runs it
            made.append(device_experiment(config, torch.device("cpu")))
        else:
            made.append(processor_experiment(config, Threads(1)))
        return made[-1]

    yield make_one
    for experiment in made:
        experiment.close()


def networks_of(experiment):
    """All networks that updates move, by name."""
    found = {"policy": experiment.policy}
    critics = getattr(experiment.algorithm, "critics", None)
    return found if critics is None else {**found, "critics": critics}


def encoders_weights(experiment):
    """The first convolutions or layers of all encoders."""
    return {
        f"{name}.{key}": weight.detach().clone()
        for name, network in networks_of(experiment).items()
        for key, weight in network.named_parameters()
        if ("module." in key and key.endswith("0.weight")) or "layers.1.weight" in key
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "encoder", "executor"),
    [*itertools.product(CASES, ("minatar", "image_envs:Pair"), ("processor",)),
     *itertools.product(CASES, ("image_envs:Pair",), ("device",)),
     *itertools.product(("ppo", "dqn", "sac"), ("nature", "impala"), ("processor",))],
)  # fmt: skip
def test_iterations_move_the_encoder_and_an_exported_policy_acts_as_it_does_here(
    make, tmp_path, algorithm, encoder, executor
):
    experiment = make(algorithm, encoder, executor)
    before = encoders_weights(experiment)
    values = iterate(experiment, 3)
    after = encoders_weights(experiment)
    assert before
    assert all(not torch.equal(before[name], after[name]) for name in before)
    assert all(np.isfinite(value) for name, value in values.items() if name.startswith("loss/"))
    policy, spec = experiment.policy, describe(experiment.config)
    generator = torch.Generator().manual_seed(3)
    obs = torch.randint(0, 256, (500, spec.obs_size), generator=generator).float()
    obs = obs / 64 - 2 if encoder == "image_envs:Pair" else obs
    state = torch.zeros(len(obs), policy.state_size)
    with torch.no_grad():
        here = policy.greedy_step(obs, state)[0].numpy()
    write_onnx(policy, spec.obs_size, tmp_path / "policy.onnx", "a test")
    session = onnxruntime.InferenceSession(
        tmp_path / "policy.onnx", providers=["CPUExecutionProvider"]
    )
    given = {"observation": obs.numpy(), "state": state.numpy()}
    wanted = {entry.name: given[entry.name] for entry in session.get_inputs()}
    there = session.run(["action"], wanted)[0]
    if np.issubdtype(here.dtype, np.integer):
        assert (here == there).mean() > 0.99  # but for ties
    else:
        np.testing.assert_allclose(here, there, atol=1e-4)


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("algorithm", ["dqn", "iqn", "sac", "td3", "ac_iqn"])
def test_gradients_of_taped_networks_are_those_of_autograd(make, algorithm, encoder):
    experiment = make(algorithm, encoder)
    spec = describe(experiment.config)
    generator = torch.Generator().manual_seed(3)
    obs = torch.randint(0, 256, (5, spec.obs_size), generator=generator).to(
        experiment.policy.stored_obs["obs_dtype"]
    )
    taus = torch.rand(5, 3, generator=generator)
    networks = [(experiment.policy.network, (obs, taus) if algorithm == "iqn" else (obs,))]
    if critics := networks_of(experiment).get("critics"):
        actions = torch.rand(5, experiment.policy.action_size, generator=generator)
        inputs = (obs, actions, taus) if algorithm == "ac_iqn" else (obs, actions)
        networks.append((critics, inputs))
    for network, inputs in networks:
        outputs, tape = network.taped(*inputs)
        slopes = torch.randn(outputs.shape, generator=generator)
        gradient = network.gradient(tape, slopes)
        expected = torch.autograd.grad(
            (network(*inputs) * slopes).sum(), network.parameters_to_learn()
        )
        torch.testing.assert_close(gradient, torch.cat([x.flatten() for x in expected]))


@pytest.mark.parametrize("algorithm", ["ppo", "pqn", "dqn"])
def test_pictures_stay_bytes_in_rollouts_and_in_the_replay(make, algorithm):
    experiment = make(algorithm, "auto", env="gymnasium:image_envs:Sides")
    rollout = experiment.collect()
    assert rollout.obs.dtype == rollout.final_obs.dtype == torch.uint8
    assert rollout.obs.max() == 255
    if algorithm == "dqn":
        iterate(experiment, 2)
        replay, batch = experiment.algorithm.replay, experiment.algorithm.batch
        assert replay.arrays["obs"].dtype == batch.obs.dtype == torch.uint8
        assert set(batch.obs.unique().tolist()) == {0, 255}


def test_ppo_sees_pictures_through_one_encoder_and_evaluates_both_in_one_pass(make):
    policy = make("ppo", "auto", env="gymnasium:image_envs:Sides").policy
    calls = []
    policy.encoder.register_forward_hook(lambda *_: calls.append(1))
    obs = torch.randint(0, 256, (7, 192), generator=torch.Generator().manual_seed(1)).byte()
    outputs, values = policy.evaluate(obs)
    assert len(calls) == 1
    assert torch.equal(outputs, policy.outputs(obs))
    assert torch.equal(values, policy.values(obs))
    weights = policy.encoder.module[0].weight.flatten(1)  # orthogonal rows of norm sqrt(2)
    torch.testing.assert_close(weights @ weights.T, 2 * torch.eye(16), atol=1e-5, rtol=0)
