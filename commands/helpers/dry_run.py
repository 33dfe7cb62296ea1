"""The output of `operant train --dry-run`: the run that would begin, with its settings."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from torch import nn

from ...shared.runs.setting_sources import defaults_of
from ...trainer.algorithms import algorithm_class
from ...trainer.config.files import Resolved
from ...trainer.config.flat_keys import flat_keys
from ...trainer.envs.hosts import describe
from ...trainer.experiment.plan import Plan, plan, this_machine
from ...trainer.experiment.untrained import learner_settings, make_policy, part_seed
from ...trainer.memory.rollout import Rollout
from ...trainer.spaces import obs_shape
from .output import print_line

WIDTH, TITLE_WIDTH = 100, 14
MIB = 2**20
# Parts of a plan that say how it runs.
PARTS = ("device", "executor", "host", "update", "collector")


def facts_of_run(resolved: Resolved) -> dict[str, Any]:
    """All that `--dry-run --json` prints. Raises ConfigError where the run cannot be trained here,
    or its replay does not fit into memory.
    """
    config = resolved.config
    spec = describe(config)
    planned = plan(config, spec, this_machine())
    networks, memory = _networks_and_memory(planned)
    source_of = {key: source for source, keys in resolved.sources.items() for key in keys}
    settings = flat_keys(config.model_dump(mode="json"))
    return {
        "env": config.env,
        "observations": {"shape": list(obs_shape(spec)), "type": np.dtype(spec.obs_type).name},
        "actions": {"type": type(spec.actions).__name__, **asdict(spec.actions)},
        "agents": config.num_agents,
        "algorithm": config.algorithm,
        "total_env_steps": config.total_env_steps,
        "iterations": config.num_iterations,
        "networks": networks,
        "memory_bytes": memory,
        "plan": {name: getattr(planned, name) for name in PARTS},
        "threads": planned.num_threads or "auto",
        "notices": list(planned.notices),
        "sources": [*resolved.sources],
        "settings": {
            key: {"value": value, "source": source_of.get(key, defaults_of())}
            for key, value in settings.items()
        },
    }


def print_dry_run(facts: Mapping[str, Any]) -> None:
    """The facts on one screen. Settings that no source has set keep their defaults, unlisted."""
    for title, text in _lines(facts):
        lines = textwrap.wrap(text, WIDTH - TITLE_WIDTH, break_on_hyphens=False) or [""]
        for number, line in enumerate(lines):
            print_line(f"{'' if number else title:<{TITLE_WIDTH}}{line}")


def _lines(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    shape = " x ".join(map(str, facts["observations"]["shape"]))
    agents = f", {facts['agents']} agents" if facts["agents"] > 1 else ""
    yield "environment", facts["env"] + agents
    yield "observations", f"{shape} {facts['observations']['type']}"
    yield "actions", _in_words(facts["actions"])
    steps = f"{facts['total_env_steps']:,} env steps in {facts['iterations']:,} iterations"
    yield "algorithm", f"{facts['algorithm']}, {steps}"
    for name, network in facts["networks"].items():
        layers = ", ".join("x".join(map(str, layer)) for layer in network["layers"])
        yield "network", f"{name}: {layers}; {network['weights']:,} weights"
    memory = facts["memory_bytes"].items()
    yield "memory", ", ".join(f"{name} {size / MIB:,.1f} MiB" for name, size in memory)
    yield "plan", ", ".join(f"{name} {part}" for name, part in facts["plan"].items() if part)
    yield "threads", f"{facts['threads']}"
    for notice in facts["notices"]:
        yield "note", notice
    title = "settings"
    for source in facts["sources"]:
        listed = ", ".join(
            f"{key} = {'none' if (value := setting['value']) is None else json.dumps(value)}"
            for key, setting in facts["settings"].items()
            if setting["source"] == source and key not in ("env", "algorithm")
        )
        if listed:
            yield title, f"{source}: {listed}"
            title = ""


def _networks_and_memory(planned: Plan) -> tuple[dict[str, Any], dict[str, int]]:
    """The networks by name, and the bytes of the rollout and of the replay. Their memory is not
    touched, so that it costs nothing.
    """
    config, spec = planned.config, planned.spec
    policy: Any = make_policy(config, spec)
    networks: dict[str, nn.Module] = {"policy": policy}
    rollout = Rollout.empty(
        spec.obs_size, config.rollout_steps, config.num_rows, policy,
        device="meta", obs_type=spec.obs_type,
    )  # fmt: skip
    memory = {"rollout": rollout.nbytes}
    if config.learns_from_replay:
        learner: Any = algorithm_class(config.algorithm)
        algorithm = learner(learner_settings(config), policy, seed=part_seed(config, "learner"))
        memory["replay"] = algorithm.replay.nbytes
        acting = set(policy.modules())
        networks |= {
            name: part
            for name, part in vars(algorithm).items()
            if isinstance(part, nn.Module) and part not in acting
        }
    return {name: _described(network) for name, network in networks.items()}, memory


def _described(network: nn.Module) -> dict[str, Any]:
    """The shapes of its matrices, and the number of all its weights and biases."""
    weights = list(network.parameters())
    return {
        "layers": [list(weight.shape) for weight in weights if weight.dim() > 1],
        "weights": sum(weight.numel() for weight in weights),
    }


def _in_words(actions: Mapping[str, Any]) -> str:
    values = (f"{key} = {value}" for key, value in actions.items() if key != "type")
    return f"{actions['type']}: {', '.join(values)}"
