"""Algorithms of a user's own, and `operant.testing.check_algorithm`."""

from __future__ import annotations

import inspect

import pytest
import torch
from command_line import operant as command
from own_lines import SMALL

import operant
from operant.algorithms import DQN, PPO, SAC, DQNConfig, Field, Metric
from operant.testing import check_algorithm

pytestmark = pytest.mark.slow

SIZES = (
    "--set", "total_env_steps=600", "--set", "replay.capacity=1024",
    "--set", "dqn.warmup_env_steps=128", "--set", "dqn.batch_size=16",
    "--set", "evaluation.num_episodes=4",
)  # fmt: skip


class PenaltyConfig(DQNConfig):
    penalty: float = Field(0.5, ge=0, description="of large values")


class Penalty(DQN):
    section_class = PenaltyConfig

    def losses(self, batch, outputs, next_obs):
        found = super().losses(batch, outputs, next_obs)
        return found._replace(by_outputs=found.by_outputs * (1 - self.section.penalty))


MODULE = f"""
from operant.algorithms import DQN, DQNConfig, Field


{inspect.getsource(PenaltyConfig)}

{inspect.getsource(Penalty)}

def no_class(): ...


class NoAlgorithm: ...


class WrongSection(DQN):
    section_class = int
"""
SMALL_DQN = {
    **SMALL, "total_env_steps": 640, "replay": {"capacity": 1024},
    "dqn.warmup_env_steps": 128, "dqn.batch_size": 16,
}  # fmt: skip


def weights(run, **own):
    policy = operant.load(run, **own)._trained.policy
    return torch.cat([x.flatten() for x in policy.parameters()])


def test_a_class_of_a_script_learns_as_its_base_but_for_what_it_overrides():
    # No preset is tuned for DQN there: both have the neutral defaults.
    dqn = operant.train("mountain_car", algorithm="dqn", **SMALL_DQN)
    same = operant.train("mountain_car", algorithm=Penalty, **SMALL_DQN, **{"dqn.penalty": 0.0})
    other = operant.train("mountain_car", algorithm=Penalty, **SMALL_DQN)
    assert torch.equal(weights(dqn), weights(same))
    assert not torch.equal(weights(dqn), weights(other))
    assert same.status().metrics["loss/value"] == dqn.status().metrics["loss/value"]


def test_its_keys_are_checked_like_others():
    with pytest.raises(operant.UsageError, match="penalty"):
        operant.train("cart_pole", algorithm=Penalty, **SMALL_DQN, **{"dqn.penalty": -1.0})
    with pytest.raises(operant.UsageError, match=r"unknown key 'dqn.penalties'"):
        operant.train("cart_pole", algorithm=Penalty, **SMALL_DQN, **{"dqn.penalties": 1.0})
    with pytest.raises(operant.UsageError, match=r"unknown key 'dqn.penalty'"):
        operant.train("cart_pole", algorithm="dqn", **SMALL_DQN, **{"dqn.penalty": 1.0})


def test_a_run_of_a_module_is_trained_resumed_evaluated_and_not_by_others(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    done = command("train", "cart_pole", "--algorithm", "mine:Penalty", *SIZES)
    assert done.returncode == 0, done.stderr
    assert "defaults of mine:Penalty" in done.stderr + done.stdout
    (run,) = operant.runs()
    assert command("eval", "latest", "--episodes", "2").returncode == 0
    more = command("train", "--resume", run.id, "--set", "total_env_steps=1200")
    assert more.returncode == 0, more.stderr
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine.py").write_text("open('ran', 'w')")
    monkeypatch.chdir(elsewhere)
    refused = command("eval", "latest")
    assert refused.returncode == 2
    assert "algorithm:mine:Penalty would run mine" in refused.stderr
    assert not (elsewhere / "ran").exists()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mine:no_class", "expected a class that is derived from one of operant.algorithms"),
        ("mine:NoAlgorithm", "expected a class that is derived from one of operant.algorithms"),
        ("mine:WrongSection", "section_class is <class 'int'>, expected a class that is derived"),
        ("mine:Nothing", "algorithm: "),
        ("nowhere:Mine", "algorithm: "),
        ("own/Mine", "a script or notebook defined Mine, and this process does not know it"),
    ],
)
def test_what_is_no_algorithm_is_one_line(name, words, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    done = command("train", "cart_pole", "--algorithm", name)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert words in line


class OwnPPO(PPO):
    """It learns with PyTorch, as compiled loops are for operant's own."""


@pytest.mark.parametrize("algorithm", [Penalty, SAC, OwnPPO], ids=str)
def test_sound_algorithms_pass_the_check(algorithm):
    check_algorithm(algorithm)


class Forgets(DQN):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.factor = 1.0

    def losses(self, batch, outputs, next_obs):
        self.factor *= 0.9
        found = super().losses(batch, outputs, next_obs)
        return found._replace(by_outputs=found.by_outputs * self.factor)


class Random(DQN):
    def losses(self, batch, outputs, next_obs):
        found = super().losses(batch, outputs, next_obs)
        return found._replace(by_outputs=found.by_outputs * torch.rand(1))


class Idle(DQN):
    def losses(self, batch, outputs, next_obs):
        found = super().losses(batch, outputs, next_obs)
        return found._replace(by_outputs=found.by_outputs * 0)


class Undeclared(DQN):
    def learn(self, *arguments):
        figures, error = super().learn(*arguments)
        return {**figures, "loss/own": figures["loss/value"]}, error


class DeclaringConfig(DQNConfig):
    metrics = (*DQNConfig.metrics, Metric("loss/own"))


class Declared(Undeclared):
    section_class = DeclaringConfig


def test_a_metric_that_the_section_declares_is_published():
    check_algorithm(Declared)
    run = operant.train("cart_pole", algorithm=Declared, **SMALL_DQN)
    assert run.history()["loss/own"].notna().any()


class LossesOfNone(DQN):
    def losses(self, batch, outputs, next_obs):
        pass


@pytest.mark.parametrize(
    ("algorithm", "words"),
    [
        (LossesOfNone, "LossesOfNone.losses returns None: expected Losses of operant.algorithms"),
        (Forgets, "a run that goes on from a checkpoint differs in"),
        (Random, "two runs with the same seed differ in"),
        (Idle, "no weight of the policy changed"),
        (Undeclared, "'loss/own' is not declared: its section_class needs metrics = "),
    ],
)
def test_what_does_not_hold_is_said(algorithm, words):
    with pytest.raises(operant.UsageError, match=words):
        check_algorithm(algorithm)


def test_what_the_check_cannot_use_is_one_line():
    with pytest.raises(operant.UsageError, match="environments of other libraries do not save"):
        check_algorithm(DQN, "CartPole-v1")
    with pytest.raises(operant.UsageError, match="settings = 3: expected a dict"):
        check_algorithm(DQN, settings=3)
    with pytest.raises(operant.UsageError, match=r"dqn\.gamma = 7"):
        check_algorithm(DQN, settings={"dqn": {"gamma": 7}})
