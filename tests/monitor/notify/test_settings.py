"""The user's own file: what stands there holds, and what is wrong with it is one line."""

from __future__ import annotations

import pytest
from told import write_settings

from operant.monitor.notify.message import Message
from operant.monitor.notify.settings import AlertSettings, OwnSettings, load_alert_settings


def problems(text):
    return load_alert_settings(write_settings(text)).problems


def test_all_of_a_file():
    settings = load_alert_settings(
        write_settings("""
            rules = ["loss/value > 1e3"]
            stall_after_s = 5
            urls = ["ntfy://topic", "discord://id/token"]
            command = 'say "$OPERANT_EVENT_TEXT"'
            on = ["crash", "kl"]
        """)
    )
    assert settings.problems == ()
    assert [rule.text for rule in settings.rules] == ["loss/value > 1e3"]
    assert settings.urls == ("ntfy://topic", "discord://id/token")
    assert settings.command == 'say "$OPERANT_EVENT_TEXT"'
    assert (settings.on, settings.stall_after_s) == (("crash", "kl"), 5)


def test_a_message_is_wanted_by_its_kind_or_by_the_kind_of_alert():
    message = Message("1", "alert", "run", "run", "text", "running", "now", alert="kl")
    assert AlertSettings(command="true").wants(message)
    assert AlertSettings(urls=("ntfy://topic",), on=("kl",)).wants(message)
    assert not AlertSettings(command="true", on=("crash", "nan")).wants(message)
    assert not AlertSettings().wants(message)


def test_without_a_file_nobody_is_told(tmp_path):
    assert load_alert_settings(tmp_path / "none.toml") == AlertSettings()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("rule = []", "rule is not a setting; did you mean 'rules'?"),
        ('rules = ["x"]', "alert rule 'x' has no comparison"),
        ('rules = "x > 1"', "rules: expected a list of texts"),
        ("stall_after_s = -1", "stall_after_s: expected seconds, 0 to 86400"),
        ('urls = "ntfy://hush"', "urls: expected a list of addresses"),
        ('urls = ["ntfy://hush", 5]', "urls: expected a list of addresses"),
        ('command = " "', "command: expected a shell line"),
        ('command = ["curl", "hush"]', "command: expected a shell line"),
        ('on = ["crashes"]', "on: expected a list, of alert, finish, crash, stall, nan"),
        ("rules = [", "is not used: "),
        ('urls = ["http://x.org/hush', "is not used: "),
        ("rules = " + "[" * 5000 + "]" * 5000, "is not used: "),
    ],
)
def test_what_is_wrong_is_a_line_without_secrets(text, problem):
    (line,) = problems(text)
    assert problem in line
    assert "\n" not in line
    assert "alerts.toml" in line
    assert "hush" not in line


def test_the_rest_of_a_file_with_a_mistake_holds():
    settings = load_alert_settings(write_settings('rules = ["x"]\non = "x"\ncommand = "true"'))
    assert (settings.command, len(settings.problems)) == ("true", 2)


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_file_that_others_can_write_to_is_not_used(mode):
    path = write_settings('rules = ["x > 1"]')
    path.chmod(mode)
    settings = load_alert_settings(path)
    assert settings.rules == ()
    assert settings.problems == (
        f"{path} is not used: others can write to {path}: run `chmod go-w {path}`",
    )


@pytest.mark.parametrize("levels", [1, 2])
def test_nor_is_one_in_a_folder_that_others_can_write_to(levels):
    path = write_settings('rules = ["x > 1"]')
    path.parents[levels - 1].chmod(0o770)
    settings = load_alert_settings(path)
    assert settings.rules == ()
    assert f"others can write to {path.parents[levels - 1]}: " in settings.problems[0]


def test_nor_one_that_a_link_leads_to_in_such_a_folder(tmp_path):
    path = write_settings("")
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    path.rename(shared / "alerts.toml")
    path.symlink_to(shared / "alerts.toml")
    assert f"others can write to {shared}" in load_alert_settings(path).problems[0]
    shared.chmod(0o755)
    assert load_alert_settings(path).problems == ()


def test_settings_are_those_of_now():
    path = write_settings('rules = ["x > 1"]')
    settings = OwnSettings(path)
    assert settings() is settings()
    write_settings('rules = ["x > 1", "y > 1"]')
    assert len(settings().rules) == 2
    path.chmod(0o666)
    assert settings().rules == ()
    path.unlink()
    assert settings().problems == ()
