"""One writer as fast as it can, readers in other processes that check every number they see.

    python tools/torture.py [--publishes N] [--readers N]

Value i of publish p is p * 32 + i, so that a reader knows what each number must be: a torn, a mixed
and a never-written value are all wrong ones.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from operant.shared import MetricsReader, MetricsWriter
from operant.shared.rows.curves import Curves

NUM_VALUES = 32
NAMES = [f"metric/{i}" for i in range(NUM_VALUES)]
EVENT_EVERY = 10_000
HISTORY_EVERY = 50  # snapshots a reader checks for each whole history


class WrongNumberError(AssertionError):
    """A reader saw what was never published."""


def write(path: Path, num_publishes: int) -> None:
    """Publish `num_publishes` times without a pause."""
    writer = MetricsWriter.create(path, "torture", [], publish_interval_s=1.0)
    values = dict.fromkeys(NAMES, 0.0)
    for publish in range(1, num_publishes + 1):
        first = publish * NUM_VALUES
        for i, name in enumerate(NAMES):
            values[name] = first + i
        writer.publish(values, publish, 2 * publish)
        if publish % EVENT_EVERY == 0:
            writer.event("info", f"at {publish}", publish)
    writer.finish("finished", 0)


def read(path: Path, counts: multiprocessing.Queue) -> None:
    """Check snapshots, histories and events until the writer has finished."""
    counted: Counter[str] = Counter()
    try:
        reader = _attached(path)
        curves, is_over = Curves(None, reader), False
        while not is_over:
            is_over = reader.outcome() is not None
            for _ in range(HISTORY_EVERY):
                counted["snapshots"] += check_snapshot(reader)
            counted["history rows"] += check_history(curves)
            counted["events"] += check_events(reader)
        snapshot = reader.read()
        counted["last publish"] = snapshot.publish if snapshot else 0
    except Exception as error:
        counts.put({"error": f"{type(error).__name__}: {error}"})
    else:
        counts.put(dict(counted))


def check_snapshot(reader: MetricsReader) -> int:
    """1 when there is a snapshot; raises WrongNumberError when it is not one that was published."""
    snapshot = reader.read()
    if snapshot is None:
        return 0
    first = snapshot.publish * NUM_VALUES
    expected = dict(zip(NAMES, range(first, first + NUM_VALUES), strict=True))
    marks = (snapshot.iteration, snapshot.env_steps)
    if snapshot.metrics != expected or marks != (snapshot.publish, 2 * snapshot.publish):
        raise WrongNumberError(f"snapshot {snapshot}")
    return 1


def check_history(curves: Curves) -> int:
    """The number of rows; raises WrongNumberError when one of them is not of its publishes, or when
    rows overlap. The writer may lap the reader, which then misses rows.
    """
    history = curves.history()
    last = history.publish
    first = (history.series(NAMES[0]).low / NUM_VALUES).astype(last.dtype)
    if (first[1:] <= last[:-1]).any():
        raise WrongNumberError(f"rows overlap: from {first.tolist()} to {last.tolist()}")
    is_whole = last - first + 1 == history.num_publishes
    for i, name in enumerate(NAMES):
        low, mean, high = history.series(name)
        _equal(low, first * NUM_VALUES + i, name)
        _equal(high, last * NUM_VALUES + i, name)
        middle = np.where(is_whole, (first + last) / 2 * NUM_VALUES + i, mean)
        _equal(mean, middle, name)
    _equal(history.env_steps, 2 * last, "env_steps")
    return len(history)


def check_events(reader: MetricsReader) -> int:
    """The number of events; raises WrongNumberError when one says what was never said."""
    events = reader.events()
    for event in events:
        publish = event.number * EVENT_EVERY
        if (event.text, event.env_steps) != (f"at {publish}", publish):
            raise WrongNumberError(f"event {event}")
    return len(events)


def torture(num_publishes: int, num_readers: int) -> list[dict[str, int | str]]:
    """Run one writer and its readers; what each reader checked, or the error it met."""
    context = multiprocessing.get_context("spawn")
    root = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(prefix="operant-torture-", dir=root) as folder:
        path, counts = Path(folder) / "a.page", context.Queue()
        readers = [context.Process(target=read, args=(path, counts)) for _ in range(num_readers)]
        writer = context.Process(target=write, args=(path, num_publishes))
        for process in (*readers, writer):
            process.start()
        found = [counts.get() for _ in readers]
        for process in (*readers, writer):
            process.join()
    return found


def _attached(path: Path) -> MetricsReader:
    while not path.exists():
        time.sleep(0.001)
    return MetricsReader.attach(path)


def _equal(found: np.ndarray, expected: np.ndarray, name: str) -> None:
    wrong = np.flatnonzero(found != expected)
    if len(wrong):
        row = wrong[0]
        raise WrongNumberError(
            f"history row {row} of {name}: {found[row]}, expected {expected[row]}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--publishes", type=int, default=10_000_000)
    parser.add_argument("--readers", type=int, default=3)
    arguments = parser.parse_args()
    began = time.perf_counter()
    found = torture(arguments.publishes, arguments.readers)
    report = {"publishes": arguments.publishes, "values": NUM_VALUES, "readers": found}
    print(json.dumps({**report, "seconds": round(time.perf_counter() - began, 1)}, indent=2))
    return any("error" in reader for reader in found)


if __name__ == "__main__":
    sys.exit(main())
