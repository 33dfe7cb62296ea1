"""A run says how its process ended, however that was."""

from __future__ import annotations

import signal
import subprocess
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


# Ways to leave a process, and how the run is then called where that is not told by the exit code.
WAYS = {
    "the end": ("", 0),
    "exit()": ("exit()", 0),
    "exit(1)": ("exit(1)", 1),
    "quit(1)": ("quit(1)", 1),
    "exit with a text": ("exit('no data')", 1),
    "sys.exit(2)": ("sys.exit(2)", 2),
    "sys.exit(256)": ("sys.exit(256)", 0),
    "an exit from within functions": (
        "def deep(n):\n    if n: deep(n - 1)\n    sys.exit(5)\ndeep(20)", 5),
    "an exit through a finally": ("try:\n    sys.exit(6)\nfinally:\n    print('x')", 6),
    "an exit through a with": (
        "import contextlib\nwith contextlib.ExitStack():\n    exit(7)", 7),
    "a caught sys.exit": ("try:\n    sys.exit(2)\nexcept SystemExit:\n    pass", 0),
    "a caught exit": ("try:\n    exit(2)\nexcept SystemExit:\n    pass", 0),
    "a caught exit, then another": (
        "try:\n    sys.exit(2)\nexcept SystemExit:\n    pass\nsys.exit(3)", 3),
    "a caught exit, then an error": (
        "try:\n    sys.exit(2)\nexcept SystemExit:\n    pass\n1 / 0", 1),
    "an exit of 0 after a caught error": (
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    sys.exit(0)", 0),
    "an error": ("1 / 0", 1),
    "an error with a replaced excepthook": ("sys.excepthook = lambda *_: None\n1 / 0", 1),
    "an error with an excepthook replaced before": (
        "1 / 0", 1, "import sys\nsys.excepthook = lambda *_: None"),
    "an error with a wrapped excepthook": (
        "old = sys.excepthook\nsys.excepthook = lambda *a: old(*a)\n1 / 0", 1),
    "a replaced sys.exit": (
        "old = sys.exit\nsys.exit = lambda code=None: old(code)\nsys.exit(9)", 9),
    "a sys.exit that was kept from a run before": (
        "kept = sys.exit\nrun.finish()\nrun = operant.init(id=run.id, resume='must')\n"
        "run.log({'loss': 1.0}, step=4)\n"
        "sys.exit = lambda code=None: kept(code)\nrun.finish()\n"
        "run = operant.init(id=run.id, resume='must')\nsys.exit(3)", 3),
    "raise SystemExit of nothing": ("raise SystemExit", 0),
    "raise SystemExit(main())": ("def main(): return 0\nraise SystemExit(main())", 0),
    "an error that a library printed": (
        "import traceback\ntry:\n    1 / 0\nexcept ZeroDivisionError as e:\n"
        "    sys.last_value = sys.last_exc = e\n    traceback.print_last()", 0,
        "import sys\nsys.last_type, sys.last_traceback = ZeroDivisionError, None"),
    "os._exit(0)": ("os._exit(0)", 0),
    "os._exit(3)": ("os._exit(3)", 3),
    "an error in a forked child": (
        "pid = os.fork()\nif pid == 0:\n    sys.exit(4)\nos.waitpid(pid, 0)", 0),
    "os._exit in a forked child": (
        "pid = os.fork()\nif pid == 0:\n    os._exit(4)\nos.waitpid(pid, 0)", 0),
    "exit in a thread": (
        "import threading\nt = threading.Thread(target=lambda: exit(3))\nt.start()\nt.join()", 0),
    "an error in an atexit function": (
        "import atexit\natexit.register(lambda: 1 / 0)", 0),
    "argparse's own exit": (
        "import argparse\nargparse.ArgumentParser().parse_args(['--no-such-thing'])", 2),
    "SIGTERM": ("os.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(600)", -15),
    "SIGKILL": ("os.kill(os.getpid(), signal.SIGKILL)", -9),
    "an abort": ("import resource\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
                 "os.abort()", -6),
}  # fmt: skip
CASES = [(way, "script") for way in WAYS] + [
    (way, start) for way in ("the end", "exit(1)", "a caught exit") for start in ("-c", "-m")
]
OF_CODE = {0: ("finished",), -15: ("stopped",), -9: ("crashed",), -6: ("crashed",)}


@pytest.mark.parametrize(("way", "start"), CASES)
def test_the_state_agrees_with_the_exit_code(way, start, tmp_path, seen):
    code, returncode, *before = WAYS[way]
    script = "\n".join([*before, BEGIN, code])
    (tmp_path / "as_script.py").write_text(script)
    how = {"-c": ["-c", script], "script": ["as_script.py"], "-m": ["-m", "as_script"]}[start]
    done = subprocess.run(
        [sys.executable, *how], capture_output=True, text=True, cwd=tmp_path, timeout=900
    )
    assert done.returncode == returncode, done.stderr
    assert seen.status.state in OF_CODE.get(returncode, ("failed",)), seen.status.message
    if returncode > 0:
        outcome = seen.outcome
        assert outcome.exit_code == returncode


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


# Shown, and gone on from.
CAUGHT = "try: 1 / 0\n    except ZeroDivisionError: traceback.print_exc()"


@pytest.mark.parametrize(
    ("method", "ending", "state", "message"),
    [
        ("fork", "raise RuntimeError('child')", "failed", "RuntimeError: child"),
        ("spawn", "raise RuntimeError('child')", "failed", "RuntimeError: child"),
        ("forkserver", "raise RuntimeError('child')", "failed", "RuntimeError: child"),
        ("fork", "sys.exit(3)", "failed", "exit code 3"),
        ("fork", CAUGHT, "finished", ""),
    ],
    ids=["fork", "spawn", "forkserver", "exit", "caught"],
)
def test_a_process_of_multiprocessing_says_how_it_ended(
    method, ending, state, message, tmp_path, run_script, seen
):
    script = tmp_path / "script.py"
    script.write_text(f"""
import multiprocessing, operant, sys, traceback

def work(run_id):
    operant.init(id=run_id, rank=1, world_size=2).log({{"loss": 5.0}}, step=4)
    {ending}

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
    assert (second.state, second.message) == (state, message)
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
