"""Action masks: no illegal action is ever drawn, and no value of one is a maximum."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
import torch
from gymnasium.spaces import Discrete
from masked_envs import (
    NUM_ACTIONS,
    BesideParts,
    ByMethod,
    InDictionary,
    Legal,
    OfAnImage,
    Recall,
    Several,
)
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

pytestmark = pytest.mark.slow

DISCRETE = ("ppo", "pqn", "dqn", "c51", "qr_dqn", "iqn", "rainbow")
OF_REPLAY = {"rollout_steps": 8, "replay.capacity": 512}


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


@pytest.mark.parametrize("kind", ["none", "lstm", "gru"])
@pytest.mark.parametrize("make", [Legal, ByMethod, Several, InDictionary, BesideParts, OfAnImage])
def test_masks_from_wherever_they_come_with_every_memory(make, kind):
    memory = {} if kind == "none" else {"policy.memory.kind": kind, "policy.memory.size": 8}
    run = operant.train(make, **settings_of("ppo", **memory))
    assert run.status().state == "finished"
    assert operant.load(run)._trained.policy.mask_size == NUM_ACTIONS + 2 * (make is Several)
    assert len(operant.evaluate(run, 8)) == 8


@pytest.mark.parametrize("algorithm", ["pqn", "dqn", "rainbow"])
@pytest.mark.parametrize("make", [InDictionary, BesideParts, OfAnImage])
def test_masks_among_observations_with_values(make, algorithm):
    run = operant.train(make, algorithm=algorithm, **settings_of(algorithm))
    assert run.status().state == "finished"


def test_a_mask_among_observations_is_no_input_of_the_network():
    """A dictionary of a mask and an image is encoded as the image alone."""
    run = operant.train(OfAnImage, **settings_of("ppo"))
    policy = operant.load(run)
    assert policy._trained.policy.encoder.obs_shape == (8, 8, 3)
    obs, _ = OfAnImage().reset(seed=1)
    assert obs["action_mask"][policy.act(obs)]
    same = policy.act(obs["observation"], action_masks=obs["action_mask"])
    assert policy.act(obs) == same
    assert policy.act([obs, obs]).tolist() == [same, same]


def test_a_list_of_observations_has_its_masks():
    policy = operant.load(operant.train(BesideParts, **settings_of("ppo")))
    seen = [BesideParts().reset(seed=seed)[0] for seed in range(4)]
    actions = policy.act(seen)
    assert actions.tolist() == [policy.act(obs) for obs in seen]
    assert all(obs["action_mask"][action] for obs, action in zip(seen, actions, strict=True))


@pytest.mark.parametrize("setting", ["frame_skip = 2", "sticky_actions = 0.5"])
def test_an_action_is_not_repeated_where_it_may_be_illegal(setting):
    name, _, value = setting.partition(" = ")
    words = f"preprocessing.{setting}: the environment has action masks"
    with pytest.raises(operant.UsageError, match=words):
        operant.train(Legal, preprocessing={name: float(value)}, **settings_of("ppo"))


def test_a_mask_among_observations_that_fits_no_actions_is_refused():
    class Unfit(InDictionary):
        action_space = Discrete(NUM_ACTIONS + 1)

    words = "observations have an 'action_mask' of 5 entries, and actions have 6 choices"
    with pytest.raises(operant.UsageError, match=words):
        operant.train(Unfit, **settings_of("ppo"))


def test_workers_have_masks_too():
    class Local(Legal):  # not of a module, which workers would import
        pass

    run = operant.train(Local, **settings_of("ppo", **{"workers.num_workers": 1}))
    assert run.status().state == "finished"


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
    with pytest.raises(operant.UsageError, match=r"action_masks: .* no action is legal"):
        policy.act(obs[0], action_masks=[0, 0, 0, 0, 0])
    with pytest.raises(operant.UsageError, match=r"action_masks=masks.* with 5 numbers for each"):
        policy.act(obs)


@pytest.mark.parametrize("algorithm", ["ppo", "iqn"])
def test_an_onnx_file_takes_masks(tmp_path, algorithm):
    run = operant.train(Legal, algorithm=algorithm, **settings_of(algorithm))
    policy = operant.load(run)
    session = exported(policy, tmp_path)
    obs, masks = some_obs_and_masks()
    (actions,) = session.run(None, {"observation": obs, "action_mask": masks})
    assert actions.tolist() == policy.act(obs, action_masks=masks).tolist()


def exported(policy, folder):
    inner = policy._trained.policy
    write_onnx(inner, inner.obs_size - inner.mask_size, folder / "policy.onnx", "a test")
    return onnxruntime.InferenceSession(folder / "policy.onnx")


def some_obs_and_masks():
    obs = np.random.default_rng(1).random((64, NUM_ACTIONS), np.float32)
    masks = (np.random.default_rng(2).random((64, NUM_ACTIONS)) < 0.5).astype(np.float32)
    masks[:, 1] = 1
    return obs, masks


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_an_onnx_file_with_memory_takes_masks_and_states(tmp_path, kind):
    memory = {"policy.memory.kind": kind, "policy.memory.size": 8}
    policy = operant.load(operant.train(Legal, **settings_of("ppo", **memory)))
    session = exported(policy, tmp_path)
    obs, masks = some_obs_and_masks()
    state = theirs = policy.first_state(len(obs))
    for _ in range(3):
        given = {"observation": obs, "action_mask": masks, "state": theirs}
        actions, theirs = session.run(None, given)
        ours, state = policy.act(obs, state, action_masks=masks)
        assert actions.tolist() == ours.tolist()
        assert np.allclose(theirs, state, atol=1e-6)
        assert masks[np.arange(64), ours].all()
        obs, masks = obs[::-1].copy(), masks[::-1].copy()


def test_choices_of_an_onnx_file_count_as_the_environment_does(tmp_path):
    class From5(Legal):
        action_space = Discrete(NUM_ACTIONS, start=5)

        def step(self, action):
            return super().step(action - 5)

    policy = operant.load(operant.train(From5, **settings_of("ppo")))
    obs, masks = np.zeros((5, NUM_ACTIONS), np.float32), np.eye(NUM_ACTIONS, dtype=np.float32)
    assert policy.act(obs, action_masks=masks).tolist() == [5, 6, 7, 8, 9]
    given = {"observation": obs, "action_mask": masks}
    (actions,) = exported(policy, tmp_path).run(None, given)
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
        (lambda info: {"action_mask": info["action_mask"] * -1e8},
         "step gives an action mask with -1.*, expected 0 .illegal. and 1 .legal."),
        (lambda info: {"action_mask": np.array(list("01101"))},
         "step gives an action mask of type <U1, expected numbers 0 and 1"),
        (lambda info: {}, r"step gives no info\['action_mask'\], which it gave when the run began"),
    ],
)  # fmt: skip
def test_a_wrong_mask_is_named(fault, words):
    where = r" \(step 7 of its episode\), in environment 0"
    with pytest.raises(operant.OperantError, match=words + where):
        operant.train(faulty(fault), **settings_of("ppo"))


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


def test_masks_help_to_learn():
    run = operant.train(
        Legal, **{**settings_of("ppo"), "total_env_steps": 30_000, "num_envs": 8,
                  "rollout_steps": 64, "ppo.num_minibatches": 8},
    )  # fmt: skip
    assert operant.evaluate(run, 50).mean() > 17


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_memory_learns_what_masks_allow_only_later(kind):
    """Without memory half of the episodes are right."""
    settings = {"policy.memory.kind": kind, "policy.memory.size": 32, "num_envs": 16,
                "rollout_steps": 40, "ppo.num_minibatches": 4, "ppo.learning_rate": 2e-3,
                "total_env_steps": 30_000}  # fmt: skip
    run = operant.train(Recall, **{**settings_of("ppo"), **settings})
    assert operant.evaluate(run, 50).mean() > 0.95
