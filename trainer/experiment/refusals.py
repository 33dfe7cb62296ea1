"""Settings that a run cannot honour: a function for each key. The plan raises the first line.

A line names the key, its value and the reason, and what to use instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..envs import num_agents_of
from ..envs.names import (
    CONFIGURED_ENV_NAMES,
    IMAGE_ENV_NAMES,
    LEARNED_ENV_NAMES,
    is_hosted,
)
from ..envs.tinyphysics.sections import GPU_ENGINES
from ..spaces.encoders import AUTO, MLP
from .traits import can_be_on_gpu, why_one_piece

if TYPE_CHECKING:
    from ..config import TrainConfig
    from .plan import Machine, RankLayout

IN_TURN = "whose cores collect and learn in turn; use false"


def refusals(
    config: TrainConfig, machine: Machine, ranks: RankLayout | None, device: str
) -> Iterator[str]:
    """A line for each setting that a run on this `device` cannot honour."""
    if ranks:
        for setting in _settings_without_ranks(config, ranks):
            yield f"{setting} does not go with several ranks yet"
    yield from _device(config)
    yield from _rollout(config, device)
    yield from _encoder(config)
    yield from _memory(config)
    yield from _overlap(config, device)
    yield from _compile(config)
    yield from _workers(config)
    yield from _num_threads(config)
    if config.device == "cuda" and machine.no_gpu:
        yield f"device = cuda: {machine.no_gpu}; device = cpu works everywhere"


def _settings_without_ranks(config: TrainConfig, ranks: RankLayout) -> Iterator[str]:
    """The settings that only a single process supports."""
    on_gpu = config.device == "cuda"
    if config.env in LEARNED_ENV_NAMES:
        env, settings = config.env, config.env_section
        if on_gpu:
            yield f"env = {env} with device = cuda"
        if settings.engine in GPU_ENGINES:
            yield f"{env}.engine = {settings.engine}"
    for key in ("compile", "overlap"):
        if getattr(config, key):
            yield f"{key} = true"
    if config.base_algorithm == "crossq":  # each would normalise by a part of the minibatch
        yield "algorithm = crossq"
    if config.rollout == "fused":
        yield "rollout = fused"
    if config.base_algorithm == "ppo" and config.table("contrastive").coef > 0:
        yield f"contrastive.coef = {config.table('contrastive').coef}"


def _device(config: TrainConfig) -> Iterator[str]:
    if config.device != "cuda":
        return
    if is_hosted(config.env):
        yield f"device = cuda: {config.env} lives on the processor; use cpu"
    if not can_be_on_gpu(config):
        yield (
            f"device = cuda: {config.env} has {num_agents_of(config)} agents an environment, and "
            "only what learns from replay, with normalization.obs = false, has those on a GPU; "
            "use cpu"
        )


def _rollout(config: TrainConfig, device: str) -> Iterator[str]:
    """One kernel collects a whole rollout."""
    if config.rollout != "fused":
        return
    key, env, several_agents = "rollout = fused", config.env, num_agents_of(config) > 1
    # Worlds that all episodes share, images and action masks are not in the fused kernel.
    with_world = env in (*CONFIGURED_ENV_NAMES, *IMAGE_ENV_NAMES) and not several_agents
    if env in LEARNED_ENV_NAMES or is_hosted(env) or with_world:
        yield f"{key}: {env} takes its steps one by one; use steps"
    if several_agents:
        yield f"{key}: {env} has several agents an environment; use steps"
    if config.device == "cpu":
        yield f"{key} is for a GPU, and device = cpu; use steps"
    if config.policy.memory.is_on:
        memory = f"policy.memory.kind = {config.policy.memory.kind}"
        yield f"{key}: {memory} takes its steps one by one; use steps"
    if config.policy.precision != "float32":
        precision = f"policy.precision = {config.policy.precision}"
        yield f"{key}: it computes in float32, and {precision}; use steps"
    if config.device == "auto" and device == "cpu":
        yield f"{key} is for a GPU, and there is none here; use steps"


def _encoder(config: TrainConfig) -> Iterator[str]:
    encoder = config.policy.encoder
    if encoder in (AUTO, MLP):
        return
    if config.rollout == "fused":
        yield f"rollout = fused: it runs no encoder, policy.encoder = {encoder}; use steps"
    if config.env in LEARNED_ENV_NAMES:
        yield f"policy.encoder = {encoder}: {config.env} is steered by a plain network; use auto"


def _memory(config: TrainConfig) -> Iterator[str]:
    if not config.policy.memory.is_on:
        return
    key = f"policy.memory.kind = {config.policy.memory.kind}"
    if config.base_algorithm != "ppo":
        yield f"{key}: {config.algorithm} learns policies without memory; only ppo has them"
    if config.env in LEARNED_ENV_NAMES:
        yield f"{key}: {config.env} is steered by a policy without memory; use none"
    if config.policy.precision != "float32":
        yield f"policy.precision = {config.policy.precision}: with {key} it is float32"


def _overlap(config: TrainConfig, device: str) -> Iterator[str]:
    """The next rollout is collected while the GPU learns from the last one."""
    if not config.overlap:
        return
    key, env = "overlap = true", config.env
    if config.base_algorithm != "ppo":
        yield (
            f"{key}: {config.algorithm} has no importance ratio to the policy that acted, one "
            "update before; only ppo has one"
        )
    if env in LEARNED_ENV_NAMES:
        yield f"{key}: {env} collects and learns where its model is, in turn; use false"
    if is_hosted(env):
        yield f"{key}: {env} is on the processor, {IN_TURN}"
    elif config.device == "cpu":
        yield f"{key}: device = cpu is on the processor, {IN_TURN}"
    if config.device == "auto" and device == "cpu":
        yield f"{key}: this run is on the processor, {IN_TURN}"


def _compile(config: TrainConfig) -> Iterator[str]:
    if config.compile and config.learns_from_replay:
        yield (
            f"compile = true: {config.algorithm} learns from replay, where gradients are written "
            "by hand; only ppo and pqn are compiled"
        )


def _workers(config: TrainConfig) -> Iterator[str]:
    factor = getattr(getattr(config, "workers", None), "async_factor", 1)
    reason = why_one_piece(config)
    if reason and isinstance(factor, int) and factor > 1:
        yield f"workers.async_factor = {factor}: {reason}; use 1"


def _num_threads(config: TrainConfig) -> Iterator[str]:
    if config.device == "cuda" and config.num_threads > 0:
        yield f"num_threads = {config.num_threads} is for the processor, and device = cuda"
