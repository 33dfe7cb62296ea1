"""The experiment of a configuration: which parts it is made of, on which device."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from ..shared.errors import ConfigError
from .algorithms import algorithm_class
from .algorithms.algorithm import Algorithm
from .collector import Collector, CollectsRollouts
from .compile_progress import CompileProgress, TellCompiled
from .compiled.collecting import CompiledCollector
from .compiled.learning import CompiledPPO
from .compiled.together import RankedPPO
from .config import TrainConfig
from .config.unused_settings import IN_TURN, agents_may_be_on_a_gpu
from .cutting_collector import CuttingCollector
from .envs import (
    LEARNED_ENV_NAMES,
    env_spec_of,
    is_hosted,
    make_envs,
    spec_of,
)
from .envs.spec import Spaces
from .envs.streams import TRAINING
from .envs.vector import VectorEnv
from .envs.workers.hosted import HostedEnvs, HostedSpec
from .evaluation import Evaluation, Progress, evaluate
from .executors import Graphs, Inline
from .experiment import Experiment, Parts
from .grouped_collector import GroupedCollector
from .networks.policy import Policy
from .piece_collector import PieceCollector, has_pieces
from .precompiling import Precompiling
from .ranks.single import SINGLE, Ranks
from .run.device import chosen_device
from .run.stopwatch import Stopwatch
from .run.thread_choice import ThreadChoice
from .run.threads import Threads, available_cores, fastest_num_threads, numbers_to_try
from .workers_choice import with_workers

SEEDED_PARTS = ("policy", "learner", "collector")


def make_experiment(
    config: TrainConfig, compiling: TellCompiled = lambda *_: None, ranks: Ranks = SINGLE
) -> Experiment:
    """The experiment of a configuration on its device. Raises ConfigError where there is none.

    `compiling` is told how many of its loops are ready. Of several `ranks` this is the part of one.
    """
    if ranks.size > 1 and ranks.device.type == "cuda":
        return device_experiment(config, ranks.device, ranks=ranks)
    if ranks.size > 1:
        return processor_experiment(config, Threads(num_threads_of_rank(config, ranks)), ranks)
    device = chosen_device(config.device)
    # Other libraries' environments live on the processor, and so does what learns from them; those
    # whose steps are calls of a model bring the device that the model runs on.
    is_ours = not is_hosted(config.env) and config.env not in LEARNED_ENV_NAMES
    if device.type == "cuda" and is_ours and agents_may_be_on_a_gpu(config):
        return device_experiment(config, device)
    return processor_experiment(config, Threads(choose_num_threads(config, compiling)))


def processor_experiment(
    config: TrainConfig, threads: Threads, ranks: Ranks = SINGLE
) -> Experiment:
    """Iterations one after the other, compiled where that can be. Raises ConfigError."""
    if config.overlap:
        raise ConfigError(f"overlap = true: this run is on the processor, {IN_TURN}")
    if config.env in LEARNED_ENV_NAMES:
        from .envs.tinyphysics.training.parts import make_parts  # only here ONNX is needed

        return Experiment(
            config, Inline(threads), lambda: make_parts(config, threads, ranks), ranks
        )
    inline = Inline(threads)
    experiment = Experiment(config, inline, lambda: processor_parts(config, threads, ranks), ranks)
    if not config.num_threads and experiment.algorithm.uses_threads and ranks.size == 1:
        inline.thread_choice = ThreadChoice(threads, numbers_to_try(), is_compiled(config))
    return experiment


def device_experiment(
    config: TrainConfig,
    device: torch.device,
    capture: bool | None = None,
    ranks: Ranks = SINGLE,
) -> Experiment:
    """Environments, policy and algorithm in the memory of one device; see `Graphs`. What is added
    up over `ranks` is in no graph.
    """
    from .cuda.parts import make_parts  # only here numba-cuda is needed

    if config.overlap:
        from .overlapping import OverlappingGraphs  # seldom wanted

        overlapping = OverlappingGraphs(device, capture)
        return Experiment(
            config, overlapping, lambda: overlapping.taking(make_parts(config, device)), ranks
        )
    asks_host = ("learn", "remember") if config.cpu_offload or ranks.size > 1 else ()
    executor = Graphs(device, capture, asks_host)
    return Experiment(config, executor, lambda: make_parts(config, device, ranks), ranks)


def processor_parts(config: TrainConfig, threads: Threads, ranks: Ranks = SINGLE) -> Parts:
    """Any algorithm and environment, compiled as far as there are loops for it."""
    own, steps = of_rank(config, ranks), config.rollout_steps
    spec = env_spec_of(own)
    algorithm = make_algorithm(config, spec, threads, ranks)
    policy, notices = algorithm.policy, ranks.notices + notices_on(config)
    if isinstance(spec, HostedSpec):
        spec, told = with_workers(own, spec, policy, ranks.num_on_machine)
        notices += tuple(told)
    envs = make_envs(spec, own.num_envs, config.seed, TRAINING, ranks.first_env)
    # Of several ranks none needs help: what else a core could do others do.
    is_helped = is_compiled(config) and ranks.size == 1
    precompiling = Precompiling.of(config, spec if is_helped else None, policy)
    collector: CollectsRollouts
    is_whole = not ranks.stragglers  # else rollouts may be cut short, between two steps
    if is_whole and isinstance(envs, VectorEnv) and isinstance(algorithm, CompiledPPO):
        collector = CompiledCollector(envs, algorithm.policy, steps, threads, ranks)
    else:
        seed = part_seed(config, "collector")
        is_grouped = isinstance(envs, HostedEnvs) and len(envs.groups) > 1
        kind: Any = GroupedCollector if is_grouped else Collector
        if has_pieces(envs, policy):
            kind = PieceCollector
        if ranks.stragglers:
            kind = partial(CuttingCollector, stragglers=ranks.stragglers)
        try:
            collector = kind(
                envs, policy, steps, seed, tick=lambda: threads.tick(),
                num_threads=lambda: threads.num_threads, each=threads.each,
                obs_on_host=config.cpu_offload, ranks=ranks,
            )  # fmt: skip
        except BaseException:  # it may have begun no episode
            envs.close()
            raise

    if algorithm.acting_teachers:
        algorithm.acting_teachers.join(collector)

    def play(num_episodes: int, progress: Progress) -> Evaluation:
        gamma, limit = config.algorithm_section.gamma, config.evaluation.max_episode_steps
        arguments = (policy, spec, num_episodes, config.seed, limit, progress, gamma)
        evaluation: Evaluation = threads.run(evaluate, *arguments)
        return evaluation

    return Parts(algorithm, collector, play, notices, precompiling)


def make_algorithm(
    config: TrainConfig, spec: Spaces, threads: Threads, ranks: Ranks = SINGLE
) -> Algorithm:
    """The algorithm of a configuration on the processor, and its policy."""
    made = algorithm_class(config)
    policy: Any = made.make_policy(of_rank(config, ranks), spec, part_seed(config, "policy"))
    seed = part_seed(config, "learner")
    if is_compiled(config):
        kind = CompiledPPO if ranks.size == 1 else RankedPPO
        return kind(config, policy, seed=seed, threads=threads, ranks=ranks)
    return made(
        config, policy, seed=seed, tick=lambda: threads.tick(),
        num_threads=lambda: threads.num_threads, each=threads.each, ranks=ranks,
        **teaching(config),
    )  # fmt: skip


def of_rank(config: TrainConfig, ranks: Ranks) -> TrainConfig:
    """The configuration with as many environments as are here."""
    return config.model_copy(update={"num_envs": ranks.own_size(config.num_envs)})


def teaching(config: TrainConfig) -> dict[str, Any]:
    """What an algorithm is given that learns from teachers. Raises ConfigError."""
    names = config.table("kickstart").teachers if config.algorithm == "ppo" else ()
    if not names:
        return {}
    from .teachers import load_teachers  # which imports this

    return {"teachers": load_teachers(config, names)}


def make_policy(config: TrainConfig) -> Policy:
    """The policy of a configuration, its weights drawn from the seed."""
    made = algorithm_class(config)
    return made.make_policy(config, spec_of(config), part_seed(config, "policy"))


def is_compiled(config: TrainConfig) -> bool:
    """Whether the processor learns in compiled loops."""
    return config.algorithm == "ppo" and not why_pytorch(config)


def learns_from_replay(config: TrainConfig) -> bool:
    return "replay" in config.algorithm_section.tables


def why_pytorch(config: TrainConfig) -> str:
    """What PPO's compiled loops cannot do; empty when they can do all that is asked for."""
    if config.policy.precision != "float32":
        return f"policy.precision = {config.policy.precision}"
    if config.policy.memory.is_on:
        return f"policy.memory.kind = {config.policy.memory.kind}"
    if config.algorithm == "ppo" and config.table("kickstart").teachers:
        return f"kickstart.teachers = {', '.join(config.table('kickstart').teachers)}"
    if getattr(config.env_section, "shows_tokens", False):
        return f"env = {config.env} shows tokens"
    told = getattr(config.algorithm_section, "not_compiled", {})
    return " and ".join(f"ppo.{key} = {value}" for key, value in told.items())


def notices_on(config: TrainConfig) -> tuple[str, ...]:
    """What people should know of how a run on the processor is made."""
    reason = why_pytorch(config)
    notices: tuple[str, ...] = (f"PyTorch collects and learns because {reason}",) if reason else ()
    if config.cpu_offload:
        notices += (
            "cpu_offload saves nothing: this run learns on the processor, and its observations "
            "are in main memory anyway",
        )
    if learns_from_replay(config) and config.table("replay").memory == "host":
        notices += (
            "replay.memory = host changes nothing: this run learns on the processor, and its "
            "replay is in main memory anyway",
        )
    if config.compile and is_compiled(config):
        notices += (
            "compile has nothing to do: PPO's own compiled loops collect and learn on the "
            "processor",
        )
    return notices


def part_seed(config: TrainConfig, part: str) -> int:
    """A seed for each part that draws random numbers, so that none repeats another's."""
    return len(SEEDED_PARTS) * config.seed + SEEDED_PARTS.index(part)


def num_threads_of_rank(config: TrainConfig, ranks: Ranks) -> int:
    """As configured, or this rank's share of its machine's cores. What is drawn from a replay is
    little in each rank: one.
    """
    share = 1 if learns_from_replay(config) else available_cores() // ranks.num_on_machine
    return config.num_threads or max(1, share)


def choose_num_threads(config: TrainConfig, progress: TellCompiled = lambda *_: None) -> int:
    """As configured, or the count with which an iteration runs fastest here and now.

    The first of these iterations compiles; `progress` is told how many loops are ready.
    """
    if config.num_threads:
        return config.num_threads
    if learns_from_replay(config):
        return 1  # until iterations that learn are there to be timed
    if config.env in LEARNED_ENV_NAMES or not is_compiled(config):
        return available_cores()  # an iteration is too long to try with each

    def iterate(threads: Threads) -> None:
        if threads not in experiments:
            close_all()  # environments may be many processes
            experiments[threads] = processor_experiment(config, threads)
        experiment = experiments[threads]
        compiling = CompileProgress(experiment.loops)
        experiment.on_tick(lambda: progress(*compiling.look()))
        threads.tick()
        list(experiment.iterate(Stopwatch(), wait=True))
        threads.tick()

    def close_all() -> None:
        while experiments:
            experiments.popitem()[1].close()

    experiments: dict[Threads, Experiment] = {}
    try:
        return fastest_num_threads(iterate)
    finally:
        close_all()
