"""Properties of a run, and of where it runs, that decide between the rows of the plan."""

from __future__ import annotations

from typing import NamedTuple

from ..envs.workers.dividing import MOST_WORKERS
from ..settings.facts import Facts
from ..spaces.encoders import MLP, is_packed


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


def has_routes(facts: Facts) -> bool:
    """Whether a model of a car along routes is the environment, as in tinyphysics."""
    return facts.spec.stepped_by == "routes"


def is_hosted(facts: Facts) -> bool:
    """Whether the environments are another library's, and so always on the processor."""
    return not (facts.spec.is_own or has_routes(facts))


def can_be_on_gpu(facts: Facts) -> bool:
    """Whether a GPU can hold the rollouts. If some agents retire, the number of valid rows is only
    known on the GPU. Replay works without that number, but normalising observations needs it.
    """
    retire = facts.spec.some_agents_retire
    return not retire or (facts.learns_from_replay and not facts.normalizes_obs)


def why_one_piece(facts: Facts) -> str:
    """Why the actions of all rows must be computed at once; empty if they need not.
    `collector.needs_one_piece` says the same of a policy.
    """
    if getattr(facts.section, "exploration", "") == "state_dependent":
        return "actions are explored with noise that lasts from step to step"
    if getattr(facts.section, "noisy_std", 0.0) > 0:
        return "layers are noisy, with noise of each row's own"
    return ""


def is_compiled(facts: Facts) -> bool:
    """Whether compiled loops perform the updates on the processor."""
    return facts.algorithm == "ppo" and not why_pytorch(facts)


def why_pytorch(facts: Facts) -> str:
    """The settings that PPO's compiled loops do not support; empty if they support all."""
    if facts.policy.precision != "float32":
        return f"policy.precision = {facts.policy.precision}"
    if facts.policy.memory.is_on:
        return f"policy.memory.kind = {facts.policy.memory.kind}"
    if "kickstart" in facts.tables and (teachers := facts.tables["kickstart"].teachers):
        return f"kickstart.teachers = {', '.join(teachers)}"
    if facts.spec.mask_size:
        return "action masks"
    if is_packed(facts.spec):
        return "images in dictionaries"
    not_compiled = getattr(facts.section, "not_compiled", {})
    reasons = [f"ppo.{key} = {value}" for key, value in not_compiled.items()]
    if reasons or facts.encoder == MLP:
        return " and ".join(reasons)
    return f"policy.encoder = {facts.encoder}"
