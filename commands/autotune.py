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
    from .bench.autotune import Tried


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
    help="How long to measure each candidate after its warm-up.",
)
@click.option(
    "--output", type=Path, metavar="FILE", help="The file to write. Default: CONFIG-autotuned.toml."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")  # fmt: skip
def command(
    config: str, overrides: tuple[str, ...], seconds: float, output: Path | None, as_json: bool
) -> None:
    """Find the fastest numbers of environments, workers and groups for CONFIG on this machine, and
    whether splitting minibatches makes learning faster. Writes a configuration with them.

    The env steps per iteration and the size of minibatches do not change, so that as much is
    learned per iteration. Returns are not measured: use `operant bench compare` for that.
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
    measured = machine()
    write_config(output, load(chosen), comment(config, tuning.tried, chosen, measured))
    if as_json:
        tried = [vars(each) for each in tuning.tried]
        print_json({"config": str(output), "settings": chosen, "tried": tried, "machine": measured})
    else:
        print_line(f"{output}: {' '.join(chosen) or 'as configured'}")


def line_of(tried: Tried) -> str:
    from ..monitor.render.formatting import format_rate

    found = tried.failure or f"{format_rate(tried.env_steps_per_s)}"
    return f"{tried.phase:<8}{' '.join(tried.settings) or 'as configured'}: {found}"


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
