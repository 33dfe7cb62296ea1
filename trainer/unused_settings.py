"""Settings that a run would ignore, and those that what it trains on cannot follow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .envs import GYMNASIUM_PREFIX, LEARNED_ENV_NAMES
from .envs.tinyphysics.constants import CONTROL_START, COST_END

if TYPE_CHECKING:
    from .config import Section, TrainConfig

TINYPHYSICS_STEPS = COST_END - CONTROL_START


def refusals(config: TrainConfig) -> Iterator[str]:
    """A line for each of them: the key, its value and what is allowed."""
    is_learned = config.env in LEARNED_ENV_NAMES
    is_gymnasium = config.env.startswith(GYMNASIUM_PREFIX)
    if is_learned:
        yield from _of_tinyphysics(config)
    else:
        for section in ("tinyphysics", "cloning"):
            yield from _of_another_env(config, section, "tinyphysics")
    if not is_gymnasium:
        yield from _of_another_env(config, "gymnasium", f"{GYMNASIUM_PREFIX}ID")
    if config.rollout == "fused":
        yield from _of_fused_rollouts(config, is_learned or is_gymnasium)
    if config.device == "cuda" and config.num_threads:
        yield f"num_threads = {config.num_threads} is for the processor, and device = cuda"
    if not config.recorder.on and config.recorder.to:
        names = ",".join(config.recorder.to)
        yield f"recorder.to = {names}: it is the recorder that sends there, and recorder.on = false"


def _of_tinyphysics(config: TrainConfig) -> Iterator[str]:
    if config.rollout_steps != TINYPHYSICS_STEPS:
        yield (
            f"rollout_steps = {config.rollout_steps}: an iteration of tinyphysics is one episode "
            f"in every environment; use {TINYPHYSICS_STEPS}"
        )
    if config.policy.distribution != "beta":
        yield (
            f"policy.distribution = {config.policy.distribution}: tinyphysics is steered by the "
            "mean of a beta distribution; use beta"
        )
    copies = config.tinyphysics.rollouts_per_route
    if config.num_envs % copies:
        yield (
            f"num_envs = {config.num_envs} is no multiple of tinyphysics.rollouts_per_route = "
            f"{copies}; use {-(-config.num_envs // copies) * copies}"
        )
    if config.normalization.obs:
        yield (
            "normalization.obs = true: observations of tinyphysics come in fixed units; "
            "use normalization.obs = false"
        )
    yield from _of_engines(config)
    if config.evaluation.num_episodes and not config.tinyphysics.held_out_routes:
        yield (
            f"evaluation.num_episodes = {config.evaluation.num_episodes}: with "
            "tinyphysics.held_out_routes = 0 there is no route to evaluate on; use 0"
        )
    default = type(config.evaluation)().max_episode_steps
    if config.evaluation.max_episode_steps != default:
        yield (
            f"evaluation.max_episode_steps = {config.evaluation.max_episode_steps}: episodes of "
            "tinyphysics end by themselves"
        )


def _of_engines(config: TrainConfig) -> Iterator[str]:
    engine, precision = config.tinyphysics.engine, config.tinyphysics.precision
    if precision != "float32" and engine not in ("auto", "torch"):
        yield (
            f"tinyphysics.precision = {precision} is for the torch engine, and "
            f"tinyphysics.engine = {engine}"
        )
    if config.device == "cpu" and (precision != "float32" or engine in _GPU_ENGINES):
        key, value = ("engine", engine) if engine in _GPU_ENGINES else ("precision", precision)
        yield f"tinyphysics.{key} = {value} needs a GPU, and device = cpu"
    if config.device == "cuda" and engine == "onnxruntime":
        yield (
            "tinyphysics.engine = onnxruntime is on the processor, and device = cuda; "
            "onnxruntime-cuda is on the GPU"
        )


_GPU_ENGINES = ("onnxruntime-cuda", "tensorrt")


def _of_another_env(config: TrainConfig, name: str, env: str) -> Iterator[str]:
    """Keys of section `name` that are not as they are by default."""
    section: Section = getattr(config, name)
    default = type(section)()
    for key in type(section).model_fields:
        if getattr(section, key) != getattr(default, key):
            yield (
                f"{name}.{key} = {getattr(section, key)} is for env = {env} alone, and "
                f"env = {config.env}"
            )


def _of_fused_rollouts(config: TrainConfig, steps_elsewhere: bool) -> Iterator[str]:
    if steps_elsewhere:
        yield f"rollout = fused: {config.env} takes its steps one by one; use steps"
    if config.device == "cpu":
        yield "rollout = fused is for a GPU, and device = cpu; use steps"
    if config.policy.precision != "float32":
        yield (
            "rollout = fused: it computes in float32, and policy.precision = "
            f"{config.policy.precision}; use steps"
        )
