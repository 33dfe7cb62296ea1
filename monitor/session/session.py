"""The state that all screens and widgets of one monitor share."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, cast

from ...shared.runs.run_folder import Run
from ..charts.arrangement import Arrangement
from ..charts.shown_run import Look
from ..runs.list.comparison import Comparison
from ..runs.list.run_groups import SINGLE, GroupKey
from .arrangements import FILE_NAME, Arrangements
from .settings import Settings, load_settings, save_settings


class Session:
    """The settings, how text is drawn, and the runs that people chose to see together.

    Settings are those of the file at `path`, where changes are kept; without a path nothing is.
    `theme` and `is_ascii` are for this session alone, and so are `settings` in place of a file's.
    """

    def __init__(
        self,
        path: Path | None = None,
        settings: Settings | None = None,
        theme: str | None = None,
        is_ascii: bool = False,
    ) -> None:
        self._path = path
        loaded, self.warning = load_settings(path) if path else (Settings(), "")
        self.settings = settings or loaded
        self.is_plain = "NO_COLOR" in os.environ
        self.theme = "plain" if self.is_plain else theme
        self.is_ascii = is_ascii or self.settings.ascii
        self.comparison = Comparison[Run]()
        self.looks: dict[str, Look] = {}
        self.grouped_by = SINGLE
        self.group_comparison = Comparison[GroupKey]()
        self.group_looks: dict[str, Look] = {}
        self.arrangements = Arrangements(path.with_name(FILE_NAME) if path else None)
        self.warning = self.warning or self.arrangements.problem
        self._is_text = False
        self._undo: list[Callable[[], None]] = []  # of what the last key has changed

    @property
    def palette_name(self) -> str:
        return self.theme or self.settings.theme

    def change_settings(self, **changes: Any) -> None:
        """Remember something for this session and, where there is a file for it, the next.
        Nothing is remembered of keys that are part of a pasted text.
        """
        before = self.settings
        changed = replace(before, **changes)
        if changed == before or self._is_text:
            return
        self._undo.append(lambda: self.change_settings(**vars(before)))
        self.settings = changed
        if self._path:
            try:
                save_settings(self._path, changed)
            except OSError as error:
                self.warning = f"cannot write {self._path}: {error.strerror}"
                self._path = None

    def begin_key(self, is_text: bool) -> None:
        """Called before a key acts: part of a text, or pressed by itself."""
        if is_text:
            self.take_back()
        self._is_text = is_text
        self._undo.clear()

    def take_back(self) -> None:
        """Undo what the last key has changed: it turned out to be the first of a text."""
        undo, self._undo = self._undo, []
        self._is_text = False
        for restore in reversed(undo):
            restore()
        self._undo.clear()
        self._is_text = True

    def keep_arrangement(self, project: str, arrangement: Arrangement) -> None:
        """Remember how the charts of a project stand, as settings are."""
        if self._is_text:
            return
        before = self.arrangements.of(project)
        self._undo.append(lambda: self.keep_arrangement(project, before))
        try:
            self.arrangements.keep(project, arrangement)
        except OSError as error:
            self.warning = f"cannot write {FILE_NAME}: {error.strerror}"
        except ValueError:  # a run's name that is no text
            self.warning = f"cannot write {FILE_NAME}: {project!r} cannot be written"


class _HasSession(Protocol):
    session: Session


def session_of(app: object) -> Session:
    """The session of the application that a screen or widget is part of."""
    return cast(_HasSession, app).session
