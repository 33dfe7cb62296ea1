"""The monitor in a terminal of its own: whatever becomes of it, the run goes on."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import ENDLESS
from terminal import operant_in_a_terminal, read_until
from waiting import wait_for

from operant.shared.runs.find_runs import latest_run, list_runs
from operant.shared.runs.status import read_status

pytestmark = [pytest.mark.usefixtures("kill_runs"), pytest.mark.slow]


def test_leaving_the_monitor_leaves_the_run_and_says_how_to_return():
    arguments = ("train", "cart_pole_ppo_smoke", "--monitor", *ENDLESS)
    with operant_in_a_terminal(*arguments) as (_, terminal):
        read_until(terminal, b"episode/return")
        os.write(terminal, b"q")
        text = read_until(terminal, b"stops it")
    run = latest_run()
    assert f"operant monitor {run.id}".encode() in text
    assert read_status(run).state == "running"

    with operant_in_a_terminal("monitor", "--latest") as (_, terminal):
        read_until(terminal, run.id.encode())


def test_a_trainer_that_ends_under_the_monitor_is_no_zombie():
    short = ("--set", "total_env_steps=20_000")
    with operant_in_a_terminal("train", "cart_pole_ppo_smoke", "--monitor", *short) as (
        monitor,
        terminal,
    ):
        read_until(terminal, b"finished")
        children = Path(f"/proc/{monitor}/task/{monitor}/children")
        assert wait_for(lambda: not children.read_text())


def test_a_screen_that_nobody_would_see_is_refused():
    keys, screen = pty.openpty()
    command = [sys.executable, "-m", "operant", "monitor"]
    with subprocess.Popen(
        command, stdin=screen, stdout=screen, stderr=subprocess.PIPE, text=True
    ) as monitor:
        assert "needs a terminal" in monitor.stderr.read()
    assert monitor.returncode == 2
    os.close(screen)
    os.close(keys)


def test_killing_the_monitor_changes_nothing(start_training):
    process, run = start_training("cart_pole_ppo_smoke", *ENDLESS)
    with operant_in_a_terminal("monitor", run.id) as (monitor, terminal):
        read_until(terminal, b"episode/return")
        os.kill(monitor, signal.SIGKILL)
        before = read_status(run).env_steps
        wait_for(lambda: read_status(run).env_steps > before + 10_000)
    assert read_status(run).state == "running"
    assert process.poll() is None


def test_ctrl_c_on_a_foreground_run_with_a_bar_stops_it_in_good_order():
    with operant_in_a_terminal("train", "cart_pole_ppo_smoke", *ENDLESS) as (_, terminal):
        wait_for(lambda: list_runs() and (read_status(latest_run()).iteration or 0) > 0)
        os.write(terminal, b"\x03")
        text = read_until(terminal, b"stopped (by SIGINT)")
    assert b"finishing the iteration" in text
