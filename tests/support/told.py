"""What people are told: a web server that takes it down, settings, and a loop to be told of."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from waiting import wait_for

from operant.monitor.notify.settings import alert_settings_path
from operant.shared.runs.find_runs import list_runs
from operant.shared.runs.run_folder import Run

# Publishes a growing loss until its standard input ends.
LOOP = """
import sys, threading, time
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession
config = {"recorder": {"alerts": ["loss/value > 20"], "tell": [{"command": "touch hacked"}]}}
run, lock = create_run("loop", {"config": config}, rank=0)
session = RunSession(run, lock, publish_interval_s=0.1)
is_over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), is_over.set()), daemon=True).start()
number = 0
while not is_over.wait(0.01):
    number += 1
    session.metrics.publish({"loss/value": number, "episode/return": 7.5}, number, 10 * number)
session.close("finished", 0)
"""


class Server:
    """Answers with `codes`, one after the other, then 200; or not at all while `is_mute`."""

    def __init__(self) -> None:
        self.posted: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.codes: list[int] = []
        self.is_mute = False
        self.may_go_on = threading.Event()
        self.url = ""

    @property
    def kinds(self) -> list[str]:
        return [told["kind"] for told in self.posted]


@contextmanager
def serving() -> Iterator[Server]:
    told = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told.headers.append(dict(self.headers))
            told.posted.append(json.loads(body))
            if told.is_mute:
                told.may_go_on.wait()
                return
            self.send_response(told.codes.pop(0) if told.codes else 200, "words of its own")
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    told.url = f"http://127.0.0.1:{server.server_port}/hook?secret=5e5a"
    try:
        yield told
    finally:
        told.may_go_on.set()
        server.shutdown()
        server.server_close()


def write_settings(text: str) -> Path:
    """As a user's own alerts.toml."""
    path = alert_settings_path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o600)
    return path


@contextmanager
def looping() -> Iterator[tuple[subprocess.Popen[bytes], Run]]:
    """A loop that publishes, and its run."""
    known = set(list_runs())
    process = subprocess.Popen([sys.executable, "-c", LOOP], stdin=subprocess.PIPE)
    try:
        (run,) = wait_for(lambda: set(list_runs()) - known)
        yield process, run
    finally:
        process.kill()
        process.communicate()
