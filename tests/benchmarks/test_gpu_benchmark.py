"""`benchmarks/gpu.py` runs from one end to the other, where there is no GPU as well."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

# All parts compile for the simulator: minutes on a busy machine.
pytestmark = [pytest.mark.timeout(1200), pytest.mark.slow]

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "gpu.py"


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    path = tmp_path_factory.mktemp("gpu") / "gpu.json"
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(path), "--dry"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return json.loads(path.read_text())


def test_every_part_is_measured_and_none_fails(answer):
    assert answer["dry"] is True
    assert list(answer["parts"]) == [
        "equality", "raw_few_envs", "raw_many_envs", "rollout", "train_1_epoch", "train_4_epochs",
        "overlap", "synchronisation", "same_seed", "out_of_memory", "tinyphysics",
        "raw_curve", "train_bfloat16", "profile", "grid_steps",
        "marine_nav_decisions", "replay_draws", "dqn_cart_pole", "sac_pendulum", "updates_captured",
        "updates_bfloat16", "rainbow_per_c51", "replay_waits", "ac_iqn_marine_nav",
    ]  # fmt: skip
    assert {name for name, part in answer["parts"].items() if "error" in part} == set()


def test_each_part_has_its_figures(answer):
    results = {name: part["result"] for name, part in answer["parts"].items()}
    for name in ("raw_few_envs", "raw_many_envs", "rollout"):
        for side in results[name]["results"]:
            assert side["env_steps_per_s"]["median"] > 0
    for name in ("train_1_epoch", "train_4_epochs"):
        for kind in ("steps", "fused"):
            assert results[name][kind]["env_steps_per_s"] > 0
            assert results[name][kind]["mean_return"] > 0
    assert len(results["overlap"]) == 4
    assert all(trained["env_steps_per_s"] > 0 for trained in results["overlap"].values())
    for name in ("dqn_cart_pole", "sac_pendulum"):
        assert len(results[name]["curve"]) == 10
    for name in ("grid_steps", "marine_nav_decisions"):
        assert results[name]["decisions_per_s"] > 0
    for point in results["raw_curve"]["curve"]:
        assert min(point["gpu_per_s"], point["cpu_per_s"]) > 0
    assert results["train_bfloat16"]["env_steps_per_s"] > 0
    for epochs in ("epochs_1", "epochs_4"):
        assert len(results["profile"][epochs]["largest"]) == 3
    assert len(results["ac_iqn_marine_nav"]["curve"]) == 10
    assert all(speed > 0 for speed in results["updates_captured"].values())
    assert results["rainbow_per_c51"]["times"] > 0
    assert results["updates_bfloat16"]["share"] > 0
    assert all(us > 0 for us in results["replay_draws"].values())
    assert results["synchronisation"]["watched_per_alone"] > 0
    assert results["same_seed"]["identical"] is True


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU to measure")
def test_what_only_a_gpu_can_show_is_absent_without_one(answer):
    results = {name: part["result"] for name, part in answer["parts"].items()}
    waits = results["synchronisation"]["synchronisations"]
    assert waits == {"iterations": 3, "absent": "no GPU to wait for"}
    assert results["out_of_memory"] == {"absent": "no GPU whose memory could be short"}


def test_one_part_that_fails_leaves_its_error_and_not_the_others(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    import gpu

    monkeypatch.setattr(
        gpu.Gpu, "parts", lambda self: {"bad": lambda: 1 / 0, "good": lambda: {"answer": 42}}
    )
    result = gpu.run(tmp_path / "gpu.json", dry=True, only=[])
    assert result["parts"]["bad"]["error"].startswith("ZeroDivisionError")
    assert result["parts"]["good"]["result"] == {"answer": 42}
    assert json.loads((tmp_path / "gpu.json").read_text())["parts"] == result["parts"]
