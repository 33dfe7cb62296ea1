"""`operant export -o FILE.onnx`: a policy that acts elsewhere as it does here."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from command_line import error_line, operant, operant_json

from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession


def test_a_policy_is_a_file_that_onnx_runtime_acts_by(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small = ("num_envs=8", "rollout_steps=16", "total_env_steps=256", "evaluation.num_episodes=0")
    options = [f"--set={key}" for key in (*small, "num_threads=1")]
    name = operant_json("train", "cart_pole_pqn", *options)["id"]
    done = operant("export", name, "-o", "a.onnx")
    assert done.stdout == "a.onnx: the policy of iteration 2\n", done.stderr
    session = onnxruntime.InferenceSession("a.onnx", providers=["CPUExecutionProvider"])
    (actions,) = session.run(["action"], {"observation": np.zeros((3, 4), np.float32)})
    assert actions.shape == (3,)
    answer = operant_json("export", name, "-o", "mine.onnx")
    assert answer == {"id": name, "output": "mine.onnx", "iteration": 2}
    assert (tmp_path / "mine.onnx").is_file()
    assert "cannot write" in error_line("export", name, "-o", "no/x.onnx")


def test_a_policy_of_a_run_without_checkpoints_is_one_line():
    run, lock = create_run("test", {})
    RunSession(run, lock, publish_interval_s=1, recorder=None).close("finished", 0)
    assert "has no checkpoint" in error_line("export", run.id, "-o", "a.onnx")


@pytest.mark.parametrize("words", ["status", "stop", "logs", "edit --note x", "export -o a.csv"])
def test_a_policy_that_comes_with_operant_is_no_run(words):
    create_run("cart_pole", {})
    command, *options = words.split()
    assert error_line(command, "zoo:cart_pole", *options).startswith(
        "operant: zoo:cart_pole is a policy that comes with operant and no run: `eval`"
    )
