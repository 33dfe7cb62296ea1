"""Teachers that take some of the steps: whose they are, what is kept of them, what is learned."""

from __future__ import annotations

import math

import pytest
import torch
from learning import collected, iterate, learn
from teaching import TAUGHT, teacher

from operant.shared.errors import ConfigError
from operant.trainer.algorithms.auxiliary.acting_teachers import ActingTeachers
from operant.trainer.collecting.grouped import GroupedCollector
from operant.trainer.config.files import load_config
from operant.trainer.memory.rollout import Rollout
from operant.trainer.policies.distributions.categorical import Categorical
from operant.trainer.spaces import Discrete

ALWAYS = (*TAUGHT, "kickstart.until_fraction=1", "kickstart.fade_fraction=0")
HALF = (*ALWAYS, "kickstart.act_prob=0.5")
FIRMLY = 50.0  # so much that a teacher takes the first action whatever it sees
DEAD_STEPS = ("env=gymnasium:CartPole-v1", "gymnasium.vectorization=own")
COUNT = "env=gymnasium:hosted_envs:make_count"


@pytest.fixture(params=["processor", "device"])
def make_any(request, make_experiment, make_cuda_experiment):
    """Experiments as the processor has them, and as a GPU does, there without graphs."""
    return make_experiment if request.param == "processor" else make_cuda_experiment


class Says:
    """A policy, or a teacher, that always says the same."""

    state_size = 0

    def __init__(self, *outputs, value=0.0):
        self.distribution = Categorical(Discrete(len(outputs)))
        self.flat_parameters, self._value = torch.zeros(1), value
        self._outputs = torch.tensor(outputs)

    def step(self, obs, state):
        return obs, state

    def outputs(self, features):
        return self._outputs.expand(len(features), -1)

    def values(self, features):
        return torch.full((len(features),), self._value)


class AnyCollector:
    """One with an empty rollout."""

    def __init__(self, steps, rows):
        policy = Says(0.0, 0.0)
        policy.horizon, policy.action_shape, policy.action_dtype = 0, (), torch.int64
        self.rollout = Rollout.empty(1, steps, rows, policy)


def joined(*teachers, steps=4, rows=8, prob=0.5, seed=1, before=0, is_inline=True):
    """Teachers that act beside a policy that is undecided between two actions."""
    policy = Says(0.0, 0.0)
    states = [torch.zeros(rows, 0) for _ in teachers]
    acting = ActingTeachers(policy, teachers, states, seed, is_inline)
    acting.join(AnyCollector(steps, rows))
    acting.set_prob(torch.tensor(prob))
    acting.begin(before if is_inline else torch.tensor([before]))
    return acting


def acting_of(experiment):
    """Those who act in an experiment."""
    (kickstart,) = experiment.algorithm.auxiliary_losses
    return kickstart.acting


def whose(acting, steps=4, rows=8):
    """The number of the teacher that acts in each step and row, -1 for none: a teacher says its
    number as the first output, and the policy -1.
    """
    chosen = [
        acting.acting(t, torch.zeros(rows, 1), torch.full((rows, 2), -1.0)) for t in range(steps)
    ]
    return torch.stack(chosen)[..., 0].long()


def test_teachers_act_as_often_as_they_should_and_all_alike():
    acting = joined(Says(0.0, 0.0), Says(1.0, 0.0), steps=100, rows=200, prob=0.3)
    counts = (whose(acting, 100, 200) + 1).flatten().bincount(minlength=3)
    # 20,000 steps: 0.7, 0.15 and 0.15 of them, within four deviations of 65 and 50
    assert counts.tolist() == pytest.approx([14_000, 3_000, 3_000], abs=200)


@pytest.mark.parametrize(("prob", "expected"), [(0.0, {-1}), (1.0, {0})])
def test_at_the_ends_of_the_range_nobody_acts_or_always_somebody(prob, expected):
    for is_inline in (True, False):
        acting = joined(Says(0.0, 0.0), prob=prob, is_inline=is_inline)
        if acting.is_on:
            assert set(whose(acting).flatten().tolist()) == expected
        else:
            assert prob == 0


def test_whose_step_it_is_depends_on_the_row_and_the_step_alone():
    teachers = (Says(0.0, 0.0), Says(1.0, 0.0))
    every = whose(joined(*teachers, steps=12, rows=8), 12, 8)
    assert len(every.unique()) == 3
    fewer = whose(joined(*teachers, steps=12, rows=3), 12, 3)
    later = whose(joined(*teachers, steps=4, rows=8, before=8), 4, 8)
    on_device = whose(joined(*teachers, steps=4, rows=8, before=8, is_inline=False), 4, 8)
    assert torch.equal(every[:, :3], fewer)
    assert torch.equal(every[8:], later)
    assert torch.equal(later, on_device)
    assert not torch.equal(every, whose(joined(*teachers, steps=12, rows=8, seed=2), 12, 8))


def test_what_is_kept_is_the_policys_probability_and_the_mixtures():
    # pi = 1/2, 1/2; teachers 3/4, 1/4 and 1/10, 9/10; 0.2 of the steps are theirs:
    # mu(0) = 0.8 * 0.5 + 0.1 * 0.75 + 0.1 * 0.1 = 0.485, mu(1) = 0.515
    acting = joined(Says(math.log(3), 0.0, value=7.0), Says(0.0, math.log(9)), prob=0.2, rows=2)
    outputs = torch.zeros(2, 2)
    acting.acting(1, torch.zeros(2, 1), outputs)
    own = acting.log_probs(1, outputs, torch.tensor([0, 1]))
    rollout = acting._rollout
    torch.testing.assert_close(own.exp(), torch.tensor([0.5, 0.5]))
    torch.testing.assert_close(rollout.behaviour_log_probs[1].exp(), torch.tensor([0.485, 0.515]))
    said = torch.tensor([math.log(3), 0.0, 7.0, 0.0, math.log(9), 0.0])
    torch.testing.assert_close(rollout.teacher_outputs[1], said.expand(2, -1))


@pytest.mark.parametrize("prob", [0.0, 0.5, 1.0])
def test_a_loss_over_what_all_might_do_has_the_gradient_of_what_the_policy_does(prob):
    """The mean over mu of weight * advantage * ratio, against that over pi without weights."""
    logits = torch.tensor([[0.3, -0.4]], requires_grad=True)
    acting = joined(Says(math.log(3), 0.0), prob=prob, rows=1, is_inline=False)
    advantages = (2.0, -1.0)

    def gradient(log_prob_by, weight_of):
        total = torch.zeros(1, 2)
        for action, advantage in enumerate(advantages):
            one = torch.tensor([action])
            acting.acting(0, torch.zeros(1, 1), logits.detach())
            own = acting.log_probs(0, logits.detach(), one)
            mixture = acting._rollout.behaviour_log_probs[0]
            outputs = acting._policy.distribution.log_prob_and_entropy(logits, one)[0]
            loss = (weight_of(own, mixture) * advantage * (outputs - own).exp()).sum()
            (by_logits,) = torch.autograd.grad(loss, logits)
            total += log_prob_by(own, mixture).exp() * by_logits
        return total

    ours = gradient(lambda _, mixture: mixture, lambda own, mixture: (own - mixture).exp())
    alone = gradient(lambda own, _: own, lambda own, _: torch.ones(1))
    torch.testing.assert_close(ours, alone)
    assert alone.abs().max() > 0.1


@pytest.mark.parametrize("memory", ["none", "lstm"])
def test_teachers_that_always_act_do_as_they_like(make_any, small_config, teach, memory):
    teach(teacher(small_config, liking=FIRMLY))
    experiment = make_any(*ALWAYS, "kickstart.act_prob=1", f"policy.memory.kind={memory}")
    rollout = collected(experiment)
    assert not rollout.actions.any()
    # The policy, undecided at first, would have done so in half of the steps.
    assert rollout.log_probs.mean() == pytest.approx(math.log(0.5), abs=0.05)
    torch.testing.assert_close(rollout.behaviour_log_probs, torch.zeros(16, 8))
    assert learn(experiment)["policy/teacher_act_prob"] == 1


# Two agents in the shape that tests of the grid have compiled anyway.
TWO_AGENTS = (
    "env=grid", "grid.num_agents=2", "grid.height=12", "grid.width=12", "grid.num_walls=6",
    "grid.num_mines=3", "grid.num_generators=3", "grid.num_altars=3", "grid.embedding_size=8",
    "num_envs=4",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("memory", ["none", "lstm"])
def test_teachers_act_in_worlds_of_many_agents_as_well(make_any, small_config, teach, memory):
    teach(teacher(small_config, *TWO_AGENTS, liking=FIRMLY))
    told = (*ALWAYS, *TWO_AGENTS, "kickstart.act_prob=1", f"policy.memory.kind={memory}")
    experiment = make_any(*told)
    rollout = collected(experiment)
    assert not rollout.actions.any()
    torch.testing.assert_close(rollout.behaviour_log_probs, torch.zeros(16, 8))
    assert rollout.teacher_outputs.abs().amax() > FIRMLY / 2


def test_all_other_steps_are_the_policys_with_the_noise_that_it_would_have_had(
    make_any, small_config, teach
):
    teach(teacher(small_config, liking=FIRMLY))
    pytorch = "policy.memory.kind=gru"
    alone, taught = make_any(pytorch), make_any(*HALF, pytorch)
    first, rollout = alone.collect().actions[0], taught.collect().actions[0]
    teachers = acting_of(taught)
    theirs = teachers._uniforms[0] < 0.5
    assert 0 < theirs.sum() < 8
    assert torch.equal(rollout[~theirs], first[~theirs])
    assert not rollout[theirs].any()


@pytest.mark.parametrize("memory", ["none", "lstm", "gru"])
@pytest.mark.parametrize("env", [(), DEAD_STEPS], ids=["own", "dead steps"])
def test_with_unchanged_weights_every_ratio_is_one_and_teachers_remember(
    make_experiment, small_config, teach, memory, env
):
    one = teacher(small_config, f"policy.memory.kind={memory}")
    teach(one, teacher(small_config))
    experiment = make_experiment(*HALF, *env, "policy.memory.kind=lstm", "rollout_steps=32")
    state, num_ends = torch.zeros(8, one.state_size), 0
    for _ in range(3):
        rollout = collected(experiment)
        algorithm = experiment.algorithm
        rows = algorithm.evaluator.batch(rollout, rollout.values, rollout.values)
        with torch.no_grad():
            _, outputs, _, samples = algorithm.evaluator.evaluate_actions(rows)
            found = experiment.policy.distribution.log_prob_and_entropy(outputs, samples.actions)
        assert ((found[0] - samples.log_probs).exp() - 1).abs().max() < 1e-5
        for t, (obs, resets) in enumerate(zip(rollout.obs[:-1], rollout.resets(), strict=True)):
            features, state = one.step(obs, state)
            torch.testing.assert_close(rollout.teacher_outputs[t, :, :2], one.outputs(features))
            torch.testing.assert_close(rollout.teacher_outputs[t, :, 2], one.values(features))
            state = state.masked_fill(resets.unsqueeze(-1), 0.0)
            num_ends += int(resets.sum())
        learn(experiment)
    assert num_ends > 8


@pytest.mark.parametrize("memory", ["none", "lstm"])
def test_the_first_loss_weighs_each_step_by_whose_it_may_have_been(
    make_experiment, small_config, teach, memory, monkeypatch
):
    teach(teacher(small_config))
    experiment = make_experiment(
        *HALF, f"policy.memory.kind={memory}", "ppo.num_minibatches=1", "ppo.sampler=sequential"
    )
    rollout = collected(experiment)
    rollout.has_values = True
    prepared, seen = experiment.algorithm.prepared, []
    monkeypatch.setattr(
        experiment.algorithm,
        "prepared",
        lambda *a: seen.append((a[0], prepared(*a))) or seen[-1][1],
    )
    learn(experiment)
    before, after = (x.advantages.flatten() for x in seen[0])
    weights = (rollout.log_probs - rollout.behaviour_log_probs).exp().clamp(max=1.0).flatten()
    normal = (before - before.mean()) / (before.std() + 1e-8)
    torch.testing.assert_close(after, normal * weights)
    assert weights.min() < 0.8


@pytest.mark.parametrize("memory", ["none", "gru"])
@pytest.mark.parametrize("env", [(), DEAD_STEPS], ids=["own", "dead steps"])
def test_a_run_that_goes_on_has_the_same_teachers_in_the_same_steps(
    make_experiment, small_config, teach, memory, env
):
    teach(teacher(small_config, "policy.memory.kind=lstm"), teacher(small_config))
    options = (*HALF, f"policy.memory.kind={memory}", *(env if memory == "none" else ()))
    straight, first, second = (make_experiment(*options) for _ in range(3))
    iterate(first, 2)
    iterate(second, 1)
    second.load_state_dict(first.state_dict(), 2)
    if env and memory == "none":  # other people's environments begin anew: so do teachers
        assert not any(x.any() for x in acting_of(second)._states)
        iterate(second)
        return
    iterate(straight, 4)
    iterate(second, 2)
    assert torch.equal(straight.policy.flat_parameters, second.policy.flat_parameters)
    assert torch.equal(straight.collector.rollout.actions, second.collector.rollout.actions)


def test_groups_of_workers_have_the_same_teachers_in_the_same_steps(
    make_experiment, small_config, teach, monkeypatch
):
    teach(teacher(small_config, COUNT, "policy.memory.kind=gru"))
    monkeypatch.setattr("operant.trainer.envs.workers.section.num_cores", lambda: 4)
    found = []
    for workers in ((), ("workers.num_workers=4", "workers.async_factor=2")):
        experiment = make_experiment(
            "num_envs=4", COUNT, *HALF, "policy.memory.kind=lstm", *workers
        )
        try:
            rollouts = [experiment.collect() for _ in range(2)]
            assert isinstance(experiment.collector, GroupedCollector) == bool(workers)
            rollout = rollouts[-1]
            found.append([rollout.obs, rollout.actions, rollout.log_probs,
                          rollout.behaviour_log_probs, rollout.teacher_outputs])  # fmt: skip
        finally:
            experiment.close()
    for serial, grouped in zip(*found, strict=True):
        torch.testing.assert_close(serial, grouped, rtol=1e-4, atol=1e-5)


def test_teachers_act_less_and_less_and_are_not_asked_once_they_do_not_count(
    make_experiment, small_config, teach
):
    one = teacher(small_config)
    teach(one)
    asked = []
    outputs = one.outputs
    one.outputs = lambda features: asked.append(1) or outputs(features)
    options = (
        "kickstart.act_prob=0.8",
        "kickstart.until_fraction=0.5",
        "kickstart.fade_fraction=1",
    )
    experiment = make_experiment(*TAUGHT, *options)
    probs, counts = [], []
    for _ in range(6):
        before = len(asked)
        probs.append(iterate(experiment)["policy/teacher_act_prob"])
        counts.append(len(asked) - before)
    # progress 0, 1/6, 2/6 of the half in which it falls from 0.8 to 0
    assert probs == pytest.approx([0.8, 0.8 * 2 / 3, 0.8 / 3, 0, 0, 0])
    assert counts == [16, 16, 16, 0, 0, 0]  # once in every step


def test_where_nobody_else_acts_updates_are_those_without_teachers(
    make_experiment, small_config, teach
):
    teach(teacher(small_config))
    never = ("kickstart.until_fraction=1e-9", "kickstart.act_prob=0.5")
    plain, taught = (
        make_experiment("ppo.max_minibatch_size=1000000"),
        make_experiment(*TAUGHT, *never),
    )
    iterate(taught)
    state = taught.state_dict()
    teachers = {key: state["learner"].pop(key) for key in ("teachers",)}
    plain.load_state_dict(state, 1)
    state["learner"].update(teachers)
    for experiment in (plain, taught):
        iterate(experiment, 2)
    assert torch.equal(plain.policy.flat_parameters, taught.policy.flat_parameters)
    assert torch.equal(plain.collector.rollout.actions, taught.collector.rollout.actions)


@pytest.mark.parametrize("memory", ["none", "lstm"])
@pytest.mark.parametrize("besides", [
    (), ("ppo.recompute_advantages=minibatch",), ("ppo.max_minibatch_size=16",),
    ("ppo.normalize_advantages=rollout", "ppo.rho_clip=2"), ("ppo.sampler=prioritised",),
    ("kickstart.policy_coef=0",),
])  # fmt: skip
def test_it_learns_with_everything_else(make_any, small_config, teach, memory, besides):
    teach(teacher(small_config))
    experiment = make_any(*HALF, f"policy.memory.kind={memory}", *besides)
    before = experiment.policy.flat_parameters.clone()
    metrics = iterate(experiment, 2)
    assert all(map(math.isfinite, metrics.values()))
    assert not torch.equal(before, experiment.policy.flat_parameters)


def test_nothing_is_allocated_where_teachers_do_not_act(make_experiment, small_config, teach):
    teach(teacher(small_config))
    rollout = make_experiment(*ALWAYS).collector.rollout
    assert rollout.teacher_outputs is None
    assert rollout.behaviour_log_probs is None


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (("kickstart.act_prob=0.5",), "kickstart.act_prob = 0.5: there are no kickstart.teachers"),
        ((*TAUGHT, "kickstart.act_prob=0.5", "rollout=fused"), "one; use steps"),
        ((*TAUGHT, "kickstart.policy_coef=0"), "kickstart.act_prob = 0: one is wanted"),
        ((*TAUGHT, "kickstart.act_prob=1.5"), "kickstart.act_prob"),
        ((*TAUGHT, "ppo.rho_clip=2"), "kickstart.act_prob = 0"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(overrides, words):
    with pytest.raises(ConfigError, match=words) as caught:
        load_config("cart_pole_ppo", overrides)
    assert "\n" not in str(caught.value)
