"""What a run is made of, decided before anything is built: `plan` decides, `build.py` builds.

                 on the processor                             on a GPU
    device       cpu                                          cuda
    executor     inline                                       overlapping_graphs: overlap
                                                              graphs: all else
    host         vector: operant's own environments           gpu_vector
                 gymnasium: gymnasium.vectorization = own
                 mjbatch: MuJoCo, unless `host_of` says sync
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
                 all cores: `pytorch`, environments of other libraries
                 0, which means measured: all else

In each field the first line that fits counts. A setting that no line takes is refused
(`refusals.py`).

`routes` is the host of environments whose steps are calls of a model (tinyphysics). The executor is
inline, on the device of the model, and `tinyphysics_training/` has the collector and the algorithm.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ...shared.errors import ConfigError
from ..config.files import load_config
from ..distributed.split import shares_of
from ..envs import host_of, num_agents_of, preprocessing_of, spec_of
from ..envs.names import LEARNED_ENV_NAMES, is_hosted
from ..envs.workers.dividing import MOST_WORKERS, candidates, most_groups, most_workers, num_cores
from ..spaces import obs_shape
from ..spaces.encoders import AUTO as AUTO_ENCODER
from ..spaces.encoders import MLP, PARTS, is_packed, obs_parts
from .refusals import refusals
from .traits import can_be_on_gpu, has_masks, some_agents_retire, why_one_piece

if TYPE_CHECKING:
    from ..config import TrainConfig


class Machine(NamedTuple):
    """The hardware that a run may use. The default has everything."""

    cores: int = MOST_WORKERS  # of this process
    loop_threads: int = MOST_WORKERS  # for compiled loops
    no_gpu: str = ""  # why no GPU can be used; empty if one can


ANY_MACHINE = Machine()


class RankLayout(NamedTuple):
    """Several processes that train one policy, as one of them sees them."""

    size: int
    num_on_machine: int = 1
    num_envs: int = 0  # of this rank; 0: not known yet


@dataclass(frozen=True)
class Plan:
    """What a run is made of; the words are those of the table above."""

    config: TrainConfig
    num_envs: int  # of this process
    device: str
    executor: str
    host: str
    update: str
    collector: str  # empty with `routes`
    num_threads: int  # 0: the fastest number, measured before the first iteration
    tries_threads: bool  # measures other numbers during the run
    workers: tuple[tuple[int, int], ...]  # numbers of workers and groups; the fastest pair is taken
    precompiles: bool  # a second process compiles the learning loops
    not_captured: tuple[str, ...]  # parts of an iteration that are in no CUDA graph
    notices: tuple[str, ...]

    @property
    def local_config(self) -> TrainConfig:
        """The configuration with the number of environments of this process."""
        return self.config.model_copy(update={"num_envs": self.num_envs})


def plan(config: TrainConfig, machine: Machine, ranks: RankLayout | None = None) -> Plan:
    """The plan of a run on this `machine`, for one of `ranks` if there are several.

    Raises ConfigError naming the key, its value and the rule if no row of the table fits.
    """
    device = _device(config, machine, ranks)
    for refusal in refusals(config, machine, ranks, device):
        raise ConfigError(refusal)
    is_learned = config.env in LEARNED_ENV_NAMES
    on_gpu = device == "cuda" and not is_learned
    is_ranked = ranks is not None and ranks.size > 1
    host = "gpu_vector" if on_gpu else host_of(config)
    update = _update(config, on_gpu, is_ranked)
    num_envs = (ranks and ranks.num_envs) or config.num_envs
    workers, capped = _workers(config, machine, ranks, num_envs) if host == "workers" else ((), ())
    if on_gpu:
        collector = _collector_on_gpu(config)
    else:
        collector = _collector(config, host, update, workers, ranks)
    return Plan(
        config=config,
        num_envs=num_envs,
        device=device,
        executor=_executor(config, on_gpu),
        host=host,
        update=update,
        collector=collector,
        num_threads=_num_threads(config, machine, ranks if is_ranked else None),
        tries_threads=not (config.num_threads or is_ranked or on_gpu or is_learned),
        workers=workers,
        precompiles=update == "compiled" and host == "vector" and machine.loop_threads > 1,
        not_captured=("learn", "remember") if is_ranked else (),
        notices=(
            *_preprocessing_notice(config),
            *_encoder_notice(config),
            *(() if on_gpu or is_learned else _notices(config)),
            *capped,
        ),
    )


def load_runnable(
    source: str | None = None, overrides: Iterable[str] = (), hardware: str = ""
) -> TrainConfig:
    """Like `load_config`, for a configuration that some machine can run. Raises ConfigError."""
    config = load_config(source, overrides, hardware)
    plan(config, ANY_MACHINE)
    return config


def check_ranks(config: TrainConfig, split: str, world_size: int) -> None:
    """Raises ConfigError if several ranks do not support a setting, or if the environments cannot
    be split among them.
    """
    plan(config, ANY_MACHINE, RankLayout(world_size))
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


def is_compiled(config: TrainConfig) -> bool:
    """Whether compiled loops perform the updates on the processor."""
    return config.algorithm == "ppo" and not why_pytorch(config)


def why_pytorch(config: TrainConfig) -> str:
    """The settings that PPO's compiled loops do not support; empty if they support all."""
    if config.policy.precision != "float32":
        return f"policy.precision = {config.policy.precision}"
    if config.policy.memory.is_on:
        return f"policy.memory.kind = {config.policy.memory.kind}"
    if config.base_algorithm == "ppo" and config.table("kickstart").teachers:
        return f"kickstart.teachers = {', '.join(config.table('kickstart').teachers)}"
    if has_masks(config):
        return "action masks"
    if is_hosted(config.env) and is_packed(spec_of(config)):
        return "images in dictionaries"
    not_compiled = getattr(config.algorithm_section, "not_compiled", {})
    reasons = [f"ppo.{key} = {value}" for key, value in not_compiled.items()]
    if reasons or config.encoder == MLP:
        return " and ".join(reasons)
    return f"policy.encoder = {config.encoder}"


def groups_collector(workers: Iterable[tuple[int, int]]) -> str:
    """The collector for these pairs of numbers of workers and groups."""
    return "in_groups" if any(num_groups > 1 for _, num_groups in workers) else "stepped"


def _device(config: TrainConfig, machine: Machine, ranks: RankLayout | None) -> str:
    if config.device == "cpu" or machine.no_gpu or is_hosted(config.env):
        return "cpu"
    if ranks and ranks.size > 1 and config.device == "auto":
        return "cpu"
    return "cuda" if can_be_on_gpu(config) else "cpu"


def _executor(config: TrainConfig, on_gpu: bool) -> str:
    if not on_gpu:
        return "inline"
    return "overlapping_graphs" if config.overlap else "graphs"


def _update(config: TrainConfig, on_gpu: bool, is_ranked: bool) -> str:
    if on_gpu or config.env in LEARNED_ENV_NAMES or not is_compiled(config):
        return "pytorch"
    return "ranked" if is_ranked else "compiled"


def _collector(
    config: TrainConfig,
    host: str,
    update: str,
    workers: Iterable[tuple[int, int]],
    ranks: RankLayout | None,
) -> str:
    """The collector on the processor."""
    if host == "routes":
        return ""
    if host != "vector":
        return groups_collector(workers)
    if update != "pytorch":
        return "compiled"
    return "stepped" if why_one_piece(config) else "sliced"


def _collector_on_gpu(config: TrainConfig) -> str:
    if num_agents_of(config) > 1:
        return "agents" if some_agents_retire(config) else "stepped"
    if config.base_algorithm != "ppo" or has_masks(config):
        return "stepped"
    if config.policy.memory.is_on:
        return "recurrent_actor"
    return "fused" if config.rollout == "fused" else "actor"


def _num_threads(config: TrainConfig, machine: Machine, ranks: RankLayout | None) -> int:
    """Replay batches are too small to share among threads. Iterations in PyTorch take too long to
    measure all numbers of threads before the first one. Environments of other libraries take only
    the steps that the run counts: a step may be slow, or move a robot.
    """
    if config.num_threads:
        return config.num_threads
    if config.learns_from_replay:
        return 1
    if ranks:
        return max(1, machine.loop_threads // ranks.num_on_machine)
    is_own = config.env not in LEARNED_ENV_NAMES and not is_hosted(config.env)
    return 0 if is_own and is_compiled(config) else machine.loop_threads


def _workers(
    config: TrainConfig, machine: Machine, ranks: RankLayout | None, num_envs: int
) -> tuple[tuple[tuple[int, int], ...], tuple[str, ...]]:
    """Pairs of numbers of workers and of groups, and a notice if there are fewer than asked for."""
    table = config.table("workers")
    cores, why = machine.cores, f"there are {machine.cores} cores"
    if ranks and ranks.num_on_machine > 1:
        cores = max(1, cores // ranks.num_on_machine)
        why = f"a rank here has {cores} of the {machine.cores} cores, and {num_envs} environments"
    groups = 1 if why_one_piece(config) else num_envs
    pairs = candidates(num_envs, table.num_workers, table.async_factor, cores, groups)
    asked = table.num_workers if isinstance(table.num_workers, int) else 0
    workers = most_workers(num_envs, asked, cores) if asked else 0
    if len(pairs) == 1:
        factor = table.async_factor if isinstance(table.async_factor, int) else 1
        pairs = [(workers, most_groups(workers, factor))]
    capped = f"workers: {workers} and not {asked} as configured, for {why}"
    return tuple(pairs), (capped,) if workers != asked else ()


def _encoder_notice(config: TrainConfig) -> Iterator[str]:
    """The encoder that `auto` chose, unless observations are plain vectors."""
    encoder, is_auto = config.encoder, config.policy.encoder == AUTO_ENCODER
    if is_auto and (encoder != MLP or is_hosted(config.env)):
        shape = obs_shape(spec_of(config))
        if encoder != MLP or len(shape) > 1:
            parts = [part.encoder for part in obs_parts(spec_of(config)) if part.encoder != MLP]
            found = f"{' and '.join(parts)} for images" if encoder == PARTS else encoder
            yield f"policy.encoder = auto is {found}, for observations of the shape {shape}"


def _preprocessing_notice(config: TrainConfig) -> Iterator[str]:
    """What is done to frames, rewards and episodes, which a protocol's name stands for."""
    if (settings := preprocessing_of(config)).is_on:
        protocol = config.table("preprocessing").protocol
        by_name = "" if protocol == "none" else f"protocol {protocol}: "
        yield f"preprocessing: {by_name}{settings.in_words()}"


def _notices(config: TrainConfig) -> Iterator[str]:
    """Messages for the start of a run on the processor."""
    reason, here = why_pytorch(config), "this run learns on the processor, and its"
    if reason:
        yield f"PyTorch collects and learns, because of {reason}"
    if config.learns_from_replay and config.table("replay").memory == "host":
        yield f"replay.memory = host changes nothing: {here} replay is in main memory anyway"
    if config.compile and is_compiled(config):
        yield "compile has no effect: PPO learns in its own compiled loops on the processor"
