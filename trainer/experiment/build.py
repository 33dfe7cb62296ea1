"""Builds the parts of a plan. The number of workers is measured where the plan leaves it open."""

from __future__ import annotations

import importlib
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from ..algorithms import algorithm_class
from ..algorithms.algorithm import Algorithm, Options
from ..algorithms.compiled_ppo.learning import CompiledUpdate
from ..algorithms.compiled_ppo.ranked import RankedUpdate
from ..collecting.collector import Collector, CollectsRollouts, GroupedCollector, SlicedCollector
from ..collecting.compiled import CompiledCollector
from ..config import TrainConfig
from ..distributed.process_group import LOCAL, ProcessGroup
from ..envs.hosts import describe, make_envs
from ..envs.spec import HostedSpec
from ..envs.workers.arrays import Array
from ..envs.workers.choice import chosen, in_words, measured
from ..jit.streams import TRAINING
from ..machine.thread_choice import ThreadChoice
from ..machine.threads import Threads, numbers_to_try, one_torch_thread
from ..policies.policy import first_state
from ..returns.episodes import Evaluation, Progress
from .evaluation import evaluate
from .experiment import Experiment, Inline, Parts
from .graphs import Graphs
from .plan import Plan, groups_collector, plan, this_machine
from .precompiling import Precompiling
from .teachers import auxiliary_losses
from .traits import RankLayout
from .untrained import learner_settings, make_policy, part_seed

UPDATES: dict[str, type[CompiledUpdate]] = {"compiled": CompiledUpdate, "ranked": RankedUpdate}
COLLECTORS: dict[str, type[Collector]] = {
    "in_groups": GroupedCollector,
    "sliced": SlicedCollector,
    "stepped": Collector,
}


def make_experiment(config: TrainConfig, ranks: ProcessGroup = LOCAL) -> Experiment:
    """The experiment of a configuration on this machine, for one of `ranks`. Raises ConfigError."""
    planned = plan(config, describe(config), this_machine(), layout_of(config, ranks))
    device = ranks.device if ranks.size > 1 else torch.device(planned.device)
    if planned.executor == "inline":
        return build(planned, ranks=ranks)
    return build_on(device, planned, ranks=ranks)


def processor_experiment(
    config: TrainConfig, threads: Threads | None = None, ranks: ProcessGroup = LOCAL
) -> Experiment:
    """The experiment of a configuration on the processor, with these `threads`."""
    machine, spec = this_machine(), describe(config)
    if spec.stepped_by != "routes":  # these are on the device of their model
        machine = machine._replace(no_gpu="the processor is wanted")
    return build(plan(config, spec, machine, layout_of(config, ranks)), threads, ranks)


def device_experiment(
    config: TrainConfig,
    device: torch.device,
    capture: bool | None = None,
    ranks: ProcessGroup = LOCAL,
) -> Experiment:
    """The experiment of a configuration as a GPU runs it, on any `device`."""
    on_gpu = config.model_copy(update={"device": "cuda", "num_threads": 0})
    machine, spec = this_machine()._replace(no_gpu=""), describe(config)
    planned = replace(plan(on_gpu, spec, machine, layout_of(config, ranks)), config=config)
    return build_on(device, planned, capture, ranks)


def layout_of(config: TrainConfig, ranks: ProcessGroup) -> RankLayout | None:
    """The description of `ranks` for the plan; None for a single process."""
    if ranks.size == 1:
        return None
    return RankLayout(ranks.size, ranks.num_on_machine, len(ranks.my_rows(config.num_envs)))


def build(plan: Plan, threads: Threads | None = None, ranks: ProcessGroup = LOCAL) -> Experiment:
    """An experiment on the processor, with these `threads`, by default as many as planned."""
    if len(plan.workers) > 1:
        plan = with_fastest_workers(plan)
    threads = threads or Threads(plan.num_threads)
    inline, make_parts = Inline(threads), processor_parts
    if plan.host == "routes":
        # `tinyphysics_training` imports this folder, so it is imported by its name when a run
        # needs it. It also imports ONNX, which other runs need not have.
        package = f"..{plan.config.env}_training.parts"
        make_parts = importlib.import_module(package, __package__).make_parts

    def parts() -> Parts:
        """The parts for the environments that this rank has now; they may move during the run."""
        num_envs = len(ranks.my_rows(plan.config.num_envs))
        made: Parts = make_parts(replace(plan, num_envs=num_envs), threads, ranks)
        return made

    experiment = Experiment(plan.config, inline, parts, ranks)
    if plan.tries_threads and experiment.algorithm.uses_threads:
        inline.thread_choice = ThreadChoice(threads, numbers_to_try())
    return experiment


def build_on(
    device: torch.device, plan: Plan, capture: bool | None = None, ranks: ProcessGroup = LOCAL
) -> Experiment:
    """An experiment whose environments, policy and algorithm are all on one device. `capture` is
    that of `Graphs`.
    """
    from .build_on_gpu import make_parts  # only here numba-cuda is needed

    parts = partial(make_parts, plan, device, ranks)
    if plan.executor == "graphs":
        return Experiment(plan.config, Graphs(device, capture, plan.not_captured), parts, ranks)
    from .overlapping import OverlappingGraphs  # seldom wanted

    overlapping = OverlappingGraphs(device, capture)
    return Experiment(plan.config, overlapping, lambda: overlapping.taking(parts()))


def processor_parts(plan: Plan, threads: Threads, ranks: ProcessGroup = LOCAL) -> Parts:
    """The parts of any algorithm and environment on the processor."""
    config, spec = plan.config, plan.spec
    if plan.workers:
        assert isinstance(spec, HostedSpec)
        ((num_workers, async_factor),) = plan.workers
        workers = replace(spec.plan, num_workers=num_workers, async_factor=async_factor)
        spec = replace(spec, plan=workers)
    algorithm = make_algorithm(plan, threads, ranks)
    envs = make_envs(spec, plan.num_envs, config.seed, TRAINING, ranks.first_env)
    precompiling = Precompiling()
    if plan.precompiles:
        precompiling = Precompiling.of(config, algorithm.policy)
    try:
        collector = make_collector(plan, envs, algorithm.policy, threads, ranks)
    except BaseException:  # such as a worker that cannot begin its first episode
        envs.close()
        raise

    def play(num_episodes: int, progress: Progress) -> Evaluation:
        gamma, limit = config.algorithm_section.gamma, config.evaluation.max_episode_steps
        arguments = (algorithm.policy, spec, num_episodes, config.seed, limit, progress, gamma)
        evaluation: Evaluation = threads.run(evaluate, *arguments)
        return evaluation

    return Parts(algorithm, collector, play, ranks.notices + plan.notices, precompiling)


def make_algorithm(plan: Plan, threads: Threads, ranks: ProcessGroup = LOCAL) -> Algorithm:
    """The algorithm of a plan on the processor, with its policy."""
    config, learner = plan.config, algorithm_class(plan.config.algorithm)
    policy = make_policy(plan.local_config, plan.spec)
    settings, seed = learner_settings(config), part_seed(config, "learner")
    algorithm: Algorithm
    if plan.update in UPDATES:
        update = partial(UPDATES[plan.update], threads=threads)
        algorithm = learner(settings, policy, seed=seed, ranks=ranks, executor=update)
        return algorithm
    options: Options = {
        "seed": seed, "tick": threads.call_tick, "num_threads": threads.count,
        "each": threads.each, "ranks": ranks,
    }  # fmt: skip
    algorithm = learner(
        settings, policy, **auxiliary_losses(config, plan.spec, policy, options), **options
    )
    return algorithm


def make_collector(
    plan: Plan, envs: Any, policy: Any, threads: Threads, ranks: ProcessGroup
) -> CollectsRollouts:
    """The collector of a plan on the processor."""
    config = plan.config
    if plan.collector == "compiled":
        return CompiledCollector(envs, policy, config.rollout_steps, threads, ranks)
    collector_class: Any = COLLECTORS[plan.collector]
    collector: CollectsRollouts = collector_class(
        envs, policy, config.rollout_steps, part_seed(config, "collector"),
        tick=threads.call_tick, num_threads=threads.count, each=threads.each,
        ranks=ranks,
    )  # fmt: skip
    return collector


def with_fastest_workers(plan: Plan) -> Plan:
    """The plan with its fastest pair of numbers of workers and groups, by measurement."""
    one_torch_thread()
    policy, spec = make_policy(plan.config, plan.spec), plan.spec
    assert isinstance(spec, HostedSpec)

    @torch.inference_mode()
    def act(obs: Array) -> Array:
        """Greedy actions, which draw no random numbers."""
        state = first_state(policy, len(obs))
        actions: Array = policy.greedy_step(torch.from_numpy(obs), state)[0].numpy()
        return actions

    found = measured(spec, plan.num_envs, plan.workers, act)
    best = chosen(found)
    workers = ((best.num_workers, best.async_factor),)
    return replace(
        plan,
        workers=workers,
        collector=groups_collector(workers),
        notices=(*plan.notices, in_words(found)),
    )
