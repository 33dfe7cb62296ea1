"""Keys that arrive at once, as pasted or over a slow ssh, act one after the other: each goes where
the one before it has put the focus.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable

from textual import events
from textual.app import App
from textual.dom import DOMNode
from textual.widgets import Input

from .session import Session

TEXT_GAP_S = 0.005  # between different characters; what comes faster is text, not pressed keys
PATIENCE_S = 1.0  # with one key, whatever it has begun


class KeysInOrder(App[None], inherit_bindings=False):
    """An application whose `session` remembers what single keys change, and not what text does."""

    session: Session

    def __init__(self, ansi_color: bool | None = None) -> None:
        super().__init__(ansi_color=ansi_color)
        self._last_key: events.Key | None = None
        self._was_text = False  # whether that key was part of a text
        self._waiting: deque[tuple[events.Event, bool]] = deque()
        self._settling: asyncio.Task[None] | None = None

    async def on_event(self, event: events.Event) -> None:
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await super().on_event(event)
            return
        is_text = self._is_text(event)
        if is_text:
            self.session.take_back()
        if self._settling and not self._settling.done():
            self._waiting.append((event, is_text))
            return
        opened = self._opened()
        await self._act_on(event, is_text)
        self._settling = asyncio.create_task(self._settle(opened))

    def on_unmount(self) -> None:
        if self._settling:
            self._settling.cancel()

    def _is_text(self, event: events.Event) -> bool:
        """Whether a key follows another, different character so fast that nobody pressed it. A
        character that repeats is part of a text only where the one before it is: a key that is held
        down repeats as well.
        """
        last, self._last_key = self._last_key, event if isinstance(event, events.Key) else None
        was_text, self._was_text = self._was_text, False
        if not isinstance(event, events.Key) or last is None:
            return False
        are_characters = event.is_printable and last.is_printable
        is_fast = are_characters and event.time - last.time < TEXT_GAP_S
        self._was_text = is_fast and (event.key != last.key or was_text)
        return self._was_text

    async def _act_on(self, event: events.Event, is_text: bool) -> None:
        self.session.begin_key(is_text)
        await super().on_event(event)

    async def _settle(self, before: set[object]) -> None:
        """Wait until a key has done what it does, then let the next one act."""
        while not self._exit:
            try:
                async with asyncio.timeout(PATIENCE_S):
                    await self._until_quiet(before)
            except TimeoutError:
                pass
            if not self._waiting:
                return
            before = self._opened()
            await self._act_on(*self._waiting.popleft())

    async def _until_quiet(self, before: set[object]) -> None:
        """Wait until the key has gone from the focused widget up to the application, then what it
        has posted too; where it has opened a screen or a prompt, until that has the focus.
        """
        for _ in range(2):
            await self._pass_queues()
        opened = self._opened() - before
        while opened and not self._has_focus(opened):
            await self._pass_queues()
            await asyncio.sleep(0.001)
            opened = self._opened() - before

    async def _pass_queues(self) -> None:
        """Wait for the queues along the way of a message to be worked off up to now."""
        for node in [*(self.focused or self.screen).ancestors_with_self]:
            passed = asyncio.Event()
            if node.call_later(passed.set):
                await passed.wait()

    def _opened(self) -> set[object]:
        """The screen, and where one can type on it."""
        inputs = (
            node for node in self.screen.query(Input) if _is_displayed(node.ancestors_with_self)
        )
        return {self.screen, *inputs}

    def _has_focus(self, opened: Iterable[object]) -> bool:
        inputs = [node for node in opened if isinstance(node, Input)]
        return self.screen.is_mounted and (not inputs or self.focused in inputs)


def _is_displayed(nodes: Iterable[DOMNode]) -> bool:
    return all(node.display for node in nodes if node.styles is not None)
