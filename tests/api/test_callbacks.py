"""Callbacks: their inputs and effects."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from own_lines import SMALL

import operant
from operant.shared.runs.status import open_page
from operant.trainer.experiment.experiment import Experiment
from operant.trainer.running.callbacks import StopWithoutImprovement

pytestmark = pytest.mark.slow

EVERY = {**SMALL, "evaluation": {"num_episodes": 4, "every_iterations": 2}}


class Heard:
    """Everything that a callback is told, in order."""

    def __init__(self):
        self.heard = []

    def on_start(self, run):
        self.heard.append(("start", run.iteration, run.state))

    def on_iteration(self, run):
        self.heard.append(("iteration", run.iteration, run.env_steps))

    def on_evaluation(self, run):
        self.heard.append(("evaluation", run.iteration))

    def on_checkpoint(self, run):
        self.heard.append(("checkpoint", run.newest_checkpoint.name))

    def on_end(self, run):
        self.heard.append(("end", run.iteration, run.state))


def texts(run):
    return [event.text for event in open_page(run._run).events()]


def test_each_method_is_called_when_its_name_says(line):
    heard = Heard()
    operant.train(
        line, total_env_steps=256, callbacks=[heard], checkpoint={"every_env_steps": 0}, **EVERY
    )
    assert heard.heard == [
        ("start", 0, "running"),
        ("iteration", 1, 64),
        ("evaluation", 2), ("iteration", 2, 128),
        ("iteration", 3, 192),
        ("evaluation", 4), ("iteration", 4, 256),
        ("checkpoint", "iteration-000000004.pt"),
        ("end", 4, "finished"),
    ]  # fmt: skip


def test_the_view_has_numbers_settings_and_a_copy_of_the_policy(line):
    seen = []

    class Looks:
        def on_iteration(self, run):
            seen.append((run.policy(), run.policy().act([3.0], greedy=True)))
            assert run.metrics["loss/policy"] == run.metrics["loss/policy"]
            assert run.metrics["progress/fraction"] == run.env_steps / 256
            assert run.config["num_envs"] == 4
            assert run.policy() is run.policy()
            with pytest.raises(TypeError):
                run.metrics["loss/policy"] = 3
            with pytest.raises(AttributeError):
                run.iteration = 5

    given = {"total_env_steps": 256, "ppo": {"learning_rate": 0.003}, **SMALL}
    run = operant.train(line, callbacks=[Looks()], **given)
    assert len({action[0] for _, action in seen}) == 4  # it learned in between
    assert [policy.act([3.0]).tolist() for policy, _ in seen] == [a.tolist() for _, a in seen]
    assert operant.load(run).act([3.0]).tolist() == seen[-1][1].tolist()


def test_looking_changes_nothing_of_what_is_learned(line):
    class Looks:
        def on_iteration(self, run):
            run.policy().act(np.zeros((3, 1)), greedy=False)
            run.log({"own/x": 1.0})

    given = {"total_env_steps": 256, **EVERY}
    runs = [operant.train(line, callbacks=each, **given) for each in ([], [Looks(), Heard()])]
    rows = [run.history().dropna(subset=["loss/policy"]) for run in runs]
    plain, looked = (frame.reset_index(drop=True) for frame in rows)
    same = ["loss/policy", "loss/value", "episode/return", "evaluation/return"]
    assert plain[same].equals(looked[same])
    assert "own/x" not in plain


def test_metrics_of_ones_own_are_in_the_row_of_their_iteration(line):
    class Logs:
        def on_iteration(self, run):
            run.log({"own/double": 2 * run.iteration})

        def on_end(self, run):
            run.log({"own/last": 7})

    frame = operant.train(line, total_env_steps=192, callbacks=[Logs()], **SMALL).history()
    rows = frame.dropna(subset=["loss/policy"])
    assert rows["own/double"].tolist() == [2, 4, 6]
    assert frame["own/last"].iloc[-1] == 7


@pytest.mark.parametrize(
    ("callbacks", "best", "waits"),
    [([Heard()], "none", True), ([], "loss/value", True), ([], "evaluation/return", False)],
)
def test_a_device_waits_where_a_callback_looks_at_each_iteration(
    monkeypatch, callbacks, best, waits
):
    asked, iterate = [], Experiment.iterate

    def recorded(self, stopwatch, wait):
        asked.append(wait)
        return iterate(self, stopwatch, wait)

    monkeypatch.setattr(Experiment, "iterate", recorded)
    given = {**SMALL, "checkpoint": {"best": best}}
    operant.train("cart_pole", total_env_steps=256, callbacks=callbacks, **given)
    assert asked == [waits, waits, waits, True]  # the last is evaluated


class Scores:
    """Logs a score of its own in every iteration."""

    def __init__(self, *scores):
        self.scores = scores

    def on_iteration(self, run):
        run.log({"own/score": self.scores[run.iteration - 1]})


@pytest.mark.parametrize(("scores", "best"), [((3, 1, 2), 1), ((1, 3, 2), 2), ((1, 2, 3), 3)])
def test_the_best_by_a_score_of_ones_own_is_the_policy_that_had_it(line, scores, best, capsys):
    given = {**SMALL, "evaluation": {"num_episodes": 4, "every_iterations": 1}}
    given["checkpoint"] = {"best": "own/score"}
    run = operant.train(line, total_env_steps=192, callbacks=[Scores(*scores)], **given)
    assert operant.load(run, checkpoint="best").iteration == best
    assert "no metric is called" not in capsys.readouterr().err


def test_a_callback_stops_the_run_which_is_finished_then_and_goes_on_later(line):
    class Stops:
        def on_iteration(self, run):
            if run.iteration == 3:
                run.stop("three are enough")

    run = operant.train(line, total_env_steps=640, callbacks=[Stops()], **SMALL)
    status = run.status()
    assert (status.state, status.message) == ("finished", "three are enough")
    assert (status.iteration, operant.load(run).iteration) == (3, 3)
    assert operant.train(resume=run).status().iteration == 10


def test_a_handle_of_the_run_itself_stops_it_and_does_not_wait_for_it(line):
    class Stops:
        def on_iteration(self, run):
            handle = operant.Run(run.folder)
            with pytest.raises(operant.UsageError, match="would never return"):
                handle.wait()
            assert handle.stop().state == "running"

    run = operant.train(line, total_env_steps=640, callbacks=[Stops()], **SMALL)
    assert (run.status().state, run.status().iteration) == ("stopped", 1)
    assert operant.load(run).iteration == 1


def test_a_return_stops_a_run_and_so_does_standing_still(line):
    given = {"total_env_steps": 640, **EVERY}
    run = operant.train(line, stop={"at_return": -1e6}, **given)
    assert run.status().iteration == 2
    assert run.status().message.startswith("the return of an evaluation is -")
    run = operant.train(line, stop={"at_return": 1.0}, **given)
    assert run.status().iteration == 10
    reasons, still = [], StopWithoutImprovement(2)
    for found in (1.0, 3.0, 2.0, 3.0):
        assert not reasons
        metrics = {"evaluation/return": found}
        still.on_evaluation(SimpleNamespace(metrics=metrics, stop=reasons.append))
    assert reasons == ["no better evaluation in 2; the best return is 3.000"]


def test_the_configuration_stops_runs_alike(line):
    given = {"total_env_steps": 640, **EVERY}
    assert operant.train(line, stop={"at_return": -1e6}, **given).status().iteration == 2
    run = operant.train("cart_pole", stop={"at_return": 501, "patience": 1}, **given)
    assert run.status().message.startswith("no better evaluation in 1")
    with pytest.raises(operant.UsageError, match=r"stop.patience = 1: it looks at evaluations"):
        operant.train(line, stop={"patience": 1}, evaluation={"num_episodes": 0})


@pytest.mark.parametrize("hook", ["on_start", "on_iteration", "on_evaluation", "on_checkpoint"])
def test_what_a_callback_raises_fails_the_run_with_its_traceback_and_a_checkpoint(line, hook):
    heard = Heard()

    def fails(run):
        raise KeyError("a mistake of mine")

    broken = type("Broken", (), {hook: staticmethod(fails)})()
    with pytest.raises(KeyError, match="a mistake of mine"):
        operant.train(line, total_env_steps=640, callbacks=[broken, heard], **EVERY)
    (run,) = operant.runs()
    assert run.status().state == "failed"
    assert run.status().message == "KeyError: 'a mistake of mine'"
    assert "in fails" in texts(run)[-1]
    iteration = run.status().iteration or 0
    assert operant.load(run).iteration == iteration
    assert heard.heard[-1] == ("end", iteration, "failed")


def test_a_hook_that_returns_false_says_how_to_stop(line):
    class Stops:
        def on_iteration(self, run):
            return False

    with pytest.raises(operant.UsageError, match=r"on_iteration returned False; write run\.stop"):
        operant.train(line, total_env_steps=640, callbacks=[Stops()], **EVERY)


def test_an_error_in_training_is_told_to_callbacks(line):
    class Breaks(line):
        def step(self, action):
            raise ZeroDivisionError

    heard = Heard()
    with pytest.raises(operant.UsageError):  # the first step, before there is a run
        operant.train(Breaks, total_env_steps=64, callbacks=[heard], **SMALL)
    assert heard.heard == []

    class BreaksLater(line):
        def step(self, action):
            return super().step(action) if self.step_number < 5 else 1 / 0

    with pytest.raises(ZeroDivisionError):
        operant.train(BreaksLater, total_env_steps=64, callbacks=[heard], **SMALL)
    assert heard.heard == [("start", 0, "running"), ("end", 0, "failed")]


def test_what_is_no_callback_is_refused_before_there_is_a_run(line):
    class Typo:
        def on_iterations(self, run): ...

    for wrong, said in (
        (Heard, r"callbacks\[0\] = Heard: expected an object"),
        (3, r"callbacks\[0\] = 3: expected an object with any of on_start"),
        (Typo(), r"Typo has on_iterations, which is never called; did you mean 'on_iteration'"),
    ):
        with pytest.raises(operant.UsageError, match=said):
            operant.train(line, callbacks=[wrong], **SMALL)
    with pytest.raises(operant.UsageError, match="detach = True takes none"):
        operant.train(line, callbacks=[Heard()], detach=True, **SMALL)
    with pytest.raises(operant.UsageError, match="detach = True shows none"):
        operant.train(line, progress=True, detach=True, **SMALL)
    assert operant.runs() == []


@pytest.mark.parametrize("shows", [True, False, None])
def test_progress_is_shown_where_it_is_asked_for(capsys, shows):
    run = operant.train("cart_pole", total_env_steps=256, progress=shows, **SMALL)
    printed = capsys.readouterr().err
    assert (run.id in printed, "100%" in printed) == (bool(shows), bool(shows))


class UnsayableError(Exception):
    def __str__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "state", "message"),
    [
        (UnsayableError(), "failed", "UnsayableError: <UnsayableError>"),
        (GeneratorExit("mine"), "failed", "GeneratorExit: mine"),
        (SystemExit(3), "stopped", "by SystemExit"),
        (KeyboardInterrupt(), "stopped", "by KeyboardInterrupt"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_whatever_a_callback_raises_ends_the_run_with_a_checkpoint(line, error, state, message):
    heard = Heard()

    class Raises:
        def on_iteration(self, run):
            if run.iteration == 2:
                raise error

    with pytest.raises(type(error)):
        operant.train(
            line, total_env_steps=640, callbacks=[Raises(), heard],
            checkpoint={"every_env_steps": 0}, **SMALL,
        )  # fmt: skip
    (run,) = operant.runs()
    assert (run.status().state, run.status().message) == (state, message)
    assert operant.load(run).iteration == 2
    assert heard.heard[-1] == ("end", 2, state)
    assert operant.train(resume=run).status().state == "finished"  # nobody holds its lock


def test_a_reason_that_is_no_text_and_a_hook_that_is_no_method_are_refused(line):
    class Stops:
        def on_iteration(self, run):
            run.stop(5)

    with pytest.raises(operant.UsageError, match="stop: reason = 5: expected text"):
        operant.train(line, total_env_steps=640, callbacks=[Stops()], **SMALL)
    (run,) = operant.runs()
    assert run.status().state == "failed"
    number = type("Number", (), {"on_end": 5})()
    with pytest.raises(operant.UsageError, match=r"\[0\]: on_end = 5: expected a method"):
        operant.train(line, callbacks=[number], **SMALL)
    assert operant.runs() == [run]


class Calls:
    """Calls a function with the run after each iteration."""

    def __init__(self, call):
        self.on_iteration = call


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda run: run.log({"loss/policy": 1.0}), "log: loss/policy is a metric of operant's"),
        (lambda run: run.log({1: 2}), "log: the name 1: expected text, as 'mine/score'"),
        (lambda run: run.save("3"), "save: name = '3': .* means the checkpoint of an iteration"),
    ],
)
def test_what_cannot_be_logged_or_saved_is_one_line(line, call, said):
    with pytest.raises(operant.UsageError, match=said):
        operant.train(line, total_env_steps=64, callbacks=[Calls(call)], **SMALL)


def test_a_metric_that_nobody_publishes_is_a_warning_once(line, capsys):
    best = {"checkpoint": {"best": "own/score"}}
    run = operant.train(line, total_env_steps=256, **{**EVERY, **best})
    said = "checkpoint.best: no metric is called 'own/score' so far"
    assert texts(run).count(said) == 1
    assert capsys.readouterr().err.count(said) == 1
