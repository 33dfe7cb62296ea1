"""`operant bench --tune`: the fastest sizes for this machine, by measurement."""

from __future__ import annotations

import statistics
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...shared.errors import OperantError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from ...trainer.config import TrainConfig

FACTORS = (1, 0.25, 0.5, 2, 4)  # times the configured environments
FINALISTS = 3  # candidates that are measured more than once
ROUNDS = 4
LEAST_GAIN = 1.05  # over the configured settings; a smaller gain is not worth a change
WARM_UP = 2  # iterations: compilation, graphs, first resets


@dataclass
class Candidate:
    """Settings and their measured speeds in env steps per second. `failure` is the reason why they
    could not be measured.
    """

    settings: tuple[str, ...] = ()
    speeds: list[float] = field(default_factory=list)
    failure: str = ""

    @property
    def env_steps_per_s(self) -> float:
        return statistics.median(self.speeds) if self.speeds else 0.0

    def in_words(self) -> str:
        return " ".join(self.settings) or "as configured"


def tune_settings(
    config: str | None,
    overrides: tuple[str, ...],
    seconds: float,
    output: Path | None,
    as_json: bool,
) -> None:
    """Measure candidates, print them, and write the fastest to `output`."""
    from ...trainer.experiment.plan import load_runnable
    from ...trainer.machine.main_memory import keep_freed_memory
    from ..helpers.config_file import write_config
    from ..helpers.output import check_can_be_written, print_json, print_line
    from .measuring import machine

    def load(settings: Sequence[str]) -> TrainConfig:
        return load_runnable(config, (*overrides, *settings))

    def measure(candidate: Candidate) -> None:
        click.echo(f"measuring: {candidate.in_words()}", err=True)
        try:
            candidate.speeds.append(speed_of(load(candidate.settings), seconds))
        except (OperantError, RuntimeError, MemoryError) as error:  # such as out of memory
            candidate.failure = str(error).partition("\n")[0]

    if output and output.exists():
        raise UsageError(f"-o {output} exists already; name another file")
    if output:
        check_can_be_written("-o", output)
    keep_freed_memory()  # as training does
    fixed = {override.partition("=")[0].strip() for override in overrides}
    tried = [Candidate(settings) for settings in candidates(load(()), fixed)]
    chosen = fastest(tried, measure)
    if output:
        head = f"{load(()).env}, {chosen.in_words()}: {chosen.env_steps_per_s:.0f} env steps/s here"
        write_config(output, load(chosen.settings), head)
    if as_json:
        found = [{**vars(x), "env_steps_per_s": x.env_steps_per_s} for x in tried]
        answer = {"config": config, "settings": chosen.settings, "tried": found}
        print_json({**answer, "output": output and str(output), "machine": machine()})
        return
    print_candidates(tried)
    print_line(f"fastest: {' '.join(f'--set {s}' for s in chosen.settings) or 'as configured'}")


def candidates(config: TrainConfig, fixed: Collection[str]) -> Iterator[tuple[str, ...]]:
    """No settings, then numbers of environments, with the same env steps per iteration, and workers
    and groups that fit them. `fixed` keys stay as configured.
    """
    from ...trainer.envs.workers.dividing import AUTO, num_cores
    from ...trainer.envs.workers.dividing import candidates as divisions

    yield ()
    has_workers = getattr(config, "workers", None) is not None
    varies_workers = has_workers and not any(key.startswith("workers.") for key in fixed)
    env_steps, memory = config.num_envs * config.rollout_steps, config.policy.memory
    for factor in FACTORS:
        num_envs = int(config.num_envs * factor)
        if num_envs < 1 or env_steps % num_envs:
            continue
        sizes = {"num_envs": num_envs, "rollout_steps": env_steps // num_envs}
        if memory.is_on and not memory.horizon:  # it is the rollout, and stays as long
            sizes["policy.memory.horizon"] = config.rollout_steps
        if factor == 1:
            sizes = {}
        if sizes.keys() & fixed:
            continue
        sized = tuple(f"{key}={value}" for key, value in sizes.items())
        if varies_workers:
            for workers, groups in divisions(num_envs, AUTO, AUTO, num_cores(), num_envs):
                yield (*sized, f"workers.num_workers={workers}", f"workers.async_factor={groups}")
        elif sized:
            yield sized
    if config.num_threads and "num_threads" not in fixed:
        yield ("num_threads=0",)  # as many as training measures to be fastest


def fastest(tried: Sequence[Candidate], measure: Callable[[Candidate], None]) -> Candidate:
    """The candidate that is faster than the first, as configured, in all measurements; else the
    first. Raises OperantError if the first cannot be measured.
    """
    first, *others = tried
    for candidate in tried:
        measure(candidate)
        if first.failure:
            raise OperantError(f"nothing could be measured: {first.failure}")
    ahead = [other for other in others if other.env_steps_per_s > first.env_steps_per_s]
    finalists = sorted(ahead, key=lambda candidate: -candidate.env_steps_per_s)[:FINALISTS]
    for number in range(1, ROUNDS if finalists else 1):
        for candidate in [first, *finalists][:: -1 if number % 2 else 1]:
            measure(candidate)
    faster = [
        candidate
        for candidate in finalists
        if min(candidate.speeds) > max(first.speeds)
        and candidate.env_steps_per_s > LEAST_GAIN * first.env_steps_per_s
        and not candidate.failure
    ]
    return max(faster, key=lambda candidate: candidate.env_steps_per_s, default=first)


def speed_of(config: TrainConfig, seconds: float) -> float:
    """Env steps per second over whole iterations, after WARM_UP."""
    from ...trainer.experiment.build import make_experiment
    from ...trainer.machine.stopwatch import Stopwatch
    from .sides import warm_up

    endless = config.model_copy(update={"total_env_steps": 10**15})
    with closing(make_experiment(endless)) as experiment:
        warm_up(experiment, WARM_UP)
        num_iterations, start = 0, time.perf_counter()
        while not num_iterations or time.perf_counter() - start < seconds:
            list(experiment.iterate(Stopwatch(), wait=True))
            num_iterations += 1
        return num_iterations * config.rollout_size / (time.perf_counter() - start)


def print_candidates(tried: Sequence[Candidate]) -> None:
    """A line for each candidate, as configured first."""
    from ...monitor.render.columns import Column
    from ...monitor.render.formatting import format_rate
    from ..helpers.output import print_table

    base = tried[0].env_steps_per_s

    def speed(one: Candidate) -> str:
        return format_rate(one.env_steps_per_s) if one.speeds else ""

    def ratio(one: Candidate) -> str:
        return f"{one.env_steps_per_s / base:.2f} x" if one.speeds else ""

    columns = [
        Column("settings", Candidate.in_words, 20, 200),
        Column("env steps/s", speed, align=">"),
        Column("ratio", ratio, align=">"),
        Column[Candidate]("n", lambda one: str(len(one.speeds)), align=">"),
        Column[Candidate]("failure", lambda one: one.failure, 20, 200),
    ]
    print_table(columns, tried)
