"""A malformed stream from another machine is shown or gives one error; no watcher crashes."""

from __future__ import annotations

import copy
import io
import json
import resource
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import operant

from operant.commands.helpers.output import headline
from operant.monitor.panels.run_summary import draw_notice, draw_numbers, draw_progress, draw_title
from operant.monitor.remote.changed_files import whole
from operant.monitor.remote.frames import MAGIC, PROTOCOL, Frame, write_frame
from operant.monitor.remote.host import RemoteName
from operant.monitor.remote.remote_run import RemoteRun
from operant.monitor.runs.reading.conditions import condition_of
from operant.monitor.widgets.machine_panel import draw_machine
from operant.shared.errors import OperantError

ESCAPE = "\x1b]0;owned\x07\x1b[2J"
REPORT: dict[str, Any] = {
    "is_recorded": True, "num_media": 3, "returns": [0.5, 1.5],
    "status": {
        "run": "far", "state": "running", "age_s": 1.0, "iteration": 3, "env_steps": 100,
        "env_steps_per_s": 50.0, "progress_fraction": 0.5, "eta_s": 2.0, "metrics": {"loss": 0.5},
        "message": "", "phase": "evaluating", "phase_s": 1.0, "phase_done": 3, "phase_total": 7,
        "phase_unit": "episodes", "phase_left_s": 5.0,
    },
}  # fmt: skip
MACHINE: dict[str, Any] = {
    "num_processes": 1, "num_threads": 2, "memory_bytes": 3, "total_memory_bytes": 4,
    "num_cores": 5, "cpu_cores": 0.5, "core_loads": [0.5], "load": 1.0, "user": "kim",
    "used_memory_bytes": 3,
    "disk": {"free_bytes": 1, "total_bytes": 2, "read_bytes_per_s": 0.5,
             "write_bytes_per_s": 0.5, "is_run_alone": True},
    "gpus": [{"name": "H200", "utilization_fraction": 0.5, "memory_bytes": 1,
              "total_memory_bytes": 2, "power_w": 1.0, "power_limit_w": 2.0,
              "temperature_c": 3.0, "index": 0, "slowdown_c": 90.0, "clock_mhz": 1.0,
              "max_clock_mhz": 2.0, "memory_clock_mhz": 1.0, "throttled": ["too hot"],
              "others": [{"pid": 1, "user": "ann", "name": "x", "memory_bytes": 1}]}],
}  # fmt: skip
PAGE: dict[str, Any] = {"file": "page", "at": 0, "size": 100_000, "version": "1",
                        "is_complete": True, "is_gone": False}  # fmt: skip
WRONG: tuple[Any, ...] = (
    None, True, False, "0", "nan", -1, 2**70, 10**4000, float("inf"), float("nan"), 1.5, "", ESCAPE,
    "x" * 100_000, [], 2**63 - 1, 1 - 2**63, [1], ["x"], [None], {}, {"a": ESCAPE}, {"a": []},
    [[[[]]]], {ESCAPE: 1.0},
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where in `value` a field could be another."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*path, key)
        if isinstance(inner, (dict, list)):
            yield from places(inner, (*path, key))


def with_field(head: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed: Any = copy.deepcopy(head)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return dict(changed)


def stream_of(*frames: Frame, head: dict[str, Any] | None = None) -> bytes:
    out = io.BytesIO()
    for frame in (Frame(head or {"protocol": PROTOCOL, "run": "far"}), *frames):
        write_frame(out, frame)
    return out.getvalue()


def file(name: str, value: Any) -> Frame:
    head, data = whole(name, json.dumps(value).encode())
    return Frame({"run": "far", **head}, data)


@pytest.fixture
def far(tmp_path: Path, monkeypatch):
    """Have `ssh` answer with these bytes, and with these errors."""
    script = tmp_path / "ssh"

    def answer(stdout: bytes, stderr: bytes = b"", code: int = 0) -> None:
        (tmp_path / "out").write_bytes(stdout)
        (tmp_path / "err").write_bytes(stderr)
        script.write_text(f"#!/bin/sh\ncat {tmp_path}/out\ncat {tmp_path}/err >&2\nexit {code}\n")
        script.chmod(0o700)
        monkeypatch.setenv("OPERANT_SSH", str(script))

    return answer


def frames_with(path: tuple[Any, ...], value: Any) -> list[Frame]:
    """A report, the numbers of a machine and the head of a page, one of them with another value."""
    sent = with_field({"report": REPORT, "machine": MACHINE, "page": PAGE}, path, value)
    parts = sent["report"], sent["machine"], sent["page"]
    if not isinstance(parts[2], dict):
        return []
    page = Frame({"run": "far", **parts[2]}, b"x" * 5000)
    return [file("status.json", parts[0]), file("machine.json", parts[1]), page]


ALL = {"report": REPORT, "machine": MACHINE, "page": PAGE}


@pytest.mark.parametrize("path", list(places(ALL)), ids=lambda path: ".".join(map(str, path)))
def test_a_wrong_field_is_shown_or_one_line(path):
    source = RemoteRun(RemoteName("box", "far"))
    for value in WRONG:
        refused = ""
        for frame in frames_with(path, value):
            try:
                source._stream._take(source._stream.mirror.take(frame))
            except OperantError as error:
                refused = str(error)
        assert "\x1b" not in refused
        assert len(refused) < 500
        view = source.poll()
        condition_of(view.status)
        assert len(headline(view.status)) < 10_000
        for draw in (draw_title, draw_numbers, draw_progress, draw_notice):
            draw(view, 80)
        json.dumps(view.status.as_json(), allow_nan=False)
        sample = source.machine()
        for width in (20, 80):
            lines = draw_machine([sample, sample] if sample else [], width, 20)
            assert "\x1b" not in "".join(text for line in lines for text, _ in line)
    source.close()


@pytest.mark.parametrize(
    "stdout",
    [
        b"", b"Last login: never\n", b"x" * 100_000, MAGIC, MAGIC + b"\xff" * 8,
        MAGIC + struct.pack("<II", 2, 0) + b"[]",
        MAGIC + struct.pack("<II", 3, 0) + b"\xff\xfe\xfd",
        MAGIC + struct.pack("<II", 4000, 0) + b"[" * 4000,
        stream_of(head={"protocol": 99}), stream_of(head={"protocol": [ESCAPE]}),
        stream_of(), stream_of(file("status.json", {"status": 5})),
        stream_of(file("status.json", with_field(REPORT, ("status", "metrics"), {"a": "x"}))),
        stream_of(file("status.json", with_field(REPORT, ("status", "state"), "hibernating"))),
        stream_of(file("../status.json", REPORT)), stream_of(file("lock", 1)),
    ],
    ids=range(16),
)  # fmt: skip
def test_a_stream_that_is_none_is_one_line(far, stdout):
    far(stdout, b"first\n" + ESCAPE.encode() + b" no such run\n", 1)
    done = operant("status", "box:far")
    assert done.returncode in (1, 2)
    assert done.stderr.count("\n") == 1
    assert "\x1b" not in done.stderr


def test_another_protocol_says_which_and_what_to_do(far):
    far(stream_of(head={"protocol": 1}))
    done = operant("status", "box:far")
    assert "streams protocol 1, this operant reads 2; install the same version" in done.stderr


def _deep() -> bytes:
    """A report of nothing but containers."""
    text = b'{"status": {"run": "far", "metrics": {"a": ' + b"[" * 900 + b"]" * 900 + b",["
    head, data = whole("status.json", text + b"[]," * ((1 << 20) // 3 - 1000) + b"[]]}}}")
    return stream_of(Frame({"run": "far", **head}, data))


def _page(at: int) -> Frame:
    return Frame({"run": "far", "file": "page", "at": at}, bytes(16 << 20))


REPORTED = file("status.json", REPORT)
MANY = {f"{i:x}": i for i in range(110_000)}


@pytest.mark.parametrize(
    "stdout",
    [
        MAGIC + struct.pack("<II", 0xFFFFFFFF, 0xFFFFFFFF),
        _deep(),
        stream_of(REPORTED, *[_page(0)] * 50, *[_page(i << 24) for i in range(20)]),
        stream_of(file("status.json", with_field(REPORT, ("status", "metrics"), MANY))),
        stream_of(*[REPORTED] * 2000),
        stream_of(REPORTED, *(Frame({"run": f"{i}", "file": "page", "size": 1 << 27}) for i in
                              range(10_000))),
    ],
    ids=["claims", "deep", "pages", "metrics", "many", "runs"],
)  # fmt: skip
def test_a_hostile_stream_takes_a_watcher_little_memory_and_time(far, stdout):
    far(stdout)
    tools = str(Path(__file__).parents[2] / "tools")
    code = f"""
import sys; sys.path.insert(0, {tools!r})
import fuzz, time
from operant.monitor.remote.host import RemoteName
from operant.monitor.remote.remote_run import RemoteRun
from operant.shared.errors import OperantError
source = RemoteRun(RemoteName("box", "far"))
fuzz.limit_memory()
begin_s = time.process_time()
try:
    source.connect()
    for frame in source._stream._connection.frames():
        source._stream._take(source._stream.mirror.take(frame))
except OperantError as error:
    assert len(str(error)) < 500
source.poll()
source.close()
print(time.process_time() - begin_s)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (20, 20)),
    )
    assert done.returncode == 0, done.stderr[-2000:]
