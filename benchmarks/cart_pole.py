"""PPO on CartPole end to end: operant against Stable-Baselines3, alternating, a process each.

Both have separate actor and critic of 64-64 tanh units and learn from each rollout in 4 epochs of 4
minibatches. Speed is env steps per second from the end of the first iteration to the end of the
last, everything included but the final evaluation; imports, compilation and the first iteration
stand apart as start-up. The return is the mean of 100 greedy episodes after training.

    python benchmarks/cart_pole.py [--pairs 3] [--sb3-envs 1 8] [--json FILE]

Stable-Baselines3 steps its environments one by one in Python. It is measured with one environment,
its default, and with the numbers given, each time with rollouts of 4096 env steps.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from measuring import machine, run_side, summary, versions, write_json

ROLLOUT_SIZE = 4096
EPISODES = 100


def operant_side(seed: int, env_steps: int) -> dict[str, Any]:
    """The preset cart_pole_ppo, with its page and its checkpoints."""
    start = time.perf_counter()
    from operant.shared import MetricsWriter
    from operant.trainer.checkpoints import latest_checkpoint
    from operant.trainer.config_file import load_config
    from operant.trainer.envs import load_spec
    from operant.trainer.evaluation import evaluate
    from operant.trainer.experiment import make_policy
    from operant.trainer.loop import train
    from operant.trainer.telemetry import METRICS

    overrides = [f"seed={seed}", "evaluation.num_episodes=0"]
    overrides += [f"total_env_steps={env_steps}"] if env_steps else []
    config = load_config("cart_pole_ppo", overrides)
    assert config.rollout_size == ROLLOUT_SIZE
    marks: list[tuple[float, int]] = []

    def report(values: Any, iteration: int, steps: int) -> None:
        if "loss/policy" in values:
            marks.append((time.perf_counter(), steps))

    with tempfile.TemporaryDirectory() as folder:
        page = MetricsWriter.create(Path(folder) / "page", "bench", METRICS, publish_interval_s=1)
        train(config, page, Path(folder) / "checkpoints", report=report)
        state = latest_checkpoint(Path(folder) / "checkpoints").state
    policy = make_policy(config)
    policy.load_state_dict(state["policy"])
    returns = evaluate(policy, load_spec(config.env), EPISODES, seed).returns
    return _result(start, marks, float(returns.mean()))


def sb3_side(seed: int, env_steps: int, num_envs: int) -> dict[str, Any]:
    start = time.perf_counter()
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.evaluation import evaluate_policy

    marks: list[tuple[float, int]] = []

    class Marks(BaseCallback):  # type: ignore[misc]
        def _on_rollout_start(self) -> None:
            if self.num_timesteps:
                marks.append((time.perf_counter(), self.num_timesteps))

        def _on_step(self) -> bool:
            return True

        def _on_training_end(self) -> None:
            marks.append((time.perf_counter(), self.num_timesteps))

    networks = {"pi": [64, 64], "vf": [64, 64]}
    model = PPO(
        "MlpPolicy",
        make_vec_env("CartPole-v1", n_envs=num_envs, seed=seed),
        n_steps=ROLLOUT_SIZE // num_envs,
        batch_size=ROLLOUT_SIZE // 4,
        n_epochs=4,
        learning_rate=lambda remaining: 2.5e-3 * remaining,
        gamma=0.98,
        gae_lambda=0.95,
        policy_kwargs={"net_arch": networks, "activation_fn": torch.nn.Tanh},
        seed=seed,
        device="cpu",
    )
    model.learn(env_steps, callback=Marks())
    test_envs = make_vec_env("CartPole-v1", n_envs=10, seed=1000 + seed)
    mean, _ = evaluate_policy(model, test_envs, EPISODES, deterministic=True, warn=False)
    return _result(start, marks, float(mean))


def _result(start: float, marks: list[tuple[float, int]], mean_return: float) -> dict[str, Any]:
    (first_s, first_steps), (last_s, last_steps) = marks[0], marks[-1]
    return {
        "env_steps_per_s": (last_steps - first_steps) / (last_s - first_s),
        "env_steps": last_steps,
        "startup_s": first_s - start,
        "mean_return": mean_return,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=3, help="rounds; each runs every side once")
    parser.add_argument("--sb3-envs", type=int, nargs="*", default=[1, 8])
    parser.add_argument("--sb3-env-steps", type=int, default=100_000)
    parser.add_argument("--json", help="also write everything to this file")
    parser.add_argument("--side", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.side:
        name, *numbers = arguments.side
        side = {"operant": operant_side, "sb3": sb3_side}[name]
        print(json.dumps(side(*map(int, numbers))))
        return

    sides = {"operant": ["operant", "{seed}", "0"]}
    for num_envs in arguments.sb3_envs:
        name = f"stable-baselines3, {num_envs} envs"
        sides[name] = ["sb3", "{seed}", str(arguments.sb3_env_steps), str(num_envs)]
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in sides}
    for seed in range(1, arguments.pairs + 1):
        for name, side in sides.items():
            words = [word.format(seed=seed) for word in side]
            results[name].append(result := run_side(__file__, "--side", *words))
            print(
                f"{name:<30} seed {seed}  {result['env_steps_per_s']:>10,.0f} env steps/s  "
                f"return {result['mean_return']:.1f} after {result['env_steps']:,} env steps  "
                f"start-up {result['startup_s']:.1f} s",
                flush=True,
            )

    speeds = {
        name: summary([run["env_steps_per_s"] for run in runs]) for name, runs in results.items()
    }
    ours = speeds["operant"]["median"]
    for name, speed in speeds.items():
        print(f"{name:<30} median {speed['median']:>10,.0f}/s  ratio {ours / speed['median']:.1f}")
    about = {**machine(), **versions("torch", "numba", "stable-baselines3", "gymnasium")}
    write_json(arguments.json, {"machine": about, "speeds": speeds, "runs": results})


if __name__ == "__main__":
    main()
