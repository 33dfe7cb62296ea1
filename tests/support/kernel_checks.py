"""Checks of kernels that hold on the processor, in Numba's CUDA simulator and on a GPU alike.

Sine, cosine and fused products round differently there: numbers may differ by `RTOL` in one step.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from operant.commands.bench.sides import random_actions
from operant.trainer.collecting.fused import FusedCollector
from operant.trainer.envs.hosts import load_spec
from operant.trainer.envs.vector import Transitions, VectorEnv
from operant.trainer.envs.vector_on_gpu import CudaVectorEnv, Steps
from operant.trainer.experiment.experiment import Experiment
from operant.trainer.policies.normalizers import observe

RTOL, ATOL = 1e-4, 1e-5


def close(found: torch.Tensor, expected: np.ndarray) -> bool:
    return np.allclose(found.cpu().numpy(), expected, rtol=RTOL, atol=ATOL)


def pair(name: str, num_envs: int, device: str) -> tuple[VectorEnv, CudaVectorEnv]:
    """The same environments twice, half of them three steps before their time limit."""
    spec = load_spec(name)
    ours, theirs = (
        VectorEnv(spec, num_envs, seed=3),
        CudaVectorEnv(spec, num_envs, 3, device=device),
    )
    out, obs = (
        Transitions.empty(spec.obs_size, ours.num_rows),
        torch.zeros(ours.num_rows, spec.obs_size).to(device),
    )
    ours.reset(out.obs)
    theirs.reset(obs)
    assert close(obs, out.obs)
    ours.state.elapsed[::2] = spec.max_episode_steps - 3
    theirs.load_state_dict(ours.state_dict())
    return ours, theirs


def check_every_step(name: str, device: str, num_envs: int = 6, steps: int = 120) -> None:
    """Each step from the same state gives the same transition, resets included."""
    ours, theirs = pair(name, num_envs, device)
    actions = random_actions(ours.spec, steps, ours.num_rows)
    expected = Transitions.empty(ours.spec.obs_size, ours.num_rows)
    found = theirs.empty_transitions()
    ended = 0
    for action in actions:
        ours.step(action, expected)
        theirs.step(torch.from_numpy(action).to(device), found)
        for name_, array in expected._asdict().items():
            assert close(getattr(found, name_), array), name_
        for name_, array in ours.state._asdict().items():
            assert close(getattr(theirs.state, name_), array), name_
        theirs.load_state_dict(ours.state_dict())
        ended += int((expected.terminated | expected.truncated).sum())
    assert ended >= num_envs // 2
    assert np.allclose(ours.take_episode_totals(), theirs.take_episode_totals(), rtol=RTOL)


def check_many_steps(name: str, device: str, num_envs: int = 6, steps: int = 12) -> None:
    """Many steps in one launch are those steps one by one."""
    _, theirs = pair(name, num_envs, device)
    once = CudaVectorEnv(theirs.spec, num_envs, 3, device=device)
    once.load_state_dict(theirs.state_dict())
    actions = torch.from_numpy(random_actions(theirs.spec, steps, num_envs)).to(device)
    rows = Steps.empty(theirs.spec, steps, num_envs, torch.device(device))
    once.step_many(actions, rows)
    out = theirs.empty_transitions()
    for k in range(steps):
        theirs.step(actions[k], out)
        assert close(rows.obs[k].T, out.obs.cpu().numpy())
        assert close(rows.rewards[k], out.reward.cpu().numpy())
        assert (rows.terminated[k] == out.terminated).all()
        assert (rows.truncated[k] == out.truncated).all()
    assert rows.truncated.any()
    for name_, tensor in theirs.state_dict().items():
        assert close(once.state_dict()[name_], tensor.numpy()), name_
    assert np.allclose(once.take_episode_totals(), theirs.take_episode_totals(), rtol=RTOL)


def check_fused(make: Callable[..., Experiment], overrides: list[str]) -> None:
    """A rollout in one kernel is the one that is gathered step by step; three in a row."""
    steps, fused = make(*overrides), make(*overrides)
    device = steps.executor.device
    if device.type == "cuda":
        torch.cuda.synchronize()  # each made its parts on a stream of its own
    envs = fused.collector.envs
    collector = FusedCollector(envs, fused.policy, fused.config.rollout_steps)
    seen = torch.randn(100, envs.spec.obs_size, generator=torch.Generator().manual_seed(1))
    for experiment in (steps, fused):
        experiment.collector.envs.state.elapsed[::2] = envs.spec.max_episode_steps - 5
        observe(experiment.policy.normalizer, [seen.to(device)])
    for number in range(3):
        steps.collector.collect()
        collector.collect()
        expected, found = steps.collector.rollout, collector.rollout
        assert (found.actions == expected.actions).all()
        for name, tensor in vars(expected).items():
            if isinstance(tensor, torch.Tensor):
                assert close(getattr(found, name), tensor.cpu().numpy()), name
        assert expected.truncated.any() or number
    for name, tensor in steps.collector.envs.state_dict().items():
        assert close(envs.state_dict()[name], tensor.numpy()), name
    expected, found = (e.collector.envs.take_episode_totals() for e in (steps, fused))
    assert np.allclose(found, expected, rtol=RTOL)
