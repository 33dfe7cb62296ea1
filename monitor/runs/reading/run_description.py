"""What a run was run with, as text: its configuration, and how it was started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ....shared.runs.run_folder import Run
from ....shared.runs.setting_sources import defaults_of, is_default, sources_in
from ....shared.text.harmless import one_line
from ..machine.tuning_advice import Knobs, knobs_of

MAX_SETTINGS, MAX_KEY_CHARACTERS, MAX_VALUE_CHARACTERS = 4000, 200, 500
MAX_CHARACTERS = 400_000  # of all together: one message holds them, see `remote/frames.py`
# Of run.toml, beside the configuration. The first two are every run's own.
_STARTED = ("created", "command_line", "device", "git_commit", "versions")
_OWN = frozenset({"created", "command_line"})


class Setting(NamedTuple):
    """A key with dots, and its value; its `default` where it has another value, as far as known.
    `source` is empty where nothing is known of it.
    """

    key: str
    value: str
    default: str | None = None
    source: str = ""


@dataclass(frozen=True)
class Description:
    """`settings` are in the order of their sources, yours first. Where no source is known, those
    that differ from their defaults come first. `started` says when and how the run was started.
    `has_defaults` is False for a loop of one's own, which has no defaults, and for runs
    of an older operant, which did not write them.
    """

    settings: tuple[Setting, ...] = ()
    started: tuple[Setting, ...] = ()
    has_defaults: bool = False

    @property
    def has_sources(self) -> bool:
        return any(setting.source for setting in self.settings)

    def comparable(self) -> dict[str, str]:
        """What runs can have in common, by key."""
        settings = (*self.settings, *self.started)
        return {setting.key: setting.value for setting in settings if setting.key not in _OWN}


NO_DESCRIPTION = Description()


class RecordedManifest:
    """What run.toml tells, read again once it is written anew: trainers add their device."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._written: tuple[int, int] | None = None
        self._told: tuple[Knobs | None, Description] = (None, NO_DESCRIPTION)

    def read(self) -> tuple[Knobs | None, Description]:
        written = self._run.manifest_written()
        if written and written != self._written:
            manifest = self._run.manifest()
            self._written, self._told = written, (knobs_of(manifest), description_of(manifest))
        return self._told


def description_of(manifest: Mapping[str, Any]) -> Description:
    """Of what run.toml holds, which may be anything."""
    defaults = manifest.get("defaults")
    known = dict(dotted(defaults)) if isinstance(defaults, Mapping) else {}
    sources = sources_in(manifest)
    source_of = {key: source for source, keys in sources.items() for key in keys}
    by_default = next(filter(is_default, sources), defaults_of()) if sources else ""
    order = [*(source for source in reversed(sources) if source != by_default), by_default]
    config = manifest.get("config")
    settings = [
        Setting(
            _key(key),
            value_text(value),
            value_text(known[key]) if key in known else None,
            source_of.get(key, by_default),
        )
        for key, value in dotted(config if isinstance(config, Mapping) else {})
    ]
    settings.sort(key=lambda each: (order.index(each.source), not sources and each.default is None))
    facts = {key: manifest[key] for key in _STARTED if key in manifest}
    started = (Setting(_key(key), value_text(value)) for key, value in dotted(facts))
    return Description(
        tuple(_limited(iter(settings))), tuple(_limited(started)), isinstance(defaults, Mapping)
    )


def dotted(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    """The values of all tables by their whole keys: `ppo.learning_rate`."""
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from dotted(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def value_text(value: object) -> str:
    """A value as a configuration file has it; text without its quotes."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(value_text, value[:MAX_SETTINGS]))}]"[:MAX_VALUE_CHARACTERS]
    return one_line(str(value), MAX_VALUE_CHARACTERS)


def _key(key: str) -> str:
    return one_line(key, MAX_KEY_CHARACTERS)


def _limited(settings: Iterator[Setting]) -> Iterator[Setting]:
    room = MAX_CHARACTERS // 2
    for number, setting in enumerate(settings):
        room -= sum(map(len, filter(None, setting)))
        if number == MAX_SETTINGS or room < 0:
            return
        yield setting
