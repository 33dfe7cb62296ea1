"""Observations that stay in main memory change no bit of what is learned."""

from __future__ import annotations

import pytest
import torch
from learning import iterate
from stand_in_streams import Work, WorkEvent

from operant.trainer.algorithms import rows as rows_module
from operant.trainer.memory import host_obs
from operant.trainer.memory import rollout as rollout_module
from operant.trainer.memory.host_obs import HostMinibatches
from operant.trainer.memory.rollout import Rollout

DEAD = ("env=gymnasium:CartPole-v1", "gymnasium.vectorization=own")  # next-step resets: dead steps
PYTORCH = "ppo.max_minibatch_size=1000000"
NORMALIZED = ("normalization.obs=true", "normalization.reward=true")


def weights_after(make, *options, iterations=3):
    """Weights, optimizer and statistics after so many iterations, as one list of tensors."""
    experiment = make(*options)
    try:
        values = iterate(experiment, iterations)
        state = experiment.state_dict()
    finally:
        experiment.close()
    metrics = {name: x for name, x in values.items() if not name.startswith("time/")}
    state["collector"].pop("envs")  # which a group of workers has none of
    return {"metrics": metrics, **state}


def leaves(state, name=""):
    if isinstance(state, dict):
        return {
            k: x for key, part in state.items() for k, x in leaves(part, f"{name}.{key}").items()
        }
    return {name: torch.as_tensor(state)}


def check_same(make, *options, iterations=3):
    without = leaves(weights_after(make, *options, iterations=iterations))
    found = leaves(weights_after(make, "cpu_offload=true", *options, iterations=iterations))
    assert found.keys() == without.keys()
    differing = [
        name
        for name, x in without.items()
        if not torch.equal(x.nan_to_num(), found[name].nan_to_num())
    ]
    assert differing == []


@pytest.fixture(params=["processor", "device"])
def make_any(request, make_experiment, make_cuda_experiment):
    """Experiments as the processor has them, and as a GPU does, there without graphs."""
    return make_experiment if request.param == "processor" else make_cuda_experiment


@pytest.mark.parametrize("memory", ["none", "lstm"])
@pytest.mark.parametrize("sampler", ["shuffled", "sequential", "prioritised"])
def test_updates_are_the_same_with_every_sampler(make_any, memory, sampler):
    check_same(
        make_any, f"ppo.sampler={sampler}", f"policy.memory.kind={memory}",
        "policy.memory.horizon=8" if memory != "none" else "ppo.num_epochs=3",
        PYTORCH, *NORMALIZED,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("memory", ["none", "gru"])
@pytest.mark.parametrize("anew", ["never", "epoch", "minibatch"])
def test_updates_are_the_same_in_pieces_and_with_advantages_anew(make_any, memory, anew):
    check_same(
        make_any, "ppo.max_minibatch_size=9", f"ppo.recompute_advantages={anew}",
        f"policy.memory.kind={memory}", "ppo.target_kl=0.01", iterations=2,
    )  # fmt: skip


def test_updates_are_the_same_with_the_contrastive_loss(make_any):
    check_same(
        make_any, "policy.memory.kind=lstm", "policy.memory.horizon=8", "contrastive.coef=0.1",
        "ppo.max_minibatch_size=16", iterations=2,
    )  # fmt: skip


@pytest.mark.parametrize("memory", ["none", "lstm"])
def test_updates_are_the_same_with_dead_steps(make_experiment, memory):
    check_same(make_experiment, *DEAD, PYTORCH, f"policy.memory.kind={memory}", *NORMALIZED)


def test_updates_are_the_same_with_groups_of_workers(make_experiment, monkeypatch):
    monkeypatch.setattr("operant.trainer.envs.workers.section.num_cores", lambda: 2)
    check_same(
        make_experiment, "env=gymnasium:CartPole-v1", "workers.num_workers=2",
        "workers.async_factor=2", "policy.memory.kind=lstm", iterations=2,
    )  # fmt: skip


def test_updates_of_pqn_are_the_same(make_any):
    check_same(make_any, "algorithm=pqn", "normalization.obs=true")


def test_what_is_evaluated_in_pieces_is_the_same_in_pieces_from_main_memory(make_any, monkeypatch):
    for module in (rollout_module, rows_module):  # 17 x 8 and 16 x 8 observations are more
        monkeypatch.setattr(module, "MOST_AT_ONCE", 48)
    for memory in ("none", "lstm"):
        check_same(
            make_any, "ppo.recompute_advantages=epoch", f"policy.memory.kind={memory}",
            "normalization.obs=true", iterations=2,
        )  # fmt: skip


def test_a_run_with_and_one_without_go_on_from_each_others_checkpoints(make_any):
    straight = make_any(PYTORCH)
    iterate(straight, 4)
    for first, second in (("true", "false"), ("false", "true")):
        one, other = (make_any(PYTORCH, f"cpu_offload={on}") for on in (first, second))
        iterate(one, 2)
        other.load_state_dict(one.state_dict(), 2)
        iterate(other, 2)
        assert torch.equal(other.policy.flat_parameters, straight.policy.flat_parameters)


def test_only_observations_are_in_main_memory(make_cuda_experiment):
    rollout = make_cuda_experiment("cpu_offload=true").collector.rollout
    assert rollout.places.tolist()[1][:3] == [8, 9, 10]  # of 8 environments a step
    assert make_cuda_experiment().collector.rollout.places is None


def numbered_rollout():
    """Observation i is i, of 5 steps of 2 environments; and the places of all."""
    obs = torch.arange(12.0).view(6, 2, 1)  # [T + 1, N, D]
    places = torch.arange(10, dtype=torch.int32).view(5, 2)
    fields = {name: torch.zeros(5, 2) for name in ("rewards", "terminated", "truncated")}
    nothing = torch.zeros(())
    rollout = Rollout(
        obs=obs, actions=nothing, final_obs=nothing, log_probs=nothing, values=nothing,
        next_values=nothing, places=places, **fields,
    )  # fmt: skip
    return rollout, places.flatten()


def test_no_buffer_is_written_while_a_minibatch_is_learned_from_that_it_holds():
    rollout, flat = numbered_rollout()
    fetching = HostMinibatches(rollout, most_samples=3)
    drawn = [(torch.tensor(x), None) for x in ([0, 9, 4], [1, 2, 3], [5, 6, 7], [8, 8, 0])]
    seen = []
    for index, weights, found in fetching.of(iter(drawn), lambda index: flat[index]):
        assert weights is None
        assert found.squeeze(-1).tolist() == index.tolist()  # observation i is i
        seen.append(found)
    # Two buffers in turns: that of the minibatch before is left alone, the one before is reused.
    addresses = [found.data_ptr() for found in seen]
    assert addresses[0] == addresses[2] != addresses[1] == addresses[3]


class WorkBuffer:
    """Numbers on the device are written when the stream comes to it."""

    def __init__(self, work, size):
        self.gathered, self.on_device = torch.zeros(size, 1), torch.zeros(size, 1)
        self.was_copied, self.was_read = WorkEvent(work), WorkEvent(work)
        self.was_read.record()
        self.work, self.copied = work, self

    def __getitem__(self, _):
        return self

    def copy_(self, gathered, non_blocking):
        assert non_blocking
        self.work.give(lambda: self.on_device.copy_(gathered))

    def view(self, *_):
        return self.on_device


@pytest.mark.parametrize("eager", [(), ("side",), ("main",), ("side", "main")])
def test_whatever_is_late_every_minibatch_is_learned_from_as_it_was_gathered(monkeypatch, eager):
    work = Work(eager)
    monkeypatch.setattr(host_obs, "has_streams", lambda _: True)
    monkeypatch.setattr(host_obs, "event_maker", lambda _: lambda: WorkEvent(work))
    monkeypatch.setattr(host_obs, "_Buffer", lambda shape, *_: WorkBuffer(work, shape[0]))
    monkeypatch.setattr(HostMinibatches, "_used_here", lambda *_: None)
    monkeypatch.setattr(torch.cuda, "Stream", lambda _: work.make_stream("side"))
    monkeypatch.setattr(torch.cuda, "stream", lambda _: work.stream("side"))
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: work.make_stream("main"))
    rollout, flat = numbered_rollout()
    fetching = HostMinibatches(rollout, most_samples=2)
    fetching.draw_from_now()
    drawn = [(torch.tensor(x), None) for x in ([0, 9], [1, 2], [5, 6], [8, 3], [4, 7], [9, 9])]
    learned = []
    for _, _, found in fetching.of(drawn, lambda index: flat[index]):
        work.give(lambda found=found: learned.append(found.flatten().tolist()))
    work.until(lambda: len(learned) == len(drawn))
    assert learned == [index.tolist() for index, _ in drawn]
