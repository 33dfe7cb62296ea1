"""What an experiment is made of whose parts all live in the memory of one device."""

from __future__ import annotations

import os
from typing import Any

import torch

from ..algorithms import algorithm_class
from ..config import TrainConfig
from ..envs import env_spec_of
from ..envs.spec import EnvSpec
from ..evaluation import Evaluation, Progress, evaluate
from ..experiment import Parts
from ..making import make_policy, of_rank, part_seed, teaching
from ..networks.actor_critic import ActorCritic
from ..networks.recurrent_actor_critic import RecurrentActorCritic
from ..overlapping import LaggingCollector
from ..ranks.single import SINGLE, Ranks
from .collecting import (
    ActorCollector,
    AgentsCollector,
    CudaCollector,
    RecurrentActorCollector,
    agents_retire,
)
from .fused import FusedCollector
from .vector import CudaVectorEnv


def make_parts(config: TrainConfig, device: torch.device, ranks: Ranks = SINGLE) -> Parts:
    """Any algorithm, with the environments of operant's own: those of one of `ranks`."""
    # Products of matrices are added up in the same order every time only with this.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    spec = env_spec_of(config)
    assert isinstance(spec, EnvSpec)  # as `making` has it: Gymnasium's live on the processor
    own = of_rank(config, ranks)
    policy: Any = make_policy(own)
    policy.to_device(device)
    algorithm = algorithm_class(config)(
        config, policy, seed=part_seed(config, "learner"), is_inline=False, ranks=ranks,
        **teaching(config),
    )  # fmt: skip
    envs = CudaVectorEnv(spec, own.num_envs, config.seed, device=device, first_env=ranks.first_env)

    def play(num_episodes: int, progress: Progress) -> Evaluation:
        """On the processor, as every other run plays them. Waits for the device."""
        copied = make_policy(own)
        copied.load_state_dict(policy.state_dict())
        gamma, limit = config.algorithm_section.gamma, config.evaluation.max_episode_steps
        return evaluate(copied, spec, num_episodes, config.seed, limit, progress, gamma)

    collects: type[CudaCollector] = CudaCollector
    if spec.num_agents > 1:
        collects = AgentsCollector if agents_retire(spec) else CudaCollector
    elif isinstance(policy, RecurrentActorCritic):
        collects = RecurrentActorCollector
    elif isinstance(policy, ActorCritic):
        collects = FusedCollector if config.rollout == "fused" else ActorCollector
    options: dict[str, Any] = {"obs_on_host": True} if config.cpu_offload else {}
    if ranks.size > 1:
        options["ranks"] = ranks
    acting: Any = policy
    if config.overlap:
        acting = make_policy(own)
        acting.to_device(device)
    collector: Any = collects(envs, acting, config.rollout_steps, **options)
    if algorithm.acting_teachers:
        algorithm.acting_teachers.join(collector)
    if config.overlap:
        collector = LaggingCollector(collector, acting, policy)
    return Parts(algorithm, collector, play, ranks.notices)
