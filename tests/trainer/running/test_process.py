"""The final message of a run whose training fails."""

from __future__ import annotations

import pytest
import torch

from operant.shared.errors import ConfigError
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.status import open_page, read_status
from operant.trainer.config.from_values import make_config
from operant.trainer.running import loop
from operant.trainer.running.process import Prepared, run_training


@pytest.fixture
def failed(monkeypatch, small_config, capsys):
    """Run training that ends in an error; returns the status, the events and standard error."""

    def run_to_its_end(error, exit_code=1):
        def train(*_, **__):
            raise error

        monkeypatch.setattr(loop, "train", train)
        run, lock = create_run("test", {})
        assert run_training(Prepared(run, lock, small_config("num_envs=8192"))) == exit_code
        events = [event.text for event in open_page(run).events()]
        return read_status(run), events, capsys.readouterr().err

    return run_to_its_end


def test_out_of_gpu_memory_is_one_line_and_no_traceback(failed):
    status, events, printed = failed(torch.cuda.OutOfMemoryError("Tried to allocate 2.00 GiB"))
    message = "out of GPU memory: 2.00 GiB were asked for; halve num_envs = 8192, to 4096"
    assert (status.state, status.message) == ("failed", message)
    assert events == [message]
    assert printed == f"{message}\n"


def test_what_cannot_be_done_as_asked_is_one_line_and_exit_code_2(failed):
    status, events, printed = failed(ConfigError("replay.capacity = 9 needs more"), exit_code=2)
    assert (status.state, status.message) == ("failed", "replay.capacity = 9 needs more")
    assert events == ["replay.capacity = 9 needs more"]
    assert printed == "replay.capacity = 9 needs more\n"


def test_any_other_error_leaves_its_traceback_without_what_a_terminal_obeys(failed):
    status, events, printed = failed(ValueError("\x1b]0;owned\x07\x1b[2J"))
    assert status.message.startswith("ValueError: ")
    assert "ValueError: " in events[0]
    assert "Traceback (most recent call last)" in printed
    assert "\x1b" not in printed
    assert "ValueError:  ]0;owned" in printed
    assert printed.count("\n") > 3  # its lines stay apart


@pytest.mark.parametrize(("total_env_steps", "is_told"), [(900, True), (2_500, False)])
def test_a_run_shorter_than_its_warm_up_says_that_it_learns_nothing(
    total_env_steps, is_told, monkeypatch, capsys
):
    monkeypatch.setattr(loop, "train", lambda *_, **__: True)
    config = make_config(
        {"algorithm": "dqn", "num_envs": 4, "rollout_steps": 25},
        [f"total_env_steps={total_env_steps}"],
    )
    run, lock = create_run("test", {})
    assert run_training(Prepared(run, lock, config)) == 0
    told = [(event.level, event.text) for event in open_page(run).events()]
    text = (
        "this run learns nothing: it ends after 900 env steps, and the first update comes after "
        "dqn.warmup_env_steps = 1000"
    )
    assert told == ([("warning", text)] if is_told else [])
    assert capsys.readouterr().err == (f"operant: warning: {text}\n" if is_told else "")
