"""Observations, learning and export of a policy."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest
import torch
from tinyphysics_reference import episode, make_session

from operant.trainer.envs.tinyphysics.controllers import Pid
from operant.trainer.envs.tinyphysics.draws import reference_draws
from operant.trainer.envs.tinyphysics.engines.choosing import make_engine
from operant.trainer.envs.tinyphysics.model_file import read_model
from operant.trainer.envs.tinyphysics.observations import Observer
from operant.trainer.envs.tinyphysics.route_cache import RouteFolder
from operant.trainer.envs.tinyphysics.sections import CloningConfig
from operant.trainer.envs.tinyphysics.simulator import Simulation, simulate
from operant.trainer.experiment.build import processor_experiment
from operant.trainer.experiment.untrained import make_policy
from operant.trainer.machine.threads import Threads
from operant.trainer.tinyphysics_training import cloning
from operant.trainer.tinyphysics_training.cloning import clone, demonstrations
from operant.trainer.tinyphysics_training.collecting import rewards
from operant.trainer.tinyphysics_training.controlling import LookAhead
from operant.trainer.tinyphysics_training.exporting import controller_source
from operant.trainer.tinyphysics_training.learning import centred
from operant.trainer.tinyphysics_training.steering import TrainedPolicy


@pytest.fixture
def parts(challenge):
    """(engine, all routes) of the small challenge."""
    engine = make_engine(read_model(challenge / "tinyphysics.onnx"), "onnxruntime", num_threads=1)
    return engine, RouteFolder(challenge / "data").take(range(3))


def trained_policy(small_config):
    """Weights of which every part of the observation matters."""
    policy = make_policy(small_config())
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        policy.flat_parameters += 0.1 * torch.randn(
            len(policy.flat_parameters), generator=generator
        )
    return policy


def driven_by(controller, engine, routes):
    return simulate(engine, routes, controller, reference_draws(routes.names, 510))


def test_an_exported_policy_steers_the_reference_as_it_steers_here(
    small_config, parts, challenge, tmp_path
):
    engine, routes = parts
    policy = trained_policy(small_config)
    here = driven_by(TrainedPolicy(policy), engine, routes)
    package = tmp_path / "elsewhere" / "controllers"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "class BaseController:\n    def update(self, *_):\n        raise NotImplementedError\n"
    )
    (package / "mine.py").write_text(controller_source(policy, "a run"))
    for name in [name for name in sys.modules if name.split(".")[0] == "controllers"]:
        del sys.modules[name]
    sys.path.insert(0, str(package.parent))
    try:
        # As the challenge loads it.
        controller_class = importlib.import_module("controllers.mine").Controller
    finally:
        sys.path.pop(0)
    session = make_session(challenge / "tinyphysics.onnx", 1)
    for route, name in enumerate(routes.names):
        there = episode(session, challenge / "data" / name, controller_class())
        np.testing.assert_allclose(here.actions[:500, route], there["actions"][:500], atol=1e-12)
        assert float(here.costs.total[route]) == pytest.approx(there["costs"][2], abs=1e-9)
    assert here.actions[100:500].std() > 0.01  # it does something


def test_an_observation_has_its_parts_where_the_recipe_has_them(parts):
    engine, routes = parts
    draws = reference_draws(routes.names, 510)
    simulation = Simulation(engine, routes, draws)
    observer = Observer(simulation, torch.float64)
    obs = torch.empty(3, 256, dtype=torch.float64)
    for step in range(20, 61):
        observer.observe(step, obs)
        observer.note(step, torch.full((3,), step / 100, dtype=torch.float64))
    target, roll, v = (routes.field(k)[:, 1] for k in ("target", "roll_lataccel", "v_ego"))
    found = obs[1].numpy()
    assert found[0] == pytest.approx(target[60] / 5)
    assert found[1] == pytest.approx(target[59] / 5)  # before control the car is on target
    assert found[3] == pytest.approx((target[60] - roll[60]) / v[60] ** 2 / 0.02)
    assert found[9] == pytest.approx(0.59 / 2)
    errors = np.diff(target)[40:60]
    assert found[10] == pytest.approx(errors.sum() * 0.1 / 20 / 5)
    assert found[11] == pytest.approx((target[61] - target[60]) / 0.1 / 5)
    assert found[13] == pytest.approx(0.01 / 0.1 / 2)
    np.testing.assert_allclose(found[16:36], np.arange(0.40, 0.595, 0.01) / 2)
    np.testing.assert_allclose(found[36:56], target[40:60] / 5)
    # 49 rows of the plan, and the last of them again
    np.testing.assert_allclose(found[56:106], target[[*range(61, 110), 109]] / 5)
    np.testing.assert_allclose(found[156:206], v[[*range(61, 110), 109]] / 40)


def test_rewards_are_the_costs_step_by_step(parts):
    engine, routes = parts
    simulation = Simulation(engine, routes, reference_draws(routes.names, 510))
    driven = driven_by(Pid(), engine, routes)
    simulation.follow(driven.actions, driven.lataccels)
    lost = -rewards(simulation)
    jerk_share = 399 / 400  # the jerk cost is a mean over one difference fewer
    expected = 400 * (50 * driven.costs.lataccel + jerk_share * driven.costs.jerk)
    np.testing.assert_allclose(lost.double().sum(0), expected, rtol=1e-5)
    jump = 0.1**2 * 100 / 0.1**2
    simulation.lataccels[:] = simulation.targets
    simulation.lataccels[100:] = simulation.lataccels[100:] * 0 + 1.0
    simulation.targets[:] = 1.0
    simulation.lataccels[99] = 0.0  # outside the window: this jump costs nothing
    simulation.lataccels[300:] += 0.1
    lost = -rewards(simulation)
    assert lost[:200].abs().max() < 1e-6
    assert lost[200].tolist() == pytest.approx([5000 * 0.01 + jump] * 3, rel=1e-4)


def test_advantages_are_centred_over_the_episodes_of_a_route():
    advantages = torch.tensor([[1.0, 3.0, 10.0, 20.0], [0.0, 2.0, 4.0, 4.0]])
    assert centred(advantages, 2).tolist() == [[-1, 1, -5, 5], [-1, 1, 0, 0]]
    assert centred(advantages, 1) is advantages


@torch.no_grad()
def mean_log_prob(policy, shown):
    outputs = policy.outputs(shown.obs)
    log_probs, _ = policy.distribution.log_prob_and_entropy(outputs, shown.actions)
    return float(log_probs.mean())


@pytest.mark.parametrize("source", ["logged", "pid"])
def test_cloning_narrows_the_policy_around_what_it_is_shown(
    small_config, parts, source, monkeypatch
):
    monkeypatch.setattr(cloning, "MINIBATCH_SIZE", 120)
    engine, routes = parts
    config = CloningConfig(source=source, copies=2, num_epochs=15)
    generator = torch.Generator().manual_seed(1)
    shown = demonstrations(engine, routes, config, generator)
    steps = 80 if source == "logged" else 480
    assert len(shown.obs) == 2 * 3 * steps
    policy = make_policy(small_config())
    before = mean_log_prob(policy, shown)
    clone(policy, shown, config, generator, lambda: None)
    assert mean_log_prob(policy, shown) - before > 0.3


def test_the_critic_is_fitted_to_returns_by_its_own_values(small_config):
    weights = []
    for left_over in (0.0, 1e6):
        experiment = processor_experiment(small_config("cloning.num_epochs=0"), Threads(1))
        rollout = experiment.collect()
        rollout.values.fill_(left_over)
        rollout.next_values.fill_(left_over)
        experiment.algorithm.fit_critic(rollout, rollout.rewards, 1)
        weights.append(experiment.policy.flat_parameters.detach().clone())
    assert torch.equal(*weights)


def test_looking_ahead_never_leaves_what_the_policy_could_do(small_config, parts):
    engine, routes = parts
    some = routes.at([0, 2])
    policy = trained_policy(small_config)
    simulation = Simulation(engine, some, reference_draws(some.names, 510))
    controller = LookAhead(policy)
    controller.begin(simulation)
    for step in range(20, 104):
        chosen = controller.actions(simulation, step)
        previous = controller._observer.actions[:, step - 1]
        assert ((chosen - previous).abs() <= 0.25 + 1e-12).all()
        simulation.act(step, chosen)
        if step >= 100:
            simulation.advance(step)


def test_a_branch_without_choice_goes_where_the_simulation_goes(parts):
    engine, routes = parts
    draws = torch.from_numpy(reference_draws(routes.names, 510))
    simulation = Simulation(engine, routes, draws)
    steers = torch.zeros(3, dtype=torch.float64)
    for step in range(100, 110):
        simulation.act(step, steers)
        simulation.advance(step)
    branch, start = simulation.branched(110, 3, 2, 4, draws[110:114])
    for ahead in range(4):
        simulation.act(110 + ahead, steers + 0.1)
        simulation.advance(110 + ahead)
        branch.act(start + ahead, torch.full((6,), 0.1, dtype=torch.float64))
        branch.advance(start + ahead)
    expected = simulation.lataccels[110:114].repeat_interleave(2, 1)
    assert torch.equal(branch.lataccels[start : start + 4], expected)
