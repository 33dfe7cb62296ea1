"""Action masks: no illegal action is ever drawn, and no value of one is a maximum."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import numpy as np
import onnxruntime
import pytest
import torch
from gymnasium.spaces import Discrete
from masked_envs import (
    NUM_ACTIONS,
    NUM_STEPS,
    BesideParts,
    ByMethod,
    InDictionary,
    Legal,
    OfAnImage,
    Several,
)
from own_lines import SMALL
from sb3_contrib.common.maskable.distributions import (
    MaskableCategorical,
    MaskableMultiCategoricalDistribution,
)
from trained_runs import untrained

import operant
from operant.trainer.envs.checking import EnvError
from operant.trainer.envs.hosts import load_spec, make_envs
from operant.trainer.envs.own_envs import register_own
from operant.trainer.envs.vector import Transitions
from operant.trainer.envs.workers.dividing import WorkerPlan
from operant.trainer.experiment.onnx_export import write_onnx
from operant.trainer.jit.streams import TRAINING
from operant.trainer.policies.distributions.categorical import Categorical, MultiCategorical
from operant.trainer.policies.normalizers import observe
from operant.trainer.policies.policy import ILLEGAL, any_legal, masked
from operant.trainer.spaces import Discrete as OurDiscrete
from operant.trainer.spaces import MultiDiscrete as OurMultiDiscrete

SETTINGS = {**SMALL, "total_env_steps": 512, "ppo.num_minibatches": 2}


@pytest.mark.slow
@pytest.mark.parametrize("make", [Legal, Several, BesideParts])
def test_a_run_draws_no_illegal_action(make):
    """The environment raises for one; evaluation is part of the run."""
    run = operant.train(make, **SETTINGS)
    assert run.status().state == "finished"
    assert operant.load(run)._trained.policy.mask_size == NUM_ACTIONS + 2 * (make is Several)
    assert operant.evaluate(run, 8).num_episodes == 8


class NoChoiceAtTheEnd(Several):
    """At the end of an episode one choice has no legal option, and the other has."""

    def step(self, action):
        obs, reward, is_over, truncated, info = super().step(action)
        mask = np.append(np.zeros(NUM_ACTIONS), [1, 0]) if is_over else info["action_mask"]
        return obs, reward, is_over, truncated, {"action_mask": mask}


class NoMaskAtTheEnd(Legal):
    def step(self, action):
        *given, info = super().step(action)
        return *given, {} if given[2] else info


def play(make, num_workers=0):
    """Play legal actions in two copies of an environment, to the second episode."""
    spec = load_spec(register_own(make))
    envs = make_envs(replace(spec, plan=WorkerPlan(num_workers=num_workers)), 2, 1, TRAINING)
    out, size = Transitions.of(spec, 2), spec.mask_size
    with closing(envs):
        envs.reset(out.obs)
        for _ in range(NUM_STEPS + 5):
            masks = out.obs[:, out.obs.shape[1] - size :]
            actions = masks[:, :NUM_ACTIONS].argmax(1)
            is_several = size > NUM_ACTIONS
            envs.step(np.stack([actions, 0 * actions], 1) if is_several else actions, out)
    return size


@pytest.mark.parametrize(
    "make",
    [Legal, ByMethod, Several, InDictionary, BesideParts, OfAnImage, NoChoiceAtTheEnd,
     NoMaskAtTheEnd],
)  # fmt: skip
def test_observations_end_with_masks_from_wherever_they_come(make):
    assert play(make) == NUM_ACTIONS + 2 * issubclass(make, Several)


@pytest.mark.slow
def test_workers_have_masks_too():
    class Local(Legal):  # not of a module, which workers would import
        pass

    assert play(Local, num_workers=1) == NUM_ACTIONS


class Faulty(Legal):
    def step(self, action):
        *given, info = super().step(action)
        return *given, self.fault(info) if self.number == 7 else info


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (lambda info: {"action_mask": info["action_mask"][:3]}, "of 3 entries, expected 5"),
        (lambda info: {"action_mask": info["action_mask"] * 0}, "in which no action is legal"),
        (lambda info: {"action_mask": info["action_mask"] * -1e8},
         "with -1.*, expected 0 .illegal. and 1 .legal."),
        (lambda info: {"action_mask": np.array(list("01101"))},
         "of type <U1, expected numbers 0 and 1"),
        (lambda info: {}, r"no info\['action_mask'\], which it gave when the run began"),
    ],
)  # fmt: skip
def test_a_wrong_mask_is_named(fault, words):
    where = r" \(step 7 of its episode\), in environment 0"
    with pytest.raises(EnvError, match=f"step gives (an action mask )?{words}{where}"):
        play(type("Faulty", (Faulty,), {"fault": staticmethod(fault)}))


def test_settings_that_do_not_go_with_masks_are_refused():
    words = "preprocessing.sticky_actions = 0.5: the environment has action masks"
    with pytest.raises(operant.UsageError, match=words):
        operant.train(Legal, preprocessing={"sticky_actions": 0.5}, **SETTINGS)

    class Unfit(InDictionary):
        action_space = Discrete(NUM_ACTIONS + 1)

    words = "observations have an 'action_mask' of 5 entries, and actions have 6 choices"
    with pytest.raises(operant.UsageError, match=words):
        operant.train(Unfit, **SETTINGS)


def test_a_mask_among_observations_is_no_input_of_the_network():
    """A dictionary of a mask and an image is encoded as the image alone."""
    policy = untrained(OfAnImage)
    assert policy._trained.policy.encoder.obs_shape == (8, 8, 3)
    obs, _ = OfAnImage().reset(seed=1)
    assert obs["action_mask"][policy.act(obs)]
    same = policy.act(obs["observation"], action_masks=obs["action_mask"])
    assert policy.act(obs) == same
    assert policy.act([obs, obs]).tolist() == [same, same]


def test_a_list_of_observations_has_its_masks():
    policy = untrained(BesideParts)
    seen = [BesideParts().reset(seed=seed)[0] for seed in range(4)]
    actions = policy.act(seen)
    assert actions.tolist() == [policy.act(obs) for obs in seen]
    assert all(obs["action_mask"][action] for obs, action in zip(seen, actions, strict=True))


def test_no_draw_at_the_edges_of_random_numbers_is_illegal():
    obs = torch.cat([torch.rand(10_000, 9), (torch.rand(10_000, 9) < 0.3).float()], 1)
    obs[:, 9] = 1
    distribution = Categorical(OurDiscrete(9))
    distribution.is_masked = True
    outputs = masked(torch.randn(10_000, 9) * 20, obs, 9)
    for noise in (torch.zeros(10_000), torch.rand(10_000), torch.full((10_000,), 1 - 2**-24)):
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
    policy = untrained(Legal, algorithm)._trained.policy
    obs = torch.cat([torch.rand(256, NUM_ACTIONS), torch.eye(NUM_ACTIONS).repeat(52, 1)[:256]], 1)
    with torch.no_grad():
        values = policy.values(obs)
    legal = obs[:, NUM_ACTIONS:].argmax(1)
    assert torch.equal(values.argmax(1), legal)
    assert (values.topk(2, 1).values[:, 1] == ILLEGAL).all()


def test_a_loaded_policy_takes_masks():
    policy = untrained(Legal)
    obs = np.random.default_rng(1).random((NUM_ACTIONS, NUM_ACTIONS))
    assert policy.act(obs, action_masks=np.eye(NUM_ACTIONS)).tolist() == list(range(NUM_ACTIONS))
    assert policy.act(obs[0], action_masks=[0, 0, 1, 0, 0]) == 2
    with pytest.raises(operant.UsageError, match=r"action_masks: .* no action is legal"):
        policy.act(obs[0], action_masks=[0, 0, 0, 0, 0])
    with pytest.raises(operant.UsageError, match=r"action_masks=masks.* with 5 numbers for each"):
        policy.act(obs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "kind"), [("ppo", "none"), ("iqn", "none"), ("ppo", "lstm"), ("ppo", "gru")]
)
def test_an_onnx_file_takes_masks_and_states(tmp_path, algorithm, kind):
    has_memory = kind != "none"
    memory = {"policy": {"memory": {"kind": kind, "size": 8}}} if has_memory else {}
    policy = untrained(Legal, algorithm, **memory)
    inner = policy._trained.policy
    write_onnx(inner, inner.obs_size - inner.mask_size, tmp_path / "policy.onnx", "a test")
    session = onnxruntime.InferenceSession(tmp_path / "policy.onnx")
    obs = np.random.default_rng(1).random((64, NUM_ACTIONS), np.float32)
    masks = (np.random.default_rng(2).random((64, NUM_ACTIONS)) < 0.5).astype(np.float32)
    masks[:, 1] = 1
    state = theirs = policy.initial_state(len(obs)) if has_memory else None
    for _ in range(3):
        given = {"observation": obs, "action_mask": masks}
        if has_memory:
            actions, theirs = session.run(None, {**given, "state": theirs})
            ours, state = policy.predict(obs, state, None, True, masks)
            assert np.allclose(theirs, state, atol=1e-6)
        else:
            (actions,), ours = session.run(None, given), policy.act(obs, action_masks=masks)
        assert actions.tolist() == ours.tolist()
        assert masks[np.arange(64), ours].all()
        obs, masks = obs[::-1].copy(), masks[::-1].copy()


@pytest.mark.parametrize("algorithm", ["ppo", "dqn", "iqn"])
def test_normalisation_leaves_masks_alone(algorithm):
    policy = untrained(Legal, algorithm, normalization={"obs": True})._trained.policy
    masks = torch.eye(NUM_ACTIONS)
    rows = torch.cat([3 + torch.rand(NUM_ACTIONS, NUM_ACTIONS), masks], 1)
    observe(policy.normalizer, [rows])
    seen = policy.normalizer(rows)
    assert seen[:, :NUM_ACTIONS].mean().abs() < 0.1
    assert seen[:, NUM_ACTIONS:].tolist() == masks.tolist()
