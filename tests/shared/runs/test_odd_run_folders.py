"""A run folder may hold anything: that run is listed with what is wrong, the others as ever."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import operant

from operant.monitor.runs.list.runs_poller import RunsPoller
from operant.monitor.runs.reading.run_poller import RunPoller
from operant.shared.runs.find_runs import find_run
from operant.shared.runs.run_folder import Run, create_run
from operant.shared.runs.session import RunSession
from operant.shared.runs.status import read_status

ESCAPE = "\x1b]0;owned\x07\x1b[2J"


def deep(opening: str, closing: str) -> str:
    return opening * 100_000 + closing * 100_000


def replaced(path: Path, make: Callable[[Path], object]) -> None:
    """`path` as `make` makes it, whatever it was."""
    if path.is_dir():
        path.rename(path.with_name("." + path.name))
    else:
        path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    make(path)


def sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 4 << 30)


KINDS: dict[str, Callable[[Path], object]] = {
    "fifo": os.mkfifo,
    "folder": Path.mkdir,
    "endless": lambda path: path.symlink_to("/dev/zero"),
    "terminal": lambda path: path.symlink_to("/dev/tty"),
    "loop": lambda path: path.symlink_to(path),
    "nowhere": lambda path: path.symlink_to("nowhere"),
    "4 GiB": sparse,
    "bytes": lambda path: path.write_bytes(b"\xff\xfe" * 1000),
    "deep JSON": lambda path: path.write_text(deep("[", "]")),
    "deep TOML": lambda path: path.write_text("a = " + deep("[", "]")),
    "dotted": lambda path: path.write_text("config" + ".a" * 20_000 + " = 1"),
    "wrong types": lambda path: path.write_text('config = 5\ndevice = [1]\nsummary = "x"\n'),
    "huge": lambda path: path.write_text(f"config = {{a = {10**4000}}}"),
    "list": lambda path: path.write_text("[1, 2]"),
}
NAMES = ("run.toml", "place.json", "page", "lock", "console.log", "events.log",
         "checkpoints")  # fmt: skip


def finished_run(name: str, value: float) -> Run:
    run, lock = create_run(name, {"config": {"a": 1}})
    session = RunSession(run, lock, publish_interval_s=100.0)
    session.metrics.publish({"a": value}, 1, 1)
    session.close("finished", 0)
    return run


@pytest.fixture
def good() -> Run:
    return finished_run("good", 1.0)


@pytest.fixture
def odd() -> Run:
    return finished_run("odd", 2.0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_whatever_a_file_of_a_run_is_nothing_is_raised_and_the_others_are_shown(
    good, odd, kind, name
):
    replaced(odd.folder / name, KINDS[kind])
    read_status(odd)
    odd.manifest()
    poller = RunPoller(odd)
    poller.poll()
    poller.close()
    rows = {row.run: row for row in RunsPoller().poll().rows}
    assert rows[odd].status is not None
    assert rows[good].status.state == "finished"
    assert rows[good].status.metrics == {"a": 1.0}


def test_a_run_that_cannot_be_looked_at_is_unreadable_and_says_why(good, odd):
    odd.page_copy_path.write_bytes(b"x" * 5000)
    replaced(odd.lock_path, lambda path: path.symlink_to("/dev/zero"))
    done = operant("runs", "--json")
    statuses = {status["id"]: status for status in json.loads(done.stdout)}
    assert statuses[good.id]["state"] == "finished"
    assert "lock: not a regular file" in statuses[odd.id]["message"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("pid", "1/../../etc"), ("pid", 10**30), ("pid", -1), ("pid", True), ("pid", [1]),
        ("fd", "../../../../etc/passwd"), ("fd", 1.5), ("fd", None), ("fd", 10**30),
        ("page", 5), ("page", "\0"), ("page", "/etc/passwd"), ("page", ["x"]), ("page", "x" * 9999),
        ("boot_id", {}), ("process_start", "x"), ("after_publish", 2**70), ("since_wall_ns", "x"),
    ],
)  # fmt: skip
def test_what_cannot_be_true_of_a_process_is_passed_over(odd, key, value):
    path = odd.place_path
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    assert read_status(odd).metrics == {"a": 2.0}


def test_a_name_of_a_run_folder_is_shown_without_what_a_terminal_obeys(good, odd):
    evil = odd.folder.with_name(f"20261121-000000-{ESCAPE}-k3f9")
    odd.folder.rename(evil)
    for arguments in (("runs",), ("status", "owned"), ("status", ESCAPE), ("status", "2026"),
                      ("stop", "owned"), ("export", "owned", "-o", "a.csv"), ("eval", "owned"),
                      ("monitor", "owned", "--once"), ("train", "--resume", "owned"),
                      ("record", "owned")):  # fmt: skip
        done = operant(*arguments)
        assert "\x1b" not in done.stdout + done.stderr, arguments
        assert "Traceback" not in done.stderr, arguments


def test_reading_a_hostile_run_takes_little_memory(odd):
    sparse_files = ("run.toml", "place.json", "page", "console.log", "events.log")
    for name in sparse_files:
        replaced(odd.folder / name, sparse)
    code = (
        "import fuzz; from operant.monitor.runs.reading.run_poller import RunPoller;"
        "from operant.shared.runs.find_runs import latest_run; fuzz.limit_memory();"
        "poller = RunPoller(latest_run()); print(poller.poll().status.state);"
        "print(latest_run().manifest())"
    )
    tools = str(Path(__file__).parents[3] / "tools")
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {tools!r}); {code}"],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (20, 20)),
    )
    assert done.stdout.splitlines() == ["crashed", "{}"], done.stderr


def test_a_manifest_that_cannot_be_read_is_not_written_over(odd):
    odd.manifest_path.write_text("config = [")
    done = operant("train", "--resume", odd.id)
    assert done.returncode == 2
    assert odd.manifest_path.read_text() == "config = ["


def test_find_run_takes_no_path():
    create_run("test", {})
    with pytest.raises(Exception, match="no run is called"):
        find_run("../..")
