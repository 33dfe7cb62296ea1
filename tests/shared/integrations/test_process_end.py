"""A run says how its process ended, however that was."""

from __future__ import annotations

import signal
import sys

import pytest

import operant
from operant.shared.integrations.process_end import ending_of

BEGIN = """
import operant, os, signal, sys, time
run = operant.init()
run.log({"loss": 1.0}, step=3)
"""
KILL = "os.kill(os.getpid(), signal.{})\ntime.sleep(600)"

ENDINGS = {
    "the end of the script": ("", 0, "finished", ""),
    "an error": ("raise ValueError('boom')", 1, "failed", "ValueError: boom"),
    "exit 0": ("sys.exit(0)", 0, "finished", ""),
    "exit 3": ("sys.exit(3)", 3, "failed", "exit code 3"),
    "exit with a text": ("sys.exit('no data')", 1, "failed", "no data"),
    "Ctrl-C": (KILL.format("SIGINT"), -signal.SIGINT, "stopped", "by SIGINT"),
    "SIGTERM": (KILL.format("SIGTERM"), -signal.SIGTERM, "stopped", "by SIGTERM"),
    "SIGKILL": (
        "run.flush()\n" + KILL.format("SIGKILL"),
        -signal.SIGKILL,
        "crashed",
        "the process is gone without a last word",
    ),
    "an error in a with block": (
        "with run:\n    raise ValueError('boom')",
        1,
        "failed",
        "ValueError: boom",
    ),
    "an exit that was caught": (
        "try:\n    sys.exit(4)\nexcept SystemExit:\n    run.log({'loss': 1.0}, step=4)",
        0,
        "finished",
        "",
    ),
    "an error in a thread": (
        "import threading\nthread = threading.Thread(target=lambda: sys.exit(4) or 1 / 0)\n"
        "thread.start(); thread.join()",
        0,
        "finished",
        "",
    ),
}


@pytest.mark.parametrize("how", ENDINGS)
def test_the_run_says_how_its_process_ended(how, run_script, seen):
    code, returncode, state, message = ENDINGS[how]
    done = run_script(BEGIN + code)
    assert done.returncode == returncode, done.stderr
    assert (seen.status.state, seen.status.message) == (state, message)
    assert seen.status.metrics == {"loss": 1.0}


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
        + KILL.format("SIGTERM")
    )  # fmt: skip
    assert done.stderr.strip() == "mine"
    assert done.returncode == 1


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_process_of_multiprocessing_says_how_it_ended(method, tmp_path, run_script, seen):
    script = tmp_path / "script.py"
    script.write_text(f"""
import multiprocessing, operant

def work(run_id):
    operant.init(id=run_id, rank=1, world_size=2).log({{"loss": 5.0}}, step=4)
    raise RuntimeError("child")

if __name__ == "__main__":
    run = operant.init(world_size=2)
    run.log({{"loss": 1.0}}, step=4)
    process = multiprocessing.get_context("{method}").Process(target=work, args=(run.id,))
    process.start()
    process.join()
""")
    done = run_script(f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')")
    assert done.returncode == 0, done.stderr
    first, second = seen.status.ranks
    assert (first.state, first.env_steps) == ("finished", 4)
    assert (second.state, second.message) == ("failed", "RuntimeError: child")
    assert second.metrics == {"loss": 5.0}


def test_everything_is_as_it_was_when_no_run_is_open():
    before = sys.exit, sys.excepthook, signal.getsignal(signal.SIGTERM)
    run = operant.init()
    assert sys.exit != before[0]
    run.finish()
    assert (sys.exit, sys.excepthook, signal.getsignal(signal.SIGTERM)) == before


def test_a_loop_left_by_nothing_is_finished():
    assert ending_of(None).state == "finished"
    assert ending_of(SystemExit(None)).state == "finished"
    assert ending_of(KeyboardInterrupt()).exit_code == 130
