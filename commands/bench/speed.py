"""`operant bench env|rollout|train`: measure the speed on this machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ..helpers import candidates
from ..helpers.numbers import NumberRange


def options(function: Callable[..., int]) -> Callable[..., int]:
    """The arguments and options of all measurements."""
    for option in reversed(
        (
            click.argument("config", required=False, metavar="[CONFIG]",
                           shell_complete=candidates.configs),
            click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE",
                         shell_complete=candidates.settings,
                         help="Change one key of the configuration; may be repeated."),
            click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto",
                         show_default=True, help="Where to measure."),
            click.option("--num-envs", type=click.IntRange(1, 2**24),
                         help="Parallel environments. Default: the configuration's."),
            click.option("--repeats", type=click.IntRange(1, 1000), default=5, show_default=True,
                         help="Measurements of each side, alternating."),
            click.option("--seconds", type=NumberRange(0, 3600), default=2.0,
                         show_default=True, help="Minimum length of each measurement."),
            click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
        )
    ):  # fmt: skip
        function = option(function)
    return function


@click.group("bench")
def command() -> None:
    """Measure the speed on this machine: environments, rollouts or training, a few seconds each.

    One-time costs, above all compilation, are reported separately.
    """


@command.command("env")
@options
def bench_env(**given: Any) -> int:
    """Measure raw environment steps: physics, observations, resets and flags."""
    return run("env", **given)


@command.command("rollout")
@options
def bench_rollout(**given: Any) -> int:
    """Measure rollouts: environments and the policy that acts in them."""
    return run("rollout", **given)


@command.command("train")
@options
def bench_train(**given: Any) -> int:
    """Measure training from end to end."""
    return run("train", **given)


def run(
    bench: str,
    config: str | None,
    overrides: tuple[str, ...],
    device: str,
    num_envs: int | None,
    repeats: int,
    seconds: float,
    as_json: bool,
) -> int:
    import torch

    from ...trainer.envs.hosts import describe
    from ...trainer.experiment.plan import load_runnable, plan, this_machine
    from ...trainer.machine.device import device_name
    from ...trainer.machine.main_memory import keep_freed_memory
    from ..helpers.output import print_json
    from .measuring import alternate, machine, versions
    from .sides import own_sides

    keep_freed_memory()  # as training does
    named = {"device": device, "num_envs": num_envs}
    overrides += tuple(f"{key}={value}" for key, value in named.items() if value is not None)
    chosen = load_runnable(config, overrides)
    place = plan(chosen, describe(chosen), this_machine()).device
    answer = {
        "bench": bench,
        "env": chosen.env,
        "device": device_name(place),
        "num_envs": chosen.num_envs,
        "rollout_steps": chosen.rollout_steps,
        "repeats": repeats,
        "machine": {**machine(), **versions("torch", "numba", "numba-cuda")},
        "results": alternate(own_sides(bench, chosen, torch.device(place)), repeats, seconds),
    }
    if as_json:
        print_json(answer)
    else:
        print_table(answer)
    return 0


def print_table(answer: dict[str, Any]) -> None:
    """Print medians with their spread, start-up times and the shares of the phases."""
    from ...monitor.render.formatting import format_percent, format_rate
    from ..helpers.output import print_line

    print_line(
        f"{answer['bench']}, {answer['env']}, {answer['num_envs']:,} environments, "
        f"{answer['device']}, {answer['repeats']} repeats"
    )
    ours = answer["results"][0]["env_steps_per_s"]["median"]
    print_line(f"  {'':<30}{'median':>12}  {'lowest to highest':<23}{'ratio':>6}{'start-up':>10}")
    for result in answer["results"]:
        speed = result["env_steps_per_s"]
        spread = f"{format_rate(speed['min'])} to {format_rate(speed['max'])}"
        phases = ", ".join(
            f"{phase} {format_percent(part)}" for phase, part in result["phase_fractions"].items()
        )
        print_line(
            f"  {result['name']:<30}{format_rate(speed['median']):>12}  {spread:<23}"
            f"{ours / speed['median']:>6.1f}{result['startup_s']:>8.1f} s  {phases}".rstrip()
        )
