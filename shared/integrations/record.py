"""A dict whose entries are attributes as well: a run's configuration and its summary."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from .never_raising import never_raises
from .values import as_mapping


class Record(MutableMapping[str, Any]):
    """`record["a"]`, `record.a` and `record.update({"a": 1})`; tells of every change."""

    def __init__(
        self,
        entries: dict[str, Any],
        changed: Callable[[], None],
        warn_once: Callable[[str, str], None],
    ) -> None:
        """`warn_once` takes a key and a text: of what cannot be kept, it tells the first time."""
        object.__setattr__(self, "_entries", entries)
        object.__setattr__(self, "_changed", changed)
        object.__setattr__(self, "_warn_once", warn_once)

    @never_raises()
    def update(self, entries: Any = None, allow_val_change: bool = True, **more: Any) -> None:  # type: ignore[override]
        """Take over all of a mapping, a namespace or a dataclass. Values may always change."""
        self._entries.update(as_mapping(entries), **more)
        self._changed()

    @never_raises()
    def setdefaults(self, entries: Any) -> None:
        """Take over what is not there yet."""
        self.update({**as_mapping(entries), **self._entries})

    def update_locked(self, entries: Any, *_: Any, **__: Any) -> None:
        self.update(entries)

    merge_locked = update_locked

    def persist(self) -> None:
        """Every change is written at once anyway."""

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

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return repr(self._entries)
