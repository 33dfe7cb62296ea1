"""`operant autotune`: sizes for this machine, by measurement, as a configuration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..shared.errors import UsageError
from .helpers.candidates import configs, settings
from .helpers.numbers import NumberRange

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..trainer.config import TrainConfig
    from .bench.autotune import Autotune, Tried

BUSY_CORES = 0.2  # other programs that use more are mentioned
SCORE_S = 30.0  # length of a run that compares scores, roughly
SCORE_ITERATIONS = 10  # and its least number of iterations
SEEDS = (1, 2)


@click.command("autotune")
@click.argument("config", shell_complete=configs)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=settings,
    help="Change one key and keep it fixed; may be repeated.",
)
@click.option(
    "--seconds",
    type=NumberRange(0, 3600),
    default=3.0,
    show_default=True,
    help="How long a measurement of a candidate takes after its warm-up.",
)
@click.option(
    "--score-env-steps",
    type=click.IntRange(0),
    metavar="N",
    help="Length of the runs that compare scores; 0: none. Default: about 30 seconds each.",
)
@click.option(
    "--output", type=Path, metavar="FILE", help="The file to write. Default: CONFIG-autotuned.toml."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")  # fmt: skip
def command(
    config: str,
    overrides: tuple[str, ...],
    seconds: float,
    score_env_steps: int | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Find the fastest numbers of environments, workers and groups for CONFIG on this machine, and
    whether splitting minibatches makes learning faster. Writes a configuration with them.

    The fastest candidates are measured three to eight times, in turn with what is configured. Only
    what is faster beyond doubt is chosen: the 95 % interval of its gain lies above 1, and its mean
    above 1.05.

    The env steps per iteration and the size of minibatches do not change, so that as much is
    learned per iteration. At the end both configurations train with two seeds, so that you see
    what the new sizes do to the score. `operant bench compare` does this with longer runs.
    """
    from ..trainer.experiment.plan import load_runnable
    from ..trainer.machine.main_memory import keep_freed_memory
    from .bench.autotune import Autotune
    from .bench.measuring import machine
    from .helpers.output import check_can_be_written, print_json, print_line

    keep_freed_memory()  # as training does

    def load(settings: Sequence[str]) -> TrainConfig:
        return load_runnable(config, (*overrides, *settings))

    def report(tried: Tried) -> None:
        if not as_json:
            print_line(line_of(tried))

    output = output or Path(f"{Path(config).stem}-autotuned.toml")
    if output.exists():
        raise UsageError(f"--output {output} exists already; name another file")
    check_can_be_written("--output", output)
    fixed = [override.partition("=")[0].strip() for override in overrides]
    tuning = Autotune(load, seconds, report, fixed)
    chosen = tuning.run()
    notes, scores = [], None
    if tuning.busy_cores > BUSY_CORES:
        notes.append(
            f"other programs used {tuning.busy_cores:.1f} cores meanwhile: on a quiet machine "
            "other sizes may be faster"
        )
    if chosen and score_env_steps != 0:
        env_steps = score_env_steps or short_run(tuning, load(chosen))
        scores = compared_scores(config, overrides, chosen, env_steps)
        notes.append(scores_line(scores, env_steps))
    measured = machine()
    head = comment(config, tuning.tried, chosen, measured)
    write_config(output, load(chosen), [*head, *notes])
    if as_json:
        print_json({
            "config": str(output), "settings": chosen,
            "tried": [tried.as_json() for tried in tuning.tried], "scores": scores,
            "busy_cores": tuning.busy_cores, "machine": measured,
        })  # fmt: skip
        return
    for note in notes:
        print_line(note)
    print_line(f"{output}: {' '.join(chosen) or 'as configured'}")


def line_of(tried: Tried) -> str:
    from ..monitor.render.formatting import format_rate

    found = tried.failure or f"{format_rate(tried.env_steps_per_s)}"
    if tried.gain:
        mean, low, high = tried.gain
        found += f", {mean:.2f} x ({low:.2f} to {high:.2f})"
    if len(tried.speeds) > 1:
        found += f", median of {len(tried.speeds)} measurements"
    return f"{tried.phase:<8}{' '.join(tried.settings) or 'as configured'}: {found}"


def short_run(tuning: Autotune, config: TrainConfig) -> int:
    """The env steps of a run of about `SCORE_S`; no more than `config` has."""
    slowest = min(tried.env_steps_per_s for tried in tuning.tried if tried.speeds)
    least = SCORE_ITERATIONS * config.rollout_size
    return min(config.total_env_steps, max(least, int(SCORE_S * slowest)))


def compared_scores(
    config: str, overrides: Sequence[str], chosen: Sequence[str], env_steps: int
) -> list[dict[str, Any]]:
    """The scores of the given and the chosen configuration after equally many env steps."""
    from ..trainer.running.signals import exit_by_sigterm
    from .bench.compare import DEFAULT_SCORE
    from .bench.comparison import compared
    from .bench.trials import Side, run_trial

    sides = [
        Side("as configured", config, tuple(overrides)),
        Side("as chosen", config, (*overrides, *chosen)),
    ]
    with exit_by_sigterm():
        trials = [
            run_trial(side, seed, env_steps, DEFAULT_SCORE) for seed in SEEDS for side in sides
        ]
    keys = ("name", "score_at_equal_env_steps", "env_steps_per_s", "runs", "failures")
    return [{key: result[key] for key in keys} for result in compared(sides, trials)]


def scores_line(scores: Sequence[dict[str, Any]], env_steps: int) -> str:
    from ..monitor.render.formatting import format_count, format_value

    ranges = []
    for side in scores:
        score = side["score_at_equal_env_steps"]
        low, high = (format_value(score[end]) for end in ("min", "max")) if score else ("-", "-")
        ranges.append(f"{low} to {high} {side['name']}")
    seeds = f"{len(SEEDS)} seeds"
    return f"return after {format_count(env_steps)} env steps, {seeds}: {', '.join(ranges)}"


def comment(
    config: str, tried: Sequence[Tried], chosen: Sequence[str], machine: dict[str, Any]
) -> list[str]:
    """What stands above the configuration: where its numbers are from."""
    place = f"{machine['cores']} cores of {machine['processor']}"
    gpu = f", {machine['gpu']}" if machine["gpu"] else ""
    return [
        f"{config}, tuned for {place}{gpu} by `operant autotune` on {machine['date']}: "
        f"{' '.join(chosen) or 'as configured'}",
        *map(line_of, tried),
    ]


def write_config(path: Path, config: TrainConfig, comment: Sequence[str]) -> None:
    """A configuration as a TOML file. Raises UsageError."""
    import tomli_w

    from ..shared.text.harmless import harmless, harmless_toml

    values = config.model_dump(mode="json", exclude_none=True)
    if (workers := values.get("workers")) and workers["num_workers"] != "auto":
        # A preset's are capped; those of a file are refused where there are not as many cores.
        workers["num_workers"] = config.table("workers").plan(config.num_envs).num_workers
    head = "".join(f"# {harmless(line)}\n" for line in comment)
    try:
        with path.open("x") as file:
            file.write(f"{head}\n{harmless_toml(tomli_w.dumps(values))}")
    except OSError as error:
        raise UsageError(f"--output {path}: {error.strerror}") from None
