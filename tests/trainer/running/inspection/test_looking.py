"""Statistics, traces and videos recorded during a run."""

from __future__ import annotations

import json
import os
from contextlib import nullcontext

import pytest
from learning import iterate

from operant.shared import MetricsReader, MetricsWriter
from operant.shared.episodes.episode_file import read_episode
from operant.shared.errors import ConfigError
from operant.shared.page.requests import SIGNALS
from operant.shared.rows.curves import Curves
from operant.shared.runs.run_folder import Run
from operant.trainer.config.metrics import metrics_of
from operant.trainer.experiment.checkpoints import latest_checkpoint
from operant.trainer.running.inspection import tracing
from operant.trainer.running.inspection.tracing import Tracer
from operant.trainer.running.loop import train
from operant.trainer.running.signals import Requests


@pytest.fixture
def trained(small_config, operant_pages, tmp_path):
    """Trains with options; a trace may be requested before the first iteration. Returns the run and
    its page.
    """

    def trained(*overrides, traces_first=False):
        config = small_config(*overrides)
        writer = MetricsWriter.create(
            operant_pages / "p", "run", metrics_of(config), publish_interval_s=1
        )
        requests = Requests()
        if traces_first:
            requests.on_request_signal(SIGNALS["trace"], None)
        train(config, writer, tmp_path / "run" / "checkpoints", requests=requests)
        return Run(tmp_path / "run"), MetricsReader.attach(operant_pages / "p")

    (tmp_path / "run").mkdir()
    return trained


def told(page):
    return [event.text for event in page.events()]


def test_gradients_and_weights_are_told_as_often_as_asked(trained):
    run, page = trained("gradients.every_iterations=2", "weights.every_env_steps=256")
    history = Curves(None, page).history()

    def iterations_with(name):
        values = history.series(name).mean
        return history.iteration[values == values].tolist()

    assert iterations_with("gradient/norm") == [2, 4, 6]
    assert iterations_with("weights/norm") == [2, 4, 6]
    lines = [json.loads(line) for line in run.weights_path.read_text().splitlines()]
    assert [line["env_steps"] for line in lines] == [256, 512, 768]
    assert "actor.0.weight" in lines[0]["layers"]
    assert lines[-1]["weights/norm"] == pytest.approx(page.read().metrics["weights/norm"])


def test_an_iteration_is_traced_once_everything_is_compiled(trained):
    run, page = trained(traces_first=True)
    # asked before the first: the third is the first that compiles nothing
    (path,) = run.trace_folder.iterdir()
    assert path.name == "iteration-000000003.trace.json"
    assert f"trace: {path.name}" in told(page)
    events = json.loads(path.read_text())["traceEvents"]
    spans = {event["name"] for event in events if event.get("cat") == "user_annotation"}
    assert {"collect", "learn"} <= spans


@pytest.mark.slow  # it compiles the loops of another environment
def test_what_other_threads_do_in_an_iteration_is_in_its_trace(make_experiment, tmp_path):
    experiment = make_experiment(
        "env=cart_pole_no_velocity", "num_envs=256", "policy.memory.kind=gru",
        "policy.memory.size=8", "policy.memory.horizon=8",
    )  # fmt: skip
    experiment.executor.threads.num_threads = 2
    tracer = Tracer(experiment.executor, tmp_path / "traces")
    tracer.ask()
    for _ in range(4):
        tracer.begin()
        iterate(experiment)
        tracer.finish()
    (path,) = (tmp_path / "traces").iterdir()
    events = json.loads(path.read_text())["traceEvents"]
    threads = {event["tid"] for event in events if event.get("name") == "aten::addmm"}
    assert len(threads) >= 2


@pytest.mark.parametrize("failing", [False, True])
def test_after_a_traced_iteration_phases_are_as_they_were(make_experiment, tmp_path, failing):
    executor = make_experiment().executor
    tracer = Tracer(executor, tmp_path / "traces")
    executor.span = former = lambda name: nullcontext()
    executor.begin_at(2)  # all is compiled
    tracer.ask()
    tracer.begin()
    assert executor.span is not former
    tracer.stop() if failing else tracer.finish()
    assert executor.span is former
    assert len(list(tmp_path.glob("traces/*"))) == (0 if failing else 1)
    tracer.begin()  # nobody asked for another
    assert executor.span is former


def test_a_trace_that_cannot_be_written_ends_nothing(trained, tmp_path):
    (tmp_path / "run" / "traces").write_text("a file in the way")
    _, page = trained("trace.every_iterations=3")
    assert any(text.startswith("no trace: ") for text in told(page))
    assert page.read().iteration == 6


def test_episodes_are_recorded_as_the_policy_plays_them_then(trained):
    run, page = trained("episodes.every_iterations=3")
    names = sorted(os.listdir(run.episode_folder))
    assert names == ["iteration-000000003.episode.gz", "iteration-000000006.episode.gz"]
    assert [text for text in told(page) if text.startswith("episode: ")] == [
        f"episode: {name}" for name in names
    ]
    episode = read_episode(run.episode_folder / names[0])
    assert (episode.env, episode.seed, episode.num_agents) == ("cart_pole", 1, 1)
    while not episode.step():
        pass
    assert episode.moment(0).returns == (episode.moment(0).step,)  # a reward of 1 each


def test_looking_changes_nothing_that_is_learned(make_experiment, trained, monkeypatch):
    names = ("gradients", "weights", "trace", "episodes")
    monkeypatch.setattr(tracing, "TRACES_KEPT", 2)
    run, _ = trained(*(f"{name}.every_iterations=1" for name in names))
    assert sorted(path.name[:19] for path in run.trace_folder.iterdir()) == [
        "iteration-000000005", "iteration-000000006",
    ]  # fmt: skip
    looked_at = latest_checkpoint(run.checkpoint_folder).state["policy"]
    experiment = make_experiment()
    iterate(experiment, 6)
    for name, weights in experiment.policy.state_dict().items():
        assert (weights == looked_at[name]).all(), name


@pytest.mark.parametrize("kind", [ConfigError, ModuleNotFoundError])
def test_an_environment_that_cannot_be_drawn_is_trained_on(trained, monkeypatch, kind):
    def make_episodes(_):
        raise kind("it draws nothing")

    monkeypatch.setattr(
        "operant.trainer.running.inspection.inspection.make_episodes", make_episodes
    )
    _, page = trained("episodes.every_iterations=3")
    assert "no episode: it draws nothing" in told(page)
    assert page.read().iteration == 6
