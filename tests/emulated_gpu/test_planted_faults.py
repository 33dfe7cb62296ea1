"""Faults of programs for GPUs, planted in operant one at a time: each is caught.

| fault | captures | processor | sanitizer | schedules | allocations |
|---|---|---|---|---|---|
| an early .item() | | | x | x | |
| a fresh tensor in a capture | | x | | x | |
| a generator not registered | x | - | | - | - |
| an allocation in a replay | | | | | x |
| a rollout handed over too early | | | x | x | |
| a rollout written before it is handed over | | | x | x | |
| a policy that acts and learns at once | | x | x | x | |

- captures: PyTorch refuses to capture it;
- processor: weights or metrics are not those of the processor, without any delay;
- sanitizer: a race, where all work is done at once and in order;
- schedules: weights or metrics are not the processor's where work is done late;
- allocations: memory of the device was given out in iterations that are replayed.

A run that cannot be captured ends there, so it has no results to compare and no replays (-). The
sanitizer has watched it up to there.
"""

from __future__ import annotations

import gpu_runs
import pytest
import torch
from gpu_subjects import PPO, SIZES, SUBJECTS, Subject, differences

from operant.trainer.config.from_values import make_config
from operant.trainer.experiment.graphs import Graphs
from operant.trainer.experiment.overlapping import LaggingCollector, OverlappingGraphs
from operant.trainer.machine.staged_values import StagedValues
from operant.trainer.policies.draws_on_gpu import CountedOrders

CUDA = torch.device("cuda")


def early_item(patch):
    """Metrics are read as soon as they were sent."""

    def take(staged):
        return [staged._read(staged._in_flight.popleft()) for _ in range(len(staged._in_flight))]

    patch.setattr(StagedValues, "take", take)


class Fresh(torch.Tensor):
    """`+=` makes a new tensor, which a replay never looks at again."""

    __iadd__ = torch.Tensor.__add__


def fresh_tensor_in_capture(patch):
    count = Graphs.counter
    patch.setattr(Graphs, "counter", lambda self: count(self).as_subclass(Fresh))


def generator_not_registered(patch):
    generator = torch.Generator("cuda").manual_seed(1)

    def next_order(self, num_samples):
        return torch.randperm(num_samples, generator=generator, device="cuda")

    patch.setattr(CountedOrders, "next", next_order)


def allocation_in_replay(patch):
    stage = StagedValues.stage

    def stage_copy(self, *arguments):
        values, self.values = self.values, self.values.clone()
        try:
            return stage(self, *arguments)
        finally:
            self.values = values

    patch.setattr(StagedValues, "stage", stage_copy)


class Unawaited(torch.cuda.Event):
    def wait(self, stream=None):
        pass


def unawaited(event):
    """A fault of `OverlappingGraphs`: nobody waits for one of its events."""

    def plant(patch):
        make = OverlappingGraphs.__init__

        def make_impatient(self, *arguments):
            make(self, *arguments)
            setattr(self, event, Unawaited())

        patch.setattr(OverlappingGraphs, "__init__", make_impatient)

    return plant


def same_policy_acts_and_learns(patch):
    make = LaggingCollector.__init__

    def make_with_one(self, collector, acting, policy):
        make(self, collector, acting, policy)
        for name, x in acting.state_dict(keep_vars=True).items():
            x.data = policy.state_dict(keep_vars=True)[name].data

    patch.setattr(LaggingCollector, "__init__", make_with_one)


SCHEDULED = Subject(
    {**SIZES, **PPO, "ppo": {**PPO["ppo"], "learning_rate_schedule": "linear"}}
)  # fmt: skip
STAGED, OVERLAPPING = SUBJECTS["staged metrics"], SUBJECTS["overlapping rollouts"]
FAULTS = {
    "an early .item()": (early_item, STAGED),
    "a fresh tensor in a capture": (fresh_tensor_in_capture, SCHEDULED),
    "a generator not registered": (generator_not_registered, STAGED),
    "an allocation in a replay": (allocation_in_replay, STAGED),
    "a rollout handed over too early": (unawaited("_collected"), OVERLAPPING),
    "a rollout written before it is handed over": (unawaited("_handed_over"), OVERLAPPING),
    "a policy that acts and learns at once": (same_policy_acts_and_learns, OVERLAPPING),
}
NUM_SCHEDULES = 8


@pytest.fixture(autouse=True)
def _same_operations():
    with gpu_runs.without_processor_loops():
        yield


LONG = {"an allocation in a replay"}


def marked(name):
    return pytest.param(name, marks=pytest.mark.long_rehearsal if name in LONG else ())


@pytest.mark.parametrize("name", map(marked, FAULTS))
def test_each_fault_is_caught_by_what_the_table_says(name, monkeypatch):
    plant, subject = FAULTS[name]
    expected = subject.on("cpu")
    plant(monkeypatch)
    row = next(line for line in __doc__.splitlines() if line.startswith(f"| {name} |"))
    assert marks(subject, expected) == [mark.strip() for mark in row.split("|")[2:-1]]


def test_the_table_has_each_fault():
    rows = [line.split(" | ")[0] for line in __doc__.splitlines() if line.startswith("| a")]
    assert rows == [f"| {name}" for name in FAULTS]


def marks(subject, expected):
    """Results of all checks, in the order of the table."""
    try:
        found = subject.on("cuda")
    except RuntimeError as error:
        assert "captur" in str(error)  # noqa: PT017
        return ["x", "-", marked_if(sanitizer_finds_a_race(subject)), "-", "-"]
    checks = (
        differences(found, expected),
        sanitizer_finds_a_race(subject),
        not all(is_same_by_schedule(subject, seed, expected) for seed in range(NUM_SCHEDULES)),
        num_allocations(subject),
    )
    return ["", *map(marked_if, checks)]


def marked_if(found):
    return "x" if found else ""


def num_allocations(subject):
    """In iterations that are replayed, where nothing is done as it stands."""
    run = gpu_runs.make_run(make_config(subject.settings), "cuda")
    gpu_runs.iterate(run, 3)
    before = torch.cuda.memory_stats()["allocation.all.allocated"]
    gpu_runs.iterate(run, 3)
    return torch.cuda.memory_stats()["allocation.all.allocated"] - before


def sanitizer_finds_a_race(subject):
    from emulated_gpu.races import races  # importing it makes the emulation
    from torch.cuda._sanitizer import CUDASanitizerErrors

    with races() as sanitizer:
        try:
            subject.on("cuda")
        except CUDASanitizerErrors:
            return True
        except RuntimeError as error:
            if "captur" not in str(error):
                raise
    return bool(sanitizer.found)


def is_same_by_schedule(subject, seed, expected):
    from emulated_gpu.delays import delays  # importing it makes the emulation

    try:
        with delays(seed):
            found = subject.on("cuda")
    except (RuntimeError, IndexError):  # of numbers that are no places
        return False
    return not differences(found, expected)


@pytest.mark.parametrize("name", ["staged metrics", "overlapping rollouts", "pinned replay"])
def test_replayed_iterations_allocate_no_memory_of_the_device(name):
    assert num_allocations(SUBJECTS[name]) == 0
