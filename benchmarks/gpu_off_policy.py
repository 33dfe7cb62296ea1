"""The parts of `gpu.py` that learn from replay: speed of updates, time to returns, draws."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

BARS = {"cart_pole_dqn": 495, "pendulum_sac": -165}
PENDULUM = {
    "env": "pendulum", "num_envs": 64, "rollout_steps": 4, "evaluation": {"num_episodes": 0},
    "checkpoint": {"every_iterations": 0}, "replay": {"capacity": 1_000_000},
}  # fmt: skip
CART_POLE = {**PENDULUM, "env": "cart_pole"}


class OffPolicyParts:
    """Each returns what it measured; `gpu` makes experiments and knows the sizes."""

    def __init__(self, gpu: Any) -> None:
        self.gpu, self.dry, self.device = gpu, gpu.dry, gpu.device

    def parts(self) -> dict[str, Callable[[], Any]]:
        return {
            "replay_draws": self.draws,
            "dqn_cart_pole": self.dqn,
            "sac_pendulum": self.sac,
            "updates_captured": self.updates,
            "updates_bfloat16": self.large_batches,
            "rainbow_per_c51": self.rainbow,
            "replay_waits": self.waits,
            "ac_iqn_marine_nav": self.marine_nav,
        }

    def draws(self) -> Any:
        """A draw of 512 by priority, its weights, and the update of priorities; microseconds."""
        import replay

        answer = {}
        for rows in (4096,) if self.dry else (1_000_000, 8_000_000):
            for name, call in replay.operant_sides(rows, [512], self.device).items():
                call()
                call()
                answer[name] = 1e6 * replay.seconds_of(call, self.device)
        return answer

    def dqn(self) -> Any:
        """DQN on CartPole with 1,024 environments: the return after so many seconds of training."""
        overrides = [
            "num_envs=1024", "rollout_steps=4", "total_env_steps=2000000",
            "dqn.updates_per_env_step=0.0078125", "dqn.warmup_env_steps=20000",
            "dqn.batch_size=1024", "dqn.epsilon_fraction=0.3", "replay.capacity=1000000",
        ]  # fmt: skip
        return self._to_the_bar("cart_pole_dqn", overrides)

    def sac(self) -> Any:
        """SAC on Pendulum, likewise."""
        overrides = [
            "num_envs=64", "rollout_steps=4", "total_env_steps=100000",
            "sac.updates_per_env_step=0.125", "sac.batch_size=1024",
        ]  # fmt: skip
        return self._to_the_bar("pendulum_sac", overrides)

    def marine_nav(self) -> Any:
        """AC-IQN on MarineNav: success after so many seconds of training, in all six settings, and
        env steps and updates a second.
        """
        from operant.trainer.config.files import load_config

        overrides = [
            "num_envs=1024", "rollout_steps=4", "total_env_steps=40000000",
            "ac_iqn.batch_size=1024", "ac_iqn.updates_per_env_step=0.00390625",
            "ac_iqn.warmup_env_steps=40000", "replay.capacity=4000000",
        ]  # fmt: skip
        if self.dry:
            overrides += [
                "num_envs=2", "rollout_steps=4", "total_env_steps=560", "ac_iqn.batch_size=32",
                "ac_iqn.updates_per_env_step=0.025", "ac_iqn.warmup_env_steps=64",
                "marine_nav.curriculum=[]", "replay.capacity=1000",
            ]  # fmt: skip
        config = load_config("marine_nav_ac_iqn", overrides)
        experiment = self.gpu.experiment(config)
        telemetry = self.gpu.telemetry(experiment, None)
        self.gpu.loop(experiment, telemetry, 3)
        each = max(1, (config.num_iterations - 3) // 10)
        seconds, curve = 0.0, []
        for _ in range(10):
            seconds += self.gpu.loop(experiment, telemetry, each)
            evaluation = experiment.evaluate(6 if self.dry else 600)
            success = {f"{s['robots']}_{s['obstacles']}": s["success"] for s in evaluation.settings}
            curve.append({"s": seconds, "env_steps": experiment.env_steps, "success": success})
        num_updates = int(experiment.algorithm.num_updates)
        return {"curve": curve, "updates_per_s": num_updates / seconds}

    def _to_the_bar(self, preset: str, overrides: list[str]) -> dict[str, Any]:
        """Trains `preset` and evaluates it at every tenth; seconds are those of training alone."""
        from operant.trainer.config.files import load_config

        if self.dry:
            overrides = [*overrides, "num_envs=8", "rollout_steps=4", "total_env_steps=640"]
            name = preset.split("_")[-1]
            overrides += [
                f"{name}.warmup_env_steps=64", f"{name}.batch_size=32",
                f"{name}.updates_per_env_step=0.0625",
            ]  # fmt: skip
        config = load_config(preset, overrides)
        experiment = self.gpu.experiment(config)
        telemetry = self.gpu.telemetry(experiment, None)
        self.gpu.loop(experiment, telemetry, 3)  # compiles and captures
        each = max(1, (config.num_iterations - 3) // 10)
        seconds, curve = 0.0, []
        for _ in range(10):
            seconds += self.gpu.loop(experiment, telemetry, each)
            mean_return = float(experiment.evaluate(20 if self.dry else 100).returns.mean())
            curve.append({"s": seconds, "env_steps": experiment.env_steps, "return": mean_return})
        reached = [point["s"] for point in curve if point["return"] >= BARS[preset]]
        return {"curve": curve, "s_to_bar": reached[0] if reached else None, "bar": BARS[preset]}

    def updates(self) -> Any:
        """Updates per second of whole iterations, batch 256, 2 x 256 units: SAC, TD3 and DQN."""
        return {
            name: self._updates_per_s(self._config(name, 256, "float32"))
            for name in ("sac", "td3", "dqn")
        }

    def large_batches(self) -> Any:
        """SAC at batch 8,192: float32 beside bfloat16, and what share of this GPU's bfloat16
        products it reaches.
        """
        batch = 64 if self.dry else 8192
        per_s = {
            precision: self._updates_per_s(self._config("sac", batch, precision))
            for precision in ("float32", "bfloat16")
        }
        limit = self._products_per_s(torch.bfloat16)
        used = per_s["bfloat16"] * sac_products(batch, 256)
        return {"updates_per_s": per_s, "limit_flop_per_s": limit, "share": used / limit}

    def rainbow(self) -> Any:
        """How many times as long as one of C51 an update of Rainbow takes."""
        per_s = {
            name: self._updates_per_s(self._config(name, 256, "float32"))
            for name in ("c51", "rainbow")
        }
        return {"updates_per_s": per_s, "times": per_s["c51"] / per_s["rainbow"]}

    def waits(self) -> Any:
        """How often the loop of SAC waits for the GPU."""
        from synchronisations import waits_counted

        experiment = self.gpu.experiment(self._config("sac", 256, "float32"))
        telemetry = self.gpu.telemetry(experiment, None)
        self.gpu.loop(experiment, telemetry, 8)
        iterations = self.gpu.sizes.profiled_iterations
        return {
            "iterations": iterations,
            **waits_counted(
                lambda: self.gpu.iterations(experiment, telemetry, iterations), self.device
            ),
        }

    def _config(self, algorithm: str, batch: int, precision: str) -> Any:
        from operant.trainer.config.from_values import make_config

        base = CART_POLE if algorithm in ("dqn", "c51", "rainbow") else PENDULUM
        values = {
            **base, "algorithm": algorithm, "total_env_steps": 10**10,
            "policy": {"hidden_sizes": [256, 256], "activation": "relu", "precision": precision},
            algorithm: {
                "batch_size": batch, "warmup_env_steps": max(batch, 1024),
                "updates_per_env_step": 0.125,
            },
        }  # fmt: skip
        if algorithm == "rainbow":
            values["replay"] = {**PENDULUM["replay"], "priority_exponent": 0.5}
        return make_config(values, ())

    def _updates_per_s(self, config: Any) -> float:
        """Updates per second, in iterations of 256 env steps and 32 updates."""
        experiment = self.gpu.experiment(config)
        telemetry = self.gpu.telemetry(experiment, None)
        warm = config.algorithm_section.warmup_env_steps // config.rollout_size + 4
        self.gpu.loop(experiment, telemetry, warm)
        iterations = 2 if self.dry else 100
        seconds = self.gpu.loop(experiment, telemetry, iterations)
        return float(iterations * experiment.algorithm.num_updates_each / seconds)

    def _products_per_s(self, dtype: torch.dtype) -> float:
        """Floating-point operations a second of one large product of matrices."""
        size, times = (128, 2) if self.dry else (8192, 20)
        left, right = torch.randn(2, size, size, device=self.device, dtype=dtype)
        left @ right
        self.gpu.wait()
        start = time.perf_counter()
        for _ in range(times):
            left @ right
        self.gpu.wait()
        return times * 2 * size**3 / (time.perf_counter() - start)


def sac_products(batch: int, hidden: int) -> float:
    """Floating-point operations of the products of one update of SAC on Pendulum.

    Forward passes of the actor (2) and of the pairs of critics (3), backward ones by weights and
    inputs of one actor and of the critics, and the critics' by inputs for the actor.
    """
    actor = 3 * hidden + hidden**2 + hidden * 2
    critics = 2 * (4 * hidden + hidden**2 + hidden)
    forward = 2 * actor + 3 * critics
    backward = 2 * actor + 2 * critics + critics
    return 2.0 * batch * (forward + backward)
