"""`operant train tinyphysics_ppo`, and what can be done with its run."""

from __future__ import annotations

import pytest
from command_line import error_line, operant, operant_json
from tinyphysics_files import write_model, write_routes

SMALL = [
    "num_envs=2", "total_env_steps=800", "num_threads=1", "policy.hidden_sizes=[8]",
    "tinyphysics.held_out_routes=1", "tinyphysics.rollouts_per_route=2",
    "tinyphysics.engine=onnxruntime", "cloning.num_epochs=0", "ppo.num_minibatches=2",
]  # fmt: skip


def test_a_run_learns_is_watched_evaluated_and_exported(tmp_path, monkeypatch):
    folder = tmp_path / "challenge"
    write_model(folder / "tinyphysics.onnx", num_blocks=1)
    write_routes(folder / "data", 2, num_rows=510)
    monkeypatch.setenv("OPERANT_TINYPHYSICS", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    settings = [word for override in SMALL for word in ("--set", override)]
    status = operant_json("train", "tinyphysics_ppo", *settings)
    assert status["state"] == "finished"
    metrics = status["metrics"]
    assert metrics["cost/total"] == pytest.approx(
        50 * metrics["cost/lataccel"] + metrics["cost/jerk"]
    )
    run = status["id"]
    evaluate = ("tinyphysics", "eval", "--engine", "onnxruntime", "--controller")
    costs = operant_json(*evaluate, run)["per_route"]
    assert costs[1]["total_cost"] == pytest.approx(metrics["cost/held_out"])
    exported = tmp_path / "mine.py"
    assert operant("tinyphysics", "export", run, "-o", str(exported)).returncode == 0
    again = operant_json(*evaluate, str(exported))["per_route"]
    for here, there in zip(costs, again, strict=True):
        assert here["total_cost"] == pytest.approx(there["total_cost"], abs=1e-9)
    assert "must end in .py" in error_line("tinyphysics", "export", run, "-o", "mine.txt")
    assert f"operant tinyphysics eval --controller {run}" in error_line("eval", run)


def test_without_model_or_routes_no_run_is_begun(challenge, tmp_path):
    def refusal(setting):
        return error_line("train", "tinyphysics_ppo", "--set", setting)

    assert "no model at" in refusal(f"tinyphysics.model={tmp_path / 'none'}")
    assert "no folder of routes" in refusal(f"tinyphysics.routes={tmp_path / 'none'}")
    assert "tinyphysics.engine = 'cpu'" in refusal("tinyphysics.engine=cpu")
    assert operant_json("runs") == []
