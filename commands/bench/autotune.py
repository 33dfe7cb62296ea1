"""Sizes for a machine by measurement: environments, workers, groups, then pieces of minibatches.

All candidates are measured once. The fastest are then measured again, in turn with what is
configured, until one is faster beyond doubt or the rounds are over.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...shared.errors import OperantError
from ...trainer.algorithms.gradient import num_shared
from ...trainer.config import TrainConfig
from ...trainer.envs.workers.dividing import candidates, num_cores
from ...trainer.envs.workers.plan import AUTO
from ...trainer.experiment.build import make_experiment
from ...trainer.experiment.plan import plan, this_machine
from ...trainer.machine.stopwatch import Stopwatch
from .measuring import BusyCores
from .sides import warm_up

FACTORS = (0.25, 0.5, 1, 2, 4)  # of the configured environments
SHORT_STEPS = 16  # of a rollout that only times collecting
MOST_PIECES = 8  # of a minibatch
LEAST_GAIN = 1.05  # over what is configured: less is not worth a change
FINALISTS = 3  # that are measured more than once
LEAST_ROUNDS, MOST_ROUNDS = 3, 8
# 97.5 % quantiles of Student's t distribution, by the number of rounds.
QUANTILES = {3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365}
WARM_UP = 2  # iterations: compilation, graphs, first resets

Load = Callable[[Sequence[str]], TrainConfig]


class Gain(NamedTuple):
    """How many times as fast as what is configured: the mean, and the ends of its 95 % interval."""

    mean: float
    low: float
    high: float

    @classmethod
    def over(cls, first: Sequence[float], other: Sequence[float]) -> Gain:
        """The gain of the `other` speeds; item i of both was measured in round i."""
        logs = [math.log(b / a) for a, b in zip(first, other, strict=True)]
        mean = statistics.fmean(logs)
        margin = QUANTILES[len(logs)] * statistics.stdev(logs) / math.sqrt(len(logs))
        return cls(*map(math.exp, (mean, mean - margin, mean + margin)))


@dataclass
class Tried:
    """Settings, and their speeds in env steps a second, one for each round; `failure` says why they
    could not be measured.
    """

    settings: tuple[str, ...]
    phase: str
    speeds: list[float] = field(default_factory=list)
    gain: Gain | None = None  # over what is configured, after `LEAST_ROUNDS`
    failure: str = ""

    @property
    def env_steps_per_s(self) -> float:
        return statistics.median(self.speeds) if self.speeds else 0.0

    @property
    def is_surely_faster(self) -> bool:
        return self.gain is not None and self.gain.low > 1 and self.gain.mean > LEAST_GAIN

    def as_json(self) -> dict[str, Any]:
        gain = self.gain and self.gain._asdict()
        return {**vars(self), "gain": gain, "env_steps_per_s": self.env_steps_per_s}


class Autotune:
    """Tries settings that leave alone what is learned from: as many env steps in an iteration, and
    as large minibatches, as configured.
    """

    def __init__(
        self,
        load: Load,
        seconds: float,
        report: Callable[[Tried], None] = lambda _: None,
        fixed: Collection[str] = (),
    ) -> None:
        """`load` gives the configuration with `key=value` overrides on top; raises ConfigError.
        Each measurement takes about `seconds` once it is warm; `report` gets a candidate after its
        first and after its last. The keys that are `fixed` stay as they are.
        """
        self._load, self._seconds, self._report = load, seconds, report
        self._fixed = set(fixed)
        self.tried: list[Tried] = []
        self.busy_cores = 0.0  # the most that other programs used in a phase

    def run(self) -> tuple[str, ...]:
        """The fastest settings; none where no others are faster beyond doubt. Raises ConfigError
        where the configuration does not hold, OperantError where nothing could be measured.
        """
        config = self._load(())
        chosen = self._fastest("collect", self._free(collecting(config)), _shortened)
        config = self._load(chosen)
        return chosen + self._fastest("learn", self._free(learning(config)), _once_over, chosen)

    def _free(self, candidates: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
        """Those that leave alone what is fixed, as the first does: what is configured. Workers that
        are fixed go with any number of environments.
        """
        fixed_workers = {key for key in self._fixed if key.startswith("workers.")}
        others = self._fixed - fixed_workers
        free = [
            tuple(each for each in settings if _key(each) not in fixed_workers)
            for settings in candidates
            if others.isdisjoint(map(_key, settings))
        ]
        return list(dict.fromkeys(free))

    def _fastest(
        self,
        phase: str,
        settings: Sequence[tuple[str, ...]],
        quick: Callable[[TrainConfig], tuple[str, ...]],
        before: tuple[str, ...] = (),
    ) -> tuple[str, ...]:
        """The first of `settings` is what is configured, which others must be faster than."""

        def measure(tried: Tried) -> None:
            whole = (*before, *tried.settings)
            try:
                config = self._load((*whole, *quick(self._load(whole))))
                tried.speeds.append(speed_of(config, phase, self._seconds))
            except (OperantError, RuntimeError, MemoryError) as error:  # as out of a GPU's memory
                tried.failure = str(error).partition("\n")[0]

        found = [Tried(each, phase) for each in settings]
        busy = BusyCores()
        for tried in found:
            measure(tried)
            self._report(tried)
        self.tried += found
        if found and all(tried.failure for tried in found):
            raise OperantError(f"nothing could be measured: {found[0].failure}")
        chosen = self._race(found, measure).settings if found else ()
        self.busy_cores = max(self.busy_cores, busy.others())
        return chosen

    def _race(self, found: Sequence[Tried], measure: Callable[[Tried], None]) -> Tried:
        """The fastest of those that are faster than the first beyond doubt; else the first."""
        first, *others = found
        if first.failure:  # there is nothing to compare others with
            return max(others, key=lambda tried: tried.env_steps_per_s)
        others = [tried for tried in others if tried.env_steps_per_s > first.env_steps_per_s]
        left = sorted(others, key=lambda tried: -tried.env_steps_per_s)[:FINALISTS]
        for number in range(2, MOST_ROUNDS + 1):
            for tried in [first, *left][:: 1 if number % 2 else -1]:
                measure(tried)
            left = [tried for tried in left if not tried.failure]
            if not left or first.failure:
                break
            if number < LEAST_ROUNDS:
                continue
            gains = [Gain.over(first.speeds, tried.speeds) for tried in left]
            for tried, gain in zip(left, gains, strict=True):
                tried.gain = gain
            # Those that may still be worth a change, and may still be the fastest.
            enough = max(LEAST_GAIN, *(gain.low for gain in gains))
            left = [tried for tried, gain in zip(left, gains, strict=True) if gain.high >= enough]
            if not left or (len(left) == 1 and left[0].is_surely_faster):
                break
        for tried in (first, *others):
            if len(tried.speeds) > 1:
                self._report(tried)
        sure = [tried for tried in left if tried.is_surely_faster]
        return max(sure, key=lambda tried: tried.env_steps_per_s, default=first)


def _key(setting: str) -> str:
    return setting.partition("=")[0]


def collecting(config: TrainConfig) -> Iterator[tuple[str, ...]]:
    """What is configured, then numbers of environments with as many env steps in an iteration, with
    the workers and groups that fit each.
    """
    steps_of_all = config.num_envs * config.rollout_steps
    sizes = dict.fromkeys([1.0, *FACTORS])
    yield ()
    for factor in sizes:
        num_envs = int(config.num_envs * factor)
        if num_envs < 1 or steps_of_all % num_envs:
            continue
        sized: tuple[str, ...] = ()
        if factor != 1:
            sized = (f"num_envs={num_envs}", f"rollout_steps={steps_of_all // num_envs}")
            memory = config.policy.memory
            if memory.is_on and not memory.horizon:  # which is the rollout: it stays as long
                sized += (f"policy.memory.horizon={config.rollout_steps}",)
        if getattr(config, "workers", None) is None:
            if sized:
                yield sized
            continue
        for workers, groups in candidates(num_envs, AUTO, AUTO, num_cores(), num_envs):
            yield (*sized, f"workers.num_workers={workers}", f"workers.async_factor={groups}")


def learning(config: TrainConfig) -> Iterator[tuple[str, ...]]:
    """What is configured, whole minibatches, and pieces of them: gradients add up to the same. On
    the processor there are pieces anyway, so that only smaller ones are others.
    """
    section: Any = config.algorithm_section
    if not hasattr(section, "max_minibatch_size"):
        return
    whole = config.rollout_size // section.num_minibatches
    yield ()
    if section.max_minibatch_size:
        yield ("ppo.max_minibatch_size=0",)
    planned = plan(config, this_machine())
    in_pieces = planned.executor == "inline" and planned.update != "compiled"
    there = num_shared(whole) if in_pieces else 1
    pieces = 2 * there
    while pieces <= MOST_PIECES * there and whole % pieces == 0:
        yield (f"ppo.max_minibatch_size={whole // pieces}",)
        pieces *= 2


def _shortened(config: TrainConfig) -> tuple[str, ...]:
    """What makes iterations short without changing how a step is collected."""
    horizon = config.policy.memory.horizon if config.policy.memory.is_on else 0
    steps = horizon or min(config.rollout_steps, SHORT_STEPS)
    once = (f"{config.base_algorithm}.{key}=1" for key in _passes(config))
    return (f"rollout_steps={steps}", *once)


def _once_over(config: TrainConfig) -> tuple[str, ...]:
    return (f"{config.base_algorithm}.num_epochs=1",) if "num_epochs" in _passes(config) else ()


def _passes(config: TrainConfig) -> list[str]:
    fields = type(config.algorithm_section).model_fields
    return [key for key in ("num_epochs", "num_minibatches") if key in fields]


def speed_of(config: TrainConfig, phase: str, seconds: float) -> float:
    """Env steps a second of `collect` or `learn` over whole iterations, once they are warm."""
    endless = config.model_copy(update={"total_env_steps": 10**15})
    with closing(make_experiment(endless)) as experiment:
        warm_up(experiment, WARM_UP)
        stopwatch, env_steps, spent_s, elapsed_s = Stopwatch(), 0, 0.0, 0.0
        while not env_steps or elapsed_s < seconds:
            rows = list(experiment.iterate(stopwatch, wait=True))
            taken = stopwatch.take()
            elapsed_s += sum(taken.values())
            # A GPU tells its own times; on the processor the stopwatch has them.
            spent_s += sum(row.get(f"time/{phase}_s", 0.0) for row in rows)
            if not any(f"time/{phase}_s" in row for row in rows):
                spent_s += taken[f"time/{phase}_s"]
            env_steps += config.rollout_size
    return env_steps / max(spent_s, 1e-9)
