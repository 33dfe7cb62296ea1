"""Another program truncates the page of a process that lives: it trains on, and says so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import wait_for

from operant.shared import Metric, MetricsReader, MetricsWriter
from operant.shared.errors import PageError, RowFileError
from operant.shared.page.rank_place import page_path
from operant.shared.page.resumed_page import Beginning
from operant.shared.rows.row_file_reader import RowFileReader
from operant.shared.rows.rows import batch_of
from operant.shared.runs.find_runs import list_runs
from operant.shared.runs.status import read_status

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the handler is for Linux")

# Publishes 200 times a second until a file `stop` lies in the run's folder.
PUBLISHER = """
import time
from operant.shared import Metric
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession
run, lock = create_run("test", {}, rank=0)
session = RunSession(run, lock, [Metric("a", "m", description="counts")], publish_interval_s=0.05)
session.metrics.event("info", "it began")
session.metrics.phase("collecting")
number = 0
while not (run.folder / "stop").exists():
    number += 1
    session.metrics.publish({"a": number}, number, 8 * number)
    time.sleep(0.005)
session.close("finished", 0)
"""


class Publisher:
    """A process that publishes, with its recorder."""

    def __init__(self) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", PUBLISHER])
        wait_for(list_runs)
        (self.run,) = list_runs()
        self.page = page_path(self.run, 0)
        self.wait_for_publishes(20)

    def wait_for_publishes(self, more: int) -> None:
        before = read_status(self.run).iteration or 0

        def is_there() -> bool:
            assert self.process.poll() is None, f"it exited: {self.process.returncode}"
            return (read_status(self.run).iteration or 0) >= before + more

        wait_for(is_there)

    def wait_until_restored(self) -> None:
        def is_restored() -> bool:
            assert self.process.poll() is None, f"it exited: {self.process.returncode}"
            try:
                reader = MetricsReader.attach(self.page)
            except PageError:
                return False
            try:
                return reader.is_whole() and reader.rows().records != []
            finally:
                reader.detach()

        wait_for(is_restored)
        self.wait_for_publishes(5)

    def stop(self) -> None:
        (self.run.folder / "stop").touch()
        assert self.process.wait(600) == 0

    def events(self) -> list[str]:
        return self.run.events_path.read_text().splitlines()

    def recorded(self) -> set[int]:
        """The publish numbers in the file of rows; none while the recorder makes the file."""
        try:
            file = RowFileReader(self.run.rows_path())
        except RowFileError:
            return set()
        try:
            return {number for batch in file.batches() for number in batch.publish.tolist()}
        finally:
            file.close()

    def wait_until_recorded(self) -> int:
        """A publish number up to which rows are on disk."""
        newest = read_status(self.run).iteration
        wait_for(lambda: newest in self.recorded())
        return newest


@pytest.fixture
def publisher(operant_home, operant_pages, monkeypatch):
    monkeypatch.delenv("OPERANT_RECORDER")
    publisher = Publisher()
    yield publisher
    if publisher.process.poll() is None:
        publisher.process.kill()
        publisher.process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("share", [0, 0.5, 0.01])
def test_a_process_goes_on_when_its_page_is_truncated(publisher, share):
    size_bytes = publisher.page.stat().st_size
    newest = publisher.wait_until_recorded()
    for _ in range(3):
        os.truncate(publisher.page, int(share * size_bytes))
        wait_for(lambda: publisher.page.stat().st_size == size_bytes)
        publisher.wait_until_restored()
    after = publisher.wait_until_recorded()
    publisher.stop()

    wait_for(lambda: read_status(publisher.run).state == "finished")
    wait_for(lambda: not publisher.page.exists())
    events = publisher.events()
    assert sum("another program truncated the page after publish" in line for line in events) == 3
    assert sum("it began" in line for line in events) == 1
    copy = MetricsReader.attach(publisher.run.page_copy_path())
    last = copy.read().publish
    assert 1 <= newest < after <= last
    assert publisher.recorded() == set(range(1, last + 1))
    assert copy.schema() == [Metric("a", "m", description="counts")]
    history = copy.history()
    assert history.publish[-1] == last
    assert history.series("a").mean[-1] == last
    copy.detach()


def test_a_process_goes_on_when_its_page_is_truncated_and_deleted(publisher):
    newest = publisher.wait_until_recorded()
    os.truncate(publisher.page, 0)
    publisher.page.unlink()
    publisher.wait_for_publishes(5)
    publisher.stop()
    wait_for(lambda: read_status(publisher.run).state == "finished")
    assert newest in publisher.recorded()
    wait_for(lambda: any("truncated the page" in line for line in publisher.events()))


@pytest.fixture
def writer(operant_pages, tmp_path):
    writer = MetricsWriter.create(
        operant_pages / "p", "run", [Metric("a")], publish_interval_s=1, max_metrics=2
    )
    writer.copy_path = tmp_path / "copy"
    yield writer
    writer.remove()


def test_the_history_of_a_truncated_page_comes_from_its_copy(writer):
    for number in range(1, 301):
        writer.publish({"a": number}, number, number)
    writer.save_copy(writer.copy_path)
    for number in range(301, 401):
        writer.publish({"a": number}, number, number)
    os.truncate(writer.path, 0)
    writer.publish({"a": 401}, 401, 401)

    reader = MetricsReader.attach(writer.path)
    history = reader.history()
    # 401 publishes without a gap; those since the copy are empty
    assert history.num_publishes.sum() == 401
    low, mean, high = history.series("a")
    written = ~(mean != mean)
    assert high[written].tolist()[-2:] == [300, 401]
    assert low[written][0] == 1
    assert reader.read().metrics == {"a": 401}
    reader.detach()


def test_a_page_that_was_truncated_and_lengthened_is_restored_as_well(writer):
    writer.publish({"a": 1}, 1, 1)
    size_bytes = writer.path.stat().st_size
    os.truncate(writer.path, 0)
    os.truncate(writer.path, size_bytes)
    writer.publish({"a": 2}, 2, 2)
    reader = MetricsReader.attach(writer.path)
    assert reader.is_whole()
    assert reader.read().metrics == {"a": 2}
    assert [event.level for event in reader.events()] == ["warning"]
    reader.detach()


@pytest.mark.parametrize("word", ["event", "phase", "beat", "finish"])
def test_whatever_a_process_writes_restores_its_page(writer, word):
    writer.publish({"a": 1}, 1, 1)
    os.truncate(writer.path, 100)
    arguments = {
        "event": ("info", "hello"), "phase": ("learning",), "beat": (), "finish": ("finished", 0)
    }  # fmt: skip
    getattr(writer, word)(*arguments[word])
    reader = MetricsReader.attach(writer.path)
    assert reader.read().metrics == {"a": 1}
    assert "truncated the page after publish 1" in reader.events()[0].text
    reader.detach()


@pytest.mark.parametrize("size_bytes", [0, 100, 200_000])
def test_no_row_is_lost_when_a_page_is_truncated(writer, size_bytes):
    for number in range(1, 301):
        writer.publish({"a": number}, number, number)
        if number == 100:
            reader = MetricsReader.attach(writer.path)
            position = reader.rows().position  # a reader that has taken 100 rows
            reader.detach()
    os.truncate(writer.path, size_bytes)
    writer.publish({"b": 301}, 301, 301)
    writer.publish({"a": 302, "b": 302}, 302, 302)

    reader = MetricsReader.attach(writer.path)
    batch = batch_of(reader.rows(position).records)
    assert {*range(101, 303)} <= {*batch.publish.tolist()}
    assert dict(zip(batch.publish.tolist(), batch.values[0].tolist(), strict=True))[222] == 222
    (event,) = reader.events()
    assert event.text == (
        "another program truncated the page after publish 300: "
        "every row is in the run's files, charts may lack the newest"
    )
    reader.detach()


def test_a_page_can_be_truncated_while_it_is_restored(writer, monkeypatch):
    writer.publish({"a": 1}, 1, 1)
    read, cuts = Beginning.read, [0, 0]

    def read_of_a_page_that_is_truncated(path, publish):
        if cuts:
            os.truncate(writer.path, cuts.pop())
        return read(path, publish)

    monkeypatch.setattr(Beginning, "read", read_of_a_page_that_is_truncated)
    os.truncate(writer.path, 0)
    for number in range(2, 5):
        writer.publish({"a": number}, number, number)
    reader = MetricsReader.attach(writer.path)
    assert reader.read().metrics == {"a": 4}
    assert batch_of(reader.rows().records).publish.tolist() == [1, 2, 3, 4]
    reader.detach()


def test_a_full_ring_of_rows_can_be_truncated(operant_pages):
    writer = MetricsWriter.create(
        operant_pages / "p", "run", [Metric("a")], publish_interval_s=1, rows_bytes=4096
    )
    for number in range(1, 201):
        writer.publish({"a": number}, number, number)
    reader = MetricsReader.attach(writer.path)
    position = reader.rows().position
    os.truncate(writer.path, writer.path.stat().st_size - 4096)
    for number in range(201, 401):
        writer.publish({"a": number}, number, number)
    # 4032 bytes hold 55 rows of 72 bytes, or 56 without a filler at the end
    newest = batch_of(reader.rows(position).records).publish.tolist()
    assert newest == [*range(newest[0], 401)]
    assert 55 <= len(newest) <= 56
    reader.detach()
    writer.remove()


def test_a_copy_is_never_made_of_a_truncated_page(writer):
    writer.publish({"a": 1}, 1, 1)
    writer.save_copy(writer.copy_path)
    os.truncate(writer.path, 0)
    writer.save_copy(writer.copy_path)
    reader = MetricsReader.attach(writer.copy_path)
    assert reader.read().metrics == {"a": 1}
    reader.detach()


def run_python(code: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *options, "-c", PREPARED + code, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


PREPARED = """
import mmap, os, signal, sys
from pathlib import Path
from operant.shared import Metric, MetricsReader, MetricsWriter
folder = Path(sys.argv[1])
writer = MetricsWriter.create(folder / "p", "run", [Metric("a")], publish_interval_s=1)
writer.publish({"a": 1}, 1, 1)
def other_mapping():
    fd = os.open(folder / "other", os.O_CREAT | os.O_RDWR)
    os.ftruncate(fd, 8192)
    mapping = mmap.mmap(fd, 8192)
    os.ftruncate(fd, 0)
    return mapping
"""


@pytest.mark.parametrize("options", [(), ("-X", "faulthandler")])
def test_a_fault_in_another_mapping_still_ends_the_process(operant_pages, options):
    code = """
os.truncate(writer.path, 0)
writer.publish({"a": 2}, 2, 2)
print("survived", flush=True)
other_mapping()[0] = 1
print("not reached")
"""
    ended = run_python(code, operant_pages, *options)
    assert ended.returncode == -signal.SIGBUS
    assert ended.stdout == "survived\n"
    assert ("Fatal Python error: Bus error" in ended.stderr) == bool(options)


@pytest.mark.parametrize(
    ("other", "shows"),
    [
        ("signal.signal(signal.SIGBUS, signal.SIG_DFL)", False),  # as PyTorch Lightning does
        ("import faulthandler; faulthandler.enable()", True),
    ],
)
def test_a_handler_that_is_set_later_is_replaced_and_gets_what_is_its_own(
    operant_pages, other, shows
):
    code = f"""
{other}
for number in range(2, 66):
    writer.publish({{"a": number}}, number, number)
os.truncate(writer.path, 0)
writer.publish({{"a": 66}}, 66, 66)
print("survived", flush=True)
other_mapping()[0] = 1
print("not reached")
"""
    ended = run_python(code, operant_pages)
    assert (ended.returncode, ended.stdout) == (-signal.SIGBUS, "survived\n")
    assert ("Fatal Python error: Bus error" in ended.stderr) == shows


def test_a_handler_that_was_put_back_without_its_flags_is_as_before(operant_pages):
    code = """
import ctypes
libc = ctypes.CDLL(None)
libc.signal.restype, libc.signal.argtypes = ctypes.c_void_p, (ctypes.c_int, ctypes.c_void_p)
libc.signal(signal.SIGBUS, libc.signal(signal.SIGBUS, None))  # as pygame does
os.truncate(writer.path, 0)
writer.publish({"a": 2}, 2, 2)
print("survived", flush=True)
other_mapping()[0] = 1
print("not reached")
"""
    ended = run_python(code, operant_pages)
    assert (ended.returncode, ended.stdout) == (-signal.SIGBUS, "survived\n")


def test_a_signal_that_another_program_sends_still_ends_the_process(operant_pages):
    ended = run_python("os.kill(os.getpid(), signal.SIGBUS); print('not reached')", operant_pages)
    assert (ended.returncode, ended.stdout) == (-signal.SIGBUS, "")


def test_a_forked_child_leaves_a_truncated_page_alone(operant_pages):
    code = """
os.truncate(writer.path, 0)
if os.fork() == 0:
    writer.publish({"a": 2}, 2, 2)
    print("child", os.stat(writer.path).st_size, flush=True)
    other_mapping()[0] = 1
_, status = os.wait()
print(os.WTERMSIG(status))
writer.publish({"a": 3}, 3, 3)
print(MetricsReader.attach(writer.path).read().metrics["a"])
"""
    ended = run_python(code, operant_pages)
    assert ended.stdout.split() == ["child", "0", str(int(signal.SIGBUS)), "3.0"]


def test_a_process_goes_on_when_the_file_cannot_have_its_size_back(operant_pages):
    code = """
import resource
os.truncate(writer.path, 0)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
for number in range(2, 100):
    writer.publish({"a": number}, number, number)
writer.finish("finished", 0)
print(writer.latest("a"), os.stat(writer.path).st_size)
"""
    ended = run_python(code, operant_pages)
    assert (ended.returncode, ended.stdout) == (0, "99.0 0\n"), ended.stderr
