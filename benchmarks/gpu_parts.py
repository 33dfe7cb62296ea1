"""The parts of `gpu.py`: each measures one thing; at tiny sizes on the processor as well."""

from __future__ import annotations

import contextlib
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

CART_POLE = (
    "ppo.learning_rate=2.5e-3", "ppo.learning_rate_schedule=linear", "ppo.gamma=0.98",
    "ppo.num_minibatches=4", "evaluation.num_episodes=100", "checkpoint.every_iterations=0",
)  # fmt: skip
RETURN_BAR = 495

# Reads what a monitor reads, as often as it does, until it is ended.
WATCHER = """
import sys, time
sys.path[:0] = sys.argv[2].split(":")
from pathlib import Path
from operant.shared import MetricsReader
from operant.shared.rows.curves import Curves
reader = MetricsReader.attach(Path(sys.argv[1]))
curves = Curves(None, reader)
print("watching", flush=True)
while True:
    reader.read(), curves.history(), reader.events()
    time.sleep(0.1)
"""


class Rollouts:
    """Collects rollouts with the configuration's policy by the code of a GPU, also on the
    processor.
    """

    def __init__(self, name: str, config: Any, device: Any) -> None:
        self.name, self._config, self._device = name, config, device

    def prepare(self) -> None:
        from operant.trainer.experiment.build import device_experiment

        self._experiment = device_experiment(self._config, self._device)
        for _ in range(3):
            self._rollout()

    def measure(self, seconds: float) -> Any:
        from operant.commands.bench.measuring import timed

        return timed(self._rollout, seconds)

    def _rollout(self) -> int:
        from operant.commands.bench.sides import wait_for

        graphs: Any = self._experiment.executor
        with graphs.prepared():
            graphs.run("collect", self._experiment.collect)
        wait_for(self._device)
        return int(self._config.rollout_size)


class Sizes:
    """Sizes of the measurement, or of a dry run."""

    def __init__(self, dry: bool) -> None:
        self.few_envs, self.many_envs = (4, 6) if dry else (8192, 2**20)
        self.rollout_envs, self.rollout_steps = (4, 4) if dry else (16_384, 32)
        self.repeats, self.seconds = (2, 0.01) if dry else (5, 0.5)
        self.train_steps = 4 * 4 * 6 if dry else 2**28  # with four epochs; more with one
        self.most_train_s = 40  # of one training; what is cut short says so
        self.pairs, self.loop_iterations = (1, 3) if dry else (5, 300)
        self.profiled_iterations = 3 if dry else 50
        self.huge_envs, self.huge_steps = (4, 4) if dry else (2**24, 2048)


class Gpu:
    """The parts: each returns what it measured."""

    def __init__(self, dry: bool, routes: Path | None = None) -> None:
        """`routes` is the folder that TinyPhysics comes with, where it is to be measured."""
        import torch

        self.sizes, self.dry, self.routes = Sizes(dry), dry, routes
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        torch.set_num_threads(1)  # more only wait for each other over work this small

    def parts(self) -> dict[str, Callable[[], Any]]:
        from gpu_bars import Bars
        from gpu_off_policy import OffPolicyParts

        return {
            "equality": self.equality,
            "raw_few_envs": lambda: self.raw(self.sizes.few_envs),
            "raw_many_envs": lambda: self.raw(self.sizes.many_envs),
            "rollout": self.rollout,
            "train_1_epoch": lambda: self.train(1),
            "train_4_epochs": lambda: self.train(4),
            "overlap": self.overlap,
            "synchronisation": self.synchronisation,
            "same_seed": self.same_seed,
            "out_of_memory": self.out_of_memory,
            "tinyphysics": self.tinyphysics,
            **Bars(self).parts(),
            **OffPolicyParts(self).parts(),
        }

    def config(self, *overrides: str) -> Any:
        from operant.trainer.config.files import load_config

        sizes = (f"num_envs={self.sizes.rollout_envs}", f"rollout_steps={self.sizes.rollout_steps}")
        return load_config("cart_pole_ppo", [*CART_POLE, *sizes, *overrides])

    def equality(self) -> Any:
        """The kernels against the processor's environments, for every environment."""
        import kernel_checks

        from operant.trainer.envs.names import ENV_NAMES

        device, steps = self.device.type, 40 if self.dry else 600
        for name in ENV_NAMES:
            kernel_checks.check_every_step(
                name, device, num_envs=6 if self.dry else 256, steps=steps
            )
            kernel_checks.check_many_steps(name, device)
        return {"envs": list(ENV_NAMES), "rtol": kernel_checks.RTOL, "atol": kernel_checks.ATOL}

    def raw(self, num_envs: int) -> Any:
        """CartPole's steps, with observations, resets and flags written; actions on the device."""
        from operant.commands.bench.measuring import alternate
        from operant.commands.bench.sides import CudaEnvs

        sides = [CudaEnvs("cart_pole", num_envs, self.device, at_once) for at_once in (True, False)]
        return {
            "num_envs": num_envs,
            "results": alternate(sides, self.sizes.repeats, self.sizes.seconds),
        }

    def rollout(self) -> Any:
        """Rollouts with the policy of 64-64, values included: step by step, and in one kernel."""
        from operant.commands.bench.measuring import alternate

        sides = [
            Rollouts(kind, self.config(f"rollout={kind}"), self.device)
            for kind in ("steps", "fused")
        ]
        results = alternate(sides, self.sizes.repeats, self.sizes.seconds)
        return {"num_envs": self.sizes.rollout_envs, "results": results}

    def train(self, num_epochs: int) -> Any:
        """PPO end to end: its speed without start-up, and the return it reaches."""
        answer = {}
        for kind in ("steps", "fused"):
            config = self.config(
                f"ppo.num_epochs={num_epochs}", f"rollout={kind}",
                f"total_env_steps={self.sizes.train_steps * 4 // num_epochs}",
                "evaluation.every_iterations=0",
            )  # fmt: skip
            answer[kind] = self.trained(config)
        return answer

    def overlap(self) -> Any:
        """PPO end to end with collecting and learning in turn, and on two streams."""
        answer = {}
        for num_epochs, on in itertools.product((1, 4), ("false", "true")):
            config = self.config(
                f"ppo.num_epochs={num_epochs}", f"overlap={on}", "evaluation.every_iterations=0",
                f"total_env_steps={self.sizes.train_steps // 2}",
            )  # fmt: skip
            answer[f"{num_epochs} epochs, overlap = {on}"] = self.trained(config)
        return answer

    def trained(self, config: Any) -> dict[str, Any]:
        """One run to its end, or as far as it comes in `most_train_s`."""
        start, marks, returns = time.perf_counter(), [], []
        with self.page() as metrics:
            experiment = self.experiment(config)
            telemetry = self.telemetry(experiment, metrics)
            while experiment.num_started < config.num_iterations:
                if time.perf_counter() - start > self.sizes.most_train_s:
                    break
                for values in experiment.iterate(telemetry.stopwatch, wait=False):
                    publish(telemetry, values)
                    marks.append((time.perf_counter(), experiment.env_steps))
                    returns.append(values.get("episode/return"))
            for values in experiment.finish():
                publish(telemetry, values)
                marks.append((time.perf_counter(), experiment.env_steps))
        evaluated = experiment.evaluate(config.evaluation.num_episodes)
        # Three iterations are start-up: the first compiles, the second and third capture and warm.
        (first_s, first), (last_s, last) = marks[min(3, len(marks) - 2)], marks[-1]
        mean_return = float(evaluated.returns.mean())
        return {
            "env_steps_per_s": (last - first) / max(last_s - first_s, 1e-9),
            "env_steps": last,
            "startup_s": first_s - start,
            "seconds": last_s - start,
            "cut_short": experiment.iteration < config.num_iterations,
            "mean_return": mean_return,
            "return_reached": mean_return >= RETURN_BAR,
            "last_values": values,
        }

    def synchronisation(self) -> Any:
        """How often the loop waits for the GPU; then its speed watched and alone, in turn."""
        from synchronisations import waits_counted

        config = self.config("total_env_steps=1000000000000")
        with self.page() as metrics:
            experiment = self.experiment(config)
            telemetry = self.telemetry(experiment, metrics)
            self.loop(experiment, telemetry, 4)  # captures and warms
            iterations = self.sizes.profiled_iterations
            waits = waits_counted(
                lambda: self.iterations(experiment, telemetry, iterations), self.device
            )
            speeds: dict[bool, list[float]] = {True: [], False: []}
            for pair in range(self.sizes.pairs):
                for watched in (True, False) if pair % 2 else (False, True):
                    with self.watched() if watched else contextlib.nullcontext():
                        seconds = self.loop(experiment, telemetry, self.sizes.loop_iterations)
                    speeds[watched].append(
                        self.sizes.loop_iterations * config.rollout_size / seconds
                    )
        ratios = [w / a for w, a in zip(speeds[True], speeds[False], strict=True)]
        return {
            "synchronisations": {"iterations": iterations, **waits},
            "watched_per_alone": statistics.median(ratios),
            "ratios": ratios,
            "env_steps_per_s": {"watched": speeds[True], "alone": speeds[False]},
        }

    def loop(self, experiment: Any, telemetry: Any, iterations: int) -> float:
        """Seconds of so many iterations, to the end of the last."""
        start = time.perf_counter()
        self.iterations(experiment, telemetry, iterations)
        for values in experiment.finish():
            publish(telemetry, values)
        return time.perf_counter() - start

    def iterations(self, experiment: Any, telemetry: Any, iterations: int) -> None:
        """Begin so many, without waiting for the last ones."""
        for _ in range(iterations):
            for values in experiment.iterate(telemetry.stopwatch, wait=False):
                publish(telemetry, values)

    def wait(self) -> None:
        import torch

        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def same_seed(self) -> Any:
        """Two runs from one seed, bit for bit."""
        weights = []
        for _ in range(2):
            experiment = self.experiment(self.config("seed=5"))
            self.loop(experiment, self.telemetry(experiment, None), 8)
            weights.append(experiment.policy.flat_parameters.clone())
        return {"identical": bool((weights[0] == weights[1]).all())}

    def out_of_memory(self) -> Any:
        """The error of a rollout that is too large for any GPU."""
        import torch

        from operant.trainer.machine.device import out_of_memory_message

        if self.device.type != "cuda":
            return {"absent": "no GPU whose memory could be short"}
        sizes = (f"num_envs={self.sizes.huge_envs}", f"rollout_steps={self.sizes.huge_steps}")
        config = self.config(*sizes)
        try:
            self.experiment(config)
        except torch.cuda.OutOfMemoryError as error:
            return {"message": out_of_memory_message(error, config.num_envs, config.rollout_steps)}
        return {"message": None}

    def tinyphysics(self) -> Any:
        """TinyPhysics: rollouts over its routes and the PPO update, where its data are given."""
        if self.routes is None:
            return {"absent": "no folder is given with --tinyphysics"}
        from tinyphysics_gpu import measured

        return measured(self.routes, 4 if self.dry else 5000)

    def experiment(self, config: Any) -> Any:
        from operant.trainer.experiment.build import device_experiment

        return device_experiment(config, self.device)

    def telemetry(self, experiment: Any, metrics: Any) -> Any:
        from operant.trainer.running.telemetry import Telemetry

        return Telemetry(metrics or NoPage(), experiment)

    @contextlib.contextmanager
    def page(self) -> Iterator[Any]:
        """A page on memory, as every run has one."""
        from operant.shared import MetricsWriter
        from operant.trainer.config.files import load_config
        from operant.trainer.config.metrics import metrics_of

        root = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        with tempfile.TemporaryDirectory(dir=root) as folder:
            self._page = Path(folder) / "page"
            yield MetricsWriter.create(
                self._page, "gpu", metrics_of(load_config()), publish_interval_s=1
            )

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Someone reads the page ten times a second, from another process."""
        paths = ":".join(path for path in sys.path if path)
        process = subprocess.Popen(
            [sys.executable, "-c", WATCHER, str(self._page), paths], stdout=subprocess.PIPE
        )
        try:
            assert process.stdout
            assert process.stdout.readline()
            yield
        finally:
            process.kill()
            process.wait()


def publish(telemetry: Any, row: dict[str, float]) -> None:
    """Publish the metrics of an iteration with its speed and phases, as training does."""
    from operant.trainer.experiment.intervals import NOTHING

    telemetry.after(row, NOTHING)
    telemetry.publish(row)


class NoPage:
    """Where what is published goes nowhere."""

    def publish(self, *_: Any) -> None:
        pass

    def event(self, *_: Any) -> None:
        pass

    def phase(self, *_: Any) -> None:
        pass

    def beat(self) -> None:
        pass
