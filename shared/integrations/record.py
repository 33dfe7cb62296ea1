"""The configuration and the summary of a run: a dict whose entries are attributes as well."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from .never_raising import never_raises
from .values import as_mapping


class Record(MutableMapping[str, Any]):
    """Entries as items and attributes: `record["a"]`, `record.a`, `record.update({"a": 1})`. Calls
    a function on every change.
    """

    def __init__(
        self,
        entries: dict[str, Any],
        changed: Callable[[], None],
        warn_once: Callable[[str, str], None],
    ) -> None:
        """`warn_once` takes a key and a text; it reports the first value of each key that cannot be
        kept.
        """
        vars(self).update(_entries=entries, _changed=changed, _warn_once=warn_once)

    @never_raises()
    def update(self, entries: Any = None, allow_val_change: bool = True, **more: Any) -> None:  # type: ignore[override]
        """Add the entries of a mapping, a namespace or a dataclass. Values may change."""
        self._entries.update(as_mapping(entries), **more)
        self._changed()

    def update_locked(self, entries: Any, *_: Any, **__: Any) -> None:
        self.update(entries)

    merge_locked = update_locked

    @never_raises()
    def setdefaults(self, entries: Any) -> None:
        """Add the entries whose keys are missing."""
        self.update({**as_mapping(entries), **self._entries})

    def persist(self) -> None:
        """Has no effect: every change is written at once."""

    def as_dict(self) -> dict[str, Any]:
        return dict(self._entries)

    def __getitem__(self, key: str) -> Any:
        return self._entries[key]

    @never_raises()
    def __setitem__(self, key: str, value: Any) -> None:
        self._entries[key] = value
        self._changed()

    def __delitem__(self, key: str) -> None:
        del self._entries[key]
        self._changed()

    def __getattr__(self, name: str) -> Any:
        try:
            return self._entries[name]
        except KeyError:
            raise AttributeError(f"there is no '{name}'") from None

    __setattr__ = __setitem__

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return repr(self._entries)
