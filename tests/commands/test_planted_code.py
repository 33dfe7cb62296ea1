"""A run that another user planted, or that was copied from anywhere, runs none of its code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import planted_code
import pytest


@pytest.fixture
def open_folder():
    """An empty one that the second user can reach; tmp_path is closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="operant-planted-"))
    folder.chmod(0o755)
    yield folder
    folder.rmdir()


def test_planted_code_runs_under_no_command(open_folder):
    own_mounts = ["unshare", "--mount", "--propagation", "private"]
    if os.getuid() != 0 or subprocess.run([*own_mounts, "true"], capture_output=True).returncode:
        pytest.skip("needs root, for a mount namespace and a second user")
    done = subprocess.run(
        [*own_mounts, sys.executable, planted_code.__file__, str(open_folder)],
        stdout=subprocess.PIPE, text=True, check=True, timeout=500,
    )  # fmt: skip

    found = json.loads(done.stdout)
    assert {one["command"] for one in found} == set(planted_code.COMMANDS)
    ran = [f"{one['command']} {one['way']}" for one in found if one["has_run"]]
    assert not ran
    for one in found:
        assert one["exit_code"] == 2, one
        assert one["said"].startswith("operant: "), one
        assert one["said"].count("\n") == 1, one
        assert "planted.py" in one["said"], one
        assert "--trust-code" in one["said"] or one["way"].endswith("media"), one


def test_the_attack_refuses_to_run_outside_of_a_namespace(tmp_path):
    script = Path(planted_code.__file__)
    done = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True)
    assert done.returncode == 1
    assert "runs only in a mount namespace of its own" in done.stderr
    assert not any(tmp_path.iterdir())
