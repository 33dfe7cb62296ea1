"""`operant alerts`, and rules on the command line."""

from __future__ import annotations

import pytest
from command_line import error_line, operant
from told import command_into, told_in, write_settings

from operant.monitor.notify.settings import alert_settings_path


def test_without_settings_it_says_where_they_would_be():
    done = operant("alerts")
    assert done.returncode == 0
    assert f"no messages are sent: {alert_settings_path()} does not exist" in done.stdout
    trial = operant("alerts", "--try")
    assert trial.stderr.startswith("operant: no messages are sent: ")
    assert not trial.stdout


def test_a_trial_sends_a_message_and_says_what_went_wrong(tmp_path):
    told = tmp_path / "told"
    rules = 'rules = ["loss/value > 1e3"]\non = ["crash"]\n'
    write_settings(rules + command_into(told))
    done = operant("alerts", "--try")
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        [
            "rule  loss/value > 1e3",
            "messages on crash go to a command",
            "a stalled run is reported after 1m 00s",
            "the test message was sent",
        ],
    )
    assert [each["run"] for each in told_in(told)] == ["trial"]
    write_settings(f"{rules}command = 'echo no network >&2; exit 7'")
    failed = operant("alerts", "--try")
    assert failed.returncode == 1
    assert failed.stderr == (
        "no network\noperant: the test message was not sent: the command failed with exit code 7\n"
    )


def test_what_is_wrong_with_the_settings_is_one_line():
    path = write_settings('[[tell]]\nwebhook = "http://127.0.0.1/"')
    assert error_line("alerts") == f"operant: {path}: tell is not a setting\n"
    path.chmod(0o666)
    assert "others can write to" in error_line("alerts")


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("alerts=loss/value > high", "alert rule 'loss/value > high': 'high' is not a number"),
        ("alerts=loss/valeu > 1", "the run has no metric 'loss/valeu'; did you mean 'loss/value'?"),
        ("command=touch x", "unknown key 'recorder.command'"),
    ],
)
def test_a_rule_that_cannot_be_is_refused_before_anything_starts(setting, problem, operant_home):
    line = error_line("train", "cart_pole_ppo_smoke", "--set", f"recorder.{setting}")
    assert problem in line
    assert not operant_home.exists()
