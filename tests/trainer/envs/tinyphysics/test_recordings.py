"""The batched simulator against recordings of the sequential reference, on the public model."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from operant.trainer.envs.tinyphysics.controllers import Pid, Zero
from operant.trainer.envs.tinyphysics.draws import reference_draws
from operant.trainer.envs.tinyphysics.engines.choosing import make_engine
from operant.trainer.envs.tinyphysics.model_file import read_model
from operant.trainer.envs.tinyphysics.route_cache import RouteFolder
from operant.trainer.envs.tinyphysics.simulator import Simulation, simulate

pytestmark = pytest.mark.slow

CONTROLLERS = {"pid": Pid, "zero": Zero}
COUNTED = slice(0, 500)


@pytest.fixture(scope="module")
def model(real_files):
    return read_model(real_files / "tinyphysics.onnx")


@pytest.fixture(scope="module")
def engine(model):
    return make_engine(model, "onnxruntime")


@pytest.fixture
def recorded_routes(real_files, recording, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = RouteFolder(real_files / "data")
    routes = folder.take(range(len(folder)))
    assert [f"data/{name}" for name in routes.names] == list(recording[1]["files"])
    return routes


def test_teacher_forced_tokens_are_the_recorded_ones(engine, recorded_routes, recording):
    _, recorded = recording
    num_rows = recorded_routes.rows.shape[1]
    simulation = Simulation(
        engine, recorded_routes, reference_draws(recorded_routes.names, num_rows)
    )
    actions, lataccels = (torch.from_numpy(recorded[k]).T for k in ("actions", "lataccel"))
    simulation.follow(actions, lataccels)
    drawn = np.stack([simulation.next_tokens(step).numpy() for step in range(20, num_rows)], 1)
    assert (drawn == recorded["tokens"]).mean() >= 0.9999


def test_costs_of_whole_episodes_are_the_recorded_ones(engine, recorded_routes, recording):
    name, recorded = recording
    draws = reference_draws(recorded_routes.names, recorded_routes.rows.shape[1])
    driven = simulate(engine, recorded_routes, CONTROLLERS[name](), draws)
    differences = np.abs(driven.costs.total.numpy() - recorded["costs"][:, 2])
    assert (differences < 1e-9).mean() >= 0.99
    same = driven.lataccels.T[:, COUNTED].numpy() == recorded["lataccel"][:, COUNTED]
    actions = driven.actions.T[:, COUNTED].numpy() == recorded["actions"][:, COUNTED]
    # An action depends on the lataccels before it.
    assert actions[np.logical_and.accumulate(same, axis=1)].all()
