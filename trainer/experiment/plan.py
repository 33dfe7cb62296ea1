"""The parts of a run, decided before anything is built: `plan` decides, `build.py` builds.

                 on the processor                             on a GPU
    device       cpu                                          cuda
    executor     inline                                       overlapping_graphs: overlap
                                                              graphs: all else
    host         vector: operant's own environments           gpu_vector
                 gymnasium: gymnasium.vectorization = own
                 mjbatch: MuJoCo, where mjbatch is installed
                 workers: all others of other libraries
    update       compiled: ppo, unless `why_pytorch`          pytorch
                 ranked: the same, in several ranks
                 pytorch: all else
    collector    compiled: `vector` and a compiled or         agents: `some_agents_retire`
                 ranked update                                stepped: several agents, which end
                                                              together
                 sliced: `vector`, unless `why_one_piece`     stepped: all but ppo; action masks
                 in_groups: `workers` in several groups       recurrent_actor: policy.memory
                 stepped: all else                            fused: rollout = fused
                                                              actor: all else
    num_threads  num_threads, if it is set                    not used
                 1: algorithms with replay
                 all cores, divided by the ranks on this
                 machine: several ranks
                 all cores: all else

In each field the first line that fits counts. A setting that no line takes is refused
(`refusals.py`).

`routes` is the host of environments whose steps are calls of a model (tinyphysics). The executor is
inline, on the device of the model, and `tinyphysics_training/` has the collector and the algorithm.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...shared.errors import ConfigError
from ..config.files import load_config
from ..distributed.split import shares_of
from ..envs.hosts import AnySpec, describe
from ..envs.workers.dividing import candidates, most_groups, most_workers, num_cores
from ..settings.facts import Facts
from ..spaces import obs_shape
from ..spaces.encoders import AUTO as AUTO_ENCODER
from ..spaces.encoders import MLP, PARTS
from .refusals import refusals
from .traits import (
    ANY_MACHINE,
    Machine,
    RankLayout,
    can_be_on_gpu,
    has_routes,
    is_compiled,
    is_hosted,
    why_one_piece,
    why_pytorch,
)

if TYPE_CHECKING:
    from ..config import TrainConfig


@dataclass(frozen=True)
class Plan:
    """The parts of a run; the words are those of the table above."""

    config: TrainConfig
    spec: AnySpec  # the environment
    num_envs: int  # of this process
    device: str
    executor: str
    host: str
    update: str
    collector: str  # empty with `routes`
    num_threads: int  # at first
    tries_threads: bool  # measures other numbers during the run
    workers: tuple[tuple[int, int], ...]  # numbers of workers and groups; the fastest pair is taken
    precompiles: bool  # a second process compiles the learning loops
    not_captured: tuple[str, ...]  # parts of an iteration that are in no CUDA graph
    notices: tuple[str, ...]

    @property
    def local_config(self) -> TrainConfig:
        """The configuration with the number of environments of this process."""
        return self.config.model_copy(update={"num_envs": self.num_envs})


def plan(
    config: TrainConfig, spec: AnySpec, machine: Machine, ranks: RankLayout | None = None
) -> Plan:
    """The plan of a run in the environment `spec` on this `machine`, for one of `ranks` if there
    are several.

    Raises ConfigError naming the key, its value and the rule if no row of the table fits.
    """
    facts = config.facts(spec)
    device = _device(facts, machine, ranks)
    for refusal in refusals(facts, machine, ranks, device):
        raise ConfigError(refusal)
    on_routes = has_routes(facts)
    on_gpu = device == "cuda" and not on_routes
    is_ranked = ranks is not None and ranks.size > 1
    host = "gpu_vector" if on_gpu else spec.stepped_by
    update = _update(facts, on_gpu, is_ranked)
    num_envs = (ranks and ranks.num_envs) or config.num_envs
    workers, capped = _workers(facts, machine, ranks, num_envs) if host == "workers" else ((), ())
    collector = _collector_on_gpu(facts) if on_gpu else _collector(facts, host, update, workers)
    return Plan(
        config=config,
        spec=spec,
        num_envs=num_envs,
        device=device,
        executor=_executor(facts, on_gpu),
        host=host,
        update=update,
        collector=collector,
        num_threads=_num_threads(facts, machine, ranks if is_ranked else None),
        tries_threads=machine.loop_threads > 1
        and not (config.num_threads or is_ranked or on_gpu or on_routes),
        workers=workers,
        precompiles=update == "compiled" and host == "vector" and machine.loop_threads > 1,
        not_captured=("learn", "remember") if is_ranked else (),
        notices=(
            *_preprocessing_notice(facts, spec),
            *_encoder_notice(facts),
            *(() if on_gpu or on_routes else _notices(facts)),
            *capped,
        ),
    )


def load_runnable(source: str | None = None, overrides: Iterable[str] = ()) -> TrainConfig:
    """Like `load_config`, for a configuration that some machine can run. Raises ConfigError."""
    config = load_config(source, overrides)
    plan(config, describe(config), ANY_MACHINE)
    return config


def check_ranks(config: TrainConfig, split: str, world_size: int) -> None:
    """Raises ConfigError if several ranks do not support a setting, or if the environments cannot
    be split among them.
    """
    plan(config, describe(config), ANY_MACHINE, RankLayout(world_size))
    shares_of(config, split, world_size)
    section = config.algorithm_section
    if config.learns_from_replay and section.batch_size < world_size:
        raise ConfigError(
            f"{config.algorithm}.batch_size = {section.batch_size} is too small for {world_size} "
            "ranks: each needs one sample"
        )


def this_machine() -> Machine:
    """The hardware of this machine. It imports PyTorch, which takes a second."""
    from ..machine.device import why_no_cuda
    from ..machine.threads import available_cores

    return Machine(num_cores(), available_cores(), why_no_cuda())


def groups_collector(workers: Iterable[tuple[int, int]]) -> str:
    """The collector for these pairs of numbers of workers and groups."""
    return "in_groups" if any(num_groups > 1 for _, num_groups in workers) else "stepped"


def _device(facts: Facts, machine: Machine, ranks: RankLayout | None) -> str:
    if facts.device == "cpu" or machine.no_gpu or is_hosted(facts):
        return "cpu"
    if ranks and ranks.size > 1 and facts.device == "auto":
        return "cpu"
    return "cuda" if can_be_on_gpu(facts) else "cpu"


def _executor(facts: Facts, on_gpu: bool) -> str:
    if not on_gpu:
        return "inline"
    return "overlapping_graphs" if facts.overlap else "graphs"


def _update(facts: Facts, on_gpu: bool, is_ranked: bool) -> str:
    if on_gpu or has_routes(facts) or not is_compiled(facts):
        return "pytorch"
    return "ranked" if is_ranked else "compiled"


def _collector(
    facts: Facts,
    host: str,
    update: str,
    workers: Iterable[tuple[int, int]],
) -> str:
    """The collector on the processor."""
    if host == "routes":
        return ""
    if host != "vector":
        return groups_collector(workers)
    if update != "pytorch":
        return "compiled"
    return "stepped" if why_one_piece(facts) else "sliced"


def _collector_on_gpu(facts: Facts) -> str:
    if facts.num_agents > 1:
        return "agents" if facts.spec.some_agents_retire else "stepped"
    if facts.algorithm_table != "ppo" or facts.spec.mask_size:
        return "stepped"
    if facts.policy.memory.is_on:
        return "recurrent_actor"
    return "fused" if facts.rollout == "fused" else "actor"


def _num_threads(facts: Facts, machine: Machine, ranks: RankLayout | None) -> int:
    """Replay batches are too small to share among threads."""
    if facts.num_threads:
        return facts.num_threads
    if facts.learns_from_replay:
        return 1
    if ranks:
        return max(1, machine.loop_threads // ranks.num_on_machine)
    return machine.loop_threads


def _workers(
    facts: Facts, machine: Machine, ranks: RankLayout | None, num_envs: int
) -> tuple[tuple[tuple[int, int], ...], tuple[str, ...]]:
    """Pairs of numbers of workers and of groups, and a notice if there are fewer than asked for."""
    table = facts.tables["workers"]
    cores, why = machine.cores, f"there are {machine.cores} cores"
    if ranks and ranks.num_on_machine > 1:
        cores = max(1, cores // ranks.num_on_machine)
        why = f"a rank here has {cores} of the {machine.cores} cores, and {num_envs} environments"
    groups = 1 if why_one_piece(facts) else num_envs
    pairs = candidates(num_envs, table.num_workers, table.async_factor, cores, groups)
    asked = table.num_workers if isinstance(table.num_workers, int) else 0
    workers = most_workers(num_envs, asked, cores) if asked else 0
    if len(pairs) == 1:
        factor = table.async_factor if isinstance(table.async_factor, int) else 1
        pairs = [(workers, most_groups(workers, factor))]
    capped = f"workers: {workers} and not {asked} as configured, for {why}"
    return tuple(pairs), (capped,) if workers != asked else ()


def _encoder_notice(facts: Facts) -> Iterator[str]:
    """The encoder that `auto` chose, unless observations are plain vectors."""
    encoder, shape = facts.encoder, obs_shape(facts.spec)
    if facts.policy.encoder == AUTO_ENCODER and (encoder != MLP or len(shape) > 1):
        parts = [part.encoder for part in facts.spec.obs_parts if part.encoder != MLP]
        found = f"{' and '.join(parts)} for images" if encoder == PARTS else encoder
        yield f"policy.encoder = auto is {found}, for observations of the shape {shape}"


def _preprocessing_notice(facts: Facts, spec: AnySpec) -> Iterator[str]:
    """The preprocessing of frames, rewards and episodes, which a protocol's name stands for."""
    if (settings := spec.preprocessing).is_on:
        protocol = facts.tables["preprocessing"].protocol
        by_name = "" if protocol == "none" else f"protocol {protocol}: "
        yield f"preprocessing: {by_name}{settings.in_words()}"


def _notices(facts: Facts) -> Iterator[str]:
    """Messages for the start of a run on the processor."""
    reason, here = why_pytorch(facts), "this run learns on the processor, and its"
    if reason:
        yield f"PyTorch collects and learns, because of {reason}"
    if facts.learns_from_replay and facts.tables["replay"].memory == "host":
        yield f"replay.memory = host changes nothing: {here} replay is in main memory anyway"
    if facts.compile and is_compiled(facts):
        yield "compile has no effect: PPO learns in its own compiled loops on the processor"
