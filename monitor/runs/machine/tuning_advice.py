"""Settings that could make a run faster, by the phase that takes its time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

WORKERS = "set workers.num_workers=auto"
TUNE = "run operant bench CONFIG --tune"
CHANGES = " (changes learning)"  # a hint for speed says so
MORE_ENVS = f"raise num_envs{CHANGES}"
_UNITS = ("every_iterations", "every_env_steps", "every_s")


@dataclass(frozen=True)
class Knobs:
    """Advice for a run whose collecting, evaluating or saving takes too long, or whose GPU waits.
    Each field is a few words with a key of the configuration, or empty.
    """

    is_on_gpu: bool = False
    collect: str = ""
    learn_on_idle_gpu: str = ""
    idle_gpu: str = ""
    evaluate: str = ""
    checkpoint: str = ""


def knobs_of(manifest: Mapping[str, Any]) -> Knobs | None:
    """The advice for a run by its run.toml; None for a user's own loop, whose keys are unknown."""
    config = _table(manifest, "config")
    algorithm = str(config.get("algorithm", ""))
    section = _table(config, algorithm)
    if not section or not _number(config, "num_envs"):
        return None
    is_on_gpu = str(manifest.get("device", "")).startswith("cuda")
    return Knobs(
        is_on_gpu,
        collect=_collect(manifest, config),
        learn_on_idle_gpu=_learn_on_idle_gpu(algorithm, section),
        idle_gpu=MORE_ENVS,
        evaluate=_interval(config, "evaluation"),
        checkpoint=_interval(config, "checkpoint"),
    )


def _collect(manifest: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    if "tinyphysics" in config:  # its rollouts are whole episodes, its engine is chosen by speed
        return ""
    steps_itself = manifest.get("stepped_by") in ("gymnasium", "mjbatch")
    if not steps_itself and _table(config, "workers").get("num_workers") == 0:
        # Workers share environments out; one alone cannot be.
        return WORKERS if _number(config, "num_envs") > 1 else MORE_ENVS
    return TUNE


def _learn_on_idle_gpu(algorithm: str, section: Mapping[str, Any]) -> str:
    """Where a GPU waits while it learns, more work at once is."""
    if _number(section, "num_minibatches") > 1:
        return f"lower {algorithm}.num_minibatches{CHANGES}"
    return f"raise {algorithm}.batch_size{CHANGES}" if _number(section, "batch_size") else ""


def _interval(config: Mapping[str, Any], table: str) -> str:
    units = (unit for unit in _UNITS if _number(_table(config, table), unit))
    return next((f"raise {table}.{unit}" for unit in units), "")


def _table(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Empty where it is missing or something else: a run folder may hold anything."""
    table = values.get(name)
    return table if isinstance(table, Mapping) else {}


def _number(values: Mapping[str, Any], name: str) -> float:
    """0 where it is missing or something else."""
    value = values.get(name)
    return value if isinstance(value, int | float) else 0
