"""`operant trace` as people use it."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

from command_line import error_line, operant
from trained_runs import trained_run


def test_a_run_that_is_training_is_traced_and_goes_on(start_training):
    process, run = start_training("cart_pole_ppo_smoke", "--set", "total_env_steps=1000000000")
    done = operant("trace", run.id)
    assert done.returncode == 0, done.stderr
    (path,) = re.findall(r"^(.*\.trace\.json): \d+ kB$", done.stdout, re.MULTILINE)
    assert json.loads(Path(path).read_text())["traceEvents"]

    answer = json.loads(operant("trace", run.id, "--json").stdout)
    assert answer["id"] == run.id
    (file,) = answer["files"]
    assert file["path"] != str(path)
    assert Path(file["path"]).stat().st_size == file["size_bytes"]
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate()
    assert "USDT" not in errors  # what the profiler says of itself


def test_a_run_that_has_ended_cannot_be_traced():
    run = trained_run("cart_pole_ppo_smoke")
    assert f"{run.id} is not running" in error_line("trace", run.id, code=1)
