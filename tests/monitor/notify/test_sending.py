"""Messages that are sent, and what is said of those that are not."""

from __future__ import annotations

import json
import os
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from waiting import wait_for

from operant.monitor.notify import sending, teller
from operant.monitor.notify.message import Message
from operant.monitor.notify.sending import send
from operant.monitor.notify.settings import AlertSettings
from operant.monitor.notify.teller import Teller
from operant.shared.install_command import install_command
from operant.shared.runs.run_folder import Run

MESSAGE = Message(
    "1d", "alert", "run-1", "run", 'run-1: "x" {name}', "running", "2026-11-21T14:25:30Z",
    alert="rule", metric="x", value=2.5,
)  # fmt: skip


def by_command(line):
    return AlertSettings(command=line)


def test_apprise_sends_to_each_url_and_problems_hold_no_secrets(capfd, monkeypatch):
    pytest.importorskip("apprise")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    posted = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(404 if "refuses" in self.path else 200)
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        address = f"json://127.0.0.1:{server.server_port}"
        urls = (f"{address}/hush", f"{address}/refuses/hush", "nothing://hush", "hush")
        problems = send(AlertSettings(urls=urls), MESSAGE)
        server.shutdown()
    assert [(each["title"], each["message"]) for each in posted] == [
        ("operant: alert", 'run-1: "x" {name}')
    ] * 2
    assert problems == [
        "url 2 (json) did not take the message",
        "url 3 (nothing) is not an address that apprise knows",
        "url 4 is not an address that apprise knows",
    ]
    assert "hush" not in "".join(capfd.readouterr())


def test_without_apprise_the_line_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "apprise", None)
    assert send(AlertSettings(urls=("ntfy://topic",)), MESSAGE) == [
        f"urls need apprise: {install_command('notify')}"
    ]


def test_a_command_finds_all_of_a_message_in_its_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OPERANT_TRUST_CODE", "1")
    line = 'env | grep "OPERANT_EVENT\\|TRUST" > told; pwd >> told'
    assert send(by_command(line), MESSAGE) == []
    told = (tmp_path / "told").read_text().splitlines()
    assert told[-1] == str(tmp_path)
    assert 'OPERANT_EVENT_TEXT=run-1: "x" {name}' in told
    assert "OPERANT_EVENT_VALUE=2.5" in told
    assert "OPERANT_EVENT_ENV_STEPS=" in told
    assert not [word for word in told if "TRUST" in word]


def test_what_a_message_says_is_never_a_command(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    hostile = replace(MESSAGE, text="$(touch hacked); `touch hacked`", name="--help; touch hacked")
    assert send(by_command('echo "$OPERANT_EVENT_TEXT" $OPERANT_EVENT_NAME'), hostile) == []
    assert os.listdir(tmp_path) == []


def test_a_command_that_fails_is_named_by_its_exit_code_alone(capfd):
    settings = by_command("echo hush >&2; exit 3")
    assert send(settings, MESSAGE) == ["the command failed with exit code 3"]
    assert capfd.readouterr().err == ""
    send(settings, MESSAGE, shows_errors=True)
    assert capfd.readouterr().err == "hush\n"


def test_a_command_that_does_not_end_is_killed_with_all_that_it_started(tmp_path, monkeypatch):
    monkeypatch.setattr(sending, "COMMAND_TIMEOUT_S", 1.0)
    pid = tmp_path / "pid"
    assert send(by_command(f"sleep 1000 & echo $! > {pid}; wait"), MESSAGE) == [
        "the command took over 1 s and was killed"
    ]
    child = int(pid.read_text())
    wait_for(lambda: not os.path.exists(f"/proc/{child}") or _is_dead(child))


def _is_dead(pid):
    try:
        with open(f"/proc/{pid}/stat") as status:
            return status.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.fixture
def slow(monkeypatch):
    """Stands for a service that takes one message and then no more, until it may."""

    class Slow:
        def __init__(self):
            self.told, self.may_go_on = [], threading.Event()

        def __call__(self, settings, message):
            self.told.append(message.kind)
            assert self.may_go_on.wait(60.0)
            return ["it failed"] if message.name == "bad" else []

    slow = Slow()
    monkeypatch.setattr(teller, "send", slow)
    yield slow
    slow.may_go_on.set()


def telling(tmp_path, *messages):
    """A teller that has got `messages`, each with an id of its own."""
    told = Teller(Run(tmp_path), lambda: AlertSettings(command="true"))
    for number, message in enumerate(messages):
        told.tell(replace(message, id=f"id-{number}"))
    return told


def test_what_waits_for_a_slow_service_has_an_end_and_the_run_s_end_goes_first(
    tmp_path, slow, monkeypatch
):
    monkeypatch.setattr(teller, "MAX_WAITING", 3)
    crash = replace(MESSAGE, kind="crash")
    told = telling(tmp_path, MESSAGE)
    wait_for(lambda: slow.told)
    for number in range(5):
        told.tell(replace(MESSAGE, id=f"more-{number}"))
    told.tell(replace(crash, id="crash"))
    assert told.take_notes() == ["further alerts are not sent: 3 wait"] * 2
    assert not told.wait(0.0)
    slow.may_go_on.set()
    told.close(60.0)
    assert slow.told == ["alert", "crash", "alert", "alert", "alert"]
    assert told.take_notes() == []


def test_there_are_so_many_alerts_an_hour_and_ends_are_none(tmp_path, slow, monkeypatch):
    monkeypatch.setattr(teller, "ALERTS_PER_HOUR", 2)
    slow.may_go_on.set()
    told = telling(tmp_path, MESSAGE, MESSAGE, MESSAGE, replace(MESSAGE, kind="crash"))
    assert told.wait(60.0)
    assert sorted(slow.told) == ["alert", "alert", "crash"]
    assert told.take_notes() == ["further alerts are not sent: there were 2 within an hour"]


def test_a_message_is_sent_once_whoever_knows_of_it(tmp_path, slow):
    slow.may_go_on.set()
    for _ in range(2):
        assert telling(tmp_path, MESSAGE).wait(60.0)
    assert slow.told == ["alert"]


def test_what_fails_and_what_is_left_at_the_end_is_said(tmp_path, slow):
    told = telling(tmp_path, replace(MESSAGE, name="bad", text="run-1: low"), MESSAGE)
    wait_for(lambda: slow.told)
    told.close(0.0)
    assert told.take_notes() == ["no time was left for 2 messages; they may have arrived"]
    slow.may_go_on.set()
    told.wait(60.0)
    assert told.take_notes() == ["not sent (run-1: low): it failed"]
