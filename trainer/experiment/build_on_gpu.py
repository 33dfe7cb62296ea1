"""Builds the parts of an experiment that is all on one device."""

from __future__ import annotations

import os
from typing import Any

import torch

from ..algorithms import algorithm_class
from ..algorithms.algorithm import Options
from ..collecting.fused import FusedCollector
from ..collecting.on_gpu import (
    ActorCollector,
    AgentsCollector,
    CudaCollector,
    RecurrentActorCollector,
)
from ..distributed.process_group import LOCAL, ProcessGroup
from ..envs.spec import EnvSpec
from ..envs.vector_on_gpu import CudaVectorEnv
from ..returns.episodes import Evaluation, Progress
from .evaluation import evaluate
from .experiment import Parts
from .overlapping import LaggingCollector
from .plan import Plan
from .teachers import auxiliary_losses
from .untrained import learner_settings, make_policy, part_seed

COLLECTORS: dict[str, type[CudaCollector]] = {
    "stepped": CudaCollector,
    "actor": ActorCollector,
    "agents": AgentsCollector,
    "fused": FusedCollector,
    "recurrent_actor": RecurrentActorCollector,
}


def make_parts(plan: Plan, device: torch.device, ranks: ProcessGroup = LOCAL) -> Parts:
    """The parts of any algorithm and one of operant's own environments, for one of `ranks`."""
    # Without this, cuBLAS may add up a matrix product in another order each time.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    config, local_config, spec = plan.config, plan.local_config, plan.spec
    assert isinstance(spec, EnvSpec)  # the plan keeps all others on the processor
    policy: Any = make_policy(local_config, spec)
    policy.to_device(device)
    options: Options = {"seed": part_seed(config, "learner"), "is_inline": False, "ranks": ranks}
    algorithm = algorithm_class(config.algorithm)(
        learner_settings(config),
        policy,
        **auxiliary_losses(config, spec, policy, options),
        **options,
    )
    envs = CudaVectorEnv(spec, plan.num_envs, config.seed, device=device, first_env=ranks.first_env)

    def play(num_episodes: int, progress: Progress) -> Evaluation:
        """On the processor, like in all other runs. Waits for the device."""
        copied = make_policy(local_config, spec)
        copied.load_state_dict(policy.state_dict())
        gamma, limit = config.algorithm_section.gamma, config.evaluation.max_episode_steps
        return evaluate(copied, spec, num_episodes, config.seed, limit, progress, gamma)

    more: dict[str, Any] = {"ranks": ranks} if ranks.size > 1 else {}
    overlaps = plan.executor == "overlapping_graphs"
    acting: Any = policy
    if overlaps:
        acting = make_policy(local_config, spec)
        acting.to_device(device)
    collector: Any = COLLECTORS[plan.collector](envs, acting, config.rollout_steps, **more)
    if overlaps:
        collector = LaggingCollector(collector, acting, policy)
    return Parts(algorithm, collector, play, ranks.notices)
