"""What an experiment on TinyPhysics is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch

from .....shared.errors import UsageError
from ....config import TrainConfig
from ....evaluation import Evaluation, Progress
from ....experiment import Parts
from ....networks.actor_critic import ActorCritic
from ....ranks.single import SINGLE, Ranks
from ....run.threads import Threads
from .. import SPEC
from ..constants import COST_END
from ..cost import Costs
from ..draws import reference_draws
from ..engines.choosing import make_engine
from ..engines.engine import Engine
from ..model_file import read_model
from ..places import model_path, routes_folder
from ..route_cache import RouteFolder
from ..routes import Routes
from ..sections import TinyPhysicsConfig
from ..simulator import simulate
from .agreeing import check_files_alike, engine_of_first
from .collecting import EpisodeCollector
from .learning import EpisodePPO
from .steering import TrainedPolicy

SEED_PARTS = ("policy", "learner", "collector", "cloning")


@dataclass(frozen=True)
class Split:
    """Routes to learn from, and routes held out from learning."""

    training: Routes
    held_out: Routes


def make_parts(config: TrainConfig, threads: Threads, ranks: Ranks = SINGLE) -> Parts:
    """An iteration is one episode in every environment. Before the first update comes behaviour
    cloning. Raises UsageError for a model or routes that cannot be used.
    """
    settings: TinyPhysicsConfig = config.table("tinyphysics")
    split = load_split(settings)
    if ranks.size > 1:
        check_files_alike(ranks, settings, split.training)
    engine = engine_for(config, settings, threads, ranks)
    policy = EpisodePPO.make_policy(config, SPEC, _seed(config, "policy"))
    policy.to_device(engine.device)
    if settings.precision != "float32":  # then the policy's own products need no more either
        torch.set_float32_matmul_precision("high")

    def tick() -> None:
        threads.tick()

    algorithm = EpisodePPO(
        config, policy, engine, split.training, seed=_seed(config, "learner"),
        cloning_seed=_seed(config, "cloning"), tick=tick, ranks=ranks,
    )  # fmt: skip
    collector = EpisodeCollector(
        engine, split.training, policy, config.num_envs, settings.rollouts_per_route,
        _seed(config, "collector"), tick, ranks,
    )  # fmt: skip

    def drive_held_out_routes(num_episodes: int, progress: Progress) -> Evaluation:
        """As often as the reference does: once, with its draws."""
        routes = split.held_out.at(np.arange(min(num_episodes, len(split.held_out))))
        last = min(COST_END, int(routes.num_rows.max()))

        def tick_at(step: int) -> None:
            progress(step, last, "steps")
            tick()

        costs = route_costs(engine, routes, policy, tick_at)
        return Evaluation(
            returns=-costs.total.numpy() * config.rollout_steps,
            lengths=np.minimum(routes.num_rows, COST_END),
            details={
                "cost/held_out": float(costs.total.mean()),
                "cost/held_out_lataccel": float(costs.lataccel.mean()),
                "cost/held_out_jerk": float(costs.jerk.mean()),
            },
        )

    return Parts(algorithm, collector, drive_held_out_routes, ranks.notices)


def load_split(settings: TinyPhysicsConfig) -> Split:
    """The routes of a configuration: the last `held_out_routes` of them are not learned from."""
    folder = RouteFolder(routes_folder(settings.routes), on_broken="skip")
    count = min(settings.num_routes or len(folder), len(folder))
    num_training = count - settings.held_out_routes
    if num_training < 1:
        raise UsageError(
            f"tinyphysics.held_out_routes = {settings.held_out_routes} leaves no route to learn "
            f"from: there are {count}"
        )
    training = folder.take(range(num_training))
    long_enough = np.flatnonzero(training.num_rows >= COST_END)
    if not len(long_enough):
        raise UsageError(
            f"no route to learn from has {COST_END} rows, the end of the cost window; the longest "
            f"has {training.num_rows.max()}"
        )
    return Split(training.at(long_enough), folder.take(range(num_training, count)))


def engine_for(
    config: TrainConfig, settings: TinyPhysicsConfig, threads: Threads, ranks: Ranks
) -> Engine:
    """What runs the model. Several ranks do so on their processors, all with the engine that is the
    fastest of rank 0, where none is named: another would round otherwise.
    """
    num_threads, num_envs = threads.num_threads, ranks.own_size(config.num_envs)
    if ranks.size == 1:
        return cached_engine(settings, config.device, num_threads, num_envs)
    if settings.engine == "auto":
        first = None
        if ranks.rank == 0:
            first = cached_engine(settings, "cpu", num_threads, num_envs)
        settings = settings.model_copy(update={"engine": engine_of_first(ranks, first)})
    return cached_engine(settings, "cpu", num_threads, num_envs)


@cache
def cached_engine(settings: TinyPhysicsConfig, device: str, num_threads: int, batch: int) -> Engine:
    """Measured and built once in a process."""
    model = read_model(model_path(settings.model))
    return make_engine(
        model, settings.engine, device=device, precision=settings.precision,
        num_threads=num_threads, batch=batch,
    )  # fmt: skip


def route_costs(
    engine: Engine, routes: Routes, policy: ActorCritic, tick: Callable[[int], None]
) -> Costs:
    """Of a policy's mean actions along routes, with the reference's draws."""
    draws = reference_draws(routes.names, int(routes.num_rows.max()))
    return simulate(engine, routes, TrainedPolicy(policy), draws, tick=tick).costs


def _seed(config: TrainConfig, part: str) -> int:
    return len(SEED_PARTS) * config.seed + SEED_PARTS.index(part)
