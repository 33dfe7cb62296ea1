"""`operant sweep enqueue`: values that somebody wants tried next."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ...shared.errors import ConfigError, UsageError
from ..candidates import sweeps
from ..choosing_a_run import trust_code_option

if TYPE_CHECKING:
    from .definition import Definition
    from .parameters import Value


@click.command("enqueue")
@click.argument("name", shell_complete=sweeps)
@click.argument("values", nargs=-1, required=True, metavar="KEY=VALUE ...")
@trust_code_option
def command(name: str, values: tuple[str, ...]) -> None:
    """Have these values tried next in a sweep; keys that are not named are drawn as ever.

    A sweep that does not run tries them once `operant sweep --resume` goes on with it. They are
    tried even where all trials that were asked for have been begun.
    """
    from ...shared.sweep_folder import find_sweep
    from ..output import print_line
    from .begin import MISSING
    from .definition import read_definition

    if importlib.util.find_spec("optuna") is None:
        raise UsageError(MISSING)
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
    """Raises UsageErrors where values are none of the sweep's, or do not hold together."""
    from .definition import loader_of
    from .parameters import suggestion_of

    values = suggestion_of(texts, definition.parameters)
    try:
        loader_of(definition.source, definition.overrides_of(values))(())
    except ConfigError as error:
        raise UsageError(f"{' '.join(texts)}: {error}") from None
    return values
