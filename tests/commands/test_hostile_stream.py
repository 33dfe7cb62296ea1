"""What comes from another machine is shown, or is one line: nothing of it ends the watcher."""

from __future__ import annotations

import copy
import io
import json
import resource
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import operant

from operant.commands.helpers.output import headline
from operant.monitor.panels.run_summary import draw_notice, draw_numbers, draw_progress, draw_title
from operant.monitor.remote.frames import MAGIC, Frame, write_frame
from operant.monitor.remote.host import RemoteName
from operant.monitor.remote.remote_run import RemoteRun
from operant.monitor.runs.reading.conditions import condition_of
from operant.monitor.widgets.machine_panel import draw_machine
from operant.shared.errors import OperantError

ESCAPE = "\x1b]0;owned\x07\x1b[2J"
STATUS = {
    "run": "far", "state": "running", "age_s": 1.0, "iteration": 3, "env_steps": 100,
    "env_steps_per_s": 50.0, "progress_fraction": 0.5, "eta_s": 2.0, "metrics": {"loss": 0.5},
    "message": "", "phase": "evaluating", "phase_s": 1.0, "phase_done": 3, "phase_total": 7,
    "phase_unit": "episodes", "phase_left_s": 5.0,
}  # fmt: skip
HEAD: dict[str, Any] = {
    "protocol": 1,
    "run": "far",
    "status": STATUS,
    "is_page_expected": True,
    "log": ["begun"],
    "page": {"identity": [1, 2, 3], "bytes": 100_000},
    "machine": {"num_processes": 1, "num_threads": 2, "memory_bytes": 3, "total_memory_bytes": 4,
                "num_cores": 5, "cpu_cores": 0.5, "core_loads": [0.5], "load": 1.0, "user": "kim",
                "used_memory_bytes": 3,
                "disk": {"free_bytes": 1, "total_bytes": 2, "read_bytes_per_s": 0.5,
                         "write_bytes_per_s": 0.5, "is_run_alone": True},
                "gpus": [{"name": "H200", "utilization_fraction": 0.5, "memory_bytes": 1,
                          "total_memory_bytes": 2, "power_w": 1.0, "power_limit_w": 2.0,
                          "temperature_c": 3.0, "index": 0, "slowdown_c": 90.0, "clock_mhz": 1.0,
                          "max_clock_mhz": 2.0, "memory_clock_mhz": 1.0, "throttled": ["too hot"],
                          "others": [{"pid": 1, "user": "ann", "name": "x", "memory_bytes": 1}]}]},
}  # fmt: skip
WRONG: tuple[Any, ...] = (
    None, True, -1, 2**70, 10**4000, float("inf"), float("nan"), 1.5, "", ESCAPE, "x" * 100_000, [],
    [1], ["x"], [None], {}, {"a": ESCAPE}, {"a": []}, [[[[]]]], {ESCAPE: 1.0},
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


def stream_of(*frames: Frame) -> bytes:
    out = io.BytesIO()
    for frame in frames:
        write_frame(out, frame)
    return out.getvalue()


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


@pytest.mark.parametrize("path", list(places(HEAD)), ids=lambda path: ".".join(map(str, path)))
def test_a_wrong_field_is_shown_or_one_line(far, path):
    for value in WRONG:
        source = RemoteRun(RemoteName("box", "far"))
        refused = ""
        try:
            source._take(Frame(with_field(HEAD, path, value)))
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
        MAGIC + struct.pack("<II", 200_000, 0) + b"[" * 200_000,
        stream_of(Frame({"protocol": 99})), stream_of(Frame({"protocol": [ESCAPE]})),
        stream_of(Frame({"protocol": 1})), stream_of(Frame({"protocol": 1, "status": 5})),
        stream_of(Frame(with_field(HEAD, ("status", "metrics"), {"a": "x"}))),
    ],
    ids=range(13),
)  # fmt: skip
def test_a_stream_that_is_none_is_one_line(far, stdout):
    far(stdout, b"first\n" + ESCAPE.encode() + b" no such run\n", 1)
    done = operant("status", "box:far")
    assert done.returncode in (1, 2)
    assert done.stderr.count("\n") == 1
    assert "\x1b" not in done.stderr


def test_states_and_fields_of_a_newer_operant_are_shown_as_text(far):
    status = {**STATUS, "state": "hibernating", "mood": "good", "parts": [1, 2]}
    far(stream_of(Frame({"protocol": 1, "status": status})))
    rows = [line.split() for line in operant("status", "box:far").stdout.splitlines()]
    assert ["state", "hibernating"] in rows
    assert ["message", "mood:", "good"] in rows


def test_another_protocol_says_which_and_what_to_do(far):
    far(stream_of(Frame({"protocol": 2})))
    done = operant("status", "box:far")
    assert "streams protocol 2, this operant reads 1; install the same version" in done.stderr


def _deep() -> bytes:
    """A head of 2 MiB that is nothing but containers."""
    return (
        b'{"protocol":1,"status":{"run":"far","state":"running","metrics":{"a":'
        + (b"[" * 900 + b"]" * 900 + b",[")
        + b"[]," * ((2 << 20) // 3 - 100)
        + b"[]]}}}"
    )


def _inflating() -> bytes:
    """A page of 256 MiB, as many blocks of zeros as a body takes."""
    block = zlib.compress(bytes(4096), 9)
    head = {**HEAD, "page": {"identity": [1, 2, 3], "bytes": 1 << 28}}
    body = b"".join(struct.pack("<II", i, len(block)) + block for i in range(60_000))
    return stream_of(Frame(head, body))


def _metrics(count: int) -> bytes:
    return stream_of(
        Frame({**HEAD, "status": {**STATUS, "metrics": {f"{i:x}": i for i in range(count)}}})
    )


@pytest.mark.parametrize(
    "stdout",
    [
        MAGIC + struct.pack("<II", 0xFFFFFFFF, 0xFFFFFFFF),
        MAGIC + struct.pack("<II", len(_deep()), 0) + _deep(),
        _inflating(),
        _metrics(110_000),
        stream_of(*[Frame(HEAD)] * 200),
    ],
    ids=["claims", "deep", "blocks", "metrics", "many"],
)
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
    source._take_all()
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
