"""Runs as the monitor's tests need them: made up, the same every time, or real with a real page."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Iterator

import pytest

from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run tests that are coroutines, as those with Textual's pilot are."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture(autouse=True)
def _same_everywhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Clock times and colours that do not depend on where the tests run."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def make_session() -> Iterator[object]:
    """Start a run with a real page; what is left open at the end is let go of."""
    sessions: list[RunSession] = []

    def make_session(name: str = "test", publish_interval_s: float = 100.0, **options):
        run, lock = create_run(name, {})
        session = RunSession(run, lock, publish_interval_s=publish_interval_s, **options)
        sessions.append(session)
        return session

    yield make_session
    for session in sessions:
        session.close("stopped", 0)
