"""Settings that a run cannot honour: a function for each key. The plan raises the first line.

A line names the key, its value and the reason, and what to use instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..envs.tinyphysics.sections import GPU_ENGINES
from ..settings.facts import Facts
from ..spaces.encoders import AUTO, MLP
from .traits import Machine, RankLayout, can_be_on_gpu, has_routes, is_hosted, why_one_piece

IN_TURN = "whose cores collect and learn in turn; use false"


def refusals(
    facts: Facts, machine: Machine, ranks: RankLayout | None, device: str
) -> Iterator[str]:
    """A line for each setting that a run on this `device` cannot honour."""
    if ranks:
        for setting in _settings_without_ranks(facts, ranks):
            yield f"{setting} does not go with several ranks yet"
    yield from _device(facts)
    yield from _rollout(facts, device)
    yield from _encoder(facts)
    yield from _memory(facts)
    yield from _overlap(facts, device)
    yield from _compile(facts)
    yield from _workers(facts)
    yield from _num_threads(facts)
    if facts.device == "cuda" and machine.no_gpu:
        yield f"device = cuda: {machine.no_gpu}; device = cpu works everywhere"


def _settings_without_ranks(facts: Facts, ranks: RankLayout) -> Iterator[str]:
    """The settings that only a single process supports."""
    on_gpu = facts.device == "cuda"
    if has_routes(facts):
        engine = facts.tables[facts.env].engine
        if on_gpu:
            yield f"env = {facts.env} with device = cuda"
        if engine in GPU_ENGINES:
            yield f"{facts.env}.engine = {engine}"
    for key in ("compile", "overlap"):
        if getattr(facts, key):
            yield f"{key} = true"
    if facts.algorithm_table == "crossq":  # each would normalise by a part of the minibatch
        yield "algorithm = crossq"
    if facts.rollout == "fused":
        yield "rollout = fused"
    if "contrastive" in facts.tables and (coef := facts.tables["contrastive"].coef) > 0:
        yield f"contrastive.coef = {coef}"


def _device(facts: Facts) -> Iterator[str]:
    if facts.device != "cuda":
        return
    if is_hosted(facts):
        yield f"device = cuda: {facts.env} lives on the processor; use cpu"
    if not can_be_on_gpu(facts):
        yield (
            f"device = cuda: {facts.env} has {facts.num_agents} agents an environment, and "
            "only what learns from replay, with normalization.obs = false, has those on a GPU; "
            "use cpu"
        )


def _rollout(facts: Facts, device: str) -> Iterator[str]:
    """One kernel collects a whole rollout."""
    if facts.rollout != "fused":
        return
    key, env, several_agents = "rollout = fused", facts.env, facts.num_agents > 1
    # Worlds that all episodes share, images and action masks are not in the fused kernel.
    with_world = not (facts.shows_vectors or several_agents)
    if has_routes(facts) or is_hosted(facts) or with_world:
        yield f"{key}: {env} takes its steps one by one; use steps"
    if several_agents:
        yield f"{key}: {env} has several agents an environment; use steps"
    if facts.device == "cpu":
        yield f"{key} is for a GPU, and device = cpu; use steps"
    if facts.policy.memory.is_on:
        memory = f"policy.memory.kind = {facts.policy.memory.kind}"
        yield f"{key}: {memory} takes its steps one by one; use steps"
    if facts.policy.precision != "float32":
        precision = f"policy.precision = {facts.policy.precision}"
        yield f"{key}: it computes in float32, and {precision}; use steps"
    if facts.device == "auto" and device == "cpu":
        yield f"{key} is for a GPU, and there is none here; use steps"


def _encoder(facts: Facts) -> Iterator[str]:
    encoder = facts.policy.encoder
    if encoder in (AUTO, MLP):
        return
    if facts.rollout == "fused":
        yield f"rollout = fused: it runs no encoder, policy.encoder = {encoder}; use steps"
    if has_routes(facts):
        yield f"policy.encoder = {encoder}: {facts.env} is steered by a plain network; use auto"


def _memory(facts: Facts) -> Iterator[str]:
    if not facts.policy.memory.is_on:
        return
    key = f"policy.memory.kind = {facts.policy.memory.kind}"
    if facts.algorithm_table != "ppo":
        yield f"{key}: {facts.algorithm} learns policies without memory; only ppo has them"
    if has_routes(facts):
        yield f"{key}: {facts.env} is steered by a policy without memory; use none"
    if facts.policy.precision != "float32":
        yield f"policy.precision = {facts.policy.precision}: with {key} it is float32"


def _overlap(facts: Facts, device: str) -> Iterator[str]:
    """The next rollout is collected while the GPU learns from the last one."""
    if not facts.overlap:
        return
    key, env = "overlap = true", facts.env
    if facts.algorithm_table != "ppo":
        yield (
            f"{key}: {facts.algorithm} has no importance ratio to the policy that acted, one "
            "update before; only ppo has one"
        )
    if has_routes(facts):
        yield f"{key}: {env} collects and learns where its model is, in turn; use false"
    if is_hosted(facts):
        yield f"{key}: {env} is on the processor, {IN_TURN}"
    elif facts.device == "cpu":
        yield f"{key}: device = cpu is on the processor, {IN_TURN}"
    if facts.device == "auto" and device == "cpu":
        yield f"{key}: this run is on the processor, {IN_TURN}"


def _compile(facts: Facts) -> Iterator[str]:
    if facts.compile and facts.learns_from_replay:
        yield (
            f"compile = true: {facts.algorithm} learns from replay, where gradients are written "
            "by hand; only ppo and pqn are compiled"
        )


def _workers(facts: Facts) -> Iterator[str]:
    factor = getattr(facts.tables.get("workers"), "async_factor", 1)
    reason = why_one_piece(facts)
    if reason and isinstance(factor, int) and factor > 1:
        yield f"workers.async_factor = {factor}: {reason}; use 1"


def _num_threads(facts: Facts) -> Iterator[str]:
    if facts.device == "cuda" and facts.num_threads > 0:
        yield f"num_threads = {facts.num_threads} is for the processor, and device = cuda"
