"""Action masks: no illegal action is ever drawn, and no value of one is a maximum."""

from __future__ import annotations

import gymnasium
import numpy as np
import onnxruntime
import pytest
import torch
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from own_lines import SMALL
from sb3_contrib.common.maskable.distributions import (
    MaskableCategorical,
    MaskableMultiCategoricalDistribution,
)

import operant
from operant.trainer.experiment.onnx_export import write_onnx
from operant.trainer.policies.distributions.categorical import Categorical, MultiCategorical
from operant.trainer.policies.masks import ILLEGAL, any_legal, masked
from operant.trainer.spaces import Discrete as OurDiscrete
from operant.trainer.spaces import MultiDiscrete as OurMultiDiscrete

NUM_ACTIONS = 5
DISCRETE = ("ppo", "pqn", "dqn", "c51", "qr_dqn", "iqn", "rainbow")
OF_REPLAY = {"rollout_steps": 8, "replay.capacity": 512}


class Legal(gymnasium.Env):
    """The highest of the legal entries of the observation is right. An illegal action raises."""

    observation_space = Box(0, 1, (NUM_ACTIONS,), np.float32)
    action_space = Discrete(NUM_ACTIONS)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.number = 0
        return self.show(), self.info()

    def show(self):
        self.obs = self.np_random.random(NUM_ACTIONS).astype(np.float32)
        self.is_legal = self.np_random.random(NUM_ACTIONS) < 0.3
        self.is_legal[self.np_random.integers(NUM_ACTIONS)] = True
        return self.obs

    def info(self):
        return {"action_mask": self.is_legal.astype(np.int8)}

    def step(self, action):
        if not self.is_legal[action]:
            raise ValueError(f"{action} is illegal")
        reward = float(action == np.argmax(np.where(self.is_legal, self.obs, -1)))
        self.number += 1
        obs, is_over = self.show(), self.number == 20
        # Nothing is legal once an episode is over, as in many games.
        info = {"action_mask": np.zeros(NUM_ACTIONS, np.int8)} if is_over else self.info()
        return obs, reward, is_over, False, info


class ByMethod(Legal):
    """The masks come from a method, as sb3-contrib's environments have it."""

    def info(self):
        return {}

    def step(self, action):
        return *super().step(action)[:4], {}

    def action_masks(self):
        return self.is_legal


class Several(Legal):
    action_space = MultiDiscrete([NUM_ACTIONS, 2])

    def info(self):
        return {"action_mask": np.append(self.is_legal, [1, 0])}

    def step(self, action):
        if action[1]:
            raise ValueError("the second choice is illegal")
        *given, info = super().step(action[0])
        return *given, info if len(info["action_mask"]) > NUM_ACTIONS else self.info()


def settings_of(algorithm, **more):
    if algorithm == "ppo":
        return {**SMALL, "total_env_steps": 512, "ppo.num_minibatches": 2, **more}
    if algorithm == "pqn":
        return {**SMALL, "total_env_steps": 512, "pqn.num_minibatches": 2, **more}
    own = {f"{algorithm}.batch_size": 16, f"{algorithm}.warmup_env_steps": 128}
    return {**SMALL, **OF_REPLAY, "total_env_steps": 512, **own, **more}


@pytest.mark.parametrize("algorithm", DISCRETE)
def test_no_algorithm_draws_an_illegal_action(algorithm):
    """The environment raises for one; exploration, warm-up and evaluation are part of the run."""
    run = operant.train(Legal, algorithm=algorithm, **settings_of(algorithm))
    assert run.status().state == "finished"
    assert len(operant.evaluate(run, 8)) == 8


@pytest.mark.parametrize("make", [ByMethod, Several])
def test_masks_of_a_method_and_of_several_choices(make):
    run = operant.train(make, **settings_of("ppo"))
    assert run.status().state == "finished"


def test_workers_have_masks_too():
    class Local(Legal):  # not of a module, which workers would import
        pass

    run = operant.train(Local, **settings_of("ppo", **{"workers.num_workers": 1}))
    assert run.status().state == "finished"


@pytest.mark.slow
def test_no_illegal_action_in_a_million_steps():
    obs = torch.cat([torch.rand(10_000, 9), (torch.rand(10_000, 9) < 0.3).float()], 1)
    obs[:, 9] = 1
    distribution = Categorical(OurDiscrete(9))
    distribution.is_masked = True
    outputs = masked(torch.randn(10_000, 9) * 20, obs, 9)
    generator = torch.Generator().manual_seed(1)
    for _ in range(100):
        noise = torch.rand(10_000, generator=generator)
        noise[:10] = 1 - 2**-24  # the largest there is
        noise[10:20] = 0
        for actions in (distribution.sample(outputs, noise), any_legal(obs, noise, 9)):
            assert obs[:, 9:].gather(1, actions.unsqueeze(1)).all()


def test_probabilities_and_entropies_are_those_of_sb3_contrib():
    torch.manual_seed(1)
    logits, mask = torch.randn(64, 6), torch.rand(64, 6) < 0.5
    mask[:, 2] = True
    actions = torch.multinomial(mask.float(), 1).squeeze(1)
    ours = Categorical(OurDiscrete(6))
    outputs = masked(logits, torch.cat([torch.zeros(64, 3), mask.float()], 1), 6)
    log_probs, entropies = ours.log_prob_and_entropy(outputs, actions)
    theirs = MaskableCategorical(logits=logits, masks=mask)
    assert torch.allclose(log_probs, theirs.log_prob(actions), atol=1e-5)
    assert torch.allclose(entropies, theirs.entropy(), atol=1e-5)

    both = MaskableMultiCategoricalDistribution([4, 2])
    mask = torch.tensor([[1, 0, 1, 1, 0, 1]] * 64).bool()
    both.proba_distribution(logits)
    both.apply_masking(mask.numpy())
    actions = torch.tensor([[2, 1]] * 64)
    ours = MultiCategorical(OurMultiDiscrete((4, 2)))
    found = ours.log_prob_and_entropy(masked(logits, mask.float(), 6), actions)
    assert torch.allclose(found[0], both.log_prob(actions), atol=1e-5)
    assert torch.allclose(found[1], both.entropy(), atol=1e-5)


def test_the_losses_of_ppo_are_those_of_the_masked_distribution():
    """A gradient step changes no probability of an illegal action."""
    outputs = torch.randn(8, 4, requires_grad=True)
    obs = torch.tensor([[1.0, 0.0, 1.0, 0.0]] * 8)
    log_probs, entropy = Categorical(OurDiscrete(4)).log_prob_and_entropy(
        masked(outputs, obs, 4), torch.zeros(8, dtype=torch.int64)
    )
    (gradient,) = torch.autograd.grad((log_probs + entropy).sum(), outputs)
    assert gradient[:, [1, 3]].abs().max() == 0
    assert gradient[:, [0, 2]].abs().min() > 0


@pytest.mark.parametrize("algorithm", ["dqn", "pqn", "rainbow"])
def test_no_value_of_an_illegal_action_is_a_maximum(algorithm):
    run = operant.train(Legal, algorithm=algorithm, **settings_of(algorithm))
    policy = operant.load(run)._trained.policy
    obs = torch.cat([torch.rand(256, NUM_ACTIONS), torch.eye(NUM_ACTIONS).repeat(52, 1)[:256]], 1)
    with torch.no_grad():
        values = policy.values(obs)
    legal = obs[:, NUM_ACTIONS:].argmax(1)
    assert torch.equal(values.argmax(1), legal)
    assert (values.topk(2, 1).values[:, 1] == ILLEGAL).all()


def test_a_loaded_policy_takes_masks():
    run = operant.train(Legal, **settings_of("ppo"))
    policy = operant.load(run)
    obs = np.random.default_rng(1).random((NUM_ACTIONS, NUM_ACTIONS))
    assert policy.act(obs, action_masks=np.eye(NUM_ACTIONS)).tolist() == list(range(NUM_ACTIONS))
    assert policy.act(obs[0], action_masks=[0, 0, 1, 0, 0]) == 2
    with pytest.raises(operant.UsageError, match="without a legal action"):
        policy.act(obs[0], action_masks=[0, 0, 0, 0, 0])
    with pytest.raises(operant.UsageError, match=r"action_masks=masks.* with 5 numbers for each"):
        policy.act(obs)


def test_an_onnx_file_takes_masks(tmp_path):
    run = operant.train(Legal, **settings_of("ppo"))
    policy = operant.load(run)
    inner = policy._trained.policy
    write_onnx(inner, inner.obs_size - inner.mask_size, tmp_path / "policy.onnx", "a test")
    session = onnxruntime.InferenceSession(tmp_path / "policy.onnx")
    obs = np.random.default_rng(1).random((64, NUM_ACTIONS), np.float32)
    masks = (np.random.default_rng(2).random((64, NUM_ACTIONS)) < 0.5).astype(np.float32)
    masks[:, 1] = 1
    (actions,) = session.run(None, {"observation": obs, "action_mask": masks})
    assert actions.tolist() == policy.act(obs, action_masks=masks).tolist()


def test_choices_of_an_onnx_file_count_as_the_environment_does(tmp_path):
    class From5(Legal):
        action_space = Discrete(NUM_ACTIONS, start=5)

        def step(self, action):
            return super().step(action - 5)

    policy = operant.load(operant.train(From5, **settings_of("ppo")))
    obs, masks = np.zeros((5, NUM_ACTIONS), np.float32), np.eye(NUM_ACTIONS, dtype=np.float32)
    assert policy.act(obs, action_masks=masks).tolist() == [5, 6, 7, 8, 9]
    inner = policy._trained.policy
    write_onnx(inner, inner.obs_size - inner.mask_size, tmp_path / "policy.onnx", "a test")
    session = onnxruntime.InferenceSession(tmp_path / "policy.onnx")
    (actions,) = session.run(None, {"observation": obs, "action_mask": masks})
    assert actions.tolist() == [5, 6, 7, 8, 9]


class MaskOfOneChoiceAtTheEnd(Several):
    """At the end of an episode one choice has no legal option, and the other has."""

    def step(self, action):
        obs, reward, is_over, truncated, info = super().step(action)
        mask = np.append(np.zeros(NUM_ACTIONS), [1, 0]) if is_over else info["action_mask"]
        return obs, reward, is_over, truncated, {"action_mask": mask}


def test_a_choice_without_a_legal_option_is_no_error_at_the_end_of_an_episode():
    run = operant.train(MaskOfOneChoiceAtTheEnd, **settings_of("ppo"))
    assert run.status().state == "finished"


def test_a_mask_may_be_missing_at_the_end_of_an_episode():
    class Ends(Legal):
        def step(self, action):
            *given, info = super().step(action)
            return *given, {} if given[2] else info

    assert operant.train(Ends, **settings_of("ppo")).status().state == "finished"


class Faulty(Legal):
    def step(self, action):
        *given, info = super().step(action)
        if self.number == 7:
            info = self.fault(info)
        return *given, info


def faulty(fault):
    return type("Faulty", (Faulty,), {"fault": staticmethod(fault)})


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (lambda info: {"action_mask": info["action_mask"][:3]},
         "step gives an action mask of 3 entries, expected 5"),
        (lambda info: {"action_mask": info["action_mask"] * 0},
         "step gives an action mask in which no action is legal"),
        (lambda info: {}, r"step gives no info\['action_mask'\], which it gave when the run began"),
    ],
)  # fmt: skip
def test_a_wrong_mask_is_named(fault, words):
    with pytest.raises(operant.OperantError, match=words):
        operant.train(faulty(fault), **settings_of("ppo"))


def test_policies_with_memory_have_no_masks_which_is_refused_in_one_line():
    with pytest.raises(operant.UsageError, match=r"policy\.memory\.kind = lstm: .* action masks"):
        operant.train(Legal, **settings_of("ppo", **{"policy.memory.kind": "lstm"}))


@pytest.mark.parametrize("algorithm", ["ppo", "dqn", "iqn"])
def test_normalisation_leaves_masks_alone(algorithm):
    run = operant.train(Legal, **settings_of(algorithm, **{"normalization.obs": True}),
                        algorithm=algorithm)  # fmt: skip
    assert run.status().state == "finished"
    normalizer = operant.load(run)._trained.policy.normalizer
    assert 0.2 < normalizer.moments.mean.min() < normalizer.moments.mean.max() < 0.8
    masks = torch.eye(NUM_ACTIONS)
    seen = normalizer(torch.cat([torch.rand(NUM_ACTIONS, NUM_ACTIONS), masks], 1))
    assert seen[:, NUM_ACTIONS:].tolist() == masks.tolist()


@pytest.mark.slow
def test_masks_help_to_learn():
    run = operant.train(
        Legal, **{**settings_of("ppo"), "total_env_steps": 30_000, "num_envs": 8,
                  "rollout_steps": 64, "ppo.num_minibatches": 8},
    )  # fmt: skip
    assert operant.evaluate(run, 50).mean() > 17
