"""`operant sweep enqueue`: values that somebody wants tried next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ...shared.errors import ConfigError, UsageError
from ..helpers.candidates import sweeps
from ..helpers.choosing_a_run import trust_code_option

if TYPE_CHECKING:
    from .definition import Definition
    from .parameters import Value


@click.command("enqueue")
@click.argument("name", shell_complete=sweeps)
@click.argument("values", nargs=-1, required=True, metavar="KEY=VALUE ...")
@trust_code_option
def command(name: str, values: tuple[str, ...]) -> None:
    """Add values to try next in a sweep; keys that are not named are sampled.

    If the sweep is not running, `operant sweep --resume` tries them. They are tried even if all
    requested trials have been started.
    """
    from ...shared.runs.sweep_folder import find_sweep
    from ..helpers.output import print_line
    from .definition import check_optuna, read_definition

    check_optuna()
    sweep = find_sweep(name)
    definition = read_definition(sweep)
    suggestion = checked_suggestion(values, definition)

    from .found_table import TableWriter, in_words
    from .study import enqueue, open_study

    study = open_study(sweep, definition)
    enqueue(study, suggestion)
    is_running = sweep.is_held()
    if not is_running:
        TableWriter(sweep, definition, study).write()
    when = "next" if is_running else f"once `operant sweep --resume {sweep.name}` goes on"
    print_line(f"{sweep.name} tries {in_words(suggestion)} {when}")


def checked_suggestion(texts: Sequence[str], definition: Definition) -> dict[str, Value]:
    """Raises UsageError if a value is not allowed in the sweep, or values do not fit together."""
    from .definition import loader_of
    from .parameters import suggestion_of

    values = suggestion_of(texts, definition.parameters)
    try:
        loader_of(definition.source, definition.overrides_of(values))(())
    except ConfigError as error:
        raise UsageError(f"{' '.join(texts)}: {error}") from None
    return values
