"""`operant alerts`, and rules on the command line."""

from __future__ import annotations

import pytest
from command_line import error_line, operant
from told import serving, write_settings

from operant.monitor.notify.settings import alert_settings_path


def test_without_settings_it_says_where_they_would_be():
    done = operant("alerts")
    assert done.returncode == 0
    assert f"no alerts are sent: {alert_settings_path()} does not exist" in done.stdout
    trial = operant("alerts", "--try")
    assert trial.stderr.startswith("operant: nobody to send a test to: ")
    assert not trial.stdout


def test_everybody_is_told_on_trial_and_who_was_not_is_named(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serving() as server:
        server.codes = [200, 404]
        table = f'[[tell]]\nwebhook = "{server.url}"\non = ["crash"]\n'
        write_settings(f'rules = ["loss/value > 1e3"]\n{table}')
        done = operant("alerts", "--try")
        assert (done.returncode, done.stdout.splitlines()) == (
            0,
            [
                "rule  loss/value > 1e3",
                "a stalled run is reported after 1m 00s",
                "webhook 127.0.0.1  on crash",
                "  told",
            ],
        )
        write_settings(f'{table}[[tell]]\ncommand = "true"\n')
        failed = operant("alerts", "--try")
        assert failed.returncode == 1
        assert "  HTTP 404 Not Found\n" in failed.stdout
        assert failed.stderr == "operant: 1 of 2 did not get the test message\n"
    assert [told["run"] for told in server.posted] == ["trial", "trial"]


def test_what_is_wrong_with_the_settings_is_one_line():
    path = write_settings('[[tell]]\nwebhok = "http://127.0.0.1/"')
    assert error_line("alerts") == (
        f"operant: {path}: [[tell]] has no key 'webhok'; did you mean 'webhook'?\n"
    )
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


def test_rules_of_a_run_without_a_recorder_are_refused():
    settings = ("--set", "recorder.alerts=return < 5", "--set", "recorder.on=false")
    assert "recorder.on = false" in error_line("train", "cart_pole_ppo_smoke", *settings)
