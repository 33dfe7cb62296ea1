"""What several ranks cannot do together yet."""

from __future__ import annotations

from collections.abc import Iterator

from ...shared.errors import ConfigError
from ..config import TrainConfig
from ..envs import LEARNED_ENV_NAMES, is_hosted
from ..envs.tinyphysics.sections import GPU_ENGINES
from .split import AUTO, shares_of


def check_ranks(config: TrainConfig, split: str, world_size: int) -> None:
    """Raises ConfigError, which names the first thing that several ranks do not do, or how their
    environments cannot be split.
    """
    for told in (*refusals(config), *(refusals_to_move(config) if split == AUTO else ())):
        raise ConfigError(f"{told} does not go with several ranks yet")
    shares_of(config, split, world_size)


def refusals(config: TrainConfig) -> Iterator[str]:
    """A setting each."""
    if config.env in LEARNED_ENV_NAMES:
        if config.device == "cuda":
            yield f"env = {config.env} with device = cuda"
        engine, precision = config.env_section.engine, config.env_section.precision
        if engine in GPU_ENGINES:
            yield f"{config.env}.engine = {engine}"
        if precision != "float32":
            yield f"{config.env}.precision = {precision}"
        if config.ranks.cut_stragglers:
            yield f"env = {config.env} with ranks.cut_stragglers = true"
    for key in ("cpu_offload", "compile", "overlap"):
        if getattr(config, key):
            yield f"{key} = true"
    if config.rollout == "fused":
        yield "rollout = fused"
    if config.algorithm == "ppo" and config.table("contrastive").coef:
        yield f"contrastive.coef = {config.table('contrastive').coef}"


def refusals_to_move(config: TrainConfig) -> Iterator[str]:
    """What keeps environments from going from rank to rank as they are."""
    if is_hosted(config.env):
        yield f"split = auto with env = {config.env}"  # which does not tell its state
    if "replay" in config.algorithm_section.tables and not config.checkpoint.replay:
        yield "split = auto with checkpoint.replay = false"
    if config.device == "cuda":
        yield "split = auto with device = cuda"  # captured graphs know where everything lies
