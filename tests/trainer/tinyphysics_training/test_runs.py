"""Whole runs: going on, evaluation, what the first iteration counts, where the time goes."""

from __future__ import annotations

import pytest
import torch

from operant.shared import MetricsWriter
from operant.trainer.envs.tinyphysics.draws import reference_draws
from operant.trainer.envs.tinyphysics.engines.choosing import make_engine
from operant.trainer.envs.tinyphysics.model_file import read_model
from operant.trainer.envs.tinyphysics.route_cache import RouteFolder
from operant.trainer.envs.tinyphysics.simulator import simulate
from operant.trainer.experiment.build import processor_experiment
from operant.trainer.experiment.checkpoints import latest_checkpoint
from operant.trainer.machine.stopwatch import Stopwatch
from operant.trainer.machine.threads import Threads
from operant.trainer.running.loop import train
from operant.trainer.tinyphysics_training.steering import TrainedPolicy

pytestmark = pytest.mark.slow


def driven_by(controller, engine, routes):
    return simulate(engine, routes, controller, reference_draws(routes.names, 510))


def run(config, folder, resume_from=None):
    folder.mkdir(exist_ok=True)
    page = MetricsWriter.create(
        folder / f"page-{resume_from is not None}", "run", publish_interval_s=1
    )
    train(config, page, folder / "checkpoints", resume_from=resume_from)
    return latest_checkpoint(folder / "checkpoints")


def test_a_run_gone_on_with_equals_one_never_stopped(small_config, tmp_path):
    constant = ("ppo.learning_rate_schedule=constant",)  # others follow the length of the run
    whole = run(small_config(*constant), tmp_path / "whole")
    half = run(small_config("total_env_steps=1600", *constant), tmp_path / "half")
    rest = run(small_config(*constant), tmp_path / "half", resume_from=half)
    assert rest.iteration == whole.iteration == 2
    for name, value in whole.state["policy"].items():
        assert torch.equal(value, rest.state["policy"][name]), name


def test_evaluation_drives_the_routes_held_out_from_learning(small_config, challenge):
    experiment = processor_experiment(small_config(), Threads(1))
    evaluation = experiment.evaluate(100)
    routes = RouteFolder(challenge / "data").take([2])
    engine = make_engine(read_model(challenge / "tinyphysics.onnx"), "onnxruntime", num_threads=1)
    costs = driven_by(TrainedPolicy(experiment.policy), engine, routes).costs
    assert evaluation.details["cost/held_out"] == pytest.approx(float(costs.total.mean()))
    assert evaluation.returns.tolist() == pytest.approx([-400 * float(costs.total[0])])


def test_the_first_iteration_counts_each_reward_once_and_each_env_step(small_config):
    experiment = processor_experiment(small_config(), Threads(1))
    values = list(experiment.iterate(Stopwatch(), wait=True))
    assert values[0]["loss/cloning"] == values[0]["loss/cloning"]
    # 4 environments x 400 steps, of which the discounted sums are the samples
    assert experiment.algorithm.rewards.normalizer.moments.count == 1600
    # and 2 routes that the PID drove along, of which the logs would have had none
    assert experiment.env_steps == 1600 + 2 * 400
    again = processor_experiment(small_config(), Threads(1))
    again.load_state_dict(experiment.state_dict(), experiment.iteration)
    assert again.env_steps == experiment.env_steps
    list(again.iterate(Stopwatch(), wait=True))
    assert again.env_steps == 2 * 1600 + 2 * 400  # nothing is cloned again
