"""Episodes of a small random model against one route at a time, one call a step."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tinyphysics_files import write_route
from tinyphysics_reference import Pid as SequentialPid
from tinyphysics_reference import episode, make_session

from operant.trainer.envs.tinyphysics.controllers import Pid
from operant.trainer.envs.tinyphysics.draws import episode_seed, reference_draws
from operant.trainer.envs.tinyphysics.engines.choosing import make_engine
from operant.trainer.envs.tinyphysics.route_cache import RouteFolder
from operant.trainer.envs.tinyphysics.simulator import episode_costs, simulate
from operant.trainer.envs.tinyphysics.tokens import (
    BINS,
    Tokenizer,
    sampled_tokens,
    sampled_tokens_on_device,
)


@pytest.fixture(scope="module")
def engine(small_model):
    return make_engine(small_model, "onnxruntime", num_threads=2)


def draws_of(routes):
    return reference_draws(routes.names, int(routes.num_rows.max()))


def test_episodes_are_those_of_the_sequential_reference(engine, small_model, route_folder, routes):
    session = make_session(small_model.SerializeToString(), 1)
    driven = simulate(engine, routes, Pid(), draws_of(routes))
    for route, name in enumerate(routes.names):
        expected = episode(session, route_folder / name, SequentialPid())
        np.testing.assert_array_equal(driven.actions[:, route], expected["actions"])
        np.testing.assert_array_equal(driven.lataccels[:, route], expected["lataccels"])
        assert float(driven.costs.total[route]) == pytest.approx(expected["costs"][2], abs=1e-9)


def test_results_do_not_depend_on_the_batch_the_order_or_the_threads(small_model, tmp_path):
    for number, num_rows in enumerate((120, 160, 101, 140, 130)):
        write_route(tmp_path / f"{number:05d}.csv", num_rows=num_rows, seed=number)
    routes = RouteFolder(tmp_path).take(range(5))
    together = simulate(
        make_engine(small_model, "onnxruntime", num_threads=1), routes, Pid(), draws_of(routes)
    )
    engine = make_engine(small_model, "onnxruntime", num_threads=3)
    order = [3, 0, 4]
    some = routes.at(order)
    apart = simulate(engine, some, Pid(), draws_of(some))
    np.testing.assert_allclose(apart.costs.total, together.costs.total[order], atol=1e-9)


def test_the_seed_is_that_of_the_path_the_reference_is_given():
    draws = reference_draws(["00000.csv"], 30)
    random = np.random.RandomState(episode_seed("data/00000.csv"))
    assert draws[20:, 0].tolist() == [random.random_sample() for _ in range(10)]
    assert (draws[:20] == 0).all()


def test_tokens_are_those_of_digitize_with_right_edges():
    values = np.array([-9.0, -5.0, -4.9999, 0.0, BINS[500], BINS[500] + 1e-12, 5.0, 9.0])
    expected = np.digitize(np.clip(values, -5, 5), BINS, right=True)
    tokenizer = Tokenizer(torch.device("cpu"))
    tokens = tokenizer.encode(torch.from_numpy(values))
    assert tokens.tolist() == expected.tolist()
    assert tokenizer.decode(tokens).dtype == torch.float64
    assert tokenizer.decode(torch.tensor([500]))[0] == BINS[500]


def test_sampling_is_that_of_numpys_legacy_choice():
    logits = np.random.default_rng(0).normal(0, 4, (200, 1024)).astype(np.float32)
    scaled = logits / np.float32(0.8)
    exponentials = np.exp(scaled - scaled.max(1, keepdims=True))
    probabilities = exponentials / exponentials.sum(1, keepdims=True)
    expected = [
        np.random.RandomState(seed).choice(1024, p=p) for seed, p in enumerate(probabilities)
    ]
    uniforms = np.array([np.random.RandomState(seed).random_sample() for seed in range(200)])
    assert sampled_tokens(logits, uniforms).tolist() == expected
    on_device = sampled_tokens_on_device(torch.from_numpy(logits), torch.from_numpy(uniforms))
    assert (on_device.numpy() == np.array(expected)).mean() > 0.99


def test_a_cost_counts_the_rows_of_the_window_and_no_other():
    targets = torch.zeros(600, 2, dtype=torch.float64)
    lataccels = targets.clone()
    lataccels[99], lataccels[500:] = 7.0, 9.0  # outside
    lataccels[100, 0] = 2.0
    lataccels[104:, 1] = 3.0  # the second route ends before
    costs = episode_costs(targets, lataccels, torch.tensor([600, 104]))
    # (2 - 0)^2 once in 400 steps; one jump of 2 among 399 differences of 0.1 s
    assert costs.lataccel.tolist() == pytest.approx([100 * 4 / 400, 0])
    assert costs.jerk.tolist() == pytest.approx([100 * (2 / 0.1) ** 2 / 399, 0])
    assert costs.total.tolist() == pytest.approx([50 * 1 + 100 * 400 / 399, 0])
