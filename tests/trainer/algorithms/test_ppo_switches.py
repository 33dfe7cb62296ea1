"""What PPO does by switch: gradients in pieces, samplers, advantages anew. Off, nothing differs."""

from __future__ import annotations

import pytest
import torch
from learning import collected, iterate

from operant.trainer.algorithms.minibatches import Batch
from operant.trainer.algorithms.rows import Rows
from operant.trainer.experiment.plan import Machine, plan
from operant.trainer.returns.gae import Corrections, gae

MEMORY = ("none", "lstm")
DEAD = ("env=gymnasium:CartPole-v1", "gymnasium.vectorization=own")  # next-step resets: dead steps


def weights_after(make_experiment, *options, iterations=2):
    experiment = make_experiment("policy.precision=float32", *options)
    iterate(experiment, iterations)
    return experiment.policy.flat_parameters.clone()


@pytest.mark.parametrize("memory", MEMORY)
@pytest.mark.parametrize("env", [(), DEAD], ids=["own", "dead steps"])
def test_gradients_in_pieces_add_up_to_the_same_update(make_experiment, memory, env):
    options = (*env, f"policy.memory.kind={memory}", "ppo.sampler=sequential")
    whole = weights_after(make_experiment, *options)
    pieces = weights_after(make_experiment, *options, "ppo.max_minibatch_size=9")
    torch.testing.assert_close(pieces, whole, atol=1e-5, rtol=1e-5)
    assert (pieces != whole).any()  # sums in another order: it was in pieces


def no_gpu_memory() -> None:
    raise torch.OutOfMemoryError("CUDA out of memory")


def no_main_memory() -> None:
    torch.empty(1 << 60, dtype=torch.uint8)  # a million terabytes


@pytest.mark.parametrize("run_out", [no_gpu_memory, no_main_memory])
@pytest.mark.parametrize("memory", MEMORY)
def test_where_memory_runs_out_it_goes_on_with_half_and_says_so(
    make_experiment, monkeypatch, memory, run_out
):
    options = (f"policy.memory.kind={memory}", "ppo.sampler=sequential")
    whole = weights_after(make_experiment, *options, iterations=1)
    experiment = make_experiment(*options)
    evaluator, sizes = experiment.algorithm.evaluator, []
    evaluate_actions = evaluator.evaluate_actions

    def forgetful(piece):
        sizes.append(piece.num_samples)
        if piece.num_samples > 16:  # of 32 in a minibatch
            run_out()
        return evaluate_actions(piece)

    monkeypatch.setattr(evaluator, "evaluate_actions", forgetful)
    iterate(experiment)
    torch.testing.assert_close(experiment.policy.flat_parameters, whole, atol=1e-5, rtol=1e-5)
    assert sizes.count(32) == 1
    (notice,) = [text for text in experiment.take_notices() if "out of memory" in text]
    assert "16 samples at once" in notice
    experiment.algorithm.gradient.most_samples = 32
    with pytest.raises(RuntimeError, match="memory"):  # a second time it is no accident
        iterate(experiment)


def test_with_all_priorities_alike_it_is_the_same_as_shuffled(make_experiment):
    pytorch = "ppo.max_minibatch_size=1000000"
    shuffled = weights_after(make_experiment, pytorch)
    alike = weights_after(
        make_experiment, pytorch, "ppo.sampler=prioritised", "ppo.priority_exponent=0"
    )
    assert (shuffled == alike).all()


@pytest.mark.parametrize("memory", MEMORY)
def test_advantages_anew_are_those_of_the_policy_as_it_is(make_experiment, memory):
    experiment = make_experiment(
        f"policy.memory.kind={memory}", "ppo.recompute_advantages=epoch", "ppo.rho_clip=1.2"
    )
    algorithm, rollout = experiment.algorithm, collected(experiment)
    before = algorithm.advantages.estimates(rollout, rollout.rewards)
    same = algorithm.advantages.fresh(rollout, rollout.rewards)
    torch.testing.assert_close(same, before, atol=1e-4, rtol=1e-5)

    generator = torch.Generator().manual_seed(1)
    moved = experiment.policy.flat_parameters
    moved += 0.05 * torch.randn(moved.shape, generator=generator)
    kept = {name: getattr(rollout, name).clone() for name in ("values", "next_values", "log_probs")}
    fresh, _ = algorithm.advantages.fresh(rollout, rollout.rewards)
    for name, value in kept.items():
        assert (getattr(rollout, name) == value).all()
    ratios = (algorithm.evaluator.log_probs(rollout) - rollout.log_probs).exp().detach()
    assert (ratios - 1).abs().max() > 0.01
    algorithm.evaluator.fill_values(rollout)
    expected, _ = gae(
        rollout.rewards, rollout.values, rollout.next_values, rollout.terminated,
        rollout.truncated, 0.99, 0.95, Corrections(ratios, 1.2, 1.0),
    )  # fmt: skip
    torch.testing.assert_close(fresh, expected)


@pytest.mark.parametrize("when", ["epoch", "minibatch"])
@pytest.mark.parametrize("returns", ["true", "false"])
def test_advantages_anew_change_what_is_learned(make_experiment, when, returns):
    pytorch = "ppo.max_minibatch_size=1000000"
    never = weights_after(make_experiment, pytorch)
    anew = weights_after(
        make_experiment, f"ppo.recompute_advantages={when}", f"ppo.recompute_returns={returns}"
    )
    assert (never != anew).any()
    assert anew.isfinite().all()


@pytest.mark.parametrize(("when", "expected"), [("epoch", [4, 8]), ("minibatch", [*range(1, 12)])])
def test_advantages_are_computed_anew_before_every_epoch_or_minibatch_but_the_first(
    make_experiment, monkeypatch, when, expected
):
    experiment = make_experiment(
        "ppo.num_epochs=3", "ppo.num_minibatches=4", f"ppo.recompute_advantages={when}"
    )
    algorithm, steps_before = experiment.algorithm, []
    fresh = algorithm.advantages.fresh

    def counted(*arguments):
        steps_before.append(algorithm.optimizer.num_steps)
        return fresh(*arguments)

    monkeypatch.setattr(algorithm.advantages, "fresh", counted)
    iterate(experiment)
    assert steps_before == expected


def test_one_epoch_of_one_minibatch_has_nothing_to_compute_anew(make_experiment):
    options = ("ppo.num_epochs=1", "ppo.num_minibatches=1")
    never = weights_after(make_experiment, *options, "ppo.max_minibatch_size=1000000")
    for when in ("epoch", "minibatch"):
        anew = weights_after(make_experiment, *options, f"ppo.recompute_advantages={when}")
        assert (never == anew).all()


def test_prioritised_minibatches_prefer_large_advantages(make_experiment, monkeypatch):
    experiment = make_experiment("ppo.sampler=prioritised", "ppo.priority_exponent=2")
    algorithm = experiment.algorithm
    seen = []
    prepared = algorithm.prepared

    def watched(minibatch, weights):
        seen.append(minibatch.advantages.abs().mean())
        return prepared(minibatch, weights)

    monkeypatch.setattr(algorithm, "prepared", watched)
    rollout = collected(experiment)
    advantages, _ = algorithm.advantages.estimates(rollout, rollout.rewards)
    iterate(experiment)
    assert torch.stack(seen).mean() > advantages.abs().mean()


def samples_with(advantages, **besides):
    """Samples whose other fields do not matter here."""
    return Batch(*[torch.tensor(advantages)] * 6)._replace(**besides)


def test_advantages_are_normalised_before_they_are_weighted(make_experiment):
    algorithm = make_experiment("ppo.sampler=prioritised").algorithm
    samples = samples_with([1.0, 3.0, 5.0])
    weights = torch.tensor([2.0, 1.0, 0.5])
    # mean 3, deviation 2: -1, 0, 1
    found = algorithm.prepared(samples, weights).advantages
    torch.testing.assert_close(found, torch.tensor([-2.0, 0.0, 0.5]))
    # and where others acted as well, theirs after that too
    samples = samples._replace(policy_weights=torch.tensor([0.5, 1.0, 3.0]))
    found = algorithm.prepared(samples, weights).advantages
    torch.testing.assert_close(found, torch.tensor([-1.0, 0.0, 1.5]))
    found = algorithm.prepared(samples, None).advantages
    torch.testing.assert_close(found, torch.tensor([-0.5, 0.0, 3.0]))


def test_weights_of_rows_are_those_of_all_their_normalised_steps(make_experiment):
    algorithm = make_experiment("ppo.sampler=prioritised", "policy.memory.kind=gru").algorithm
    valid = torch.tensor([[True, True], [True, False]])
    samples = samples_with([[1.0, 3.0], [5.0, 100.0]])
    rows = Rows(samples, torch.zeros(2, 1), torch.zeros(2, 2, dtype=torch.bool), valid)
    found = algorithm.prepared(rows, torch.tensor([2.0, 0.5]))
    # of the steps that count mean 3, deviation 2: -1 and 1 in the first row, 0 in the other
    torch.testing.assert_close(found.valid_of(found.advantages), torch.tensor([-2.0, 0.0, 2.0]))


def test_what_the_compiled_loops_do_not_do_is_pytorchs_and_told(small_config):
    processor = Machine(no_gpu="none")
    assert plan(small_config(), processor).notices == ()
    switched = small_config("ppo.sampler=sequential", "ppo.max_minibatch_size=64")
    (notice,) = plan(switched, processor).notices
    assert "ppo.sampler = sequential and ppo.max_minibatch_size = 64" in notice
