"""The main loop publishes, evaluates, saves and stops when it should."""

from __future__ import annotations

import itertools
import math
import threading
from contextlib import nullcontext
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from learning import StopWhen, check_that_a_stopped_run_goes_on, differing
from waiting import PATIENCE_S

from operant.shared.errors import CheckpointError
from operant.shared.page.requests import SIGNALS
from operant.shared.rows.curves import Curves
from operant.trainer.config.from_values import make_config
from operant.trainer.experiment import compile_progress
from operant.trainer.experiment.checkpoints import (
    checkpoint_path,
    latest_checkpoint,
    list_checkpoints,
    load_checkpoint,
)
from operant.trainer.running.loop import train
from operant.trainer.running.signals import Requests


def test_every_iteration_is_published_with_its_numbers(small_config, page, tmp_path):
    writer, reader = page
    assert train(small_config(), writer, tmp_path / "checkpoints") is True

    history = Curves(None, reader).history()
    iterations = history.iteration[~_is_nan(history, "loss/policy")]
    assert iterations.tolist() == [1, 2, 3, 4, 5, 6]
    snapshot = reader.read()
    assert (snapshot.iteration, snapshot.env_steps) == (6, 768)
    assert snapshot.metrics["progress/fraction"] == 1.0
    assert [name for name, value in snapshot.metrics.items() if math.isnan(value)] == []
    assert latest_checkpoint(tmp_path / "checkpoints").iteration == 6
    texts = [event.text for event in reader.events()]
    assert texts[-1] == "checkpoint: iteration-000000006.pt"
    assert texts[0].endswith(" mean return of the evaluation")


def _is_nan(history, name):
    mean = history.series(name).mean
    return mean != mean


def test_a_stopped_run_goes_on_to_the_same_end(small_config, page, tmp_path):
    writer, reader = page
    published = []
    checkpoint = check_that_a_stopped_run_goes_on(
        small_config(), writer, tmp_path, lambda: published.append(reader.read().publish)
    )
    assert published == [checkpoint.publish]


OFF_POLICY = {
    "algorithm": "dqn", "num_envs": 4, "rollout_steps": 8, "num_threads": 1,
    "total_env_steps": 32 * 6, "policy": {"hidden_sizes": [16, 16]},
    "replay": {"capacity": 400}, "evaluation": {"num_episodes": 0},
    "dqn": {"warmup_env_steps": 64, "batch_size": 32, "updates_per_env_step": 1.0},
}  # fmt: skip


def test_a_run_that_is_stopped_between_two_updates_goes_on_to_the_same_bits(page, tmp_path):
    writer, _ = page
    config = make_config(OFF_POLICY)
    train(config, writer, tmp_path / "straight")
    for stop_after in (13, 40):  # times that it is asked, mostly after an update
        asked = itertools.count()
        folder = tmp_path / f"parts-{stop_after}"
        assert not train(
            config,
            writer,
            folder,
            requests=StopWhen(lambda: next(asked) >= stop_after),  # noqa: B023
        )
        checkpoint = latest_checkpoint(folder)
        num_done, num_due, _ = checkpoint.state["learner"]["under_way"]
        assert 0 < num_done < num_due == 32
        train(config, writer, folder, resume_from=checkpoint)
        straight, parts = (latest_checkpoint(x).state for x in (tmp_path / "straight", folder))
        assert differing(straight, parts) == []


class Slow(gymnasium.Env):
    """Counts the steps of all of its kind."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    num_steps = exits_at = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action):
        Slow.num_steps += 1
        if Slow.num_steps == Slow.exits_at:
            raise SystemExit(3)
        return np.zeros(2, np.float32), 1.0, False, False, {}


@pytest.mark.parametrize("exits", [False, True], ids=["stopped", "exits"])
def test_collecting_from_a_library_stops_between_two_steps(
    small_config, page, tmp_path, monkeypatch, exits
):
    writer, _ = page
    monkeypatch.setattr("gymnasium.envs.registration.registry", {})
    gymnasium.register("operant/Slow-v0", Slow, disable_env_checker=True)
    Slow.num_steps, Slow.exits_at = 0, 70 if exits else 0
    config = small_config(
        "env=gymnasium:operant/Slow-v0", "num_envs=1", "rollout_steps=64", "total_env_steps=640",
        "ppo.num_minibatches=1", "evaluation.num_episodes=0",
    )  # fmt: skip
    stop = StopWhen(lambda: not exits and Slow.num_steps >= 70)
    with pytest.raises(SystemExit) if exits else nullcontext():
        assert not train(config, writer, tmp_path, requests=stop)
    assert Slow.num_steps == 70
    checkpoint = latest_checkpoint(tmp_path)
    assert checkpoint.iteration == 1
    assert train(config, writer, tmp_path, resume_from=checkpoint)


def test_a_checkpoint_that_cannot_be_written_does_not_end_training(small_config, page, tmp_path):
    writer, reader = page
    folder = tmp_path / "checkpoints"
    folder.write_text("a file in the way")
    with pytest.raises(CheckpointError, match="Not a directory"):  # the last one, which ends it
        train(small_config("checkpoint.every_iterations=2"), writer, folder)
    assert reader.read().iteration == 6
    assert "error" in {event.level for event in reader.events()}


def test_a_checkpoint_that_is_asked_for_is_saved_after_the_iteration(small_config, page, tmp_path):
    writer, _ = page
    requests = Requests()

    def report(values, iteration, env_steps):
        if iteration == 1:
            requests.on_request_signal(SIGNALS["checkpoint"], None)

    config = small_config("checkpoint.every_iterations=0", "checkpoint.keep=9")
    train(config, writer, tmp_path, requests=requests, report=report)
    assert [int(path.stem[-9:]) for path in list_checkpoints(tmp_path)] == [2, 6]


@pytest.mark.parametrize(
    ("overrides", "num_loops"),
    [
        ((), 4),  # first observations, collecting, advantages, the update
        (("normalization.reward=true", "ppo.normalize_advantages=rollout"), 6),
    ],
)
def test_a_run_tells_how_many_of_its_loops_are_compiled(
    small_config, page, tmp_path, monkeypatch, overrides, num_loops
):
    monkeypatch.setattr(compile_progress, "is_ready", lambda loop: False)  # whoever called it
    writer, _ = page
    phases = []
    writer.on_phase = lambda *phase: phases.append(phase)
    train(small_config("total_env_steps=128", *overrides), writer, tmp_path)
    compiling = [phase for phase in phases if phase[0] == "compiling"]
    assert compiling[0] == ("compiling", None, None, "", None)  # before anything is known
    assert {phase[1:4] for phase in compiling if phase[3]} == {(0, num_loops, "loops")}


def test_the_phases_of_a_run_are_told_in_their_order(small_config, page, tmp_path):
    writer, reader = page
    names = []
    writer.on_phase = lambda name, *_: names.append(name)
    train(small_config("evaluation.every_iterations=0"), writer, tmp_path)
    steps = [name for name, _ in itertools.groupby(names)]
    learned = ["collecting", "learning"] * 6
    assert steps == ["compiling", *learned, "evaluating", "learning", "saving", "learning"]
    assert reader.phase().name == "learning"


def test_training_goes_on_while_a_checkpoint_is_written(small_config, page, tmp_path, monkeypatch):
    """The write waits for an iteration that comes only if training does not wait for the write."""
    writer, _ = page
    fifth, was_waited_for = threading.Event(), []

    def slow(file):
        was_waited_for.append(fifth.wait(PATIENCE_S))

    def report(values, iteration, env_steps):
        if iteration == 5:
            fifth.set()

    monkeypatch.setattr("os.fsync", slow)
    config = small_config("checkpoint.every_iterations=3", "checkpoint.keep=9")
    train(config, writer, tmp_path, report=report)
    assert was_waited_for == [True, True]  # of iterations 3 and 6
    assert [int(path.stem[-9:]) for path in list_checkpoints(tmp_path)] == [3, 6]

    saved = load_checkpoint(checkpoint_path(tmp_path, 3))
    asked = itertools.count()
    stop = StopWhen(lambda: next(asked) >= 3)
    train(small_config(), writer, tmp_path / "stopped", requests=stop)
    stopped = latest_checkpoint(tmp_path / "stopped")
    assert stopped.iteration == 3
    assert differing(stopped.state, saved.state) == []


def test_a_checkpoint_that_is_being_written_is_whole_however_training_ends(
    small_config, page, tmp_path, monkeypatch
):
    writer, _ = page
    has_failed = threading.Event()

    def slow(file):
        assert has_failed.wait(PATIENCE_S)

    def report(values, iteration, env_steps):
        if iteration == 3:
            has_failed.set()
            raise RuntimeError("on purpose")

    monkeypatch.setattr("os.fsync", slow)
    with pytest.raises(RuntimeError, match="on purpose"):
        train(small_config("checkpoint.every_iterations=2"), writer, tmp_path, report=report)
    assert [path.name for path in tmp_path.iterdir()] == ["iteration-000000002.pt"]


def test_a_last_checkpoint_that_finds_no_room_is_one_line(
    small_config, page, tmp_path, monkeypatch
):
    def full(file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(CheckpointError, match=r"no checkpoint of iteration .* No space left"):
        train(small_config("checkpoint.every_iterations=0"), page[0], tmp_path)


def test_a_request_to_stop_does_not_wait_for_the_episodes_of_an_evaluation(
    small_config, page, tmp_path
):
    writer, reader = page
    config = small_config("evaluation.every_iterations=2", "evaluation.num_episodes=4")
    asked = itertools.count()
    # Asked before iterations 1 and 2, then in the first three steps of the evaluation.
    assert not train(config, writer, tmp_path, requests=StopWhen(lambda: next(asked) >= 5))
    assert latest_checkpoint(tmp_path).iteration == 2
    texts = [event.text for event in reader.events()]
    assert texts[-2:] == [
        "the evaluation was skipped because the run is stopping",
        "checkpoint: iteration-000000002.pt",
    ]
    assert math.isnan(reader.read().metrics["evaluation/return"])


def test_what_was_collected_counts_while_it_is_learned_from(make_experiment):
    experiment = make_experiment()
    experiment.collector = SimpleNamespace(env_steps_under_way=50)
    assert experiment.env_steps_so_far == 50
    experiment.collector.env_steps_under_way = 0  # learning
    assert experiment.env_steps_so_far == 50
    experiment.executor.begin_at(1)
    assert experiment.env_steps_so_far == experiment.config.rollout_size
