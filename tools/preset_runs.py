"""Train every preset for a moment and write its rows as CSV, for `tools/compare_runs.py`.

    python tools/preset_runs.py FOLDER [PRESET ...]

Each run has one thread, seed 1, at least three iterations and, off policy, some hundred updates.
A preset whose CSV is in the folder is left out, so that the command can be repeated.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

NUM_ITERATIONS = 3
OFF_POLICY_ENV_STEPS = 512  # after the warm-up


def env_steps(preset: str) -> int:
    """Enough env steps that the preset updates its policy."""
    from operant.trainer.config.files import load_config

    config = load_config(preset)
    iteration = config.num_envs * config.rollout_steps
    section = getattr(config, config.algorithm, None)
    warmup = getattr(section, "warmup_env_steps", None)
    if warmup is None:
        return NUM_ITERATIONS * iteration
    return int(warmup) + max(OFF_POLICY_ENV_STEPS, NUM_ITERATIONS * iteration)


def train(preset: str, output: Path) -> str:
    """Train the preset in a home of its own and export its rows; "" or what went wrong."""
    command = Path(sys.executable).with_name("operant")
    settings = [
        f"total_env_steps={env_steps(preset)}",
        "num_threads=1",
        "evaluation.num_episodes=2",
    ]
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "OPERANT_HOME": home}
        steps = (
            ["train", preset, "--name", "short", *(f"--set={setting}" for setting in settings)],
            ["export", "short", "-o", str(output)],
        )
        for arguments in steps:
            done = subprocess.run(
                [command, *arguments], env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode:
                return (done.stderr.strip() or "no message").splitlines()[-1]
    return ""


def main() -> int:
    """Train the named presets, or all; the exit code."""
    import operant.configs

    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    configs = Path(operant.configs.__file__).parent
    presets = sys.argv[2:] or sorted(path.stem for path in configs.glob("*.toml"))
    failed = 0
    for preset in presets:
        output = folder / f"{preset}.csv"
        if output.exists():
            continue
        problem = train(preset, output.absolute())
        failed += bool(problem)
        print(f"{preset}: {problem or 'done'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
