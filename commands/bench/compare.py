"""`operant bench compare` and `ablate`: what configurations are worth, in speed and in scores."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...shared.errors import ConfigError, UsageError, nearest
from ..helpers import candidates

if TYPE_CHECKING:
    from ...trainer.config import TrainConfig
    from .trials import Side, Trial

DEFAULT_SCORE = "episode/return"


def options(function: Callable[..., int]) -> Callable[..., int]:
    """Those that both commands have."""
    for option in reversed(
        (
            click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE",
                         shell_complete=candidates.settings,
                         help="Change one key of all configurations; may be repeated."),
            click.option("--env-steps", type=click.IntRange(1),
                         help="Length of each run. Default: the smallest total_env_steps of the "
                         "configurations."),
            click.option("--repeats", type=click.IntRange(1, 1000), default=3, show_default=True,
                         help="Runs of each configuration, alternating, with seeds 1, 2, ..."),
            click.option("--score", default=DEFAULT_SCORE, show_default=True, metavar="METRIC",
                         shell_complete=candidates.metrics,
                         help="The metric to compare."),
            click.option("--report", type=Path, metavar="FILE",
                         help="Write an HTML page with curves over env steps and over time."),
            click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
        )
    ):  # fmt: skip
        function = option(function)
    return function


@click.command("compare")
@click.argument("configs", nargs=-1, required=True, metavar="CONFIG CONFIG ...",
                shell_complete=candidates.configs)  # fmt: skip
@options
def compare(configs: tuple[str, ...], overrides: tuple[str, ...], **given: Any) -> int:
    """Train each CONFIG, a preset or a TOML file, for the same number of env steps and compare
    scores and speed.

    Scores are compared after equal env steps and after equal training time. The runs are kept and
    visible in the monitor.
    """
    from .trials import Side

    if len(configs) < 2 or len(set(configs)) < len(configs):
        raise UsageError("name two or more configurations, each once")
    return run("compare", [Side(config, config, overrides) for config in configs], **given)


@click.command("ablate")
@click.argument("before", metavar="FROM", shell_complete=candidates.configs)
@click.argument("after", metavar="TO", shell_complete=candidates.configs)
@options
def ablate(before: str, after: str, overrides: tuple[str, ...], **given: Any) -> int:
    """Train FROM, then FROM with each key in which TO differs, one at a time, then TO."""
    from ...trainer.experiment.plan import load_runnable
    from .trials import Side

    changes = differing(load_runnable(before, overrides), load_runnable(after, overrides))
    if not changes:
        raise UsageError(f"{before} and {after} do not differ")
    sides = [Side(before, before, overrides)]
    sides += [Side(change, before, (*overrides, change)) for change in changes]
    return run("ablate", [*sides, Side(after, after, overrides)], **given)


def differing(before: TrainConfig, after: TrainConfig) -> list[str]:
    """What must be set in one configuration to have another, key by key, but for the budget and the
    seed. Raises UsageError where they are of different kinds.
    """
    from ...trainer.config.flat_keys import flat_keys

    former, latter = (flat_keys(each.model_dump(mode="json")) for each in (before, after))
    for key in ("env", "algorithm"):
        if former[key] != latter[key]:
            raise UsageError(
                f"{key} = {former[key]} and {latter[key]}: what differs cannot be set key by key; "
                "`operant bench compare` trains both"
            )
    left_out = {"seed", "total_env_steps"}
    # TOML cannot express the value none: such a side is reported and not trained.
    return [
        f"{key}={'none' if value is None else json.dumps(value)}"
        for key, value in latter.items()
        if key not in left_out and former.get(key) != value
    ]


def run(
    bench: str,
    sides: Sequence[Side],
    env_steps: int | None,
    repeats: int,
    score: str,
    report: Path | None,
    as_json: bool,
) -> int:
    from ...trainer.running.signals import exit_by_sigterm
    from ..helpers.output import check_can_be_written, print_json
    from .comparison import compared
    from .measuring import machine, versions
    from .report import print_comparison, write_comparison

    configs = [checked(side, tolerant=bench == "ablate") for side in sides]
    known = [config for config in configs if not isinstance(config, str)]
    env_steps = env_steps or min(config.total_env_steps for config in known)
    most = max(config.rollout_size for config in known)
    if env_steps <= most:
        raise UsageError(
            f"--env-steps {env_steps}: one iteration has {most} env steps, and the first is not "
            f"measured; {2 * most} at least"
        )
    for side, config in zip(sides, configs, strict=True):
        if not isinstance(config, str):
            check_score(score, side.name, config)
    if report:
        check_can_be_written("--report", report)
    with exit_by_sigterm():
        trials = run_all(sides, configs, repeats, env_steps, score)
    answer = {
        "bench": bench,
        "env": ", ".join(dict.fromkeys(config.env for config in known)),
        "env_steps": env_steps,
        "repeats": repeats,
        "score": score,
        "machine": {**machine(), **versions("torch", "numba")},
        "results": compared(sides, trials),
    }
    if report:
        write_comparison(report, answer)
    if as_json:
        print_json(answer)
    else:
        print_comparison(answer)
    # Sides that were refused are reported and never run.
    return int(any(trial.failure for trial in trials if trial.run))


def check_score(score: str, side: str, config: TrainConfig) -> None:
    """Raises UsageError where the runs of a side have no such metric."""
    from ...trainer.config.metrics import metrics_of

    names = [metric.name for metric in metrics_of(config)]
    if score not in names:
        hint = nearest(score, names) or f"; there are {', '.join(names)}"
        raise UsageError(f"--score {score}: {side} has no such metric{hint}")


def checked(side: Side, tolerant: bool) -> TrainConfig | str:
    """The configuration of a side; where a single key of another cannot be had, why not."""
    from ...trainer.experiment.plan import load_runnable

    try:
        return load_runnable(side.source, side.overrides)
    except ConfigError as error:
        if not tolerant or side.name == side.source:
            raise
        return str(error)


def run_all(
    sides: Sequence[Side],
    configs: Sequence[TrainConfig | str],
    repeats: int,
    env_steps: int,
    score: str,
) -> list[Trial]:
    """Every side once with seed 1, then once with seed 2 and so on, another going first each time:
    what a machine does over time hits all of them.
    """
    from .trials import Trial, run_trial

    trials = []
    for repeat in range(repeats):
        for number in range(len(sides)):
            at = (number + repeat) % len(sides)
            side, config = sides[at], configs[at]
            if isinstance(config, str):
                if not repeat:
                    trials.append(Trial(side.name, 0, "", config))
                continue
            click.echo(f"{side.name}, seed {repeat + 1} of {repeats}", err=True)
            trials.append(run_trial(side, repeat + 1, env_steps, score))
    return trials
