"""Episodes along the routes of TinyPhysics, with the model of the car on the processor.

Episode k drives the route k of those held out, again and again from the first. The run's own seed
has the random numbers that the evaluation and the challenge have; other seeds have their own.
"""

from __future__ import annotations

import numpy as np
import torch

from ...shared.episodes.scene import Moment
from ..envs.tinyphysics.constants import CONTEXT_STEPS, CONTROL_START, PLAN_STEPS
from ..envs.tinyphysics.draws import reference_draws
from ..envs.tinyphysics.engines.choosing import make_engine
from ..envs.tinyphysics.model_file import read_model
from ..envs.tinyphysics.places import model_path
from ..envs.tinyphysics.simulator import Simulation
from ..experiment.trained_policy import TrainedPolicy
from ..policies.actor_critic import ActorCritic
from ..tinyphysics_training.collecting import rewards
from ..tinyphysics_training.parts import load_split
from ..tinyphysics_training.steering import TrainedPolicy as Steering
from .drawings import load_drawing


class RouteEpisodes:
    """Episodes from the first step that counts to the last."""

    num_episodes: int | None = None

    num_agents = 1

    def __init__(self, trained: TrainedPolicy) -> None:
        """Raises UsageError for a model or routes that cannot be used."""
        config, policy = trained.config, trained.policy
        assert isinstance(policy, ActorCritic)
        self.env, self.seed = config.env, config.seed
        self._own_seed = config.seed
        settings = config.table(config.env)
        split = load_split(settings)
        self._routes = split.held_out if len(split.held_out) else split.training
        model = read_model(model_path(settings.model))
        self._engine = make_engine(model, device="cpu", num_threads=1, batch=1)
        self._policy, self._draw = policy, load_drawing(self.env)

    @torch.inference_mode()
    def begin(self, seed: int, number: int) -> None:
        route = self._routes.at([number % len(self._routes)])
        num_rows = int(route.num_rows[0])
        draws = reference_draws(route.names, num_rows)
        if seed != self._own_seed:
            draws = np.random.default_rng((seed, number)).random((num_rows, 1))
        self._simulation = Simulation(self._engine, route, draws)
        self._controller = Steering(self._policy)
        self._controller.begin(self._simulation)
        for step in range(CONTEXT_STEPS, CONTROL_START):  # it steers along, and nobody listens yet
            self._simulation.act(step, self._controller.actions(self._simulation, step))
        self._row, self._last = CONTROL_START, self._simulation.last_step()

    @torch.inference_mode()
    def step(self) -> bool:
        if self._row < self._last:
            actions = self._controller.actions(self._simulation, self._row)
            self._simulation.act(self._row, actions)
            self._simulation.advance(self._row)
            self._row += 1
        return self._row >= self._last

    def moment(self, selected: int) -> Moment:
        run, row = self._simulation, self._row
        series = torch.stack([run.targets, run.lataccels, run.actions], -1)[: self._last, 0]
        states = series.numpy()  # a copy: stacking made it
        states[row:, 1:] = np.nan
        states[row + PLAN_STEPS :, 0] = np.nan
        elapsed, is_over = row - CONTROL_START, row >= self._last
        return_ = float(rewards(run)[:elapsed, 0].sum())
        scene = self._draw(None, states, selected)
        return Moment(scene, elapsed, (return_,), ("ended" if is_over else "",), is_over)

    def close(self) -> None:
        """There is nothing to close."""
