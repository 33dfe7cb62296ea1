"""Trainers of 64 metrics at full speed, killed with -9 at random moments: which rows are on disk.

    python tools/row_deaths.py [--kills 100] [--sustained 60] [--seed N]

A third publishes 20,000 rows as fast as it can, a third 2,000 a second; of the last third the
recorder is killed as well, and what the page kept is taken afterwards. Each row that a trainer
wrote must be in its file once, in order, with its own numbers. At last one trainer publishes 2,000
rows a second for some time.
"""

from __future__ import annotations

import argparse
import json
import random
import secrets
import struct
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

import numpy as np
from deaths import is_finished
from leftover_rows import take_leftover_rows
from recorded import kill_recorder, places_of_its_own, recorder_pid
from waiting import wait_for

from operant.shared.rows.levels import FOLD, NUM_LEVELS, sides
from operant.shared.rows.row_batch import joined
from operant.shared.rows.row_file_reader import RowFileReader
from operant.shared.runs.find_runs import find_run
from operant.shared.runs.run_folder import Run
from operant.shared.runs.status import read_status

NUM_METRICS = 64
BURST_ROWS, ROWS_PER_S = 20_000, 2_000
LIFE_S = 2.0  # of a trainer at most, from its first publish

# Publishes until it is killed or has published all; the number of the newest row that it is sure of
# is in a mapping that outlives it.
TRAINER = """
import mmap, sys, time
from operant.shared.runs.recorder_process import RecorderSettings
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession
path, num_rows, per_s = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
file = open(path, "r+b")
done = memoryview(mmap.mmap(file.fileno(), 16)).cast("Q")
run, lock = create_run("rows", {})
session = RunSession(run, lock, publish_interval_s=0.1, recorder=RecorderSettings())
names = [f"m{i:02}" for i in range(64)]
print(run.id, flush=True)
begin = time.perf_counter()
for number in range(1, num_rows + 1):
    session.metrics.publish({name: number + i for i, name in enumerate(names)}, number, 7 * number)
    done[0] = number
    if per_s and (ahead_s := number / per_s - (time.perf_counter() - begin)) > 0:
        time.sleep(ahead_s)
done[1] = int(1e6 * (time.perf_counter() - begin))
sys.stdin.read()
session.close("finished", 0)
"""


class Trainer:
    """One such process, and the file through which it says how far it is."""

    def __init__(self, num_rows: int, rows_per_s: float) -> None:
        """Publish `rows_per_s` rows; without it, as fast as possible."""
        self._done = tempfile.NamedTemporaryFile()  # noqa: SIM115 - lives as long as the trainer
        self._done.write(bytes(16))
        self._done.flush()
        command = [sys.executable, "-c", TRAINER, self._done.name, str(num_rows), str(rows_per_s)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout
        self.run = find_run(self.process.stdout.readline().strip())

    @property
    def num_published(self) -> int:
        return self._words()[0]

    @property
    def seconds(self) -> float:
        """How long it took to publish all; 0 while it has not."""
        return self._words()[1] / 1e6

    def kill(self) -> None:
        self.process.kill()
        self._wait()

    def finish(self) -> None:
        """Let it end in good order."""
        assert self.process.stdin
        self.process.stdin.close()
        self._wait()

    def _wait(self) -> None:
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()

    def _words(self) -> tuple[int, int]:
        words: tuple[int, int] = struct.unpack("<QQ", Path(self._done.name).read_bytes())
        return words


class RowDeath(NamedTuple):
    """One kill: of which kind of trainer, and how many rows it had written."""

    kind: str
    num_rows: int


def row_deaths(num_kills: int, seed: int) -> list[RowDeath]:
    """Kill `num_kills` trainers. Raises AssertionError at the first that lacks a row."""
    moments = random.Random(seed)
    kinds = ("burst", "sustained", "no recorder")
    return [_death(kinds[kill % 3], moments) for kill in range(num_kills)]


def _death(kind: str, moments: random.Random) -> RowDeath:
    is_burst = kind == "burst"
    trainer = Trainer(BURST_ROWS if is_burst else 10**9, 0 if is_burst else ROWS_PER_S)
    try:
        if kind == "no recorder":
            kill_recorder(trainer.run)
        wait_for(lambda: trainer.num_published)
        time.sleep(moments.uniform(0.0, LIFE_S))
    finally:
        trainer.kill()
    wait_for(lambda: read_status(trainer.run).state == "crashed")
    if kind != "no recorder":  # it may begin only now
        wait_for(lambda: is_finished(trainer.run))
    else:
        take_leftover_rows(trainer.run)
        assert take_leftover_rows(trainer.run) == 0, "rows are taken twice"
    num_rows = check_rows(trainer.run)
    # The newest may have been written without the trainer having come to say so.
    assert num_rows - trainer.num_published in (0, 1), f"{trainer.num_published=}, {num_rows=}"
    return RowDeath(kind, num_rows)


def sustained(seconds: float) -> dict[str, float]:
    """2,000 rows a second. Raises AssertionError when any of them is not in the file."""
    trainer = Trainer(int(ROWS_PER_S * seconds), ROWS_PER_S)
    try:
        wait_for(lambda: trainer.seconds)
        trainer.finish()
    finally:
        with suppress(ProcessLookupError):
            trainer.process.kill()
    wait_for(lambda: recorder_pid(trainer.run) is None and trainer.run.rows_path.exists())
    num_rows = check_rows(trainer.run)
    assert num_rows == int(ROWS_PER_S * seconds)
    size_bytes = trainer.run.rows_path.stat().st_size
    return {
        "rows": num_rows,
        "rows_per_s": round(num_rows / trainer.seconds),
        "bytes_per_row": round(size_bytes / num_rows, 1),
    }


def check_rows(run: Run) -> int:
    """That a run's file has the rows 1, 2, 3, ... with the numbers of each; how many there are."""
    reader, expected = RowFileReader(run.rows_path), 1
    try:
        assert reader.num_lost() == 0
        for batch in reader.batches():
            rows = np.arange(expected, expected + len(batch))
            assert np.array_equal(batch.publish, rows), "rows are missing, doubled or out of order"
            assert np.array_equal(batch.env_steps, 7 * rows)
            assert np.array_equal(batch.values, rows + np.arange(NUM_METRICS)[:, None])
            expected += len(batch)
        for level in range(1, NUM_LEVELS):
            check_level(reader, level, expected - 1)
    finally:
        reader.close()
    return expected - 1


def check_level(reader: RowFileReader, level: int, num_rows: int) -> None:
    """That each row of a level has the lowest, mean and highest number of its rows."""
    size = FOLD**level
    rows = joined(reader.rows(level, 1, num_rows // size))
    last = size * np.arange(1, num_rows // size + 1)
    assert np.array_equal(rows.publish, last), f"level {level} does not follow its rows"
    _, *found = sides(rows, level)
    expected = (last - size + 1, last - (size - 1) / 2, last)
    for values, numbers in zip(found, expected, strict=True) if len(last) else ():
        assert np.array_equal(values, numbers + np.arange(NUM_METRICS)[:, None])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--sustained", type=float, default=60.0, metavar="SECONDS")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    with places_of_its_own():
        found = row_deaths(arguments.kills, arguments.seed)
        rows = {kind: [d.num_rows for d in found if d.kind == kind] for kind, _ in found}
        kinds = {k: {"kills": len(n), "rows": sum(n), "most": max(n)} for k, n in rows.items()}
        about = {
            "seed": arguments.seed,
            "killed": kinds,
            "sustained": sustained(arguments.sustained),
        }
        print(json.dumps(about, indent=2))


if __name__ == "__main__":
    main()
