"""Runs of another machine, through an ssh that is real and through one that only looks so."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import error_line, operant, operant_json
from ssh_server import MISSING
from waiting import wait_for

from operant.monitor.remote.host import RemoteName
from operant.monitor.remote.remote_run import RemoteRun
from operant.shared.processes.lock import RunLock
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession

pytestmark = pytest.mark.slow


def start_session(name: str = "far") -> RunSession:
    run, lock = create_run(name, {})
    session = RunSession(run, lock, publish_interval_s=60.0)
    session.metrics.publish({"loss": 0.5}, 1, 100)
    return session


def followed(session: RunSession) -> RemoteRun:
    """The run over ssh, once its first publish came."""
    source = RemoteRun(RemoteName("127.0.0.1", session.run.id))
    source.connect()
    source.start()
    wait_for(lambda: source.poll().publish == 1)
    return source


def test_status_and_monitor_tell_of_a_run_elsewhere(ssh):
    session = start_session()
    status = operant_json("status", "127.0.0.1:far")
    assert (status["id"], status["host"]) == (f"127.0.0.1:{session.run.id}", "127.0.0.1")
    assert (status["state"], status["env_steps"]) == ("running", 100)
    assert (status["metrics"], status["folder"]) == ({"loss": 0.5}, None)
    for latest in ("127.0.0.1:", "127.0.0.1:latest"):
        assert "loss" in operant("status", latest).stdout
    assert "loss" in operant("monitor", "127.0.0.1:far", "--once").stdout
    session.close("finished", 0)


def test_a_stream_follows_curves_events_and_the_end(ssh):
    session = start_session()
    source = RemoteRun(RemoteName("127.0.0.1", ""))
    source.connect()
    source.start()
    for number in range(2, 50):
        session.metrics.publish({"loss": 1 / number}, number, 100 * number)
    session.metrics.event("warning", "it is late")
    view = wait_for(lambda: (view := source.poll()).publish == 49 and view)
    assert view.history.series("loss").mean[-1] == 1 / 49
    assert view.status.env_steps == 4900
    wait_for(lambda: [event.text for event in source.poll().events] == ["it is late"])
    session.run.console_path().write_text("begun\nMemoryError\n")
    wait_for(lambda: source.poll().console == ("begun", "MemoryError"))
    session.close("failed", 1, "out of memory")
    wait_for(lambda: source.poll().status.state == "failed")
    assert source.poll().status.message == "out of memory"
    source.close()


def test_a_run_elsewhere_is_followed_line_by_line_to_its_end(ssh):
    session = start_session()
    command = [sys.executable, "-m", "operant", "status", "127.0.0.1:far", "--json", "--follow"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as following:
        lines = map(json.loads, following.stdout)
        assert next(lines)["env_steps"] == 100
        session.metrics.publish({"loss": 0.25}, 2, 200)
        seen = next(line for line in lines if line["env_steps"] == 200)
        assert seen["metrics"] == {"loss": 0.25}
        session.close("finished", 0)
        assert list(lines)[-1]["state"] == "finished"
    assert following.returncode == 0


def test_nothing_is_left_running_there_when_the_watcher_goes(ssh):
    session = start_session()
    source = followed(session)
    assert streams_of(session.run.id)
    source.close()
    wait_for(lambda: not streams_of(session.run.id))
    session.close("finished", 0)


def test_a_lost_connection_is_said_and_made_again(ssh, monkeypatch):
    monkeypatch.setattr("operant.monitor.remote.remote_stream.AGAIN_AFTER_S", 0.5)
    session = start_session()
    source = followed(session)
    for pid in streams_of(session.run.id):
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: "trying again" in source.poll().status.message)
    assert source.poll().status.env_steps == 100  # what was seen stays on the screen
    session.metrics.publish({"loss": 0.25}, 2, 200)
    wait_for(lambda: source.poll().status.env_steps == 200)
    assert source.poll().status.message == ""
    source.close()
    session.close("finished", 0)


def test_a_run_that_is_resumed_is_followed_on_its_new_page(ssh):
    session = start_session()
    source = followed(session)
    session.close("stopped", 143)
    wait_for(lambda: source.poll().status.state == "stopped")
    resumed = RunSession(session.run, RunLock(session.run.lock_path), publish_interval_s=60.0)
    resumed.metrics.publish({"gain": 2.0}, 5, 500)
    view = wait_for(lambda: (view := source.poll()).status.env_steps == 500 and view)
    assert view.status.state == "running"
    wait_for(lambda: source.poll().history.series("gain").mean[-1:].tolist() == [2.0])
    source.close()
    resumed.close("finished", 0)


def test_wrong_names_are_one_line(ssh, monkeypatch):
    start_session()
    assert "nothing" in error_line("status", "127.0.0.1:nothing")
    assert "does not name a host" in error_line("status", ":run")
    assert "does not name a host" in error_line(
        "monitor", "--once", "--", "-oProxyCommand=date:run"
    )
    assert "give '127.0.0.1:'" in error_line("status", "127.0.0.1:far", "--latest")
    monkeypatch.setenv("OPERANT_REMOTE", "no-such-operant")
    assert "OPERANT_REMOTE" in error_line("status", "127.0.0.1:far")


def test_a_host_that_cannot_be_reached_is_one_line(monkeypatch):
    monkeypatch.setenv("OPERANT_SSH", "no-such-ssh")
    assert "cannot run no-such-ssh: No such file" in error_line("status", "host:run")
    if not MISSING:
        monkeypatch.setenv("OPERANT_SSH", "ssh -F /dev/null -p 1")
        assert "cannot reach 127.0.0.1" in error_line("status", "127.0.0.1:run", code=1)


def test_a_name_cannot_run_anything_elsewhere(ssh, tmp_path: Path):
    start_session()
    error_line("status", f"127.0.0.1:x; touch {tmp_path}/taken")
    assert not (tmp_path / "taken").exists()


def streams_of(run_id: str) -> list[int]:
    """Processes on this machine that stream the run."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"stream" in words and run_id.encode() in words:
            found.append(int(folder.name))
    return found
