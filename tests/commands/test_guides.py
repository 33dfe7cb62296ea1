"""The guides of docs/ work as they stand: every command, in its order, in a folder of its own.

Runs, searches and measurements are shorter than a reader's, and seeds fewer. Another machine is
this one. JSON behind a command shows fields of what the command prints.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest
from command_line import PATIENCE_S
from waiting import wait_for

from operant.shared.runs.find_runs import list_runs
from operant.shared.runs.status import read_status

DOCS = Path(__file__).parents[2] / "docs"
GUIDES = ("tutorial", "own-environment", "tuning", "watching", "gpu-box", "recipes", "agents")
BLOCK = re.compile(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```', re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"  +# .*")
# Installs something, or is about the reader's own shell and machines.
NOT_RUN = ("make", "source", "pip", "cd", "exit", "export", "scp", "ssh gpu-box\n", ".venv/bin/pip")
OPERANT = rf"""#!/bin/sh
short="--set num_threads=1 --set total_env_steps"
case "$*" in
  train\ ALE*) set -- "$@" $short=1024 --set evaluation.num_episodes=1 ;;
  train*--resume*) set -- "$@" $short=8192 ;;
  train*) set -- "$@" $short=2048 ;;
  sweep*) set -- "$@" --trials 2 $short=2048 ;;
  bench*--tune*) set -- "$@" --seconds 0.05 ;;
  bench*) set -- "$@" --repeats 1 --seconds 0.05 ;;
esac
exec {sys.executable} -m operant "$@"
"""
SSH = """#!/bin/sh
while [ "$1" != gpu-box ]; do shift; done
shift
exec sh -c "$*"
"""


def commands(block: str) -> list[str]:
    block = block.replace("\\\n", " ").replace("seed in 1 2 3 4 5;", "seed in 1 2;")
    lines = COMMENT.sub("", block).splitlines()
    return [line.strip() for line in lines if not f"{line.strip()}\n".startswith(NOT_RUN)]


def needs_a_terminal(line: str) -> bool:
    if line.startswith(("operant monitor", "operant play")):
        return not re.search("--once|--json|-o ", line)
    return "--monitor" in line


def shape(value: object, path: str = "") -> set[str]:
    """The paths of all fields, `.metrics.loss/value`; lists count by their first item."""
    if isinstance(value, list):
        return shape(value[0], f"{path}[]") if value else {f"{path}[]"}
    if not isinstance(value, dict):
        return {path}
    return {path}.union(*(shape(each, f"{path}.{key}") for key, each in value.items()))


def run_in_a_terminal(line: str) -> None:
    """Start it, wait until it can be left, and leave it."""
    child = pexpect.spawn("bash", ["-c", line], dimensions=(40, 120), timeout=PATIENCE_S)
    child.expect("quit")
    child.send("q")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0, (line, child.before)


@pytest.mark.release
@pytest.mark.usefixtures("recorders")
@pytest.mark.parametrize("guide", GUIDES)
def test_the_commands_of_a_guide_work(guide, tmp_path, monkeypatch):
    for name, script in (("operant", OPERANT), ("ssh", SSH)):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(script)
        path.chmod(0o700)
    folders = (path.parent, Path(sys.executable).parent, os.environ["PATH"])
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, folders)))
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.chdir(tmp_path)
    num_run, printed = 0, ""
    for language, title, block in BLOCK.findall((DOCS / f"{guide}.md").read_text()):
        if title:
            (tmp_path / title).write_text(block)
        if language == "json":
            assert shape(json.loads(block)) <= shape(json.loads(printed.splitlines()[-1])), block
        for line in commands(block) if not language else ():
            if needs_a_terminal(line):
                run_in_a_terminal(line)
            else:
                done = subprocess.run(
                    ["bash", "-c", line],
                    capture_output=True, text=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL,
                )  # fmt: skip
                assert done.returncode == 0, (line, done.stderr)
                printed = done.stdout
            wait_for(lambda: all(read_status(run).state != "running" for run in list_runs()))
            num_run += 1
    assert num_run > 2
