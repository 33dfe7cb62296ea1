"""Every test has runs and pages of its own; which tests are slow, and which files took longest."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import SIGNALS
from hypothesis import settings
from slow_tests import is_slow

# The same examples every time. To look for others: pytest --hypothesis-profile=search
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("search", max_examples=2000, deadline=None)
settings.load_profile("fixed")

# A shell starts what it puts in the background with SIGINT and SIGQUIT ignored, and all that the
# tests start would inherit that: ctrl-c would end none of it.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
# Under nohup the same holds for SIGHUP. A handler that does nothing keeps the tests alive as nohup
# would, and programs that they start have the default again.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda number, frame: None)


class RepositoryIsAFolder:
    """The `__init__.py` at the top makes the repository a package for pytest, which would import it
    once more under the checkout's name, and cannot where that is none in Python: `operant-main`.
    """

    @pytest.hookimpl(tryfirst=True)
    def pytest_collect_directory(
        self, path: Path, parent: pytest.Collector
    ) -> pytest.Collector | None:
        return pytest.Dir.from_parent(parent, path=path) if path == parent.config.rootpath else None


NOT_SLOW = "not slow"  # what `make test` chooses
MOST_PILOTS = 12  # in `make test`
LISTED_FILES = 20
STARTED = "started a process"
RUNNING: list[pytest.Item] = []  # the test that runs


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--inductor", action="store_true", help="test torch.compile as runs have it")


def pytest_configure(config: pytest.Config) -> None:
    # Not as a hook of this file: those are not asked about the folder above.
    config.pluginmanager.register(RepositoryIsAFolder())
    if config.option.markexpr == NOT_SLOW:
        sys.addaudithook(note_process_of_python)


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    pilots = {item for item in items if item.get_closest_marker("pilot")}
    if len(pilots) > MOST_PILOTS:
        raise pytest.UsageError(f"{len(pilots)} tests are pilots; at most {MOST_PILOTS} may be")
    for item in items:
        if isinstance(item, pytest.Function) and item not in pilots and is_slow(item):
            item.add_marker(pytest.mark.slow)


def pytest_runtest_setup(item: pytest.Item) -> None:
    RUNNING.append(item)
    del RUNNING[:-1]


def note_process_of_python(event: str, arguments: tuple[Any, ...]) -> None:
    """Note that the running test, which is not marked slow, starts a process with operant in it."""
    program = os.fsdecode(arguments[0] or "") if event == "subprocess.Popen" else ""
    if RUNNING and (event == "os.fork" or Path(program).name.startswith("python")):
        RUNNING[0].user_properties.append((STARTED, program or event))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The files whose tests took longest, and tests that should be marked slow."""
    reports = [
        report
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport)
    ]
    seconds: Counter[str] = Counter()
    for report in reports:
        seconds[report.location[0]] += report.duration
    terminalreporter.section("slowest files")
    for file, duration in seconds.most_common(LISTED_FILES):
        terminalreporter.write_line(f"{duration:8.1f}s {file}")
    if started := {report.nodeid for report in reports if STARTED in dict(report.user_properties)}:
        terminalreporter.section("start a Python process: mark them slow")
        terminalreporter.write_line("\n".join(sorted(started)))


@pytest.fixture(autouse=True)
def operant_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty $OPERANT_HOME, and no settings of whoever runs the tests."""
    home = tmp_path / "home"
    monkeypatch.setenv("OPERANT_HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return home


@pytest.fixture(autouse=True)
def _signal_handlers_are_put_back() -> Iterator[None]:
    """Restore signal handlers after each test; fail one that changed them."""
    former = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    left = {number.name for number in SIGNALS if signal.getsignal(number) != former[number]}
    for number, handler in former.items():
        signal.signal(number, handler)
    assert not left, f"the test left a handler of {', '.join(sorted(left))}"


@pytest.fixture(autouse=True)
def _no_recorders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are not recorded and what they print is not caught, except where a test is about it."""
    monkeypatch.setenv("OPERANT_RECORDER", "off")
    monkeypatch.setenv("OPERANT_CONSOLE", "off")


@pytest.fixture(autouse=True)
def operant_pages(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty $OPERANT_PAGES, on memory where there is any, as pages usually are."""
    root = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="operant-test-", dir=root))
    monkeypatch.setenv("OPERANT_PAGES", str(folder))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
