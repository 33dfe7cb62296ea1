"""The settings of TinyPhysics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from ....shared import Metric
from ...settings.facts import Facts
from ...settings.section import EnvSection
from .constants import CONTROL_START, COST_END

EPISODE_STEPS = COST_END - CONTROL_START
GPU_ENGINES = ("onnxruntime-cuda", "tensorrt")


def _cost(name: str, description: str, level: int = 0) -> Metric:
    return Metric(f"cost/{name}", "cost", level=level, better="down", description=description)


def _time(name: str, part: str) -> Metric:
    return Metric(
        f"time/{name}_s", "s", "timer", level=1, description=f"part of collecting: {part}"
    )


class TinyPhysicsConfig(EnvSection):
    """The learned car model of the controls challenge."""

    metrics: ClassVar[tuple[Metric, ...]] = (
        _cost("total", "mean of the training episodes"),
        _cost("held_out", "mean of the routes held out, steered by the policy's mean"),
        _cost("lataccel", "tracking cost of the training episodes"),
        _cost("jerk", "comfort cost of the training episodes"),
        _cost("held_out_lataccel", "tracking cost of the routes held out", level=1),
        _cost("held_out_jerk", "comfort cost of the routes held out", level=1),
        _time("inference", "the model of the car"),
        _time("controller", "observations and the policy"),
        Metric("speed/route_ms", "ms", better="down", description="collecting time per route"),
    )

    model: str = Field("", description="the ONNX file; '': where `download` puts it")
    routes: str = Field("", description="the folder of route files; '': where `download` puts them")
    num_routes: int = Field(0, ge=0, le=10**6, description="use the first so many routes; 0: all")
    held_out_routes: int = Field(
        8, ge=0, le=10**6, description="the last so many routes are used for evaluation only"
    )
    rollouts_per_route: int = Field(
        10, ge=1, le=10**4, description="episodes per route and iteration"
    )
    critic_epochs: int = Field(
        3, ge=0, le=1000, description="epochs on the first rollout that train the critic alone"
    )
    engine: Literal["auto", "onnxruntime", "onnxruntime-cuda", "tensorrt", "torch"] = Field(
        "auto", description="inference engine of the car model; auto: the fastest on this machine"
    )

    def ignored_keys(self, facts: Facts) -> Iterator[tuple[str, str]]:
        yield "evaluation.max_episode_steps", "episodes of tinyphysics end by themselves"

    def check(self, facts: Facts) -> None:
        for refusal in (*self._refusals(facts), *self._refusals_of_engines(facts)):
            raise ValueError(refusal)

    def _refusals(self, facts: Facts) -> Iterator[str]:
        """What an episode along each route cannot follow."""
        if facts.algorithm_table != "ppo":
            yield f"algorithm = {facts.algorithm}: tinyphysics learns with ppo alone"
        if facts.rollout_steps != EPISODE_STEPS:
            yield (
                f"rollout_steps = {facts.rollout_steps}: an iteration of tinyphysics is one "
                f"episode in every environment; use {EPISODE_STEPS}"
            )
        if facts.policy.distribution != "beta":
            yield (
                f"policy.distribution = {facts.policy.distribution}: tinyphysics is steered by "
                "the mean of a beta distribution; use beta"
            )
        copies = self.rollouts_per_route
        if facts.num_envs % copies:
            yield (
                f"num_envs = {facts.num_envs} is not a multiple of "
                f"tinyphysics.rollouts_per_route = {copies}; "
                f"use {-(-facts.num_envs // copies) * copies}"
            )
        if facts.normalizes_obs:
            yield (
                "normalization.obs = true: observations of tinyphysics come in fixed units; "
                "use normalization.obs = false"
            )
        if facts.evaluation_episodes and not self.held_out_routes:
            yield (
                f"evaluation.num_episodes = {facts.evaluation_episodes}: with "
                "tinyphysics.held_out_routes = 0 there is no route to evaluate on; use 0"
            )

    def _refusals_of_engines(self, facts: Facts) -> Iterator[str]:
        if facts.device == "cpu" and self.engine in GPU_ENGINES:
            yield f"tinyphysics.engine = {self.engine} needs a GPU, and device = cpu"
        if facts.device == "cuda" and self.engine == "onnxruntime":
            yield (
                "tinyphysics.engine = onnxruntime is on the processor, and device = cuda; "
                "onnxruntime-cuda is on the GPU"
            )


class CloningConfig(EnvSection):
    """Behaviour cloning before the first rollout."""

    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(
            "loss/cloning",
            "nats",
            level=1,
            better="down",
            description="negative log-likelihood after behaviour cloning",
        ),
    )

    source: Literal["logged", "pid"] = Field(
        "logged", description="what to imitate: the logs' steering at steps 20 to 99, or the PID"
    )
    num_epochs: int = Field(20, ge=0, le=10_000, description="epochs of cloning; 0: no cloning")
    learning_rate: float = Field(
        0.01, gt=0, le=1, description="at the start; falls to 0 by a cosine"
    )
    copies: int = Field(
        8, ge=1, le=1000, description="copies of each sample; all but one have a shifted history"
    )
