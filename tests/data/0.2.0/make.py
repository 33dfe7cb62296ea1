"""Makes the archives beside it, with the operant that Python imports: see README.md."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from operant.shared.find_runs import list_runs
from operant.shared.lock import RECORDER, lock_holder
from operant.shared.ranks import read_status
from operant.shared.run_folder import Run

SMALL = ("policy.hidden_sizes=[16, 16]", "num_threads=1", "evaluation.num_episodes=5",
         "checkpoint.keep=1")  # fmt: skip
REPLAY = (*SMALL, "replay.capacity=2000", "num_envs=8", "rollout_steps=8",
          "evaluation.every_env_steps=1000")  # fmt: skip
ON_POLICY = (*SMALL, "num_envs=8", "rollout_steps=32", "evaluation.every_iterations=20",
             "checkpoint.every_iterations=20")  # fmt: skip
ENDLESS = "total_env_steps=100_000_000"  # ended by a signal within the first hour of it

OWN_LOOP = """
import math, sys, time
from pathlib import Path
import operant
from operant.shared.lock import RECORDER, lock_holder

dies = sys.argv[1] == "dies"
options = {"id": "job-2", "resume": "allow"} if dies else {}
run = operant.init(name="own_loop", config={"lr": 3e-4, "layers": [64, 64]}, **options)
while not lock_holder(Path(run.dir, "lock"), RECORDER, 1):
    time.sleep(0.01)
for step in range(1, 301):
    values = {"loss/policy": 1 / step, "episode/return": math.nan if step == 100 else step % 50}
    operant.log(values, step=10 * step)
    if step == 200:
        operant.log({"note": "two thirds"})
if dies:
    print("all is logged", flush=True)
    time.sleep(3600)
operant.finish(exit_code=3)
"""


def train(*arguments: str, until: int | None, end: signal.Signals = signal.SIGINT) -> Run:
    """Train until `until` iterations are done and end it by a signal; None: to its end."""
    config, *settings = arguments
    options = [word for setting in settings for word in ("--set", setting)]
    known = set(list_runs())
    process = subprocess.Popen([sys.executable, "-m", "operant", "train", config, *options])
    if until is not None:
        while not (new := set(list_runs()) - known):
            time.sleep(0.01)
        (run,) = new
        while (read_status(run).iteration or 0) < until:
            time.sleep(0.001)
        end_run(run, process, end)
    process.wait()
    (run,) = set(list_runs()) - known
    return run


def own_loop(word: str) -> Run:
    known = set(list_runs())
    process = subprocess.Popen([sys.executable, "-c", OWN_LOOP, word], stdout=subprocess.PIPE)
    process.stdout.readline()
    (run,) = set(list_runs()) - known
    if word == "dies":
        end_run(run, process, signal.SIGKILL)
    process.wait()
    return run


def end_run(run: Run, process: subprocess.Popen, end: signal.Signals) -> None:
    """With SIGKILL the recorder goes first, so that what it would still write is missing."""
    if end == signal.SIGKILL:
        os.kill(lock_holder(run.lock_path, RECORDER, 1).pid, end)
    process.send_signal(end)


def pack(name: str, run: Run, pages: Path) -> None:
    """The run's folder with its newest checkpoint, and its page if that is still in memory."""
    while lock_holder(run.lock_path, RECORDER, 1):
        time.sleep(0.1)
    for old in sorted(run.checkpoint_folder.glob("*.pt"))[:-1]:
        old.unlink()
    with tarfile.open(Path(__file__).with_name(f"{name}.tar.xz"), "w:xz", preset=9) as archive:
        archive.add(run.folder, f"runs/{run.id}", filter=anonymous)
        page = pages / f"{run.id}.0.page"
        if page.exists():
            archive.add(page, f"pages/{page.name}", filter=anonymous)
    status = read_status(run)
    print(json.dumps({name: [run.id, status.state, status.iteration, status.env_steps]}))


def anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="operant-0.2.0-") as folder:
        os.chdir(folder)
        pages = Path(folder, "pages")
        os.environ |= {"OPERANT_HOME": folder, "OPERANT_PAGES": str(pages)}
        pack("ppo", train("cart_pole_ppo_smoke", "num_threads=1", until=None), pages)
        memory = ("cart_pole_memory_ppo", *ON_POLICY, "policy.memory.size=16", ENDLESS)
        pack("recurrent_ppo", train(*memory, until=30), pages)
        pqn = ("cart_pole_pqn", *ON_POLICY, "pqn.num_minibatches=4", ENDLESS)
        pack("pqn", train(*pqn, until=30), pages)
        dqn = ("cart_pole_dqn", *REPLAY, "checkpoint.every_iterations=20", ENDLESS)
        pack("dqn", train(*dqn, until=50, end=signal.SIGKILL), pages)
        sac = ("pendulum_sac", *REPLAY, "sac.warmup_env_steps=500", "sac.batch_size=64")
        pack("sac", train(*sac, "total_env_steps=3200", until=None), pages)
        rainbow = ("cart_pole_rainbow", *REPLAY, "checkpoint.every_iterations=20", ENDLESS)
        pack("rainbow", train(*rainbow, until=50), pages)
        pack("own_loop_failed", own_loop("fails"), pages)
        pack("own_loop_killed", own_loop("dies"), pages)


if __name__ == "__main__":
    main()
