"""`operant tinyphysics eval`: costs, report, and every kind of wrong input."""

from __future__ import annotations

import pytest
import torch
from command_line import error_line, operant, operant_json
from tinyphysics_files import write_model
from tinyphysics_reference import Pid, episode, make_session

pytestmark = pytest.mark.slow

EVAL = ("tinyphysics", "eval", "--engine", "onnxruntime")


def test_costs_are_those_of_the_sequential_reference(challenge):
    answer = operant_json(*EVAL, "--controller", "pid", "--baseline", "zero")
    session = make_session(challenge / "tinyphysics.onnx", 1)
    assert (answer["controller"], answer["routes"]) == ("pid", 4)
    costs = []
    for described in answer["per_route"]:
        expected = episode(session, challenge / "data" / described["name"], Pid())["costs"]
        keys = ("lataccel_cost", "jerk_cost", "total_cost")
        assert [described[key] for key in keys] == pytest.approx(expected, abs=1e-9)
        costs.append(expected)
    assert answer["total_cost"] == pytest.approx(sum(c[2] for c in costs) / 4)
    assert answer["baseline"]["controller"] == "zero"
    assert answer["baseline"]["total_cost"] != answer["total_cost"]
    assert answer["engine"] == "onnxruntime"


def test_a_report_is_one_file_that_needs_nothing_else(challenge, tmp_path):
    report = tmp_path / "report.html"
    done = operant(*EVAL, "--controller", "pid", "--baseline", "zero", "--num", "3",
                   "-o", str(report))  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "total_cost" in done.stdout
    assert "mean of 3 routes" in done.stdout
    page = report.read_text()
    # three histograms and a trace for each route
    assert page.count("<svg") == 3 + 3
    assert "http" not in page
    assert "<script" not in page
    assert "00002.csv" in page
    assert "zero" in page


def test_a_file_of_ones_own_is_a_controller(challenge, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("class Controller:\n    def update(self, *_):\n        return 0.0\n")
    mine = operant_json(*EVAL, "--controller", str(path))
    zero = operant_json(*EVAL, "--controller", "zero")
    assert mine["per_route"] == zero["per_route"]


def test_wrong_words_are_one_line(challenge, tmp_path):
    pid = ("--controller", "pid")
    assert "no model at" in error_line(*EVAL, *pid, "--model", str(tmp_path / "none.onnx"))
    assert "no folder of routes" in error_line(*EVAL, *pid, "--routes", str(tmp_path / "none"))
    assert "is not pid, zero or FILE.py" in error_line(*EVAL, "--controller", "nobody")
    assert "no such file" in error_line(*EVAL, "--controller", "none.py")
    assert "--num" in error_line(*EVAL, *pid, "--num", "0")
    assert "there is no folder" in error_line(*EVAL, *pid, "-o", str(tmp_path / "a/b.html"))
    assert "trained policy" in error_line(*EVAL, *pid, "--look-ahead")
    assert "no engine is called 'cpu'" in error_line("tinyphysics", "eval", *pid, "--engine", "cpu")


@pytest.mark.parametrize("engine", ["onnxruntime-cuda", "tensorrt"])
def test_an_engine_that_this_machine_cannot_run_is_one_line(challenge, engine):
    # Without a GPU, or without libraries of CUDA; and nothing of ONNX Runtime's own warnings.
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    line = error_line("tinyphysics", "eval", "--controller", "pid", "--engine", engine)
    assert "needs a GPU" in line or "the package onnxruntime-gpu" in line


def test_a_model_of_another_vocabulary_is_one_line(challenge, tmp_path):
    path = write_model(tmp_path / "other.onnx", vocabulary=512)
    assert "vocabulary of 1024" in error_line(*EVAL, "--controller", "pid", "--model", str(path))


def test_broken_routes_are_refused_or_skipped_by_choice(challenge):
    (challenge / "data" / "00001.csv").write_text("t,vEgo\n1,2\n")
    line = error_line(*EVAL, "--controller", "zero")
    assert "00001.csv, line 1: no column aEgo" in line
    done = operant(*EVAL, "--controller", "zero", "--skip-broken")
    assert "mean of 3 routes" in done.stdout
    assert "skipped: " in done.stderr


def test_without_a_network_a_download_names_the_two_folders(tmp_path, monkeypatch):
    for name in ("http_proxy", "https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # nobody listens there
    line = error_line("tinyphysics", "download", "-o", str(tmp_path / "here"))
    assert "cannot download" in line
    assert f"put tinyphysics.onnx into {tmp_path / 'here'}" in line
    assert str(tmp_path / "here" / "data") in line
