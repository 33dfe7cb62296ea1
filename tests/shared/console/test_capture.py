"""The output of a process and its children goes to the original output and to the console."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

import pytest
from waiting import wait_for

from operant.shared.console.console_file import without_time

START = """
import ctypes, os, signal, subprocess, sys, time
from pathlib import Path
from operant.shared.console.capture import start_console
console = start_console(Path("console.log"), lambda text: print(f"warned: {text}"))
libc = ctypes.CDLL(None)
"""


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPERANT_CONSOLE", "on")


def kept() -> list[str]:
    return [without_time(line).rstrip() for line in Path("console.log").read_text().splitlines()]


def keepers() -> list[int]:
    """Keepers of this test's folder."""
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            is_here = (folder / "cwd").resolve() == Path.cwd()
            if folder.name.isdigit() and b"operant.shared.console.capture" in words and is_here:
                found.append(int(folder.name))
    return found


@pytest.fixture
def script():
    """Start Python with code after `START`; killed at the end."""
    started = []

    def start(code: str, **options) -> subprocess.Popen:
        command = [sys.executable, "-c", START + code]
        started.append(subprocess.Popen(command, **options))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
    wait_for(lambda: not keepers())


def printed(script, code: str) -> tuple[str, str]:
    process = script(code, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return process.communicate(timeout=60)


@pytest.fixture
def terminal():
    """(descriptor of its other end, what `Popen` takes)."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 33, 77, 0, 0))
    yield ours, {"stdin": theirs, "stdout": theirs, "stderr": theirs, "start_new_session": True}
    for fd in (ours, theirs):
        with contextlib.suppress(OSError):
            os.close(fd)


def shown(fd: int, text: bytes) -> bytes:
    """The output that a terminal received, up to `text`."""
    data = b""
    while text not in data:
        data += os.read(fd, 65536)
    return data


def test_all_that_the_process_and_its_children_print_is_kept_and_passed_on(script):
    out, error = printed(script, """
print("by Python")
libc.puts(b"by C"); libc.fflush(None)
os.write(1, b"bytes\\n")
subprocess.run(["echo", "by a child"])
if os.fork() == 0:
    os.write(1, b"by a fork\\n")
    os._exit(0)
os.wait()
print("an error", file=sys.stderr)
print("no end of line", end="")
console.stop()
print("after")
""")  # fmt: skip
    by_all = ["by Python", "by C", "bytes", "by a child", "by a fork"]
    assert out.splitlines() == [*by_all, "no end of lineafter"]
    assert error == "an error\n"
    text = "\n".join(kept())
    assert all(said in text for said in (*by_all, "no end of line", "an error"))


def test_without_an_end_all_that_was_printed_is_kept_too(script):
    printed(script, "print('said'); raise KeyError('why')")
    wait_for(lambda: kept()[-1:] == ["KeyError: 'why'"])
    assert kept()[:2] == ["said", "Traceback (most recent call last):"]


def test_kill_9_loses_nothing_that_was_printed_before(script):
    out, _ = printed(script, """
for i in range(10_000):
    print("line", i)
os.kill(os.getpid(), signal.SIGKILL)
""")  # fmt: skip
    lines = [f"line {i}" for i in range(10_000)]
    assert out.splitlines() == lines
    wait_for(lambda: kept() == lines)


def test_a_terminal_is_still_one_of_its_size_and_gets_the_same_bytes(script, terminal):
    ours, streams = terminal
    script("""
size = os.get_terminal_size(1)
print(sys.stdout.isatty(), os.isatty(2), size.columns, size.lines, "\\x1b[1mbold\\x1b[0m")
print("end")
""", **streams)  # fmt: skip
    assert shown(ours, b"end\r\n") == b"True True 77 33 \x1b[1mbold\x1b[0m\r\nend\r\n"
    wait_for(lambda: kept() == ["True True 77 33 bold", "end"])


def test_a_terminal_that_changes_its_size_is_followed(script, terminal):
    ours, streams = terminal
    script("""
while os.get_terminal_size(1).columns != 50:
    print("narrower?", end="\\r", flush=True)
    time.sleep(0.05)
print("yes, narrower")
""", **streams)  # fmt: skip
    shown(ours, b"narrower?")
    fcntl.ioctl(streams["stdout"], termios.TIOCSWINSZ, struct.pack("4H", 20, 50, 0, 0))
    assert shown(ours, b"yes, narrower\r\n").endswith(b"yes, narrower\r\n")


def test_a_terminal_that_hangs_up_ends_nothing(script, terminal):
    ours, streams = terminal
    script("""
signal.signal(signal.SIGHUP, signal.SIG_IGN)
print("ready")
while not Path("gone").exists():
    time.sleep(0.01)
print("still here")
console.stop()
Path("done").touch()
""", **streams)  # fmt: skip
    shown(ours, b"ready")
    os.close(ours)
    Path("gone").touch()
    wait_for(Path("done").exists)
    assert kept() == ["ready", "still here"]


def test_code_that_never_lets_go_of_the_interpreter_can_print_more_than_a_pipe_takes(script):
    out, _ = printed(script, """
holding = ctypes.PyDLL(None)  # does not release the GIL
for i in range(200):
    holding.write(1, b"x" * 9999 + b"\\n", 10_000)
console.stop()
""")  # fmt: skip
    assert len(out) == 2_000_000
    assert len(kept()) == 200


def test_a_pipe_gets_every_byte_also_when_its_reader_is_slow(script):
    process = script("""
for i in range(50_000):
    print("a line of some length, number", i)
""", stdout=subprocess.PIPE)  # fmt: skip
    assert process.stdout
    time.sleep(0.3)
    lines = process.stdout.read().split(b"\n")
    assert lines[:-1] == [b"a line of some length, number %d" % i for i in range(50_000)]


def test_a_reader_that_goes_ends_nothing(script):
    process = script("""
print("first")
while not Path("gone").exists():
    time.sleep(0.01)
for i in range(1000):
    print("later", i)
console.stop()
Path("done").touch()
""", stdout=subprocess.PIPE)  # fmt: skip
    assert process.stdout
    process.stdout.readline()
    process.stdout.close()
    Path("gone").touch()
    wait_for(Path("done").exists)
    assert kept()[-1] == "later 999"


@pytest.mark.parametrize("streams", ["pipe", "terminal"])
def test_the_end_of_the_keeper_ends_nothing_else(script, terminal, streams):
    ours, options = terminal
    if streams == "pipe":
        ours, theirs = os.pipe()
        options = {"stdout": theirs, "stderr": theirs}
    process = script("""
print("ready")
while not Path("killed").exists():
    time.sleep(0.01)
time.sleep(0.5)
for i in range(5000):
    print("line", i)
print("all over")
""", **options)  # fmt: skip
    shown(ours, b"ready")
    got: list[bytes] = []
    threading.Thread(target=lambda: got.append(shown(ours, b"all over")), daemon=True).start()
    (keeper,) = keepers()
    os.kill(keeper, signal.SIGKILL)
    Path("killed").touch()
    assert process.wait(60) == 0
    wait_for(lambda: got)
    assert b"line 4999" in got[0]
    assert got[0].count(b"warned: the process that keeps the console has ended") == 1


def test_a_child_that_lives_on_prints_where_it_printed_before(script):
    process = script("""
subprocess.Popen(["sh", "-c", "while [ ! -e ended ]; do sleep 0.01; done; echo late"])
print("soon")
console.stop()
""", stdout=subprocess.PIPE)  # fmt: skip
    assert process.stdout
    assert process.stdout.readline() == b"soon\n"
    process.wait(60)
    assert kept() == ["soon"]
    Path("ended").touch()
    assert process.stdout.readline() == b"late\n"


def test_a_detached_program_goes_on_in_the_shortened_file(script):
    file = os.open("console.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    script("""
for i in range(120_000):
    print("line", i, "x" * 80)
console.stop()
print("after")
""", stdout=file, stderr=file).wait(60)  # fmt: skip
    os.close(file)
    assert kept()[-2:] == ["line 119999 " + "x" * 80, "after"]


def test_one_console_at_a_time_and_none_where_it_is_switched_off(script, monkeypatch):
    out, _ = printed(script, """
start_console(Path("second.log"), lambda text: print(f"warned: {text}"))
console.stop()
again = start_console(Path("third.log"), print)
print("third")
again.stop()
""")  # fmt: skip
    assert out.startswith("warned: another run of this process has its console")
    assert not Path("second.log").exists()
    assert without_time(Path("third.log").read_text()) == "third\n"
    monkeypatch.setenv("OPERANT_CONSOLE", "off")
    Path("console.log").unlink()
    assert printed(script, "print(console)") == ("None\n", "")
    assert not Path("console.log").exists()


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_are_left_alone(closed):
    code = START + "os.write(3, b'said'); console.stop()"
    done = subprocess.run(
        ["bash", "-c", f'exec 3>&1; "$@" {closed}', "", sys.executable, "-c", code],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout == "said"


def test_secrets_of_the_environment_are_masked_wherever_they_are_printed(script, monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "correct horse battery")
    printed(script, "print(f'it says {os.environ[\"MY_API_KEY\"]}.'); console.stop()")
    assert kept() == ["it says ***."]


def test_a_folder_that_takes_no_file_is_a_warning(script):
    Path("console.log").mkdir()
    out, _ = printed(script, "time.sleep(0.5); print('goes on'); time.sleep(0.5)")
    assert out.splitlines()[-1] == "goes on"
    assert "what comes now is not kept" in out
