"""One message to one receiver, and what is said where it does not arrive."""

from __future__ import annotations

import json
import os
import socket
import threading
from contextlib import suppress
from dataclasses import replace

from waiting import wait_for

from operant.monitor.notify import teller
from operant.monitor.notify.command import run_command
from operant.monitor.notify.message import Message
from operant.monitor.notify.receivers import Receiver
from operant.monitor.notify.settings import AlertSettings
from operant.monitor.notify.teller import ReceiverThread
from operant.monitor.notify.webhook import RETRY_AFTER_S, post
from operant.shared.runs.run_folder import Run

MESSAGE = Message(
    "1d", "alert", "run-1", "run", 'run-1: "x" {name}', "running", "2026-11-21T14:25:30Z",
    alert="rule", metric="x", value=2.5,
)  # fmt: skip
ALL = frozenset(("alert", "finish", "crash", "stall"))


def webhook(url, **changed):
    return Receiver("webhook 127.0.0.1", ALL, webhook=url, timeout_s=5.0, **changed)


def shell(line, **changed):
    return Receiver("command sh", ALL, ("/bin/sh", "-c", line), **changed)


def posted(receiver, message=MESSAGE):
    """(what went wrong, the pauses between tries)"""
    pauses = []
    return post(receiver, message, lambda seconds: pauses.append(seconds)), pauses


def test_a_webhook_gets_one_json_object_with_the_headers_asked_for(server):
    assert posted(webhook(server.url, headers=(("X-Who", "me"),))) == ("", [])
    (told,) = server.posted
    assert (told["kind"], told["metric"], told["value"]) == ("alert", "x", 2.5)
    assert told["env_steps"] is None
    (headers,) = server.headers
    assert headers["Content-Type"] == "application/json"
    assert headers["X-Who"] == "me"


def test_a_body_of_ones_own_is_filled_in_and_what_fills_it_is_left_as_it_is(server):
    body = {"content": "{kind}: {text} {other}", "embeds": [{"title": "{run}", "n": 1}]}
    assert posted(webhook(server.url, body=json.dumps(body))) == ("", [])
    assert server.posted == [
        {"content": 'alert: run-1: "x" {name} {other}', "embeds": [{"title": "run-1", "n": 1}]}
    ]


def test_what_the_server_did_not_take_is_said_again_as_the_same(server):
    server.codes = [503, 429]
    assert posted(webhook(server.url)) == ("", list(RETRY_AFTER_S))
    assert [told["id"] for told in server.posted] == ["1d"] * 3


def test_after_three_tries_it_is_given_up(server):
    server.codes = [500] * 9
    assert posted(webhook(server.url))[0] == "HTTP 500 Internal Server Error, 3 times"
    assert len(server.posted) == 3


def test_a_refusal_and_a_way_elsewhere_are_final_and_not_in_the_servers_words(server):
    server.codes = [403, 302]
    assert posted(webhook(server.url)) == ("HTTP 403 Forbidden", [])
    assert posted(webhook(server.url)) == ("HTTP 302 Found", [])
    assert len(server.posted) == 2


def test_where_nobody_listens_it_is_tried_again_and_no_address_is_told():
    with socket.socket() as listener:  # which does not listen
        listener.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/secret"
        problem, pauses = posted(webhook(url))
    assert problem == "no connection: Connection refused, 3 times"
    assert pauses == list(RETRY_AFTER_S)


def test_no_answer_is_not_said_again_since_it_may_have_arrived(server):
    server.is_mute = True
    problem, pauses = posted(replace(webhook(server.url), timeout_s=0.2))
    assert problem == "no answer within 0.2 s; it may have arrived"
    assert (len(server.posted), pauses) == (1, [])


def test_a_command_does_not_inherit_the_trust_in_a_run(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OPERANT_TRUST_CODE", "1")
    assert run_command(shell('test -z "$OPERANT_TRUST_CODE"'), MESSAGE) == ""


def test_a_command_finds_all_of_it_in_its_environment_and_runs_at_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    line = 'printf "%s|" "$PWD" "$OPERANT_EVENT_TEXT" "$OPERANT_EVENT_VALUE" '
    line += '"$OPERANT_EVENT_ENV_STEPS" "$OPERANT_RECORDER" > told'
    assert run_command(shell(line), MESSAGE) == ""
    told = (tmp_path / "told").read_text()
    assert told == f'{tmp_path}|run-1: "x" {{name}}|2.5|||'


def test_a_server_that_answers_byte_after_byte_is_not_waited_for(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    is_over = threading.Event()

    def answer(listener):
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            connection.recv(1 << 16)
            connection.sendall(b"HTTP/1.1 ")
            while not is_over.wait(0.05):
                connection.sendall(b"y")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answer, args=(listener,), daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        told = posted(replace(webhook(url), timeout_s=0.5))
        is_over.set()
    assert told == ("no answer within 0.5 s; it may have arrived", [])


def test_what_a_message_says_is_never_a_command(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    hostile = replace(MESSAGE, text="$(touch hacked); `touch hacked`", name="--help; touch hacked")
    assert run_command(shell('echo "$OPERANT_EVENT_TEXT" $OPERANT_EVENT_NAME'), hostile) == ""
    assert os.listdir(tmp_path) == []


def test_a_command_that_fails_says_why():
    assert run_command(shell("echo a >&2; echo no bell >&2; exit 3"), MESSAGE) == (
        "exit code 3: no bell"
    )
    absent = Receiver("command absent", ALL, ("/absent/command",))
    assert run_command(absent, MESSAGE) == "No such file or directory"


def test_secrets_of_a_command_are_not_in_what_is_said_of_it(monkeypatch):
    monkeypatch.setenv("HOOK_TOKEN", "from-the-environment")
    line = (
        'say() { echo "failed: $TOKEN, $HOOK_TOKEN, $2, password=pw" >&2; exit 7; }; '
        "TOKEN=pa55word; say -H https://hooks.example.org/T0123456/abcdefgh"
    )
    told = run_command(shell(line), MESSAGE)
    assert told == "exit code 7: ***: ***, ***, https://***/***/***, ***=***"
    for secret in ("pa55word", "from-the-environment", "T0123456", "abcdefgh", "=pw"):
        assert secret not in told


def test_a_command_that_does_not_end_is_ended_with_all_that_it_started(tmp_path):
    pid = tmp_path / "pid"
    line = f"sleep 1000 & echo $! > {pid}; wait"
    assert run_command(shell(line, timeout_s=1.0), MESSAGE) == "not done after 1 s, and ended"
    child = int(pid.read_text())
    wait_for(lambda: not os.path.exists(f"/proc/{child}") or _is_dead(child))


def _is_dead(pid):
    try:
        with open(f"/proc/{pid}/stat") as status:
            return status.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


class Slow:
    """Stands for a receiver that takes one message and then no more, until it may."""

    def __init__(self, monkeypatch):
        self.told, self.may_go_on = [], False
        monkeypatch.setattr(teller, "tell", self)

    def __call__(self, receiver, message, wait):
        self.told.append(message.kind)
        wait_for(lambda: self.may_go_on)
        return ""


def test_what_waits_for_a_slow_receiver_has_an_end_and_the_run_s_end_goes_first(monkeypatch):
    slow, notes = Slow(monkeypatch), []
    thread = ReceiverThread(shell("true", alerts_per_hour=1000), notes.append)
    thread.put(MESSAGE)
    wait_for(lambda: slow.told)
    for _ in range(teller.QUEUE + 7):
        thread.put(MESSAGE)
    thread.put(replace(MESSAGE, kind="stall"))
    thread.put(replace(MESSAGE, kind="crash"))
    assert notes == ["command sh is not told of further alerts: it is slow, and 50 wait"]
    slow.may_go_on = True
    wait_for(lambda: thread.is_idle)
    assert slow.told == ["alert", "stall", "crash", *["alert"] * 50]
    thread.give_up()
    assert notes[1:] == ["command sh was not told of 7 alerts in all"]


def test_a_receiver_that_the_settings_have_no_more_tells_what_waits_and_ends(tmp_path, monkeypatch):
    def working(receiver):
        return sum(thread.name == receiver.name for thread in threading.enumerate())

    slow = Slow(monkeypatch)
    old, new = shell("true"), replace(shell("true"), name="command new")
    settings = [AlertSettings(receivers=(old,))]
    telling = teller.Teller(Run(tmp_path), lambda: settings[0])
    telling.tell(MESSAGE)
    wait_for(lambda: slow.told)
    telling.tell(replace(MESSAGE, id="2", kind="stall"))
    settings[0] = AlertSettings(receivers=(new,))
    telling.tell(replace(MESSAGE, id="3", kind="crash"))
    assert not telling.wait(0.0)  # what the old one has is still to be told
    slow.may_go_on = True
    assert telling.wait(30.0)
    assert sorted(slow.told) == ["alert", "crash", "stall"]
    telling.tell(replace(MESSAGE, id="4"))
    wait_for(lambda: not working(old))
    assert working(new) == 1
    telling.close(30.0)
    assert telling.take_notes() == []


def test_there_are_so_many_alerts_an_hour_and_ends_are_none(monkeypatch):
    slow, notes = Slow(monkeypatch), []
    slow.may_go_on = True
    thread = ReceiverThread(shell("true", alerts_per_hour=2), notes.append)
    for kind in ("alert", "alert", "alert", "alert", "crash"):
        thread.put(replace(MESSAGE, kind=kind))
    wait_for(lambda: thread.is_idle)
    assert sorted(slow.told) == ["alert", "alert", "crash"]
    assert notes == ["command sh is not told of further alerts: there were 2 within an hour"]
    thread.give_up()


def test_what_is_left_when_the_recorder_ends_is_said(monkeypatch):
    slow, notes = Slow(monkeypatch), []
    thread = ReceiverThread(shell("true"), notes.append)
    thread.put(MESSAGE)
    wait_for(lambda: slow.told)
    thread.put(replace(MESSAGE, kind="crash", text="run-1: crashed"))
    thread.give_up()
    slow.may_go_on = True
    assert len(notes) == 2
    assert notes[1] == (
        "command sh was not told (run-1: crashed): no time was left; it may have arrived"
    )
