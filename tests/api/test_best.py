"""The best policy of a run, kept beside its newest checkpoints."""

from __future__ import annotations

import pytest
import torch
from command_line import error_line, operant_json
from command_line import operant as command
from own_lines import SMALL

import operant
from operant.monitor.panels.event_lines import brief_lines
from operant.shared.runs.status import open_page

GIVEN = {**SMALL, "num_envs": 2, "evaluation": {"num_episodes": 2, "every_iterations": 1}}


class Sees:
    """The returns of evaluations, and what the policy does."""

    def __init__(self):
        self.returns, self.actions = [], []

    def on_evaluation(self, run):
        self.returns.append(run.metrics["evaluation/return"])
        self.actions.append(run.policy().act([2.0]).tolist())


@pytest.fixture
def made(line):
    """A run whose best evaluation is not the last: a large step makes it worse again."""
    seen = Sees()
    run = operant.train(
        line, total_env_steps=320, callbacks=[seen], ppo={"learning_rate": 0.02}, **GIVEN
    )
    best = max(range(len(seen.returns)), key=seen.returns.__getitem__)
    assert best + 1 < len(seen.returns)
    return run, seen, best


def test_the_best_policy_is_kept_and_loaded_by_its_name(made):
    run, seen, best = made
    policy = operant.load(run, checkpoint="best")
    assert policy.iteration == best + 1
    assert policy.act([2.0]).tolist() == seen.actions[best]
    assert operant.load(run).act([2.0]).tolist() == seen.actions[-1]
    newest = operant.load(run).iteration
    assert operant.load(run, checkpoint=newest).iteration == newest
    with pytest.raises(operant.UsageError, match=r"no checkpoint bset; there are: newest, .*best"):
        operant.load(run, checkpoint="bset")


def test_the_monitor_marks_it(made):
    run, seen, _ = made
    events = [e for e in open_page(run._run).events() if e.text.startswith("best.pt: ")]
    assert len(events) == len({max(seen.returns[: n + 1]) for n in range(len(seen.returns))})
    line = "".join(text for text, _ in brief_lines(events[-1:], 80)[0])
    assert "★ best.pt: evaluation/return" in line


def test_a_resumed_run_keeps_what_was_better_before(made):
    run, _, best = made
    path = run.folder / "checkpoints" / "best.pt"
    saved = torch.load(path, weights_only=True)
    saved["state"]["metrics"]["evaluation/return"] = 0.0  # which no evaluation can beat
    torch.save(saved, path)
    operant.train(resume=run, total_env_steps=480)
    assert operant.load(run, checkpoint="best").iteration == best + 1
    saved["state"]["metrics"]["evaluation/return"] = -1e9
    torch.save(saved, path)
    operant.train(resume=run, total_env_steps=512)
    assert operant.load(run, checkpoint="best").iteration == 16


def test_commands_take_it(monkeypatch):
    run = operant.train("cart_pole", total_env_steps=320, **GIVEN)
    best = operant.load(run, checkpoint="best").iteration
    told = command("eval", run.id, "--episodes", "3", "--checkpoint", "best").stdout
    assert f"iteration {best}: return" in told
    assert (
        operant_json("eval", run.id, "--episodes", "3", "--checkpoint", "10")["num_episodes"] == 3
    )
    assert "has no checkpoint 11; there are: newest," in error_line(
        "eval", run.id, "--checkpoint", "11"
    )
    monkeypatch.chdir(run.folder)
    films = (("play", "-o", "best.gif"), ("export", "-o", "best.onnx"))
    for name, *options in films:
        done = command(name, run.id, *options, "--checkpoint", "best")
        assert done.returncode == 0, done.stderr
    assert f"the policy of iteration {best}" in done.stdout
    assert "--checkpoint best is for -o FILE.onnx" in error_line(
        "export", run.id, "-o", "a.csv", "--checkpoint", "best"
    )


def test_it_may_be_another_metric_or_none(line):
    run = operant.train(line, total_env_steps=128, checkpoint={"best": None}, **GIVEN)
    with pytest.raises(operant.UsageError, match="no checkpoint best"):
        operant.load(run, checkpoint="best")
    run = operant.train(line, total_env_steps=160, checkpoint={"best": "loss/value"}, **GIVEN)
    losses = run.history().dropna(subset=["loss/value"]).set_index("iteration")["loss/value"]
    assert operant.load(run, checkpoint="best").iteration == losses.idxmin()


def test_a_callback_keeps_policies_under_names_of_its_own(line):
    class Keeps:
        def on_iteration(self, run):
            if run.iteration == 2:
                assert run.save("second").name == "second.pt"
                with pytest.raises(
                    operant.UsageError, match="save: name = 'iteration-3': expected"
                ):
                    run.save("iteration-3")

    run = operant.train(line, total_env_steps=160, callbacks=[Keeps()], **GIVEN)
    assert operant.load(run, checkpoint="second").iteration == 2
    assert operant.load(run).iteration == 5


@pytest.mark.parametrize("odd", [5, {"evaluation/return": "x"}, None])
def test_an_odd_file_of_the_best_is_no_best(line, odd):
    run = operant.train(line, total_env_steps=128, **GIVEN)
    path = run.folder / "checkpoints" / "best.pt"
    if odd is None:
        path.unlink()
        path.mkdir()
    else:
        saved = torch.load(path, weights_only=True)
        torch.save({**saved, "state": {**saved["state"], "metrics": odd}}, path)
    assert operant.train(resume=run, total_env_steps=256).status().state == "finished"
    texts = [event.text for event in open_page(run._run).events()]
    assert any(text.startswith("best.pt is taken for no best policy: ") for text in texts)
    said = "best.pt: evaluation/return" if odd else "best.pt cannot be written: Is a directory"
    assert any(text.startswith(said) for text in texts)


def test_a_checkpoint_of_another_algorithm_is_not_resumed(line):
    run = operant.train("cart_pole", total_env_steps=64, **SMALL)
    other = operant.train("cart_pole", algorithm="dqn", total_env_steps=64, num_envs=4)
    (newest,) = (other.folder / "checkpoints").glob("iteration-*.pt")
    newest.rename(run.folder / "checkpoints" / "iteration-000000999.pt")
    with pytest.raises(operant.UsageError, match=r"algorithm = dqn, and its run.toml ppo: it is"):
        operant.train(resume=run)
