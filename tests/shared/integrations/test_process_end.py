"""A run says how its process ended, however that was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest
from waiting import wait_for

import operant
from operant.monitor.recorder.page_recorder import ProcessExit
from operant.shared.processes.host import boot_id, process_start
from operant.shared.processes.lock import RECORDER, lock_holder
from operant.shared.runs.find_runs import find_run
from operant.shared.runs.run_folder import Run
from operant.shared.runs.status import open_page, read_status

BEGIN = """
import operant, os, signal, sys, time
run = operant.init()
run.log({"loss": 1.0}, step=3)
"""
# Ways to leave a process: the code, its exit code, and the state by what the process hears alone.
WAYS = {
    "the end": ("", 0, "ended"),
    "sys.exit()": ("sys.exit()", 0, "finished"),
    "sys.exit(3)": ("sys.exit(3)", 3, "failed"),
    "sys.exit(256)": ("sys.exit(256)", 0, "finished"),
    "sys.exit of a text": ("sys.exit('no data')", 1, "failed"),
    "exit()": ("exit()", 0, "ended"),
    "exit(1)": ("exit(1)", 1, "ended"),
    "quit of a text": ("quit('no data')", 1, "ended"),
    "a sys.exit imported before": ("exit(4)", 4, "ended", "from sys import exit"),
    "a sys.exit imported since": ("from sys import exit; exit(4)", 4, "failed"),
    "raise SystemExit": ("raise SystemExit", 0, "ended"),
    "raise SystemExit(1)": ("raise SystemExit(1)", 1, "ended"),
    "an exit from within functions": (
        "def deep(n):\n    if n: deep(n - 1)\n    sys.exit(5)\ndeep(20)", 5, "failed"),
    "an exit through a finally": ("try:\n    sys.exit(6)\nfinally:\n    print('x')", 6, "failed"),
    "a caught sys.exit": ("try:\n    sys.exit(2)\nexcept SystemExit:\n    pass", 0, "failed"),
    "a caught exit, then an error": (
        "try:\n    sys.exit(2)\nexcept SystemExit:\n    pass\n1 / 0", 1, "failed"),
    "an exit of 0 after a caught error": (
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    sys.exit(0)", 0, "finished"),
    "an error": ("1 / 0", 1, "failed"),
    "an error in a with block": ("with run:\n    1 / 0", 1, "failed"),
    "an error with a replaced excepthook": (
        "sys.excepthook = lambda *_: None\n1 / 0", 1, "ended"),
    "an error with an excepthook replaced before": (
        "1 / 0", 1, "failed", "import sys\nsys.excepthook = lambda *_: None"),
    "an error with a wrapped excepthook": (
        "old = sys.excepthook\nsys.excepthook = lambda *a: old(*a)\n1 / 0", 1, "failed"),
    "an excepthook called by hand": (
        "try:\n    1 / 0\nexcept Exception:\n    sys.excepthook(*sys.exc_info())", 0, "failed"),
    "a replaced sys.exit": (
        "old = sys.exit\nsys.exit = lambda code=None: old(code)\nsys.exit(9)", 9, "failed"),
    "a sys.exit that was kept from a run before": (
        "kept = sys.exit\nrun.finish()\nrun = operant.init(id=run.id, resume='must')\n"
        "run.log({'loss': 1.0}, step=4)\n"
        "sys.exit = lambda code=None: kept(code)\nrun.finish()\n"
        "run = operant.init(id=run.id, resume='must')\nsys.exit(3)", 3, "failed"),
    "finish()": ("run.finish()\nsys.exit(2)", 2, "finished"),
    "finish(exit_code=2)": ("run.finish(exit_code=2)", 0, "failed"),
    "os._exit(0)": ("os._exit(0)", 0, "crashed"),
    "os._exit(5)": ("os._exit(5)", 5, "crashed"),
    "os._exit at exit": ("import atexit\natexit.register(os._exit, 7)", 7, "crashed"),
    "os._exit after the run's end": (  # functions of atexit are called in reverse order
        "sys.exit()", 7, "finished", "import atexit, os\natexit.register(os._exit, 7)"),
    "an exit in a forked child": (
        "pid = os.fork()\nif pid == 0:\n    sys.exit(4)\nos.waitpid(pid, 0)", 0, "ended"),
    "exit in a thread": (
        "import threading\nt = threading.Thread(target=lambda: sys.exit(3))\nt.start()\nt.join()",
        0, "ended"),
    "argparse's own exit": (
        "import argparse\nargparse.ArgumentParser().parse_args(['--no-such-thing'])", 2, "failed"),
    "Ctrl-C": ("os.kill(os.getpid(), signal.SIGINT)\ntime.sleep(600)", -2, "stopped"),
    "SIGTERM": ("os.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(600)", -15, "stopped"),
    "SIGTERM, left to the system": (
        "from operant.shared.integrations import process_end\nprocess_end.leave_sigterm()\n"
        "os.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(600)", -15, "crashed"),
    "SIGKILL": ("os.kill(os.getpid(), signal.SIGKILL)", -9, "crashed"),
    "an abort": ("import resource\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
                 "os.abort()", -6, "crashed"),
}  # fmt: skip
# Their states with the kernel's word, where it is not that of the exit code.
FINISHED_BEFORE = {"finish()": "finished", "finish(exit_code=2)": "failed"}
OF_SIGNAL = {-2: "stopped", -15: "stopped", -9: "crashed", -6: "crashed"}
# What is said where the exit code is not heard.
MESSAGES = {
    "the end": "its exit code is not known", "exit()": "its exit code is not known",
    "sys.exit()": "", "sys.exit(3)": "exit code 3", "sys.exit of a text": "no data",
    "an error": "ZeroDivisionError: division by zero",
    "an error in a with block": "ZeroDivisionError: division by zero",
    "Ctrl-C": "by SIGINT", "SIGTERM": "by SIGTERM",
    "SIGKILL": "the process ended without saying why",
}  # fmt: skip


def leave(way, tmp_path, before_it=""):
    """Run a script that leaves by `way`, and check its exit code."""
    code, returncode, _, *before = WAYS[way]
    script = "\n".join([*before, BEGIN, before_it, code])
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, timeout=900
    )
    assert done.returncode == returncode, done.stderr


@pytest.mark.parametrize("way", WAYS)
def test_the_state_is_ended_where_the_exit_code_is_not_heard(way, tmp_path, seen):
    state = WAYS[way][2]
    leave(way, tmp_path, "run.flush()" if state == "crashed" else "")
    status = seen.status
    assert status.state == state
    if way in MESSAGES:
        assert (status.message, status.metrics) == (MESSAGES[way], {"loss": 1.0})


RECORDED = """
run.flush()
while not os.path.exists(os.path.join(run.dir, "rows.sqlite")):
    time.sleep(0.01)
"""


@pytest.fixture
def recorded(monkeypatch):
    """Wait until the recorder of a run has ended."""
    if not kernel_tells():
        pytest.skip("this kernel does not tell the exit codes of other processes")
    monkeypatch.setenv("OPERANT_RECORDER", "on")

    def recorded(run: Run) -> None:
        wait_for(lambda: not (run.recording_path.exists() or lock_holder(run.lock_path, RECORDER)))

    return recorded


def kernel_tells() -> bool:
    """Whether this kernel tells how a process exited, by PIDFD_INFO_EXIT: Linux since 6.15."""
    if not hasattr(os, "pidfd_open"):
        return False
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    page = SimpleNamespace(
        pid=process.pid, process_start=process_start(process.pid), boot_id=boot_id()
    )
    followed = ProcessExit(SimpleNamespace(header=page))
    process.communicate(b"\n")
    return followed.code(1.0) == 0


@pytest.mark.parametrize("way", WAYS)
def test_the_recorder_corrects_the_state_by_the_exit_code(way, tmp_path, seen, recorded):
    leave(way, tmp_path, RECORDED)
    recorded(seen.run)
    returncode = WAYS[way][1]
    of_code = OF_SIGNAL.get(returncode, "failed" if returncode else "finished")
    state = FINISHED_BEFORE.get(way, of_code)
    assert seen.status.state == state
    if state == "failed" and way not in FINISHED_BEFORE:
        assert seen.outcome.exit_code == returncode
    if state == "failed":
        assert seen.status.message
    events = seen.run.events_path.read_text() if seen.run.events_path.exists() else ""
    assert ("ended without saying why" in events) == (state == "crashed")


def test_people_are_told_the_state_that_the_kernel_knows(tmp_path, seen, recorded):
    told = tmp_path / "told"
    settings = tmp_path / "config" / "operant" / "alerts.toml"
    settings.parent.mkdir(parents=True)
    words = '"$OPERANT_EVENT_KIND $OPERANT_EVENT_STATE $OPERANT_EVENT_TEXT"'
    settings.write_text(f"command = 'echo {words} >> {told}'\n")
    leave("raise SystemExit(1)", tmp_path, RECORDED)
    recorded(seen.run)
    (message,) = wait_for(lambda: told.exists() and told.read_text()).splitlines()
    assert message.startswith("crash failed ")
    assert "failed: exit code 1" in message


def test_a_monitor_that_has_the_page_open_sees_the_corrected_state(tmp_path, seen, recorded):
    process = subprocess.Popen(
        [sys.executable, "-c", BEGIN + RECORDED + "print('up', flush=True)\ninput()\nexit(4)"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    process.stdout.readline()
    reader = open_page(seen.run)
    process.communicate(b"\n")
    outcome = wait_for(lambda: (last := reader.outcome()) and last.state != "ended" and last)
    assert (outcome.state, outcome.exit_code, outcome.message) == ("failed", 4, "exit code 4")
    reader.detach()


def test_nothing_is_replaced_but_what_wandb_replaces(run_script, seen):
    done = run_script(
        "import builtins, os, sys, traceback\n"
        "def all(): return {(m, n): v for m in (os, sys, builtins, traceback)"
        " for n, v in vars(m).items() if callable(v)}\n"
        "before = all()\n" + BEGIN
        + "print(sorted(n for (m, n), v in all().items() if before.get((m, n)) is not v))"
    )  # fmt: skip
    assert done.stdout.strip() == "['excepthook', 'exit']", done.stderr


def test_a_failed_run_has_the_end_of_its_traceback(run_script, seen):
    done = run_script(BEGIN + "def deep():\n    raise ValueError('boom')\ndeep()")
    assert "ValueError: boom" in done.stderr  # the user sees it as ever
    (event,) = seen.events
    assert event.level == "error"
    assert event.text.rstrip().endswith("ValueError: boom")
    assert "in deep" in event.text


def test_a_loop_that_handles_sigterm_itself_keeps_its_handler(run_script, seen):
    done = run_script(
        "import signal\nsignal.signal(signal.SIGTERM, lambda *_: exit('mine'))" + BEGIN
        + "os.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(600)"
    )  # fmt: skip
    assert done.stderr.strip() == "mine"
    assert done.returncode == 1


PROCESS = """
import multiprocessing, operant, os, sys, time

def work():
    run = operant.init(name="child")
    run.log({{"loss": 5.0}}, step=4)
    {ending}

if __name__ == "__main__":
    run = operant.init(name="parent")
    run.log({{"loss": 1.0}}, step=4)
    process = multiprocessing.get_context("{method}").Process(target=work)
    process.start()
    process.join()
    run.finish()
"""
CHILDREN = [
    ("fork", "raise RuntimeError('child')", "failed"),
    ("spawn", "raise RuntimeError('child')", "failed"),
    ("forkserver", "sys.exit(3)", "failed"),
    ("fork", "pass", "finished"),
]


@pytest.mark.parametrize(("method", "ending", "state"), CHILDREN)
def test_a_process_of_multiprocessing_says_how_it_ended(
    method, ending, state, tmp_path, run_script
):
    script = tmp_path / "script.py"
    script.write_text(PROCESS.format(method=method, ending=ending))
    done = run_script(f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')")
    assert done.returncode == 0, done.stderr
    first, second = (read_status(find_run(name)) for name in ("parent", "child"))
    assert (first.state, first.env_steps) == ("finished", 4)
    # Since Python 3.13 its finalizers run after the error was dealt with.
    heard = state if ending == "sys.exit(3)" or sys.version_info < (3, 13) else "ended"
    assert second.state == ("ended" if ending == "pass" else heard)
    assert second.metrics == {"loss": 5.0}


@pytest.mark.parametrize(("method", "ending", "state"), CHILDREN)
def test_the_recorder_knows_the_exit_codes_of_processes_of_multiprocessing(
    method, ending, state, tmp_path, run_script, recorded
):
    script = tmp_path / "script.py"
    wait = RECORDED.replace("\n", "\n    ")
    script.write_text(PROCESS.format(method=method, ending=wait + ending))
    done = run_script(f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')")
    assert done.returncode == 0, done.stderr
    runs = [find_run(name) for name in ("parent", "child")]
    for run in runs:
        recorded(run)
    assert [read_status(run).state for run in runs] == ["finished", state]


def test_everything_is_as_it_was_when_no_run_is_open():
    before = sys.exit, sys.excepthook, signal.getsignal(signal.SIGTERM)
    run = operant.init()
    assert sys.exit != before[0]
    run.finish()
    assert (sys.exit, sys.excepthook, signal.getsignal(signal.SIGTERM)) == before
