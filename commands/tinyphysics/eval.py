"""`operant tinyphysics eval`: measure the costs of a controller."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...shared.errors import UsageError
from ...shared.text.harmless import one_line
from ..command import Command, json_option
from ..helpers.candidates import controllers

if TYPE_CHECKING:
    from ...trainer.envs.tinyphysics.routes import Routes
    from ...trainer.tinyphysics_training.controlling import Driven

NUM_EXAMPLES = 4


@click.command("eval", cls=Command)
@click.option("--controller", required=True, metavar="pid|zero|RUN|FILE.py",
              shell_complete=controllers, help="The controller that steers.")  # fmt: skip
@click.option("--model", type=click.Path(path_type=Path), metavar="FILE", help="The ONNX model.")
@click.option("--routes", type=click.Path(path_type=Path), metavar="DIR", help="The route files.")
@click.option("--num", type=click.IntRange(1), help="Use the first so many routes. Default: all.")
@click.option("--baseline", metavar="CONTROLLER", shell_complete=controllers,
              help="Another controller to compare with.")  # fmt: skip
@click.option(
    "--engine", default="auto", show_default=True, help="The inference engine for the car model."
)
@click.option("--look-ahead", is_flag=True, help="Let the policy try 16 actions 5 steps ahead.")
@click.option("--skip-broken", is_flag=True, help="Leave broken routes out instead of refusing.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE.html",
              help="Also write a page with histograms and example traces.")  # fmt: skip
@json_option
def command(
    controller: str,
    model: Path | None,
    routes: Path | None,
    num: int | None,
    baseline: str | None,
    engine: str,
    look_ahead: bool,
    skip_broken: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    """Drive the routes with a controller and print its mean costs.

    Each route gets the same random numbers as in the challenge's own program, where it is called
    data/NAME. The costs therefore equal the challenge's to the last digit, if the engine computes
    in float32.
    """
    from ...trainer.envs.tinyphysics.engines.choosing import check_engine_name, make_engine
    from ...trainer.envs.tinyphysics.engines.engine import agreement
    from ...trainer.envs.tinyphysics.model_file import read_model
    from ...trainer.envs.tinyphysics.places import model_path
    from ...trainer.tinyphysics_training.controlling import drive, make_controller
    from ..helpers.output import print_json, print_line

    check_engine_name(engine)
    if output and not output.absolute().parent.is_dir():
        raise UsageError(f"-o {output}: there is no folder {output.absolute().parent}")
    called = f"{controller} looking ahead" if look_ahead else controller
    drivers = {called: make_controller(controller, look_ahead)}
    if baseline and baseline != called:
        drivers[baseline] = make_controller(baseline)
    proto = read_model(model_path(model))
    chosen = _chosen_routes(routes, num, skip_broken)
    runner = make_engine(proto, engine, batch=len(chosen))
    statement = str(agreement(runner, proto))

    driven = {}
    for name, driver in drivers.items():
        with _driving_progress(name, chosen) as tick:
            driven[name] = drive(runner, chosen, driver, NUM_EXAMPLES, tick)
    lines = [costs_line(name, result) for name, result in driven.items()]
    lines.append(f"engine {runner.name}: {statement}")
    if output:
        from .report import write_report

        write_report(output, chosen, driven, lines)
        lines.append(f"report: {output}")
    if as_json:
        print_json(as_object(driven, runner.name, statement))
        return
    for line in lines:
        print_line(line)


def _chosen_routes(routes: Path | None, num: int | None, skip_broken: bool) -> Routes:
    """The first `num` routes of the folder, or all; prints why broken ones are left out."""
    from ...trainer.envs.tinyphysics.places import routes_folder
    from ...trainer.envs.tinyphysics.route_cache import RouteFolder

    folder = RouteFolder(
        routes_folder(routes),
        skip_broken=skip_broken,
        progress=_parsing_progress,
    )
    for reason in folder.broken:
        click.echo(f"skipped: {one_line(reason)}", err=True)
    return folder.take(range(min(num or len(folder), len(folder))))


def mean_costs(result: Driven) -> dict[str, Any]:
    return {
        "routes": len(result.names),
        "lataccel_cost": finite_or_none(result.lataccel_costs.mean()),
        "jerk_cost": finite_or_none(result.jerk_costs.mean()),
        "total_cost": finite_or_none(result.total_costs.mean()),
    }


def costs_line(name: str, result: Driven) -> str:
    return (
        f"{name}: lataccel_cost {result.lataccel_costs.mean():.4f}, jerk_cost "
        f"{result.jerk_costs.mean():.4f}, total_cost {result.total_costs.mean():.4f}, mean of "
        f"{len(result.names)} routes in {result.elapsed_s:.1f} s"
    )


def finite_or_none(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None


def as_object(driven: dict[str, Driven], engine: str, statement: str) -> dict[str, Any]:
    """The object that --json prints: the costs of the controller and of the baseline."""
    (called, result), *others = driven.items()
    described: dict[str, Any] = {
        "controller": called,
        **mean_costs(result),
        "per_route": [
            {"name": name, "lataccel_cost": finite_or_none(lataccel),
             "jerk_cost": finite_or_none(jerk), "total_cost": finite_or_none(total)}
            for name, lataccel, jerk, total in zip(
                result.names, result.lataccel_costs, result.jerk_costs, result.total_costs,
                strict=True,
            )
        ],
        "engine": engine,
        "agreement": statement,
        "elapsed_s": result.elapsed_s,
    }  # fmt: skip
    for name, other in others:
        described["baseline"] = {"controller": name, **mean_costs(other)}
    return described


def _parsing_progress(paths: Iterable[Path], count: int) -> Iterable[Path]:
    """Show a bar on a terminal while routes are parsed, which happens once."""
    with click.progressbar(
        paths, length=count, label="reading routes", file=sys.stderr, hidden=not sys.stderr.isatty()
    ) as bar:
        yield from bar


@contextmanager
def _driving_progress(name: str, routes: Routes) -> Iterator[Callable[[int], None]]:
    """Show a bar over the steps of all routes; yields the function that moves it by some steps."""
    from ...trainer.envs.tinyphysics.constants import CONTEXT_STEPS, COST_END

    steps = int(routes.num_rows.clip(max=COST_END).max()) - CONTEXT_STEPS
    with click.progressbar(
        length=len(routes) * steps, label=name, file=sys.stderr, hidden=not sys.stderr.isatty()
    ) as bar:
        yield bar.update
