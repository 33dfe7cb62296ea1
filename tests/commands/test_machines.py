"""The runs of several machines in one list; each of them is this one, with a home of its own."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_line import error_line, operant, operant_json
from terminal import operant_in_a_terminal, read_until
from waiting import wait_for

from operant.monitor.app import MonitorApp
from operant.monitor.remote import mirror, remote_stream
from operant.monitor.remote.changed_files import whole
from operant.monitor.remote.frames import PROTOCOL, Frame, write_frame
from operant.monitor.remote.remote_list import Machines, RemoteList
from operant.monitor.remote.sending import LIST_METRICS, _ListSender
from operant.monitor.screens.run_screen import RunScreen
from operant.shared.runs.run_elsewhere import RunElsewhere
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession

pytestmark = pytest.mark.slow

# Machines are down while there is a file that says so, and answer with a file where one lies there.
STAND_IN = """#!/bin/sh
while [ $# -gt 2 ]; do shift; done
cd {folder}
if [ -e "$1.down" ]; then echo "ssh: connect to host $1 port 22: refused" >&2; exit 255; fi
if [ -e "$1.old" ]; then echo "operant: No such option: --list" >&2; exit 2; fi
if [ -e "$1.answer" ]; then exec cat "$1.answer"; fi
export OPERANT_HOME={folder}/$1 OPERANT_PAGES={folder}/pages-$1
exec sh -c "$2"
"""


@pytest.fixture
def there(tmp_path: Path, monkeypatch) -> Path:
    """Every name is a machine whose runs lie in a folder of its name here."""
    script = tmp_path / "ssh"
    script.write_text(STAND_IN.format(folder=shlex.quote(str(tmp_path))))
    script.chmod(0o700)
    monkeypatch.setenv("OPERANT_SSH", str(script))
    monkeypatch.setenv("OPERANT_REMOTE", shlex.join([sys.executable, "-m", "operant"]))
    monkeypatch.setattr(remote_stream, "AGAIN_AFTER_S", 0.1)
    return tmp_path


@pytest.fixture
def run_on(there: Path, monkeypatch) -> Iterator[Callable[..., RunSession]]:
    """Begin a run on a machine."""
    sessions = []

    def begin(host: str, name: str, **config: object) -> RunSession:
        with monkeypatch.context() as patch:
            patch.setenv("OPERANT_HOME", str(there / host))
            patch.setenv("OPERANT_PAGES", str(there / f"pages-{host}"))
            run, lock = create_run(name, {"config": config})
            session = RunSession(run, lock, publish_interval_s=60.0)
        session.metrics.publish({"loss": 0.5, "episode/return": 7.0}, 1, 100)
        sessions.append(session)
        return session

    yield begin
    for session in sessions:
        session.close("finished", 0)


@pytest.fixture
def make_session() -> Iterator[Callable[[str], RunSession]]:
    """Begin a run on this machine."""
    sessions = []

    def begin(name: str) -> RunSession:
        run, lock = create_run(name, {})
        sessions.append(RunSession(run, lock, publish_interval_s=60.0))
        return sessions[-1]

    yield begin
    for session in sessions:
        session.close("finished", 0)


@contextmanager
def listing(*hosts: str, with_local: bool = True) -> Iterator[Machines]:
    machines = Machines(hosts, with_local)
    try:
        yield machines
    finally:
        machines.close()


def names(machines: Machines) -> set[tuple[str, str]]:
    return {(row.host, row.name[16:-5]) for row in machines.poll().rows if row.status}


def troubles(machines: Machines) -> dict[str, str]:
    return {machine.host: machine.trouble for machine in machines.poll().machines}


def test_runs_of_this_and_other_machines_are_listed_together(run_on, make_session):
    make_session("near")
    far, second = run_on("a", "far"), run_on("b", "second")
    found = operant_json("runs", "--host", "a", "--host", "b")
    by_place = {(one["host"], one["id"].partition("-near")[0]): one for one in found}
    assert ("a", f"a:{far.run.id}") in by_place
    assert by_place["b", f"b:{second.run.id}"]["env_steps"] == 100
    assert [one["host"] for one in found].count(None) == 1
    head, *lines = operant("runs", "--host", "a").stdout.splitlines()
    assert (head.split()[:3], len(lines)) == (["state", "run", "machine"], 2)
    assert any(re.match(f"running +a:{far.run.id} +a ", line) for line in lines)
    # What is listed is what other commands take.
    assert operant_json("status", f"a:{far.run.id}")["metrics"]["loss"] == 0.5


def test_seeds_on_several_machines_are_one_group(run_on, there):
    runs = [run_on(host, f"x-seed{seed}", seed=seed) for seed, host in enumerate("ab")]
    (there / "c.down").touch()
    answer = operant("runs", "--group-by", "name", *("--host", "a", "--host", "b", "--host", "c"))
    assert (answer.returncode, "c: " in answer.stderr) == (1, True)
    assert answer.stdout.splitlines()[1].split()[:3] == ["x", "2", "7.000"]
    (group,) = operant_json("runs", "--group-by", "name", "--host", "a", "--host", "b")
    assert set(group["runs"]) == {f"a:{runs[0].run.id}", f"b:{runs[1].run.id}"}


def test_a_machine_that_does_not_answer_is_one_line_and_the_others_are_listed(run_on, there):
    run_on("a", "far")
    (there / "b.down").touch()
    done = operant("runs", "--host", "a", "--host", "b", "--json")
    assert [one["host"] for one in json.loads(done.stdout)] == ["a"]
    assert done.stderr == "operant: warning: cannot reach b: refused\n"
    assert done.returncode == 1


def test_an_older_operant_there_is_said_in_one_line(there):
    (there / "a.old").touch()
    done = operant("runs", "--host", "a")
    assert "a has an older operant, which cannot do this" in done.stderr
    assert "install the same version on both" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_list_follows_runs_that_begin_move_on_and_go(run_on, make_session):
    make_session("near")
    with listing("a", "b") as machines:
        session = run_on("a", "far", seed=3)
        wait_for(lambda: names(machines) == {("", "near"), ("a", "far")})
        run_on("b", "other")
        wait_for(lambda: ("b", "other") in names(machines))
        session.metrics.publish({"loss": 0.25}, 2, 200)

        def far_row():
            return next(row for row in machines.poll().rows if row.name == session.run.id)

        wait_for(lambda: far_row().status.env_steps == 200)
        assert far_row().status.metrics["loss"] == 0.25
        assert far_row().config == {"seed": 3}  # sent once
        assert far_row().run == RunElsewhere("a", session.run.id, Path())
        session.close("stopped", 143)
        wait_for(lambda: far_row().status.state == "stopped")
        os.rename(session.run.folder, session.run.folder.with_name(".gone"))
        wait_for(lambda: names(machines) == {("", "near"), ("b", "other")})
        os.rename(session.run.folder.with_name(".gone"), session.run.folder)
    assert troubles(machines).keys() == {"a", "b"}


def test_a_machine_that_comes_back_is_listed_and_one_that_goes_keeps_its_runs(run_on, there):
    run_on("a", "far")
    (there / "b.down").touch()
    with listing("a", "b", with_local=False) as machines:
        wait_for(lambda: names(machines) == {("a", "far")})
        wait_for(lambda: "refused; trying again" in troubles(machines)["b"])
        assert troubles(machines)["a"] == ""
        run_on("b", "late")
        (there / "b.down").unlink()
        wait_for(lambda: ("b", "late") in names(machines))
        assert troubles(machines) == {"a": "", "b": ""}
        (there / "b.down").touch()
        machines.lists[1].stream._connection.close()
        wait_for(lambda: "trying again" in troubles(machines)["b"])
        lost = {row.host: row.is_lost for row in machines.poll().rows}
        assert lost == {"a": False, "b": True}


def take(known: RemoteList, *heads_and_data: tuple[dict[str, object], bytes]) -> list[str]:
    """Names of the runs after these frames."""
    for head, data in heads_and_data:
        known.stream._take(known.stream.mirror.take(Frame(head, data)))
    return [row.name for row in known.poll().rows]


def report(run: str, **fields: object) -> tuple[dict[str, object], bytes]:
    status = {"run": run, "state": "running"}
    head, data = whole("status.json", json.dumps({"status": {**status, **fields}}).encode())
    return {"run": run, **head}, data


def manifest(run: str, text: str) -> tuple[dict[str, object], bytes]:
    head, data = whole("run.toml", text.encode())
    return {"run": run, **head}, data


def test_a_machine_that_falls_silent_is_said():
    clock = [100.0]
    silent = RemoteList("a", lambda: clock[0])
    assert silent.poll().machines[0].trouble == "connecting to a"
    take(silent, report("x"))
    assert (silent.stream.trouble, silent.poll().rows[0].is_lost) == ("", False)
    clock[0] += 42
    assert silent.stream.trouble == "a says nothing for 42 s"
    assert silent.poll().rows[0].is_lost


def test_what_a_connection_no_longer_names_is_gone():
    known = RemoteList("a")
    assert take(known, report("x"), report("y")) == ["x", "y"]
    known.stream._unnamed = set(known.stream.mirror.runs)  # connected anew
    assert take(known, report("y"), ({"is_complete": False}, b"")) == ["x", "y"]
    assert take(known, ({"is_complete": True}, b"")) == ["y"]


@pytest.mark.parametrize(
    "pieces",
    [
        [({"run": "x", "file": "../lock", "size": 0}, b"")],
        [({"run": "x", "file": "run.toml", "size": 1 << 40}, b"")],
        [({"run": "x", "file": "console.log", "at": -5}, b"x")],
        [({"run": "x", "file": 5}, b"")],
        [report("")],
        [report("x", metrics={"a": "b"})],
        [report("x", age_s=float("nan"))],
        [({"run": "x", **whole("status.json", b"[]")[0]}, b"[]")],
    ],
)
def test_a_list_that_is_wrong_is_one_line(there, pieces):
    answer = io.BytesIO()
    write_frame(answer, Frame({"protocol": PROTOCOL}))
    for head, data in pieces:
        write_frame(answer, Frame(head, data))
    (there / "a.answer").write_bytes(answer.getvalue())
    done = operant("runs", "--host", "a")
    assert done.returncode == 1
    assert done.stderr.startswith("operant: warning: the stream")
    assert done.stderr.count("\n") == 1


def test_a_run_that_nobody_could_send_whole_does_not_hide_the_others(operant_home):
    for name in ("odd", "good"):
        run, lock = create_run(name, {})
        lock.release()
        if name == "odd":
            wide = "".join(f'"{"é" * 190}{i}" = "{"é" * 500}"\n' for i in range(600))
            run.manifest_path.write_text(f'device = "{"é" * 100_000}"\n[config]\n{wide}')
    known = RemoteList("a")
    take(known, *_ListSender().look())
    rows = {row.name[16:-5]: row for row in known.poll().rows}
    assert rows.keys() == {"odd", "good"}
    assert rows["odd"].device == "é" * 40


def test_of_a_run_in_a_list_a_part_of_its_metrics_is_sent(run_on, there, monkeypatch):
    session = run_on("a", "wide")
    session.metrics.publish({f"m/{i}": i for i in range(300)}, 2, 200)
    monkeypatch.setenv("OPERANT_HOME", str(there / "a"))
    monkeypatch.setenv("OPERANT_PAGES", str(there / "pages-a"))
    known = RemoteList("a")
    take(known, *_ListSender().look())
    assert len(known.poll().rows[0].status.metrics) == LIST_METRICS


def test_runs_for_which_there_is_no_room_are_left_out(monkeypatch):
    monkeypatch.setattr(mirror, "MAX_MIRROR_BYTES", 25_000)
    known = RemoteList("a")
    large = manifest("x", f'device = "{"d" * 9_000}"')
    assert take(known, report("small"), large, report("x"), report("y")) == ["small", "x", "y"]
    assert known.poll().rows[1].device == "d" * 40
    take(known, report("z"), manifest("z", "a = 1\n" * 1000), manifest("z", "a = [" + "1," * 2000))
    assert not list(known.stream.mirror.runs["z"].folder.glob("run.toml"))
    # What grows beyond it stays as it was, and what goes makes room.
    take(known, manifest("x", f'device = "{"e" * 90_000}"'))
    assert (known.stream.mirror.runs["x"].folder / "run.toml").read_text()[-2] == "d"
    take(known, ({"run": "x", "is_gone": True}, b""), manifest("z", "a = 1\n" * 30))
    assert list(known.stream.mirror.runs["z"].folder.glob("run.toml"))


def test_more_runs_than_a_list_takes_are_left_out(monkeypatch):
    monkeypatch.setattr(mirror, "MAX_RUNS", 3)
    assert take(RemoteList("a"), *(report(f"{i}") for i in range(9))) == ["0", "1", "2"]


def test_names_from_elsewhere_reach_no_terminal_as_they_are(there):
    answer = io.BytesIO()
    run = "x\x1b[2Jy"
    write_frame(answer, Frame({"protocol": PROTOCOL}))
    text = 'device = "\\u001b]0;owned\\u0007"\n[config]\n"\\u001b" = "\\u001b"\n'
    for head, data in (manifest(run, text), report(run, message="\x1b[2J", age_s=1.0)):
        write_frame(answer, Frame(head, data))
    write_frame(answer, Frame({"is_complete": True}))
    (there / "a.answer").write_bytes(answer.getvalue())
    for arguments in (["--json"], []):
        done = operant("runs", "--host", "a", *arguments)
        assert "x [2Jy" in done.stdout
        assert "\x1b" not in done.stdout + done.stderr


def test_bad_input_is_one_line(there):
    assert "does not name a host" in error_line("runs", "--host", "-oProxyCommand=date")
    assert "--host is empty" in error_line("runs", "--host", "")
    assert "`operant runs --host a`" in error_line("status", "a:/")
    assert "`operant runs --host`" in error_line("monitor", "--host", "a", "--once")
    assert "excludes RUN" in error_line("monitor", "--host", "a", "far")
    assert "excludes RUN" in error_line("monitor", "--host", "a", "b:/")
    assert "needs a terminal" in error_line("monitor", "a:/")
    assert "excludes RUN" in error_line("stream", "--list", "far")


def test_a_host_with_a_slash_lists_its_runs_alone_and_opens_them(run_on, there, make_session):
    make_session("near")
    run_on("a", "far")
    with operant_in_a_terminal("monitor", "a:/") as (_, terminal):
        assert b"near-" not in read_until(terminal, b"far-")
        os.write(terminal, b"\r")
        read_until(terminal, b"loss")
        os.write(terminal, b"q")


def test_the_trainer_of_a_run_elsewhere_is_not_asked(run_on, monkeypatch):
    run_on("a", "far")
    sent = []
    monkeypatch.setattr("operant.monitor.app.send_request", lambda *asked: sent.append(asked))
    with listing("a") as machines:
        wait_for(lambda: names(machines))
        (row,) = machines.poll().rows
        app = MonitorApp(row.run, run_source=machines.open, runs_source=machines)

        async def ask() -> None:
            async with app.run_test(size=(100, 30)) as pilot:
                await pilot.press("X")
                await pilot.pause()
                assert ["asked on a alone" in note.message for note in app._notifications] == [True]
                assert isinstance(app.screen, RunScreen)

        asyncio.run(ask())
    assert sent == []


def test_a_real_ssh_lists_runs_as_well(ssh, make_session):
    session = make_session("far")
    session.metrics.publish({"loss": 0.5}, 1, 100)
    found = operant_json("runs", "--host", "127.0.0.1")
    assert {one["host"]: one["id"] for one in found} == {
        None: session.run.id,
        "127.0.0.1": f"127.0.0.1:{session.run.id}",
    }
