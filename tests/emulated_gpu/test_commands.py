"""`operant train --device cuda` as people use it, on an emulated GPU, and what they do with it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys

import numpy as np
import onnxruntime
import pytest
from command_line import PATIENCE_S
from command_line import operant_process as operant
from waiting import wait_for

from operant.trainer.experiment.checkpoints import latest_checkpoint
from operant.trainer.experiment.trained_policy import trained_in

SMALL = ("--set", "num_envs=32", "--set", "rollout_steps=32", "--set", "evaluation.num_episodes=3",
         "--set", "policy.hidden_sizes=[16]")  # fmt: skip


def test_a_run_is_watched_stopped_resumed_played_and_exported(tmp_path, operant_home):
    train = subprocess.Popen(
        [sys.executable, "-m", "operant", "train", "cart_pole_ppo", "--device", "cuda", "--name",
         "one", *SMALL, "--set", "total_env_steps=1e9"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        wait_for(lambda: num_iterations("one") > 3)
        assert "cuda (null GPU)" in operant("monitor", "one", "--once").stdout
        stopped = operant("stop", "one")
        assert stopped.returncode == 0, stopped.stderr
        assert train.wait(PATIENCE_S) == 128 + signal.SIGTERM
    finally:
        train.kill()
    stopped = operant_json("status", "one")
    assert stopped["state"] == "stopped"

    steps = int(stopped["env_steps"])
    budget = ("--set", f"total_env_steps={steps + 4 * 1024}")
    on_cpu = operant_json("train", "--resume", "one", "--device", "cpu", *budget)
    assert on_cpu["state"] == "finished"
    assert on_cpu["env_steps"] == steps + 4 * 1024
    more = ("--set", f"total_env_steps={steps + 8 * 1024}")
    again = operant_json("train", "--resume", "one", "--device", "cuda", *more)
    assert (again["state"], again["env_steps"]) == ("finished", steps + 8 * 1024)

    assert operant_json("eval", "one", "--episodes", "3")["num_episodes"] == 3
    picture = tmp_path / "one.gif"
    assert operant("play", "one", "-o", str(picture), "--steps", "20").returncode == 0
    assert picture.stat().st_size > 0
    model = tmp_path / "one.onnx"
    assert operant("export", "one", "-o", str(model)).returncode == 0
    (checkpoints,) = operant_home.rglob("checkpoints")
    trained = trained_in(latest_checkpoint(checkpoints))
    obs = np.random.default_rng(1).normal(size=(200, 4)).astype(np.float32)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    (actions,) = session.run(None, {"observation": obs})
    assert np.array_equal(actions, trained.act(obs))
    assert set(actions.tolist()) == {0, 1}


def operant_json(*arguments):
    done = operant(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def num_iterations(run):
    done = operant("status", run, "--json")
    return json.loads(done.stdout)["iteration"] or 0 if done.returncode == 0 else 0


@pytest.mark.long_rehearsal
def test_a_trace_can_be_taken(operant_home):
    operant_json(
        "train", "cart_pole_ppo", "--device", "cuda", "--name", "traced", *SMALL,
        "--set", "total_env_steps=8192", "--set", "trace.every_iterations=3",
    )  # fmt: skip
    assert list(operant_home.rglob("*trace*.json*"))


def test_too_little_memory_is_one_line_that_says_what_to_halve(monkeypatch):
    expected = (
        r"out of GPU memory: [\d.]+ GiB were asked for, [\d.]+ GiB more than there were; "
        "halve num_envs = 8192, to 4096"
    )
    monkeypatch.setenv("NULL_GPU_BYTES", str(2**22))
    settings = ("num_envs=8192", "rollout_steps=2048", "ppo.num_minibatches=1")
    overrides = [part for each in settings for part in ("--set", each)]
    done = operant("train", "cart_pole_ppo", "--device", "cuda", *SMALL, *overrides)
    assert done.returncode == 1
    assert re.search(rf"failed \({expected}", done.stdout.splitlines()[-1])
    # PyTorch's own warnings come before.
    assert re.fullmatch(expected, done.stderr.splitlines()[-1])
    assert "Traceback" not in done.stderr
