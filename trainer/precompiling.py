"""What learns, compiled by a second process while this one compiles what collects.

Numba compiles one function at a time in a process. So where the machine code of the learning loops
is not on disk yet, a helper calls them on a tiny rollout of zeros, whose types are those of the
run's own; that leaves their machine code on disk, from where the run loads it before it first
learns. Without a helper, or when it fails, the run compiles them itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from ..shared.python_program import python_program
from .config import TrainConfig
from .envs.spec import EnvSpec
from .kernels.advantages import gae_loop
from .kernels.heads import head_of
from .kernels.learning import compile_learn
from .policy import ActorCritic
from .threads import TICK_S, available_cores

PATIENCE_S = 120.0  # for a helper that neither ends nor dies


class Precompiling:
    """A helper, from its start until the run learns or ends."""

    def __init__(self, helper: subprocess.Popen[bytes] | None = None) -> None:
        self._helper = helper
        self._deadline_s = time.monotonic() + PATIENCE_S

    @classmethod
    def of(cls, config: TrainConfig, spec: object, policy: ActorCritic) -> Precompiling:
        """Start a helper where it saves time: the other core has nothing to do while this process
        compiles what collects, which it does for operant's own environments only.
        """
        if not isinstance(spec, EnvSpec) or available_cores() < 2:
            return cls()
        loops = (gae_loop, compile_learn(head_of(policy.distribution)))
        if all(map(has_machine_code, loops)):
            return cls()
        return cls(start_helper(config))

    def wait(self, tick: Callable[[], None]) -> None:
        """Until the helper is done, or has failed; `tick` is called meanwhile."""
        while self._helper and self._helper.poll() is None:
            if time.monotonic() > self._deadline_s:
                break
            tick()
            try:
                self._helper.wait(TICK_S)
            except subprocess.TimeoutExpired:
                continue
        self.close()

    def close(self) -> None:
        """Leave no helper behind."""
        if self._helper:
            self._helper.kill()
            self._helper.communicate()  # closes its pipe, and takes its exit code
            self._helper = None


def has_machine_code(loop: Any) -> bool:
    """Whether `loop` is compiled, here or on disk from these very sources, whatever its types."""
    if loop.signatures:
        return True
    index = f"*.{loop.py_func.__qualname__}-*.nbi"
    return any(Path(loop.stats.cache_path).glob(index))


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
    from .envs import load_any_spec
    from .experiment import make_policy
    from .kernels.learning import CompiledPPO
    from .normalizers import RewardNormalizer
    from .rollout import Rollout
    from .threads import Threads

    spec = load_any_spec(config.env, config.gymnasium.vectorization)
    policy = make_policy(config)
    ppo = config.ppo.model_copy(update={"num_epochs": 1})
    rollout = Rollout.empty(spec, 2, ppo.num_minibatches, policy.distribution)
    rewards = rollout.rewards
    if config.normalization.reward:
        normalizer = RewardNormalizer(ppo.num_minibatches, ppo.gamma)
        rewards = normalizer.normalized(rewards, rollout.dones, rollout.valid)
    with closing(Threads(1)) as threads:
        CompiledPPO(policy, ppo, threads, seed=0).update(rollout, rewards, 0.0)


def main(lines: Iterable[bytes]) -> None:
    config = TrainConfig.model_validate_json(next(iter(lines)))
    threading.Thread(target=_end_with_the_run, daemon=True).start()
    compile_learning(config)


def _end_with_the_run() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main(sys.stdin.buffer)
