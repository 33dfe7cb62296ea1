"""Any environment of Gymnasium's, as by `operant train gymnasium:Acrobot-v1`."""

import sys

from operant.cli import cli

env_steps = sys.argv[1] if len(sys.argv) > 1 else "100_000"
settings = ["env=gymnasium:Acrobot-v1", "num_envs=16", f"total_env_steps={env_steps}"]
cli(["train", *(word for setting in settings for word in ("--set", setting))])
