"""Settings that a run would ignore; sections know of those of their own tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...shared.alert_rule import parse_rule
from ...shared.errors import nearest
from ...shared.ranks import RANK_METRICS
from ..envs import (
    CONFIGURED_ENV_NAMES,
    LEARNED_ENV_NAMES,
    NATIVE_PREFIX,
    PETTINGZOO_PREFIX,
    is_hosted,
    num_agents_of,
)

if TYPE_CHECKING:
    from .train_config import TrainConfig

NO_MEMORY = "policy.memory.kind = none; use lstm or gru"
IN_TURN = "whose cores collect and learn in turn; use false"


def ignored_keys(config: TrainConfig) -> Iterator[tuple[str, str]]:
    """Whole keys that have no effect beside the run's other settings, each with the reason: they
    must keep their defaults.
    """
    yield from config.algorithm_section.ignored_keys(config)
    if not config.policy.memory.is_on:
        yield "policy.memory.size", NO_MEMORY
        yield "policy.memory.horizon", NO_MEMORY
    shows_tokens = getattr(config.env_section, "shows_tokens", False)
    if not (config.policy.hidden_sizes or shows_tokens):
        yield "policy.activation", "there is no hidden layer, policy.hidden_sizes = []"
    if not config.episodes.is_on:
        for key in ("keep", "max_steps"):
            yield f"episodes.{key}", "no interval of episodes is set"
    if not config.recorder.on:
        yield "recorder.wait_s", "no recorder is waited for, recorder.on = false"


def refusals(config: TrainConfig) -> Iterator[str]:
    """A line for each value that this run cannot honour: the key, the value, what is allowed."""
    if config.rollout == "fused":
        yield from _of_fused_rollouts(config)
    yield from _of_memory(config)
    if config.cpu_offload:
        yield from _of_offloading(config)
    if config.overlap:
        yield from _of_overlapping(config)
    if config.compile and "replay" in config.algorithm_section.tables:
        yield (
            f"compile = true: {config.algorithm} learns from replay, where gradients are written "
            "by hand; only ppo and pqn are compiled"
        )
    if config.ranks.cut_stragglers:
        yield from _of_cutting(config)
    if config.device == "cuda" and config.num_threads:
        yield f"num_threads = {config.num_threads} is for the processor, and device = cuda"
    if config.episodes.is_on and config.env.startswith((PETTINGZOO_PREFIX, NATIVE_PREFIX)):
        yield f"[episodes]: nothing is known of how to draw {config.env}"
    if not config.recorder.on and config.recorder.to:
        names = ",".join(config.recorder.to)
        yield f"recorder.to = {names}: it is the recorder that sends there, and recorder.on = false"
    if config.recorder.alerts:
        yield from _of_alerts(config)


def _of_alerts(config: TrainConfig) -> Iterator[str]:
    if not config.recorder.on:
        yield "recorder.alerts: it is the recorder that decides on them, and recorder.on = false"
    from ..run.telemetry import metrics_of  # which is made of configurations

    names = [metric.name for metric in (*metrics_of(config), *RANK_METRICS)]
    for rule in map(parse_rule, config.recorder.alerts):
        if rule.metric_of(names) is None:
            hint = nearest(rule.metric, names)
            yield f"alert rule '{rule.text}': the run has no metric '{rule.metric}'{hint}"


def _of_memory(config: TrainConfig) -> Iterator[str]:
    memory = config.policy.memory
    if not memory.is_on:
        return
    told = f"policy.memory.kind = {memory.kind}"
    if config.algorithm != "ppo":
        yield f"{told}: {config.algorithm} learns policies without memory; only ppo has them"
    if config.env in LEARNED_ENV_NAMES:
        yield f"{told}: {config.env} is steered by a policy without memory; use none"
    if config.policy.precision != "float32":
        yield (
            f"policy.precision = {config.policy.precision}: with policy.memory.kind = "
            f"{memory.kind} it is float32"
        )


def _of_offloading(config: TrainConfig) -> Iterator[str]:
    if "replay" in config.algorithm_section.tables:
        yield (
            f"cpu_offload = true: {config.algorithm} learns from replay, whose observations "
            "replay.memory = host keeps in main memory"
        )
    if config.env in LEARNED_ENV_NAMES:
        yield f"cpu_offload = true: {config.env} keeps its rollouts where its model is; use false"
    if config.rollout == "fused":
        yield "cpu_offload = true: rollout = fused writes all observations on the GPU; use steps"


def _of_overlapping(config: TrainConfig) -> Iterator[str]:
    told = "overlap = true"
    if config.algorithm != "ppo":
        yield (
            f"{told}: {config.algorithm} has no importance ratio to the policy that acted, one "
            "update before; only ppo has one"
        )
    elif config.table("kickstart").act_prob:
        yield f"{told}: teachers with kickstart.act_prob act as far as the run is; use act_prob = 0"
    if config.env in LEARNED_ENV_NAMES:
        yield f"{told}: {config.env} collects and learns where its model is, in turn; use false"
    elif config.device == "cpu" or is_hosted(config.env):
        who = config.env if is_hosted(config.env) else "device = cpu"
        yield f"{told}: {who} is on the processor, {IN_TURN}"
    if config.cpu_offload:
        yield f"{told}: with cpu_offload = true there are no two rollouts; use one of them"


def _of_cutting(config: TrainConfig) -> Iterator[str]:
    told = "ranks.cut_stragglers = true"
    if "replay" in config.algorithm_section.tables:
        yield f"{told}: {config.algorithm} learns from replay, a few steps at a time"
    if config.env in LEARNED_ENV_NAMES or is_hosted(config.env):
        yield f"{told}: {config.env} is stepped in whole rollouts; use false"
    if config.device == "cuda":
        yield f"{told}: rollouts on a GPU are as long as was captured; use device = cpu"


def agents_may_be_on_a_gpu(config: TrainConfig) -> bool:
    """Whether all rows of rollouts can be there: where agents retire, their number is not known to
    the host, which what learns from replay, and normalises no observations, need not ask for.
    """
    learns_from_replay = "replay" in config.algorithm_section.tables
    some_retire = num_agents_of(config) > 1 and getattr(config.env_section, "agents_retire", True)
    return not some_retire or (learns_from_replay and not config.normalization.obs)


def _of_fused_rollouts(config: TrainConfig) -> Iterator[str]:
    is_alone = num_agents_of(config) == 1
    has_world = config.env in CONFIGURED_ENV_NAMES and is_alone  # that all its episodes read
    if config.env in LEARNED_ENV_NAMES or is_hosted(config.env) or has_world:
        yield f"rollout = fused: {config.env} takes its steps one by one; use steps"
    if not is_alone:
        yield f"rollout = fused: {config.env} has several agents an environment; use steps"
    if config.device == "cpu":
        yield "rollout = fused is for a GPU, and device = cpu; use steps"
    if config.policy.memory.is_on:
        yield (
            f"rollout = fused: policy.memory.kind = {config.policy.memory.kind} takes its steps "
            "one by one; use steps"
        )
    if config.policy.precision != "float32":
        yield (
            "rollout = fused: it computes in float32, and policy.precision = "
            f"{config.policy.precision}; use steps"
        )
