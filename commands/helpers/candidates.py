"""Shell completion of runs, presets, keys, themes and metrics.

A shell waits for it at each press of a key: nothing here imports torch, and nothing raises. What
cannot be read is not offered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from ...trainer.config.keys import Key

    Item = CompletionItem[str]  # older versions of click cannot be asked for it
    Offer = Callable[[click.Context, click.Parameter, str], list[Item]]

NEWEST_RUNS = 5  # whose metrics are offered
# What no shell takes for more than a word: a folder may be called anything.
_PLAIN = re.compile(r"\w[\w./@%+=#-]*", re.ASCII)
HELP_CHARACTERS = 70


def _offering(find: Callable[[click.Context, str], Iterable[Item]]) -> Offer:
    """A completion callback for click: the results of `find`, or nothing if it fails."""

    @wraps(find)
    def offer(context: click.Context, parameter: click.Parameter, typed: str) -> list[Item]:
        try:
            return list(find(context, typed))
        # Folders, pages and files are what anyone may have written, and a shell shows no errors.
        except Exception:
            return []

    return offer


@_offering
def run_ids(context: click.Context, typed: str) -> Iterable[Item]:
    """Runs whose ids begin so, newest first, and names that people gave them; else the only one
    that has it anywhere in either.
    """
    return _matching(_names_of_runs(), typed)


@_offering
def runs_and_sweeps(context: click.Context, typed: str) -> Iterable[Item]:
    """Runs as `run_ids` has them, then sweeps."""
    from ...shared.runs.sweep_folder import list_sweeps

    return _matching([*_names_of_runs(), *(sweep.name for sweep in list_sweeps())], typed)


def _names_of_runs() -> list[str]:
    from ...shared.runs.find_runs import list_runs

    runs = list_runs()
    return [*(run.id for run in runs), *filter(None, (run.notes().name for run in runs))]


@_offering
def tags(context: click.Context, typed: str) -> Iterable[Item]:
    """The tags of all runs."""
    from ...shared.runs.find_runs import list_runs

    known = {tag for run in list_runs() for tag in run.notes().tags}
    return _matching(sorted(known), typed)


@_offering
def configs(context: click.Context, typed: str) -> Iterable[Item]:
    """Environments and presets; where nothing is called so, files."""
    from ...trainer.config.files import preset_names
    from ...trainer.envs.names import ALL_ENV_NAMES

    known = [name for name in (*ALL_ENV_NAMES, *preset_names()) if name.startswith(typed)]
    return map(CompletionItem, known) if known else [CompletionItem(typed, type="file")]


@_offering
def algorithms(context: click.Context, typed: str) -> Iterable[Item]:
    from ...trainer.config.train_config import algorithm_sections

    return [CompletionItem(name) for name in algorithm_sections() if name.startswith(typed)]


@_offering
def overlays(context: click.Context, typed: str) -> Iterable[Item]:
    from ...trainer.config.overlays import hardware_names, overlay_names

    names = (*overlay_names(), *hardware_names())
    return [CompletionItem(name) for name in names if name.startswith(typed)]


@_offering
def settings(context: click.Context, typed: str) -> Iterable[Item]:
    """`ppo.learning_rate=` for `--set`; behind the sign the values, where they are few words."""
    name, equals, value = typed.partition("=")
    keys = _keys(context, name)
    if equals:
        choices = next((key.choices for key in keys if key.name == name), ())
        return [
            CompletionItem(f"{name}={choice}") for choice in choices if choice.startswith(value)
        ]
    return [
        CompletionItem(f"{key.name}=", help=_brief(key.description))
        for key in keys
        if key.name.startswith(typed)
    ]


@_offering
def keys(context: click.Context, typed: str) -> Iterable[Item]:
    """`ppo.learning_rate`, where the key alone is wanted."""
    known = _keys(context, typed)
    return [
        CompletionItem(k.name, help=_brief(k.description))
        for k in known
        if k.name.startswith(typed)
    ]


@_offering
def themes(context: click.Context, typed: str) -> Iterable[Item]:
    from ...monitor.render.palette import THEMES

    return [CompletionItem(name) for name in THEMES if name.startswith(typed)]


@_offering
def metrics(context: click.Context, typed: str) -> Iterable[Item]:
    """The metrics that the newest runs have written."""
    from ...shared.errors import PageError
    from ...shared.runs.find_runs import list_runs
    from ...shared.runs.status import open_page

    described: dict[str, str] = {}
    for run in list_runs()[:NEWEST_RUNS]:
        try:
            page = open_page(run)
        except PageError:
            continue
        try:
            described |= {metric.name: metric.description for metric in page.schema()}
        finally:
            page.detach()
    return [
        CompletionItem(name, help=_brief(description))
        for name, description in sorted(described.items())
        if name.startswith(typed) and _PLAIN.fullmatch(name)
    ]


@_offering
def sweeps(context: click.Context, typed: str) -> Iterable[Item]:
    from ...shared.runs.sweep_folder import list_sweeps

    return _matching([sweep.name for sweep in list_sweeps()], typed)


@_offering
def controllers(context: click.Context, typed: str) -> Iterable[Item]:
    """Who may steer in the controls challenge: two that are built in, and runs."""
    from ...shared.runs.find_runs import list_runs

    return _matching(["pid", "zero", *(run.id for run in list_runs())], typed)


def _matching(names: list[str], typed: str) -> Iterable[Item]:
    """A shell puts what several have in common in place of what was typed: where they begin with
    something else, that would take away what tells them apart.
    """
    names = list(filter(_PLAIN.fullmatch, names))
    begin = [name for name in names if name.startswith(typed)]
    within = [name for name in names if typed in name]
    return map(CompletionItem, begin or (within if len(within) == 1 else []))


def _keys(context: click.Context, typed: str) -> list[Key]:
    """The keys of the configuration that stands in the line so far; those of all where none of its
    own begins so: what makes it another may still come.
    """
    from ...shared.errors import OperantError
    from ...trainer.config.keys import keys_of, keys_of_all

    given = context.params
    source = given.get("config")
    overrides = [text for text in given.get("overrides") or () if "=" in text]
    if given.get("algorithm"):
        overrides.append(f"algorithm={given['algorithm']}")
    try:
        known = keys_of(source, overrides)
    except (OperantError, OSError):
        known = []
    is_known = any(key.name.startswith(typed) for key in known)
    return known if is_known else keys_of_all()


def _brief(description: str) -> str | None:
    text = " ".join(description.split())
    if len(text) > HELP_CHARACTERS:
        text = text[: HELP_CHARACTERS - 1] + "…"
    return text or None


def theme_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--theme`: the decorated command gets `theme`."""
    return click.option(
        "--theme",
        metavar="NAME",
        shell_complete=themes,
        help="dark, light, colour-blind, contrast or plain.",
    )(function)
