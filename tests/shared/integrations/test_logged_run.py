"""Logged values become rows, and no value disturbs the loop."""

from __future__ import annotations

import gc
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from waiting import wait_for

import operant
from operant import wandb
from operant.shared.runs.find_runs import list_runs


class Tensor:
    """Something of a library that is not known here."""

    def __init__(self, *values: float) -> None:
        self._values = values

    def item(self) -> float:
        if len(self._values) != 1:
            raise RuntimeError("a Tensor with 2 elements cannot be converted to Scalar")
        return self._values[0]


class Hostile:
    def __float__(self) -> float:
        raise SystemError("no")

    def __str__(self) -> str:
        raise SystemError("no")


def test_values_of_one_step_are_one_row(seen):
    run = operant.init()
    run.log({"a": 1.0}, step=5)
    run.log({"b": 2.0}, step=5)
    run.log({"a": 3.0, "b": 4.0}, step=6)
    run.finish()
    assert list(seen.history.env_steps) == [5, 6]
    assert list(seen.history.series("a").mean) == [1.0, 3.0]
    assert list(seen.history.series("b").mean) == [2.0, 4.0]
    assert seen.status.iteration == 2


def test_without_a_step_each_call_is_a_row_unless_it_is_not_committed(seen):
    run = operant.init()
    run.log({"a": 1.0})
    run.log({"a": 2.0}, commit=False)
    run.log({"b": 3.0})
    assert seen.series("a") == [1.0, 2.0]
    assert (seen.status.iteration, seen.status.env_steps, run.step) == (2, None, 2)


def test_after_a_complete_row_the_step_is_that_of_the_next(seen):
    run = operant.init()
    run.log({"a": 1.0}, step=9)
    assert run.step == 9  # more may come for it
    run.log({"a": 2.0}, step=9, commit=True)
    assert run.step == 10
    run.log({"a": 3.0}, commit=False)
    assert run.step == 10
    run.log({"b": 4.0})
    assert run.step == 11
    run.finish()
    assert list(seen.history.env_steps) == [9, 9, *[10] * (len(seen.history) - 2)]
    assert seen.series("b") == [4.0]


def test_the_largest_step_has_none_after_it(seen):
    run = operant.init()
    run.log({"a": 1.0}, step=2**63 - 1, commit=True)
    run.log({"a": 2.0})
    run.finish()
    assert list(seen.history.env_steps) == [2**63 - 1] * 2


MASKED = {
    "none": None,
    "masked": np.ma.masked,
    "a masked number": np.ma.array(5.0, mask=True),
    "an array of one": np.ma.array([3.0], mask=[True]),
    "an array of two": np.ma.array([1.0, 2.0], mask=[True, True]),
}


@pytest.mark.parametrize("value", MASKED.values(), ids=MASKED)
def test_what_is_masked_is_not_logged(seen, value, capsys):
    run = operant.init()
    run.log({"a": value, "b": 1.0})
    run.finish()
    assert seen.status.metrics == {"b": 1.0}
    assert run.summary == {"b": 1.0}
    assert not capsys.readouterr().err


def test_of_a_masked_array_the_rest_is_its_distribution(seen):
    values = np.ma.array([*range(101), 1e6], mask=[False] * 101 + [True])
    operant.init().log({"a": values, "one": np.ma.array([7.0, 2.0], mask=[False, True])})
    assert seen.status.metrics["a/p95"] == 95.0
    assert seen.status.metrics["one/p50"] == 7.0


def test_a_row_is_published_though_nothing_comes_after_it(seen):
    run = operant.init()
    run.log({"a": 1.0}, step=5)
    wait_for(lambda: seen.status.metrics == {"a": 1.0})
    run.log({"a": 2.0}, step=6)
    wait_for(lambda: seen.status.metrics == {"a": 2.0})
    run.log({"a": 3.0}, step=7, commit=True)
    assert seen.status.metrics == {"a": 3.0}


def test_a_lower_step_is_a_row_of_its_own_and_a_huge_one_pins_nothing(seen, capsys):
    run = operant.init()
    for step in (3072, 0, 1, 2, 2**62, 4096):
        run.log({"a": float(step)}, step=step)
    run.flush()
    assert list(seen.history.env_steps) == [3072, 0, 1, 2, 2**62, 4096]
    assert seen.series("a") == [3072.0, 0.0, 1.0, 2.0, 2.0**62, 4096.0]
    assert capsys.readouterr().err == ""


def test_a_name_that_comes_again_at_its_step_is_a_row_of_its_own(seen):
    run = operant.init()
    for episode_return in (10.0, 20.0, 30.0):  # three environments that ended at one step
        run.log({"episode/return": episode_return}, step=7)
    run.flush()
    assert list(seen.history.env_steps) == [7, 7, 7]
    assert seen.series("episode/return") == [10.0, 20.0, 30.0]


@pytest.mark.parametrize("step", [math.nan, math.inf, -1, 2**63, "five", Hostile()])
def test_a_step_that_is_no_number_is_passed_over(step, seen, capsys):
    operant.init().log({"a": 1.0}, step=step, commit=True)
    assert seen.status.metrics == {"a": 1.0}
    assert seen.status.env_steps is None
    assert capsys.readouterr().err.count("warning") == 1


def test_all_kinds_of_numbers_are_kept(seen):
    numbers = {
        "int": 2, "bool": True, "big": 10**400, "numpy": np.float32(0.5), "array": np.array([4.0]),
        "tensor": Tensor(8.0), "decimal": Decimal("0.25"), "deep": {"a": {"b": 1}, 3: 9},
    }  # fmt: skip
    operant.init().log(numbers)
    assert seen.status.metrics == {
        "int": 2, "bool": 1, "numpy": 0.5, "array": 4, "tensor": 8, "decimal": 0.25,
        "deep/a/b": 1, "deep/3": 9,
    }  # fmt: skip


@pytest.mark.parametrize("value", [Tensor(1.0, 2.0), ["a", 2], object(), Hostile(), 1j, b"1"])
def test_what_is_no_number_is_told_of_once_and_left_out(value, seen, capsys):
    run = operant.init()
    for _ in range(3):
        run.log({"odd": value, "a": 1.0})
    assert seen.status.metrics == {"a": 1.0}
    assert capsys.readouterr().err.count("'odd' is no number") == 1
    assert len(seen.events) == 1


@pytest.mark.parametrize("values", [np.arange(101), list(range(101)), np.arange(101)[None, :]])
def test_many_numbers_are_kept_as_quantiles(values, seen):
    operant.init().log({"x": values}, step=1, commit=True)
    # Of 0, 1, ..., 100 the p-th percentile is p.
    expected = {"x/p05": 5, "x/p25": 25, "x/p50": 50, "x/p75": 75, "x/p95": 95}
    assert seen.status.metrics == expected


def test_a_text_is_an_event_when_it_changes(seen):
    run = operant.init()
    for phase in ("warm-up", "warm-up", "main"):
        run.log({"phase": phase}, step=3)
    assert [event.text for event in seen.events] == ["phase: warm-up", "phase: main"]
    assert [event.env_steps for event in seen.events] == [3, 3]


def test_the_first_value_that_is_not_finite_is_an_event(seen):
    run = operant.init()
    for step in range(3):
        run.log({"loss": math.nan if step else 1.0, "other": -math.inf}, step=step)
    assert [(e.level, e.text, e.env_steps) for e in seen.events] == [
        ("warning", "other is -inf", 0),
        ("warning", "loss is nan", 1),
    ]


def test_names_without_room_are_told_of_once(seen, capsys):
    run = operant.init(max_metrics=2)
    run.log({"a": 1, "b": 2, "c": 3, "d": 4})
    run.log({"a": 5, "c": 6})
    assert seen.status.metrics == {"a": 5, "b": 2}
    assert capsys.readouterr().err.count("a run keeps 2 metrics") == 1


def test_threads_may_all_log(seen):
    run = operant.init()

    def work(name: str) -> None:
        for i in range(100):
            run.log({name: float(i), "sum": 1.0})

    threads = [threading.Thread(target=work, args=(f"thread/{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen.series("sum")) == 800
    assert all(seen.series(f"thread/{n}") == list(range(100)) for n in range(8))
    assert list(seen.history.iteration) == list(range(1, 801))


def test_a_forked_child_has_no_part_in_the_run(run_script, seen):
    done = run_script("""
import operant, os, sys
from operant import wandb
run = operant.init()
run.log({"a": 1.0}, step=1)
child = os.fork()
if not child:
    run.log({"a": 99.0}, step=99)
    run.config.lr = 1
    wandb.alert("child")
    run.finish(exit_code=1)
    sys.exit(1)
os.waitpid(child, 0)
run.log({"a": 2.0}, step=2)
assert wandb.run is run
operant.finish()
""")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert seen.series("a") == [1.0, 2.0]
    assert seen.status.state == "finished"
    assert seen.events == []
    assert "config" not in seen.run.manifest() or not seen.run.manifest()["config"]


def test_after_its_end_a_run_keeps_nothing_and_says_so_once(seen, capsys):
    run = operant.init()
    run.finish()
    for _ in range(2):
        run.log({"a": 1.0})
        run.event("info", "late")
        run.finish(exit_code=1)
    assert seen.status.state == "finished"
    assert capsys.readouterr().err.count("is over") == 1


@pytest.mark.parametrize("broken", ["home", "pages", "both"])
def test_where_nothing_can_be_written_the_loop_goes_on(broken, tmp_path, monkeypatch, capsys):
    file = tmp_path / "a file, not a folder"
    file.touch()
    if broken in ("home", "both"):
        monkeypatch.setenv("OPERANT_HOME", str(file))
    if broken in ("pages", "both"):
        monkeypatch.setenv("OPERANT_PAGES", str(file))
    with operant.init(config={"lr": 0.1}) as run:
        run.log({"a": 1.0}, step=1)
        run.config.lr = 0.2
        assert wandb.config.lr == 0.2
    assert capsys.readouterr().err.count("operant: warning") == 1
    assert len(list_runs()) == (broken != "both")


def test_a_closed_standard_error_does_not_end_the_loop(run_script, seen):
    done = run_script("""
import operant, os, sys
run = operant.init()
sys.stderr = None
run.log({"a": object(), "b": 1.0})
""")
    assert done.returncode == 0
    assert seen.status.metrics == {"b": 1.0}


def test_an_ended_run_that_somebody_keeps_holds_no_memory_of_its_page():
    before = pages_held()
    gc.disable()  # a cycle would hold it for as long
    try:
        run = operant.init()
        run.log({"loss": 1.0})
        assert pages_held() > before
        run.finish()
        assert pages_held() == before
    finally:
        gc.enable()
    assert run.id
    assert not run.is_open


def pages_held() -> set[str]:
    """The pages that the kernel counts for this process."""
    return {line for line in Path("/proc/self/maps").read_text().splitlines() if ".page" in line}


def test_what_a_signals_handler_logs_in_the_middle_of_a_log_is_the_next_row(seen):
    run = operant.init()
    publish = run._session.metrics.publish

    def interrupted(*row):
        run._session.metrics.publish = publish
        run.log({"handler": 1.0})
        run.flush()
        publish(*row)

    run._session.metrics.publish = interrupted
    run.log({"loop": 1.0})
    run.log({"loop": 2.0})
    assert list(seen.history.publish) == [1, 2, 3]
    assert (seen.series("loop"), seen.series("handler")) == ([1.0, 2.0], [1.0])


def test_threads_that_begin_at_once_share_one_run(seen):
    barrier = threading.Barrier(8)

    def begin(_):
        barrier.wait()
        return operant.init().id

    with ThreadPoolExecutor(8) as threads:
        begun = set(threads.map(begin, range(8)))
    assert begun == {seen.run.id}
