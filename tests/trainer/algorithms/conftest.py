"""Fixtures for the tests of several algorithms."""

from __future__ import annotations

import pytest


@pytest.fixture
def actor_step(monkeypatch):
    """A function that lets an algorithm learn its actor from `obs` [B, D] with the noise `normals`
    [B, A], and returns the mean loss and its gradient by the weights. The weights do not move.
    """

    def loss_and_gradient(algorithm, obs, normals):
        stepped = {}

        def step_actor(gradient, loss, *_):
            stepped.update(gradient=gradient.clone(), loss=loss)
            return {}

        monkeypatch.setattr(algorithm, "next_draw", lambda name: normals)
        monkeypatch.setattr(algorithm, "step_actor", step_actor)
        algorithm.before_critics(obs)
        algorithm.learn_actor(obs, 0.0, None)
        return stepped["loss"], stepped["gradient"]

    return loss_and_gradient
