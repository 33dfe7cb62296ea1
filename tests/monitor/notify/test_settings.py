"""The user's own file: what stands there holds, and what is wrong with it is one line."""

from __future__ import annotations

import pytest
from told import write_settings

from operant.monitor.notify.settings import OwnSettings, load_alert_settings


def problems(text):
    return load_alert_settings(write_settings(text)).problems


def test_all_of_a_file():
    settings = load_alert_settings(
        write_settings("""
            rules = ["loss/value > 1e3"]
            stall_after_s = 5
            [[tell]]
            command = ["/opt/bin/tell", "me"]
            on = ["crash", "kl"]
            [[tell]]
            command = 'say "$OPERANT_EVENT_TEXT" token'
            [[tell]]
            webhook = "https://hooks.example.org/very/secret"
            headers = { Authorization = "Bearer secret" }
            body = { content = "{text}" }
            timeout_s = 3
            alerts_per_hour = 5
        """)
    )
    assert settings.problems == ()
    assert [rule.text for rule in settings.rules] == ["loss/value > 1e3"]
    tell, say, webhook = settings.receivers
    assert (tell.name, tell.command, sorted(tell.on)) == (
        "command tell",
        ("/opt/bin/tell", "me"),
        ["crash", "kl"],
    )
    assert (say.name, say.command[:2]) == ("command say", ("/bin/sh", "-c"))
    assert sorted(say.on) == ["alert", "crash", "finish", "stall"]
    assert webhook.name == "webhook hooks.example.org"
    assert (webhook.timeout_s, webhook.alerts_per_hour) == (3, 5)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ('"TOKEN=hush curl example.org"', "command curl"),
        ('"TOKEN=hush"', "command"),
        ('"A=1 B+=hush /usr/bin/notify-send"', "command notify-send"),
        ('"$(cat hush) x"', "command"),
        ('"(TOKEN=hush; curl x)"', "command"),
        ("\"'/opt/bin/tell' hush\"", "command tell"),
        ('"\'/opt/bin/tell hush"', "command"),
        ("\"'curl -H hush'\"", "command"),
        ("\"TOKEN='so hush now' curl example.org\"", "command curl"),
        ('"TOKEN=$(cat hush now) curl example.org"', "command"),
        ('"TOKEN=`cat hush now` curl example.org"', "command"),
        ('["/opt/bin/tell", "hush"]', "command tell"),
    ],
)
def test_the_name_of_a_command_is_its_program_alone(command, name):
    (receiver,) = load_alert_settings(write_settings(f"[[tell]]\ncommand = {command}")).receivers
    assert receiver.name == name


def test_two_of_one_name_are_told_apart():
    settings = load_alert_settings(
        write_settings("""
            [[tell]]
            webhook = "https://hooks.example.org/mine"
            [[tell]]
            command = "say"
            [[tell]]
            webhook = "https://hooks.example.org/ours"
        """)
    )
    assert [receiver.name for receiver in settings.receivers] == [
        "webhook hooks.example.org (1 of 2)",
        "command say",
        "webhook hooks.example.org (2 of 2)",
    ]


def test_without_a_file_nobody_is_told(tmp_path):
    settings = load_alert_settings(tmp_path / "none.toml")
    assert (settings.rules, settings.receivers, settings.problems) == ((), (), ())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("rule = []", "rule is not a setting; did you mean 'rules'?"),
        ('rules = ["x"]', "alert rule 'x' has no comparison"),
        ('rules = "x > 1"', "rules is a list of texts"),
        ("stall_after_s = -1", "stall_after_s = -1: seconds, 0 to 86400"),
        ('tell = "x"', "tell is written [[tell]]"),
        ("[[tell]]", "each [[tell]] needs either command or webhook"),
        ('[[tell]]\nshell = "x"', "[[tell]] has no key 'shell'"),
        ('[[tell]]\ncommand = ""', "[[tell]] command: it is a shell line, or a list"),
        ('[[tell]]\ncommand = "x"\non = ["crashes"]', "on 'crashes'; did you mean 'crash'?"),
        ('[[tell]]\ncommand = "x"\nbody = { a = 1 }', "body is for webhooks"),
        ('[[tell]]\nwebhook = "file:///etc/passwd"', "[[tell]] webhook: it is an address"),
        ('[[tell]]\nwebhook = "https://me:secret@x.org/"', "who you are goes into headers"),
        ('[[tell]]\nwebhook = "http://x.org"\nheaders = { "A: secret" = "b" }', "headers"),
        ('[[tell]]\nwebhook = "http://x.org"\nbody = { a = nan }', "what JSON can say"),
        ('[[tell]]\nwebhook = "http://x.org"\ntimeout_s = 0', "timeout_s = 0: seconds, 0.1 to 600"),
        ("rules = [", "is not used: "),
        ("stall_after_s = 0x" + "f" * 6000, "is not used: "),
        ("[[tell]]\nbody = " + "[" * 5000 + "]" * 5000, "is not used: "),
    ],
)
def test_what_is_wrong_is_a_line(text, problem):
    (line,) = problems(text)
    assert problem in line
    assert "\n" not in line
    assert "alerts.toml" in line


@pytest.mark.parametrize(
    "text",
    [
        'webhook = "https://me:hush@x.org/"',
        'webhook = "https://x.org/services/hush "',
        'webhook = "x.org/hush"',
        'command = ["curl", "Bearer hush", 5]',
        'webhook = "http://x.org"\nheaders = { Authorization = "Bearer hush", N = 5 }',
        'webhook = "http://x.org"\nheaders = "Bearer hush"',
        'webhook = "http://x.org"\nbody = { key = "hush", n = nan }',
        'command = "curl hush"\nwebhook = "http://x.org/hush"',
        'command = "curl hush"\nheaders = { A = "hush" }',
        'command = "curl hush"\non = ["crashes"]',
        'webhook = "http://x.org/hush',
    ],
)
def test_what_is_wrong_is_said_without_the_secrets_in_it(text):
    (line,) = problems(f"[[tell]]\n{text}")
    assert "hush" not in line


def test_the_rest_of_a_file_with_a_mistake_holds():
    path = write_settings('rules = ["x"]\n[[tell]]\ncommand = "true"')
    settings = load_alert_settings(path)
    assert len(settings.receivers) == len(settings.problems) == 1


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
