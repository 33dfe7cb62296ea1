"""What several ranks cannot do together yet."""

from __future__ import annotations

from collections.abc import Iterator

from ...shared.errors import ConfigError
from ..config import TrainConfig
from ..envs import LEARNED_ENV_NAMES, is_hosted
from ..envs.tinyphysics.sections import GPU_ENGINES
from .split import shares_of

ALGORITHMS = ("ppo", "pqn")


def check_ranks(config: TrainConfig, split: str, world_size: int) -> None:
    """Raises ConfigError, which names the first thing that several ranks do not do, or how their
    environments cannot be split.
    """
    for told in refusals(config):
        raise ConfigError(f"{told} does not go with several ranks yet")
    shares_of(config, split, world_size)


def refusals(config: TrainConfig) -> Iterator[str]:
    """A setting each."""
    if config.algorithm not in ALGORITHMS:
        yield f"algorithm = {config.algorithm}"
        return
    if is_hosted(config.env):
        yield f"env = {config.env}"
    if config.env in LEARNED_ENV_NAMES:
        engine, precision = config.env_section.engine, config.env_section.precision
        if engine in GPU_ENGINES:
            yield f"{config.env}.engine = {engine}"
        if precision != "float32":
            yield f"{config.env}.precision = {precision}"
        if config.ranks.cut_stragglers:
            yield f"env = {config.env} with ranks.cut_stragglers = true"
    if config.device == "cuda":
        yield "device = cuda"
    for key in ("cpu_offload", "compile"):
        if getattr(config, key):
            yield f"{key} = true"
    if config.rollout == "fused":
        yield "rollout = fused"
    if config.algorithm == "ppo":
        if config.algorithm_section.sampler == "prioritised":
            yield "ppo.sampler = prioritised"
        if config.table("kickstart").teachers:
            yield f"kickstart.teachers = {', '.join(config.table('kickstart').teachers)}"
        if config.table("contrastive").coef:
            yield f"contrastive.coef = {config.table('contrastive').coef}"
