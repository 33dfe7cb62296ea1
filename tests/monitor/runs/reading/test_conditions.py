"""Every state has a word, a symbol and, where something is wrong, a sentence."""

from __future__ import annotations

import pytest
from views import RUN_ID

from operant.monitor.runs.reading.conditions import condition_of, symbols
from operant.shared.runs.status import RunStatus


def status(state, message="", age_s=None) -> RunStatus:
    return RunStatus(RUN_ID, state, age_s=age_s, message=message)


@pytest.mark.parametrize(
    ("run_status", "is_page_expected", "word", "notice"),
    [
        (status("running", age_s=0.1), True, "running", ""),
        (status("running", "starting"), True, "starting", "waiting for its first numbers"),
        (status("running", "no page yet"), False, "starting", "waiting for its page"),
        (status("running", "not an operant page"), True, "running", "not an operant page"),
        (status("running", "resuming"), True, "resuming", "a new process takes the run over"),
        (status("crashed", "gone", 5.0), True, "crashed", "gone"),
        (
            status("crashed", "no page yet"),
            False,
            "crashed",
            "the process is gone and left no page",
        ),
        (status("finished", "", 5.0), True, "finished", ""),
        (status("stopped", "Ctrl-C", 5.0), True, "stopped", "Ctrl-C"),
        (status("failed", "loss is NaN", 5.0), True, "failed", "loss is NaN"),
    ],
)
def test_the_word_and_the_sentence(run_status, is_page_expected, word, notice):
    condition = condition_of(run_status, is_page_expected)
    assert (condition.word, condition.notice) == (word, notice)


def test_a_stalled_run_says_for_how_long():
    assert "nothing for 1m 15s" in condition_of(status("stalled", age_s=75.0)).notice


def test_no_two_ended_states_share_a_symbol():
    symbol_of = {condition.word: condition.symbol for condition in symbols()}
    ended = ["running", "stalled", "crashed", "failed", "stopped", "finished"]
    assert len({symbol_of[word] for word in ended}) == len(ended)


def evaluating(**fields: object) -> RunStatus:
    known = {"phase": "evaluating", "phase_done": 37, "phase_total": 100, "phase_unit": "episodes"}
    known |= {"state": "running", "age_s": 0.2, "phase_s": 12.4}
    return RunStatus("r", **(known | fields))  # type: ignore[arg-type]


def test_an_evaluation_is_what_the_run_does_and_nothing_to_worry_about():
    condition = condition_of(evaluating())
    assert (condition.word, condition.style, condition.notice) == ("evaluating", "good", "")
    assert condition.progress == "evaluating 37 of 100 episodes, 12s"


def test_collecting_and_learning_are_plain_running():
    assert condition_of(evaluating(phase="learning")).word == "running"
    assert condition_of(evaluating(phase="learning")).progress == ""


def test_a_run_that_compiles_before_its_first_numbers_says_so():
    status = evaluating(age_s=None, message="starting", phase="compiling", phase_unit="loops")
    condition = condition_of(status)
    assert condition.word == "starting"
    assert condition.notice == "compiling 37 of 100 loops, 12s"


def test_the_time_that_is_left_stands_beside_the_time_so_far():
    status = evaluating(age_s=None, message="starting", phase="compiling", phase_left_s=20.4)
    assert condition_of(status).notice.endswith(", 12s, about 20s left")


def test_a_stalled_run_tells_what_it_was_doing():
    status = evaluating(state="stalled", age_s=9.0)
    assert condition_of(status).notice.endswith("for 9s while evaluating 37 of 100 episodes, 12s")
