"""Gymnasium and Stable-Baselines3 as sides of a benchmark, where they are installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...shared.errors import UsageError
from ...trainer.config import TrainConfig
from ...trainer.envs import load_spec
from ...trainer.machine.threads import available_cores
from .measuring import Sample, Side, timed

PEERS = {
    "gymnasium": ("gymnasium", ("env",)),
    "stable-baselines3": ("stable_baselines3", ("train",)),
}


def peer_sides(names: Iterable[str], bench: str, config: TrainConfig) -> list[Side]:
    """The sides of these peers. Raises UsageError for those that are unknown, not installed or
    without this measurement.
    """
    sides: list[Side] = []
    makers: dict[str, Callable[[TrainConfig], Side]] = {
        "gymnasium": GymnasiumEnvs, "stable-baselines3": Sb3Training,
    }  # fmt: skip
    for name in names:
        if name not in PEERS:
            raise UsageError(f"--against {name}: there are {', '.join(PEERS)}")
        module, benches = PEERS[name]
        if bench not in benches:
            raise UsageError(f"--against {name}: it is measured by bench {', '.join(benches)}")
        if importlib.util.find_spec(module) is None:
            raise UsageError(f"--against {name}: it is not installed; pip install {name}")
        sides.append(makers[name](config))
    return sides


class GymnasiumEnvs:
    """Gymnasium's own vector environment of that name; one after the other where it has none."""

    name = "gymnasium"

    def __init__(self, config: TrainConfig) -> None:
        self._spec, self._num_envs = load_spec(config.env), config.num_envs

    def prepare(self) -> None:
        import gymnasium

        has_own = gymnasium.spec(self._spec.name).vector_entry_point is not None
        self._envs: Any = gymnasium.make_vec(
            self._spec.name,
            num_envs=self._num_envs,
            vectorization_mode="vector_entry_point" if has_own else "sync",
        )
        self._envs.reset(seed=1)
        self._envs.action_space.seed(1)
        self._actions = [np.asarray(self._envs.action_space.sample()) for _ in range(16)]
        self._steps()

    def measure(self, seconds: float) -> Sample:
        return timed(self._steps, seconds)

    def _steps(self) -> int:
        for actions in self._actions:
            self._envs.step(actions)
        return len(self._actions) * self._num_envs


class Sb3Training:
    """Stable-Baselines3's PPO on the processor, with environments in one process.

    The same environments, rollouts, epochs, minibatches and networks, and of PyTorch's threads as
    many as it is fastest with here: one, or one a core.
    """

    name = "stable-baselines3"

    def __init__(self, config: TrainConfig) -> None:
        self._config = config
        self._num_threads = 1

    def prepare(self) -> None:
        import torch
        from stable_baselines3 import PPO
        from stable_baselines3.common.env_util import make_vec_env

        config, sizes = self._config, list(self._config.policy.hidden_sizes)
        num_envs = config.num_envs
        activations = {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU, "elu": torch.nn.ELU}
        self._steps = max(config.rollout_size // num_envs, 2)
        self._model = PPO(
            "MlpPolicy",
            make_vec_env(load_spec(config.env).name, n_envs=num_envs, seed=1),
            n_steps=self._steps,
            batch_size=max(self._steps * num_envs // config.algorithm_section.num_minibatches, 2),
            n_epochs=config.algorithm_section.num_epochs,
            learning_rate=config.algorithm_section.learning_rate,
            gamma=config.algorithm_section.gamma,
            gae_lambda=config.algorithm_section.gae_lambda,
            policy_kwargs={
                "net_arch": {"pi": sizes, "vf": sizes},
                "activation_fn": activations[config.policy.activation],
            },
            seed=1,
            device="cpu",
        )
        self._learn()
        speeds = {}
        for num_threads in sorted({1, available_cores()}):
            self._num_threads = num_threads
            sample = timed(self._learn, 0)
            speeds[num_threads] = sample.env_steps / sample.seconds
        self._num_threads = max(speeds, key=lambda num_threads: speeds[num_threads])

    def measure(self, seconds: float) -> Sample:
        return timed(self._learn, seconds)

    def _learn(self) -> int:
        import torch

        torch.set_num_threads(self._num_threads)  # others in this process set it as well
        size = self._steps * self._model.n_envs
        self._model.learn(size, reset_num_timesteps=False)
        return size
