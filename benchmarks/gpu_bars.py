"""The parts of `gpu.py` that set one choice beside another: sizes, precisions, streams, kernels."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch


class Bars:
    """Each returns what it measured; `gpu` makes experiments and knows the sizes."""

    def __init__(self, gpu: Any) -> None:
        self.gpu, self.dry, self.device = gpu, gpu.dry, gpu.device

    def parts(self) -> dict[str, Callable[[], Any]]:
        return {
            "raw_curve": self.raw_curve,
            "train_bfloat16": lambda: self.trained_with("policy.precision=bfloat16"),
            "profile": self.profile,
            "grid_steps": lambda: self.steps_of("grid", 16_384),
            "marine_nav_decisions": lambda: self.steps_of("marine_nav", 65_536),
        }

    def raw_curve(self) -> Any:
        """CartPole's steps from 128 environments to a million, a launch a step, observations,
        resets and flags written; beside them all of the processor's cores.
        """
        from operant.commands.bench.measuring import alternate
        from operant.commands.bench.sides import CudaEnvs, ProcessorEnvs
        from operant.trainer.envs.hosts import load_spec

        sizes = (4, 6) if self.dry else (128, 1024, 8192, 65_536, 2**20)
        curve = []
        for num_envs in sizes:
            sides = [
                CudaEnvs("cart_pole", num_envs, self.device, at_once=False),
                ProcessorEnvs(load_spec("cart_pole"), num_envs),
            ]
            results = alternate(sides, 2 if self.dry else 3, 0.01 if self.dry else 0.3)
            medians = [result["env_steps_per_s"]["median"] for result in results]
            curve.append({"num_envs": num_envs, "gpu_per_s": medians[0], "cpu_per_s": medians[1]})
        return {"curve": curve, "cpu": "all cores"}

    def trained_with(self, *overrides: str) -> Any:
        """PPO end to end with 4 epochs as `train_4_epochs` has it, but for `overrides`."""
        config = self.gpu.config(
            "ppo.num_epochs=4", f"total_env_steps={self.gpu.sizes.train_steps}",
            "evaluation.every_iterations=0", *overrides,
        )  # fmt: skip
        return self.gpu.trained(config)

    def profile(self) -> Any:
        """Where the time of an iteration goes, of 4 epochs and of 1: kernels, how many, gaps."""
        return {f"epochs_{n}": self._profiled(f"ppo.num_epochs={n}") for n in (4, 1)}

    def _profiled(self, *overrides: str) -> Any:
        config = self.gpu.config("total_env_steps=1000000000000", *overrides)
        experiment = self.gpu.experiment(config)
        telemetry = self.gpu.telemetry(experiment, None)
        self.gpu.loop(experiment, telemetry, 4)
        iterations = 2 if self.dry else 5
        activity = torch.profiler.ProfilerActivity
        on_gpu = self.device.type == "cuda"
        with torch.profiler.profile(activities=[activity.CUDA if on_gpu else activity.CPU]) as seen:
            self.gpu.loop(experiment, telemetry, iterations)
            self.gpu.wait()
        kind = torch.autograd.DeviceType.CUDA if on_gpu else torch.autograd.DeviceType.CPU
        spans = [
            (event.name, event.time_range.start, event.time_range.end)
            for event in seen.events()
            if event.device_type == kind
        ]
        return costs(spans, iterations)

    def steps_of(self, env: str, num_envs: int) -> Any:
        """Steps of agents a second, of worlds that are stepped alone, observations included."""
        from operant.commands.bench.sides import random_actions
        from operant.trainer.envs.hosts import load_spec
        from operant.trainer.envs.vector_on_gpu import CudaVectorEnv

        num_envs, steps = (3, 2) if self.dry else (num_envs, 200)
        envs = CudaVectorEnv(load_spec(env), num_envs, 1, device=self.device)
        out = envs.empty_transitions()
        envs.reset(out.obs)
        drawn = torch.from_numpy(random_actions(envs.spec, 8, envs.num_rows)).to(self.device)
        envs.step(drawn[0], out)
        self.gpu.wait()
        num_decisions = torch.zeros((), dtype=torch.int64, device=self.device)
        start = time.perf_counter()
        for i in range(steps):
            envs.step(drawn[i % len(drawn)], out)
            num_decisions += out.valid.sum()
        total = int(num_decisions)  # waits
        return {"decisions_per_s": total / (time.perf_counter() - start), "envs": num_envs}


def costs(spans: list[tuple[str, float, float]], iterations: int) -> dict[str, Any]:
    """The costs of an iteration, from `spans` (name, start, end) in microseconds on a device.

    A gap is time in which nothing ran, between the first start and the last end; `largest` are the
    three largest costs, gaps among them as one.
    """
    if not spans:
        return {"absent": "the profiler saw nothing"}
    us: dict[str, float] = {}
    count: dict[str, int] = {}
    gap_us, num_gaps, until = 0.0, 0, min(start for _, start, _ in spans)
    for name, start, end in sorted(spans, key=lambda span: span[1]):
        us[name] = us.get(name, 0.0) + end - start
        count[name] = count.get(name, 0) + 1
        gap_us += max(0.0, start - until)
        num_gaps += start > until
        until = max(until, end)
    each = [
        {"name": name[:160], "us": us[name] / iterations, "times": count[name] / iterations}
        for name in sorted(us, key=lambda name: -us[name])
    ]
    gaps = {"name": "gaps", "us": gap_us / iterations, "times": num_gaps / iterations}
    return {
        "iterations": iterations,
        "launches": len(spans) / iterations,
        "different": len(each),
        "iteration_us": (until - min(start for _, start, _ in spans)) / iterations,
        "gaps": gaps,
        "largest": sorted([*each, gaps], key=lambda cost: -cost["us"])[:3],
        "kernels": each[:12],
    }
