"""Whole runs: what is published, when the host looks, and going on from a checkpoint."""

from __future__ import annotations

import pytest
import torch
from learning import iterate

from operant.shared.rows.curves import Curves
from operant.trainer.experiment.checkpoints import list_checkpoints
from operant.trainer.machine.staged_values import HostEvent, StagedValues
from operant.trainer.machine.stopwatch import Stopwatch
from operant.trainer.running import loop


def iterations_with(reader, name):
    history = Curves(None, reader).history()
    mean = history.series(name).mean
    return history.iteration[mean == mean].tolist()


def test_every_iteration_is_published_and_the_host_looks_when_asked(
    on_the_device, small_config, page, tmp_path
):
    writer, reader = page
    config = small_config(
        "checkpoint.every_iterations=2", "checkpoint.keep=9", "evaluation.every_iterations=3"
    )
    assert loop.train(config, writer, tmp_path) is True
    assert iterations_with(reader, "loss/policy") == [1, 2, 3, 4, 5, 6]
    assert iterations_with(reader, "evaluation/return") == [3, 6]
    assert [int(path.stem[-9:]) for path in list_checkpoints(tmp_path)] == [2, 4, 6]
    snapshot = reader.read()
    assert (snapshot.iteration, snapshot.env_steps) == (6, 768)
    assert [name for name, value in snapshot.metrics.items() if value != value] == []


@pytest.mark.parametrize("first", ["processor", "device"])
def test_a_checkpoint_of_one_device_is_good_on_the_other(
    make_experiment, make_cuda_experiment, first
):
    one, other = make_experiment(), make_cuda_experiment()
    if first == "device":
        one, other = other, one
    for _ in one.iterate(Stopwatch(), wait=True):
        pass
    other.load_state_dict(one.state_dict(), one.iteration)
    for experiment in (one, other):
        assert len(list(experiment.iterate(Stopwatch(), wait=True))) == 1
        assert experiment.iteration == 2
    saved, found = one.state_dict()["collector"], other.state_dict()["collector"]
    assert saved["steps_before"] == found["steps_before"] == 32
    # 4 epochs of each of 2 iterations: no order of samples comes again
    assert one.state_dict()["learner"]["orders"]["count"] == 8
    assert other.state_dict()["learner"]["orders"]["count"] == 8


class LateEvent(HostEvent):
    """Happens when told to."""

    happened = False

    def query(self):
        return self.happened


def test_the_host_runs_ahead_no_further_than_there_are_slots(make_cuda_experiment):
    experiment = make_cuda_experiment()
    iterate(experiment)  # which finds out what there is to stage
    events, graphs = [], experiment.executor

    def make_event():
        events.append(LateEvent())
        return events[-1]

    names = graphs._staged["learn"].names
    graphs._staged["learn"] = StagedValues(names, torch.device("cpu"), 2, make_event)
    stopwatch, seen = Stopwatch(), []
    for _ in range(2):
        assert list(experiment.iterate(stopwatch, wait=False)) == []
    assert (experiment.num_started, experiment.iteration) == (3, 1)

    def the_device_goes_on():
        seen.append(experiment.num_started)
        events[0].happened = True

    experiment.on_tick(the_device_goes_on)
    finished = experiment.iterate(stopwatch, wait=False)
    assert seen == [3]  # it waited before the fourth was started
    assert len(list(finished)) == 1
    assert (experiment.num_started, experiment.iteration) == (4, 2)
    assert len(list(experiment.finish())) == 2
    assert experiment.iteration == 4
