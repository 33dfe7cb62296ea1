"""The terminal goes. Where SIGHUP is ignored, as by make, what trains goes on; what shows ends."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import sys

import pytest
from command_line import ENDLESS
from waiting import wait_for

from operant.shared.runs.find_runs import latest_run, list_runs
from operant.shared.runs.status import read_status
from operant.trainer.experiment.checkpoints import latest_checkpoint

pytestmark = pytest.mark.usefixtures("kill_runs")


class Terminal:
    """`operant` in a terminal of its own, as a rule deaf to SIGHUP."""

    def __init__(self, *arguments: str, is_deaf: bool = True) -> None:
        self.process_id, self.keys = pty.fork()
        if self.process_id == 0:
            os.environ["TERM"] = "xterm-256color"
            signal.signal(signal.SIGHUP, signal.SIG_IGN if is_deaf else signal.SIG_DFL)
            os.execv(sys.executable, [sys.executable, "-m", "operant", *arguments])
        self.exit_code: int | None = None

    def show(self, text: bytes) -> None:
        """Wait until `text` was drawn."""
        shown = b""
        while text not in shown:
            data = os.read(self.keys, 65536)
            assert data, shown[-2000:]
            shown += data

    def hang_up(self) -> None:
        os.close(self.keys)

    def has_ended(self) -> bool:
        pid, status = os.waitpid(self.process_id, os.WNOHANG)
        if pid:
            self.exit_code = os.waitstatus_to_exitcode(status)
        return bool(pid)

    def kill(self) -> None:
        if self.exit_code is None:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(self.process_id, signal.SIGKILL)
                os.waitpid(self.process_id, 0)


@pytest.fixture
def terminal():
    opened = []

    def open_one(*arguments: str, is_deaf: bool = True) -> Terminal:
        opened.append(Terminal(*arguments, is_deaf=is_deaf))
        return opened[-1]

    yield open_one
    for one in opened:
        one.kill()


PUBLISHES = """
import itertools, time
import operant
operant.init(name="endless", publish_interval_s=0.1)
for step in itertools.count():
    operant.log({"loss": 1.0}, step=step)
    time.sleep(0.01)
"""


@pytest.fixture
def loop():
    """(process, run) of a loop that publishes and needs nothing compiled."""
    with subprocess.Popen([sys.executable, "-c", PUBLISHES]) as process:
        wait_for(lambda: list_runs() and read_status(latest_run()).env_steps)
        yield process, latest_run()
        process.kill()


def goes_on(run) -> bool:
    before = read_status(run).env_steps or 0
    wait_for(lambda: (read_status(run).env_steps or 0) > before)
    return read_status(run).is_alive


def test_a_monitor_ends_with_its_terminal(terminal, loop):
    _, run = loop
    monitor = terminal("monitor", "--latest")
    monitor.show(b"endless")
    monitor.hang_up()
    wait_for(monitor.has_ended)
    assert goes_on(run)


def test_following_a_run_that_publishes_nothing_ends_with_the_terminal(terminal, loop):
    process, run = loop
    process.send_signal(signal.SIGSTOP)
    follower = terminal("status", run.id, "--follow", "--json")
    follower.show(b"stalled")
    follower.hang_up()
    wait_for(follower.has_ended)
    assert follower.exit_code == 0
    status = read_status(run)
    assert (status.state, status.is_alive) == ("stalled", True)  # it saw all there was to see


def test_a_run_in_the_foreground_goes_on_without_its_bar(terminal):
    trainer = terminal("train", "cart_pole_ppo_smoke", *ENDLESS)
    wait_for(lambda: list_runs() and (read_status(latest_run()).iteration or 0) > 0)
    trainer.hang_up()
    run = latest_run()
    assert goes_on(run)
    os.kill(trainer.process_id, signal.SIGTERM)
    wait_for(trainer.has_ended)
    assert read_status(run).state == "stopped"


@pytest.mark.parametrize("ranks", [(), ("--processes", "2")])
def test_a_run_in_the_foreground_stops_with_its_terminal_and_says_how_to_go_on(terminal, ranks):
    trainer = terminal("train", "cart_pole_ppo_smoke", *ENDLESS, *ranks, is_deaf=False)
    wait_for(lambda: list_runs() and (read_status(latest_run()).iteration or 0) > 1)
    trainer.hang_up()
    wait_for(trainer.has_ended)
    run = latest_run()
    status = read_status(run)
    assert trainer.exit_code == 128 + signal.SIGHUP
    assert status.state == "stopped"
    assert status.message == (f"its terminal was closed; `operant train --resume {run.id}` goes on")
    assert latest_checkpoint(run.checkpoint_folder).iteration == status.iteration
