"""A run's description as text: its configuration, and how it was started."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, NamedTuple

from ....shared.runs.run_folder import DIFF_FILE, PACKAGES_FILE, Run
from ....shared.runs.setting_sources import defaults_of, is_default, sources_in
from ....shared.runs.small_file import read_small
from ....shared.text.harmless import harmless, one_line
from ...render.formatting import counted
from ..machine.tuning_advice import Knobs, knobs_of

MAX_SETTINGS, MAX_KEY_CHARACTERS, MAX_VALUE_CHARACTERS = 4000, 200, 500
# Of all together: one message holds them, see `remote/frames.py`.
MAX_CHARACTERS, MAX_STARTED_CHARACTERS, MAX_DIFF_CHARACTERS = 200_000, 100_000, 100_000
MAX_DIFF_LINES, MAX_LINE_CHARACTERS, MAX_FILE_BYTES = 4000, 1000, 1 << 20
# Of run.toml, beside the configuration. The first two are every run's own.
_STARTED = ("created", "command_line", "device", "stepped_by", "git_commit", "versions", "summary")
_OWN = frozenset({"created", "command_line", "packages"})
_COMMENT, _NOT_KNOWN = "# ", "# not known:"  # at the top of a diff


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
    `has_defaults` is False for a loop of one's own, which has no defaults. `diff` has the lines
    of `git.diff`, `packages` the versions of all that was installed, by name.
    """

    settings: tuple[Setting, ...] = ()
    started: tuple[Setting, ...] = ()
    has_defaults: bool = False
    diff: tuple[str, ...] = ()
    packages: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_sources(self) -> bool:
        return any(setting.source for setting in self.settings)


NO_DESCRIPTION = Description()


def comparable(descriptions: Sequence[Description]) -> list[dict[str, str]]:
    """Each run's values to compare, by key; packages and changed files where all runs have them."""
    tables = []
    has_packages = all(each.packages for each in descriptions)
    has_diffs = all(each.diff and not each.diff[0].startswith(_NOT_KNOWN) for each in descriptions)
    for each in descriptions:
        table = {s.key: s.value for s in (*each.settings, *each.started) if s.key not in _OWN}
        for name, version in each.packages.items() if has_packages else ():
            table.setdefault(f"versions.{name}", version)
        if has_diffs:
            table |= {f"git_diff {name}": text for name, text in _changed_files(each.diff).items()}
        tables.append(table)
    return tables


def _changed_files(diff: Sequence[str]) -> dict[str, str]:
    """The number of lines that each file of a diff gained and lost, and a checksum of them, which
    is the same whichever commit the diff is against.
    """
    files: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in diff:
        if line.startswith("diff --git "):
            lines = files[line.rpartition(" b/")[2]] = []
        else:
            lines.append(line)
    return {name: _lines_in_words(lines) for name, lines in files.items()}


def _lines_in_words(lines: list[str]) -> str:
    start = next((i for i, line in enumerate(lines) if line.startswith("@@")), None)
    if start is None:  # a binary file, or another mode or name
        return f"changed {zlib.crc32(''.join(lines).encode()):08x}"
    changed = [line for line in lines[start:] if line[:1] in ("+", "-")]
    checksum = zlib.crc32("\n".join(changed).encode())
    num_more = sum(line[0] == "+" for line in changed)
    return f"+{num_more} -{len(changed) - num_more} {checksum:08x}"


def _diff_in_words(diff: Sequence[str]) -> str:
    """`2 files; not in git: train.py`, `no changes`, or why there is no diff."""
    num_files = sum(line.startswith("diff --git ") for line in diff)
    comments = [line[len(_COMMENT) :] for line in takewhile(_is_comment, diff)]
    return "; ".join([*([counted(num_files, "file")] if num_files else []), *comments])


def _is_comment(line: str) -> bool:
    return line.startswith(_COMMENT)


class RecordedManifest:
    """Reads run.toml, again once it is written anew: trainers add their device."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._written: tuple[int, int] | None = None
        self._told: tuple[Knobs | None, Description] = (None, NO_DESCRIPTION)

    def read(self) -> tuple[Knobs | None, Description]:
        written = self._run.manifest_written()
        if written and written != self._written:
            manifest = self._run.manifest()
            texts = [self._text(name) for name in (DIFF_FILE, PACKAGES_FILE)]
            self._written = written
            self._told = knobs_of(manifest), description_of(manifest, *texts)
        return self._told

    def _text(self, name: str) -> str:
        """The text of a file of the run; empty if it cannot be read."""
        with contextlib.suppress(OSError):
            path = self._run.folder / name
            return read_small(path, MAX_FILE_BYTES, self._run.folder).decode("utf-8", "replace")
        return ""


def description_of(manifest: Mapping[str, Any], diff: str = "", packages: str = "") -> Description:
    """Describe run.toml and the files beside it, which may hold anything."""
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
    facts = {key: manifest[key] for key in _STARTED if manifest.get(key)}
    started = [Setting(_key(key), value_text(value)) for key, value in dotted(facts)]
    lines = tuple(_lines(diff[:MAX_DIFF_CHARACTERS]))
    installed = dict(line.split("==", 1) for line in packages.splitlines() if "==" in line)
    versions = [Setting(_key(name), value_text(installed[name])) for name in installed]
    versions = list(_limited(versions, MAX_STARTED_CHARACTERS // 2))
    if lines:
        started.append(Setting("git_diff", value_text(_diff_in_words(lines))))
    if versions:
        started.append(Setting("packages", f"{len(versions)}, in {PACKAGES_FILE}"))
    return Description(
        tuple(_limited(settings, MAX_CHARACTERS)),
        tuple(_limited(started, MAX_STARTED_CHARACTERS // 2)),
        isinstance(defaults, Mapping),
        lines,
        {setting.key: setting.value for setting in versions},
    )


def _lines(diff: str) -> list[str]:
    lines = [
        harmless(line[:MAX_LINE_CHARACTERS].expandtabs(4)) for line in diff.split("\n") if line
    ]
    return lines[:MAX_DIFF_LINES]


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


def _limited(settings: Sequence[Setting], room: int) -> Iterator[Setting]:
    """The first settings within `room` characters."""
    for number, setting in enumerate(settings):
        room -= sum(map(len, filter(None, setting)))
        if number == MAX_SETTINGS or room < 0:
            return
        yield setting
