"""Compiles the learning loops in a second process, while this one compiles the collecting ones.

Numba compiles one function at a time in a process. So where the machine code of the learning loops
is not on disk yet, a helper calls them on a tiny rollout of zeros, whose types are those of the
run's own; that leaves their machine code on disk, from where the run loads it before it first
learns. Without a helper, or when it fails, the run compiles them itself.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import partial
from typing import Any

from ...shared.processes.python_program import python_program
from ..algorithms.compiled_ppo.learning import CompiledUpdate, compile_learn, gae_loop
from ..algorithms.ppo import PPO
from ..config import TrainConfig
from ..config.from_values import make_config
from ..envs.hosts import describe
from ..jit.machine_code import is_on_disk
from ..machine.threads import TICK_S, Threads
from ..memory.rollout import Rollout
from ..policies.compiled.heads import head_of
from .untrained import learner_settings, make_policy

PATIENCE_S = 120.0  # for a helper that neither ends nor dies


class Precompiling:
    """A helper, from its start until the run learns or ends."""

    def __init__(self, helper: subprocess.Popen[bytes] | None = None) -> None:
        self.helper = helper
        self._deadline_s = time.monotonic() + PATIENCE_S

    @classmethod
    def of(cls, config: TrainConfig, policy: Any) -> Precompiling:
        """Start a helper where the machine code of what learns is not on disk."""
        loops = (gae_loop, compile_learn(head_of(policy.distribution)))
        if all(map(has_machine_code, loops)):
            return cls()
        return cls(start_helper(config))

    def wait(self, tick: Callable[[], None]) -> None:
        """Wait until the helper is done, or has failed; `tick` is called meanwhile."""
        while self.helper and self.helper.poll() is None:
            if time.monotonic() > self._deadline_s:
                break
            tick()
            try:
                self.helper.wait(TICK_S)
            except subprocess.TimeoutExpired:
                continue
        self.close()

    def close(self) -> None:
        """Leave no helper behind."""
        if self.helper:
            self.helper.kill()
            self.helper.communicate()  # closes its pipe, and takes its exit code
            self.helper = None


def is_ready(loop: Any) -> bool:
    """Whether this process can call `loop` at once; with NUMBA_DISABLE_JIT it always can."""
    return bool(getattr(loop, "signatures", True))


def has_machine_code(loop: Any) -> bool:
    """Whether `loop` is compiled, here or on disk from this very code, whatever its types."""
    return is_ready(loop) or is_on_disk(loop)


def start_helper(config: TrainConfig) -> subprocess.Popen[bytes] | None:
    """A process that compiles what `config` learns with. It ends with this one: its standard input
    is a pipe that then has no other end.
    """
    python = python_program()
    if python is None:
        return None
    try:
        helper = subprocess.Popen(
            [python, "-P", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the run
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )
    except OSError:
        return None
    assert helper.stdin is not None
    try:
        helper.stdin.write(config.model_dump_json().encode() + b"\n")
        helper.stdin.flush()
    except OSError:  # it died at once, which `wait` sees
        pass
    return helper


def compile_learning(config: TrainConfig) -> None:
    """Make one small update of a policy as the run's, and forget it."""
    num_envs = config.algorithm_section.num_minibatches
    tiny = {"num_envs": num_envs, "rollout_steps": 2}
    ppo = {**config.algorithm_section.model_dump(), "num_epochs": 1}
    config = make_config({**config.model_dump(), **tiny, "ppo": ppo})
    spec = describe(config)
    policy: Any = make_policy(config, spec)
    rollout = Rollout.empty(spec.obs_size, 2, config.num_rows, policy)
    rollout.has_values = True
    with closing(Threads(1)) as threads:
        update = partial(CompiledUpdate, threads=threads)
        PPO(learner_settings(config), policy, seed=0, executor=update).update(rollout, 0.0)


def main(lines: Iterable[bytes]) -> None:
    config = make_config(json.loads(next(iter(lines))))
    threading.Thread(target=_end_with_the_run, daemon=True).start()
    compile_learning(config)


def _end_with_the_run() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main(sys.stdin.buffer)
