"""The screen of the machine's processes, from the list or a run and back."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from apps import choosing, watching
from processes import RUN, busy_machine, made_up_row
from screens import notifies, screen_text, shows, until
from views import RUN_ID, StillRun, StillRuns, all_states, make_view, texts

from operant.monitor.app import MonitorApp
from operant.monitor.remote.host import RemoteName
from operant.monitor.remote.run_elsewhere import RunElsewhere
from operant.monitor.runs.machine.processes import Membership, ProcessSampler
from operant.monitor.screens import processes_screen
from operant.monitor.screens.processes_screen import ProcessesScreen
from operant.monitor.screens.run_screen import RunScreen
from operant.monitor.screens.runs_screen import RunsScreen
from operant.monitor.screens.signal_dialog import SignalDialog, effects_of
from operant.monitor.session.keys import key_rows
from operant.monitor.widgets.process_table import ProcessTable, columns_of
from operant.shared.runs.run_folder import create_run


class StillProcesses:
    """A sampler of processes that do not change."""

    rows = busy_machine()

    def sample(self):
        return self.rows


@pytest.fixture
def still(monkeypatch):
    monkeypatch.setattr(processes_screen, "ProcessSampler", StillProcesses)
    monkeypatch.setattr(StillProcesses, "rows", busy_machine())


def shown(app, widget="#processes"):
    drawn = app.screen.query_one(widget)
    return [line.rstrip() for line in texts(drawn.draw(*drawn.size))]


def pids(app):
    """Those in the table, from above."""
    rows = [re.match(r"[▌ ][●○ ] +(\d+) ", line) for line in shown(app)[1:]]
    return [int(row[1]) for row in rows if row]


async def opened(app, pilot):
    await until(pilot, lambda: isinstance(app.screen, RunsScreen | RunScreen))
    app.push_screen(ProcessesScreen(RUN, app.is_readonly))
    await until(pilot, lambda: pids(app) if isinstance(app.screen, ProcessesScreen) else False)


@pytest.mark.parametrize("size", [(60, 18), (120, 40)], ids=lambda size: f"{size[0]}")
def test_pictures(snap_compare, still, size):
    app = choosing()

    async def wait(pilot):
        await opened(app, pilot)
        await pilot.press("v", "j")
        await until(pilot, shows(pilot, "└─ "))

    assert snap_compare(app, terminal_size=size, run_before=wait)


@pytest.mark.parametrize(
    ("make_app", "screen"), [(choosing, RunsScreen), (watching, RunScreen)], ids=["list", "run"]
)
async def test_u_shows_the_processes_and_esc_leads_back(still, make_app, screen):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, screen))
        await until(pilot, shows(pilot, RUN_ID if screen is RunScreen else "running"))
        await pilot.press("u")
        await until(pilot, shows(pilot, "sshd: kim"))
        assert isinstance(app.screen, ProcessesScreen)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, screen))


async def test_the_head_says_what_the_run_other_runs_and_all_others_take(still):
    app = choosing()
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(app, pilot)
        first, second = shown(app, "#processes-head")
        assert first.startswith(" operant  processes  12")
        assert first.endswith("cart_pole-ppo-k3f9  1.8 cores 4.7 GiB")
        assert second.endswith("other runs 0.6 cores 2.0 GiB · others 0.9 cores 7.5 GiB")


async def test_a_run_without_processes_here_is_said(still, monkeypatch):
    monkeypatch.setattr(StillProcesses, "rows", (made_up_row(1), made_up_row(2)))
    app = choosing()
    async with app.run_test(size=(60, 18)) as pilot:
        await opened(app, pilot)
        assert shown(app, "#processes-head")[0].endswith("cart_pole-ppo-k3f9  no process here")


async def test_processes_of_the_run_and_of_others_are_marked_and_named(still):
    app = choosing()
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(app, pilot)
        lines = {line[2:10].strip(): line for line in shown(app)}
        numbers = r"●.* 97.0 +1.2 GiB +5.0 GiB running +trainer cart_pole-ppo-k3f9 +python3 -m"
        assert re.search(numbers, lines["1200"])
        assert re.search(r"●.* worker cart_pole-ppo-k3f9", lines["1210"])
        assert re.search(r"○.* trainer pendulum-sac-x2aa", lines["2001"])
        assert re.search(r"^   .* sleeping {33}init$", lines["1"])  # without /sbin/


async def test_a_column_sorts_by_its_key_and_by_a_click_and_is_remembered(still):
    app = choosing()
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(app, pilot)
        assert pids(app)[:2] == [1200, 2501]
        await pilot.press("s", "enter")  # the column after cpu
        await until(pilot, lambda: pids(app)[0] == 2501)
        assert "memory↓" in shown(app)[0]
        await pilot.press("S")
        await until(pilot, lambda: pids(app)[0] == 2502)
        assert "memory↑" in shown(app)[0]
        await pilot.click("#processes", offset=(shown(app)[0].index("pid"), 0))
        await until(pilot, lambda: pids(app)[:2] == [1, 812])
        await pilot.press("s", *"comm", "enter")
        await until(pilot, lambda: pids(app)[0] == 840)
        assert app.session.settings.process_order == "command"


async def test_the_filter_is_typed_kept_and_dropped(still):
    app = choosing()
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(app, pilot)
        await pilot.press("slash", *"worker")
        await until(pilot, lambda: pids(app) == [1211, 1210])
        await pilot.press("enter")
        await until(pilot, shows(pilot, "/worker"))
        assert app.focused is app.screen.query_one(ProcessTable)
        await pilot.press("escape")
        await until(pilot, lambda: len(pids(app)) == 12)
        await pilot.press("slash", *"zzz", "enter")
        await until(pilot, shows(pilot, "No process fits the filter."))
        await pilot.press("enter")  # there is nothing to signal
        assert isinstance(app.screen, ProcessesScreen)


async def test_a_filter_with_an_error_keeps_the_processes_and_stays_open(still):
    app = choosing()
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(app, pilot)
        await pilot.press("slash", *"root:x", "enter")
        await until(pilot, shows(pilot, "processes can be searched by words only, not by root"))
        assert pids(app) == [1, 812]
        assert app.focused is not app.screen.query_one(ProcessTable)


async def test_the_selection_follows_its_process_and_the_top_stays_the_top(still):
    app = choosing()
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(app, pilot)
        table = app.screen.query_one(ProcessTable)
        await pilot.press("j")
        assert table.row.pid == 2501
        await pilot.press("S")
        assert table.row.pid == 2501
        await pilot.press("g")
        top = table.row.pid
        await pilot.press("S")
        assert table.row.pid == pids(app)[0] != top


async def test_it_rests_while_it_is_covered_and_after(still):
    app = choosing()
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(app, pilot)
        loop = app.screen._loop
        assert loop._stopped
        await pilot.press("question_mark")
        await until(pilot, lambda: loop._stopped is None)
        await pilot.press("escape")
        await until(pilot, lambda: loop._stopped is not None)
        await pilot.press("u")
        await until(pilot, lambda: loop._stopped is None)


async def test_a_signal_is_sent_to_the_process_that_the_dialog_names():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "mine"])
    app = choosing()
    try:
        async with app.run_test(size=(120, 40)) as pilot:
            await opened(app, pilot)
            await pilot.press("slash", *f"{child.pid}", "enter")
            await until(pilot, lambda: pids(app)[0] == child.pid)
            await pilot.press("enter")
            named = (f"signal process {child.pid}", sys.executable, "mine", "SIGTERM")
            await until(pilot, shows(pilot, *named))
            await pilot.press("k")  # no signal: a capital is asked for
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(app.screen, ProcessesScreen))
            assert child.poll() is None
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, SignalDialog))
            await pilot.press("K")
            await until(pilot, notifies(app, f"sent SIGKILL to process {child.pid}"))
        assert child.wait() == -signal.SIGKILL
    finally:
        child.kill()
        child.wait()


async def test_a_signal_that_is_not_sent_says_why():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    app = choosing()
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(app, pilot)
        await pilot.press("slash", *f"{child.pid}", "enter")
        await until(pilot, lambda: pids(app)[0] == child.pid)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, SignalDialog))
        child.kill()
        child.wait()
        await pilot.press("t")
        await until(pilot, notifies(app, f"process {child.pid} has ended: SIGTERM was not sent"))


async def test_a_click_on_a_signal_chooses_it(still):
    app = choosing()
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(app, pilot)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, SignalDialog))
        (y,) = (y for y, line in enumerate(shown(app, "#signals")) if "esc" in line)
        await pilot.click("#signals", offset=(4, y))
        await until(pilot, lambda: isinstance(app.screen, ProcessesScreen))


def test_what_a_signal_does_to_a_trainer_depends_on_whose_loop_it_is():
    config = {"algorithm": "ppo", "num_envs": 8, "ppo": {"num_epochs": 2}}
    for manifest, expected in (
        ({"config": config}, "the run finishes its iteration, saves a checkpoint and stops"),
        ({}, "ends the loop, unless it handles the signal"),
    ):
        run, lock = create_run("test", manifest, rank=0)
        lock.release()
        row = made_up_row(7, run=run, role="trainer")
        assert effects_of(row)[signal.SIGINT].startswith(expected)
    assert "the run fails" in effects_of(made_up_row(7, run=RUN, role="worker"))[signal.SIGKILL]
    assert effects_of(made_up_row(7))[signal.SIGTERM] == "asks it to end"


async def test_a_trainer_that_is_asked_to_stop_says_by_whom(monkeypatch):
    run, lock = create_run("test", {}, rank=0)
    lock.release()
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    row = next(row for row in ProcessSampler().sample() if row.pid == child.pid)
    row = row._replace(member=Membership(run, run.name, "trainer"), cpu_cores=0.0)
    monkeypatch.setattr(processes_screen, "ProcessSampler", StillProcesses)
    monkeypatch.setattr(StillProcesses, "rows", (row,))
    app = choosing()
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(app, pilot)
        await pilot.press("enter")
        await until(pilot, shows(pilot, "unless it handles the signal"))
        await pilot.press("t")
        await until(pilot, notifies(app, "sent SIGTERM"))
    assert child.wait() == -signal.SIGTERM
    assert run.manifest()["stop_reason"] == "from the monitor"


async def test_readonly_offers_no_signals(still):
    app = MonitorApp(runs_source=StillRuns(all_states()), is_readonly=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(app, pilot)
        await pilot.press("enter")
        await pilot.click("#processes", offset=(5, 1))
        await pilot.click("#processes", offset=(5, 1))
        assert isinstance(app.screen, ProcessesScreen)
        assert "signal" not in screen_text(app)
        rows = {row for _, bindings in app.help_sections(app.screen) for row in key_rows(bindings)}
        assert not any("signal" in what for _, what in rows)


async def test_processes_of_other_machines_are_not_listed(still):
    source = StillRun(make_view())
    source.run = RunElsewhere(RemoteName("gpu-a", source.run.id))
    app = MonitorApp(source.run, run_source=lambda _: source, runs_source=StillRuns(all_states()))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, shows(pilot, RUN_ID))
        await pilot.press("u")
        await until(pilot, notifies(app, "processes of other machines are not listed"))
        assert isinstance(app.screen, RunScreen)


@pytest.mark.parametrize("width", [59, 79, 99, 119, 199])
@pytest.mark.parametrize("has_gpus", [True, False])
def test_columns_fill_the_screen_and_keep_the_command_and_the_run(width, has_gpus):
    columns = columns_of(width, has_gpus)
    assert sum(columns.values()) + 2 == width
    assert columns["command"] >= 18
    assert {"pid", "cpu", "memory", "run"} <= columns.keys()


async def test_its_keys_are_in_the_document_of_keys(still):
    document = (Path(__file__).parents[2] / "docs" / "keys.md").read_text()
    app = choosing()
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(app, pilot)
        sections = dict(app.help_sections(app.screen))
        rows = key_rows([*ProcessesScreen.BINDINGS, *sections["processes"]])
        rows += key_rows(SignalDialog.BINDINGS)
        for keys, what in rows:
            named = " ".join(f"`{key}`" for key in keys.split())
            assert f"| {named} | {what}" in document
