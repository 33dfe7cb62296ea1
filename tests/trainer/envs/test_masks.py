"""Masks of environments that are stepped many at once: every host, and operant's own worlds."""

from __future__ import annotations

import gymnasium
import masked_envs
import numpy as np
import pytest
import torch
from gymnasium.envs.registration import EnvSpec as GymnasiumEnvSpec
from learning import iterate
from masked_envs import NUM_ACTIONS, NUM_STEPS, VECTORS, Batched, Vector
from toy_envs import Described
from vector_envs import vector_envs

from operant.shared.errors import ConfigError
from operant.trainer.config.from_values import make_config
from operant.trainer.envs import hosts
from operant.trainer.envs.checking import EnvError
from operant.trainer.envs.hosts import describe, load_spec
from operant.trainer.envs.vector import Transitions
from operant.trainer.experiment.build import processor_experiment
from operant.trainer.experiment.plan import plan
from operant.trainer.experiment.traits import ANY_MACHINE
from operant.trainer.machine.threads import Threads

SMALL = {
    "num_envs": 4, "rollout_steps": 16, "num_threads": 1, "total_env_steps": 4 * 16 * 4,
    "policy": {"hidden_sizes": [8]},
}  # fmt: skip
OWN = "minatar_breakout"  # whose spec a test replaces
LEARNERS = ("ppo", "lstm", "gru", "pqn", "dqn", "c51", "qr_dqn", "iqn", "rainbow")
WITH_REPLAY = LEARNERS[4:]


def config_of(learner, env, *overrides, **more):
    if learner in ("lstm", "gru"):
        memory = {"kind": learner, "size": 8}
        return make_config({**SMALL, "env": env, "policy": {"memory": memory}, **more})
    values = {**SMALL, "env": env, "algorithm": learner}
    if learner in WITH_REPLAY:
        values |= {"replay": {"capacity": 256}, "rollout_steps": 8}
        values[learner] = {"warmup_env_steps": 32, "batch_size": 16}
    return make_config({**values, **more}, overrides)


def iterations(config, count=3):
    """The metrics of the last of some iterations and of an evaluation."""
    plan(config, describe(config), ANY_MACHINE)
    threads = Threads(1)
    experiment = processor_experiment(config, threads)
    try:
        values = iterate(experiment, count)
        return values, experiment.evaluate(4, lambda *_: None)
    finally:
        experiment.close()
        threads.close()


@pytest.fixture
def register(monkeypatch):
    """Registers a vector environment as `Masked-v0`."""

    def vector(make):
        entry = GymnasiumEnvSpec("Masked-v0", vector_entry_point=make)
        monkeypatch.setitem(gymnasium.registry, "Masked-v0", entry)

    return vector


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.__name__)
def test_no_illegal_action_in_a_vector_environment(vector, register):
    register(vector)
    iterations(config_of("ppo", "gymnasium:Masked-v0", gymnasium={"vectorization": "own"}))


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.__name__)
def test_rows_of_a_vector_environment_end_with_its_masks(vector):
    made = []

    def make(num_envs):
        made.append(vector(num_envs))
        return made[-1]

    envs = vector_envs(make, 3)
    spec, size = envs.spec, envs.spec.mask_size
    assert spec.obs_size == NUM_ACTIONS + size
    out = Transitions.of(spec, 3)
    envs.reset(out.obs)
    is_several = vector is masked_envs.VectorOfSeveral
    for t in range(NUM_STEPS + 5):
        masks, legal = out.obs[:, NUM_ACTIONS : 2 * NUM_ACTIONS], made[-1].envs
        is_fresh = vector.mode.value == "NextStep" and t == NUM_STEPS
        if not is_fresh:
            assert np.array_equal(masks, [env.unwrapped.is_legal for env in legal])
        actions = masks.argmax(1)
        if is_several:
            actions = np.stack([actions, np.zeros(3, np.int64)], 1)
        envs.step(actions, out)
        if t == NUM_STEPS - 1:  # nothing is legal, or the masks are not known any more
            assert out.terminated.all()
            assert out.final_obs[:, NUM_ACTIONS:].any(1).all()


def test_a_wrong_mask_of_a_vector_environment_names_environment_and_step(register):
    class Faulty(Vector):
        def step(self, actions):
            *given, infos = super().step(actions)
            if self.envs[1].number == 3:
                infos["action_mask"][1] = 0
            return *given, infos

    register(Faulty)
    config = config_of("ppo", "gymnasium:Masked-v0", gymnasium={"vectorization": "own"})
    words = r"Masked-v0': step gives .* no action is legal \(step 3 of its episode\), in env.* 1$"
    with pytest.raises(EnvError, match=words):
        iterations(config)


@pytest.mark.parametrize(
    ("team", "learner"),
    [*(("Team", x) for x in LEARNERS[:5]), ("TeamInDictionary", "ppo"), ("TeamOfSeveral", "ppo")],
)
def test_no_illegal_action_of_an_agent(team, learner):
    iterations(config_of(learner, f"pettingzoo:masked_envs:{team}"))


@pytest.mark.parametrize(
    ("team", "words"),
    [
        ("TeamOfShortMasks", "an action mask of 4 entries, expected 5"),
        ("TeamWithoutMasks", r"no info\['action_mask'\], which it gave when the run began"),
    ],
)
def test_a_wrong_mask_of_an_agent_is_named(team, words):
    where = r" \(step 2 of its episode\), in environment 0$"
    with pytest.raises(EnvError, match=f"{team}': step of agent 'a' gives {words}{where}"):
        iterations(config_of("ppo", f"pettingzoo:masked_envs:{team}"))


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
def test_no_illegal_action_in_a_batched_environment(learner):
    Batched.counts.steps = Batched.counts.illegal = 0
    iterations(config_of(learner, "native:masked_envs:Batched"))
    assert Batched.counts.steps > 100
    assert Batched.counts.illegal == 0


def test_a_batched_environment_without_a_legal_action_is_named():
    words = r"BatchedWithout': step .* no action is legal \(step 8 of its episode\), in env.* 3$"
    with pytest.raises(EnvError, match=words):
        iterations(config_of("ppo", "native:masked_envs:BatchedWithout"))


def test_a_mask_size_that_fits_no_actions_is_refused():
    with pytest.raises(ConfigError, match=r"BatchedUnfit': mask_size = 3, and actions have 5"):
        load_spec("native:masked_envs:BatchedUnfit")


@pytest.fixture(params=["WORLD", "WORLD_OF_SEVERAL"])
def world(request, monkeypatch):
    """A world of operant's own kind, whatever environment a configuration names."""
    spec = getattr(masked_envs, request.param)
    monkeypatch.setattr(hosts, "HOSTS", (Described(spec), *hosts.HOSTS))
    return spec


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS[:5])
def test_no_illegal_action_in_a_world_of_operants_own(world, learner):
    """An illegal one costs 100, and each of the ten others pays 1."""
    if world is masked_envs.WORLD_OF_SEVERAL and learner in ("pqn", "dqn"):
        pytest.skip("values are for one choice")
    values, evaluation = iterations(config_of(learner, OWN), 8)
    assert values["episode/return"] == 10
    assert evaluation.returns.tolist() == [10.0] * 4


@pytest.mark.slow
@pytest.mark.parametrize("memory", ["none", "lstm"])
def test_a_graphics_card_draws_no_illegal_action_of_a_world(world, memory, make_cuda_experiment):
    overrides = [] if memory == "none" else [f"policy.memory.kind={memory}"]
    experiment = make_cuda_experiment(f"env={OWN}", "policy.hidden_sizes=[8]", *overrides)
    values = iterate(experiment, 2)
    assert values["episode/return"] == 10
    experiment.close()


def test_what_knows_no_masks_is_not_taken(world):
    on_gpu = {"device": "cuda", "num_threads": 0}
    for learner in ("ppo", "lstm"):
        planned = plan(config_of(learner, OWN, **on_gpu), world, ANY_MACHINE)
        assert planned.collector == "stepped"
    fused = config_of("ppo", OWN, rollout="fused", **on_gpu)
    with pytest.raises(ConfigError, match="rollout = fused"):
        plan(fused, world, ANY_MACHINE)
    on_processor = plan(config_of("ppo", OWN, device="cpu"), world, ANY_MACHINE)
    assert (on_processor.update, on_processor.collector) == ("pytorch", "sliced")


def test_a_mask_is_no_input_of_a_recurrent_layer(monkeypatch):
    """Two rows that differ in their masks have the same state and value, and other outputs."""
    threads = Threads(1)
    experiment = processor_experiment(config_of("lstm", "native:masked_envs:Batched"), threads)
    policy = experiment.policy
    obs = torch.cat([torch.rand(1, NUM_ACTIONS).expand(2, -1), torch.eye(NUM_ACTIONS)[:2]], 1)
    features, states = policy.step(obs, torch.zeros(2, policy.state_size))
    assert torch.allclose(states[0], states[1], atol=1e-6)  # but for rounding
    values = policy.values(features)
    assert torch.allclose(values[0], values[1], atol=1e-6)
    assert policy.outputs(features).argmax(1).tolist() == [0, 1]
    experiment.close()
    threads.close()
