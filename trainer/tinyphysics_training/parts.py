"""Builds the parts of an experiment on TinyPhysics."""

from __future__ import annotations

import zlib
from functools import cache
from typing import NamedTuple

import numpy as np
import torch

from ...shared.errors import UsageError
from ..distributed.process_group import LOCAL, ProcessGroup
from ..distributed.reductions import by_rank
from ..envs.tinyphysics import SPEC
from ..envs.tinyphysics.constants import COST_END
from ..envs.tinyphysics.draws import reference_draws
from ..envs.tinyphysics.engines.choosing import ENGINE_NAMES, make_engine
from ..envs.tinyphysics.engines.engine import Engine
from ..envs.tinyphysics.model_file import read_model
from ..envs.tinyphysics.places import model_path, routes_folder
from ..envs.tinyphysics.route_cache import RouteFolder
from ..envs.tinyphysics.routes import Routes
from ..envs.tinyphysics.sections import TinyPhysicsConfig
from ..envs.tinyphysics.simulator import simulate
from ..experiment.experiment import Parts
from ..experiment.plan import Plan
from ..experiment.untrained import learner_settings, part_seed
from ..machine.threads import Threads
from ..policies.actor_critic import ActorCritic
from ..returns.episodes import Evaluation, Progress
from .collecting import EpisodeCollector
from .learning import EpisodePPO
from .steering import TrainedPolicy

SEEDED_PARTS = ("policy", "learner", "collector", "cloning")


def engine_of_first(ranks: ProcessGroup, engine: Engine | None) -> str:
    """The name of the engine that rank 0 has made; the other ranks pass None."""
    number = ENGINE_NAMES.index(engine.name) if engine else 0
    return ENGINE_NAMES[int(ranks.broadcast(torch.tensor([number])))]


def check_files_alike(ranks: ProcessGroup, settings: TinyPhysicsConfig, routes: Routes) -> None:
    """Raises UsageError, in all ranks, where one has another model or other routes than rank 0."""
    model = read_model(model_path(settings.model)).SerializeToString(deterministic=True)
    names = "\n".join(routes.names).encode()
    digests = {
        "another model": zlib.crc32(model),
        "other routes": zlib.crc32(routes.rows.tobytes(), zlib.crc32(names)),
    }
    for what, digest in digests.items():
        first, *others = by_rank(ranks, torch.tensor(digest)).tolist()
        for rank, other in enumerate(others, 1):
            if other != first:
                raise UsageError(f"rank {rank} has {what} of tinyphysics than rank 0 has")


class Split(NamedTuple):
    """Routes to learn from, and routes held out from learning."""

    training: Routes
    held_out: Routes


def make_parts(plan: Plan, threads: Threads, ranks: ProcessGroup = LOCAL) -> Parts:
    """Parts of a run whose iterations are one episode in every environment, and which clones a
    teacher before its first update. Raises UsageError for a model or routes that cannot be used.
    """
    config = plan.config
    settings: TinyPhysicsConfig = config.table("tinyphysics")
    split = load_split(settings)
    if ranks.size > 1:
        check_files_alike(ranks, settings, split.training)
    seeds = {part: part_seed(config, part, SEEDED_PARTS) for part in SEEDED_PARTS}
    engine = engine_for(plan, settings, threads, ranks)
    learning = learner_settings(config)
    policy = EpisodePPO.make_policy(learning, SPEC, seeds["policy"])
    assert isinstance(policy, ActorCritic)
    policy.to_device(engine.device)

    def tick() -> None:  # the run sets `threads.tick` later
        threads.tick()

    algorithm = EpisodePPO(
        learning,
        policy,
        engine,
        split.training,
        settings,
        config.table("cloning"),
        seed=seeds["learner"],
        cloning_seed=seeds["cloning"],
        tick=tick,
        ranks=ranks,
    )
    collector = EpisodeCollector(
        engine,
        split.training,
        policy,
        config.num_envs,
        settings.rollouts_per_route,
        seeds["collector"],
        tick,
        ranks,
    )

    def drive_held_out_routes(num_episodes: int, progress: Progress) -> Evaluation:
        """Drive each route once, with the reference's draws."""
        routes = split.held_out.at(np.arange(min(num_episodes, len(split.held_out))))
        last = min(COST_END, int(routes.num_rows.max()))

        def tick_at(step: int) -> None:
            progress(step, last, "steps")
            tick()

        draws = reference_draws(routes.names, int(routes.num_rows.max()))
        costs = simulate(engine, routes, TrainedPolicy(policy), draws, tick=tick_at).costs
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
    """The routes of a configuration; the last `held_out_routes` are held out from learning."""
    folder = RouteFolder(routes_folder(settings.routes), skip_broken=True)
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
    plan: Plan, settings: TinyPhysicsConfig, threads: Threads, ranks: ProcessGroup
) -> Engine:
    """The engine that runs the model. Several ranks all run it on their processors with the same
    engine, because two engines round differently: the fastest engine of rank 0 where none is set.
    """
    num_threads, num_envs = threads.num_threads, plan.num_envs
    if ranks.size == 1:
        return cached_engine(settings, plan.config.device, num_threads, num_envs)
    if settings.engine == "auto":
        first = None
        if ranks.rank == 0:
            first = cached_engine(settings, "cpu", num_threads, num_envs)
        settings = settings.model_copy(update={"engine": engine_of_first(ranks, first)})
    return cached_engine(settings, "cpu", num_threads, num_envs)


@cache
def cached_engine(settings: TinyPhysicsConfig, device: str, num_threads: int, batch: int) -> Engine:
    """Build an engine, and measure which is fastest, once in a process."""
    model = read_model(model_path(settings.model))
    return make_engine(model, settings.engine, device=device, num_threads=num_threads, batch=batch)
