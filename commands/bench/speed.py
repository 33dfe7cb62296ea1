"""`operant bench`: measure the speed on this machine, or find the fastest settings for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ...shared.errors import UsageError
from ..command import Command, json_option
from ..helpers.candidates import configs, settings
from ..helpers.numbers import NumberRange

DEFAULT_REPEATS = 5


@click.command("bench", cls=Command)
@click.argument("config", required=False, metavar="[CONFIG]", shell_complete=configs)
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", shell_complete=settings,
    help="Change one key of the configuration, which --tune keeps fixed; may be repeated.",
)  # fmt: skip
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), help="Where to measure.")
@click.option(
    "--seconds", type=NumberRange(0, 3600), default=2.0, show_default=True,
    help="Minimum length of each measurement.",
)  # fmt: skip
@click.option(
    "--repeats", type=click.IntRange(1, 1000),
    help=f"Measurements of each side, alternating. Default: {DEFAULT_REPEATS}.",
)  # fmt: skip
@click.option("--tune", is_flag=True, help="Find the fastest settings for this machine.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE.toml",
    help="With --tune: write the configuration with them.",
)  # fmt: skip
@json_option
def command(
    config: str | None,
    overrides: tuple[str, ...],
    device: str | None,
    seconds: float,
    repeats: int | None,
    tune: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    """Measure the speed here: env steps alone, and training.

    Both are measured in turn for a few seconds. One-time costs, above all compilation, are reported
    separately. An environment of another library is measured in training only.

    --tune finds the numbers of environments and workers with which CONFIG trains fastest. Each
    candidate trains for a few seconds. The three fastest are measured again, in turn with what is
    configured. A candidate is chosen only if all of its measurements are faster than all of those,
    and its median by at least 5 %. Iterations keep their number of env steps, so that every
    iteration learns as much.
    """
    if device:
        overrides += (f"device={device}",)
    if tune:
        if repeats:
            raise UsageError("--tune decides itself how often it measures: it excludes --repeats")
        from .tuning import tune_settings

        tune_settings(config, overrides, seconds, output, as_json)
        return
    if output:
        raise UsageError(f"-o {output} is for --tune")
    _measure(config, overrides, repeats or DEFAULT_REPEATS, seconds, as_json)


def _measure(
    config: str | None, overrides: tuple[str, ...], repeats: int, seconds: float, as_json: bool
) -> None:
    import torch

    from ...trainer.envs.hosts import describe
    from ...trainer.experiment.plan import load_runnable, plan, this_machine
    from ...trainer.machine.device import device_name
    from ...trainer.machine.main_memory import keep_freed_memory
    from ..helpers.output import print_json
    from .measuring import alternate, machine, versions
    from .sides import own_sides

    keep_freed_memory()  # as training does
    chosen = load_runnable(config, overrides)
    place = plan(chosen, describe(chosen), this_machine()).device
    answer = {
        "env": chosen.env,
        "device": device_name(place),
        "num_envs": chosen.num_envs,
        "rollout_steps": chosen.rollout_steps,
        "repeats": repeats,
        "machine": {**machine(), **versions("torch", "numba", "numba-cuda")},
        "results": alternate(own_sides(chosen, torch.device(place)), repeats, seconds),
    }
    if as_json:
        print_json(answer)
    else:
        print_answer(answer)


def print_answer(answer: dict[str, Any]) -> None:
    """Print medians with their spread, start-up times and the shares of the phases."""
    from ...monitor.render.columns import Column
    from ...monitor.render.formatting import format_percent, format_rate
    from ..helpers.output import print_line, print_table

    def spread(result: dict[str, Any]) -> str:
        speed = result["env_steps_per_s"]
        return f"{format_rate(speed['min'])} to {format_rate(speed['max'])}"

    def phases(result: dict[str, Any]) -> str:
        parts = result["phase_fractions"].items()
        return ", ".join(f"{phase} {format_percent(part)}" for phase, part in parts)

    print_line(
        f"{answer['env']}, {answer['num_envs']:,} environments, "
        f"{answer['device']}, {answer['repeats']} repeats"
    )
    columns = [
        Column[Any]("side", lambda one: one["name"]),
        Column[Any]("median", lambda one: format_rate(one["env_steps_per_s"]["median"]), align=">"),
        Column[Any]("lowest to highest", spread),
        Column[Any]("start-up", lambda one: f"{one['startup_s']:.1f} s", align=">"),
        Column[Any]("phases", phases, 20, 200),
    ]
    print_table(columns, answer["results"])
