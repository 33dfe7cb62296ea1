"""The side of `cart_pole.py` that runs operant's preset, with its page and its checkpoints."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from results import EPISODES, print_result

START_S = time.perf_counter()


def main(seed: int, env_steps: int) -> None:
    """Train for `env_steps`, or for as long as the preset says where that is 0."""
    from operant.shared import MetricsWriter
    from operant.trainer.config.files import load_config
    from operant.trainer.config.metrics import metrics_of
    from operant.trainer.envs.hosts import load_spec
    from operant.trainer.experiment.checkpoints import latest_checkpoint
    from operant.trainer.experiment.evaluation import evaluate
    from operant.trainer.experiment.untrained import make_policy
    from operant.trainer.running.loop import train

    settings = [f"seed={seed}", "evaluation.num_episodes=0"]
    settings += [f"total_env_steps={env_steps}"] if env_steps else []
    config = load_config("cart_pole_ppo", settings)
    marks: list[tuple[float, int]] = []

    def report(values: Any, iteration: int, steps: int) -> None:
        if "loss/policy" in values:
            marks.append((time.perf_counter(), steps))

    with tempfile.TemporaryDirectory() as folder:
        page = MetricsWriter.create(
            Path(folder) / "page", "bench", metrics_of(load_config()), publish_interval_s=1
        )
        train(config, page, Path(folder) / "checkpoints", report=report)
        state = latest_checkpoint(Path(folder) / "checkpoints").state
    policy = make_policy(config)
    policy.load_state_dict(state["policy"])
    returns = evaluate(policy, load_spec(config.env), EPISODES, seed).returns
    print_result(START_S, marks, config.ppo.num_epochs, float(returns.mean()), "operant-rl")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
