"""Processes killed with -9 at random moments, their creation included: what is left of each.

    python tools/deaths.py [--kills 200] [--seed N]

Each is listed as crashed within a second, runs beside it stay listed and running, and its recorder
has finished the files by itself: the last publish is in rows.sqlite, the crash in events.log, the
page in the run folder and off memory.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import secrets
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

from recorded import event_texts, places_of_its_own, publishes, recorder_pid
from waiting import wait_for

from operant.shared import MetricsReader
from operant.shared.page.page_place import page_place
from operant.shared.runs.find_runs import list_runs
from operant.shared.runs.run_folder import Run
from operant.shared.runs.status import read_status

CRASHED_WITHIN_S = 1.0
LIFE_S = 2.0  # a process lives at most so long from its start
CREATION_S = 0.05  # and every second one at most so long from the moment its run exists

# Publishes for ever, up to a thousand times a second.
VICTIM = """
import time
from operant.shared.runs import session
from operant.shared.runs.run_folder import create_run
run, lock = create_run("victim", {})
session = session.RunSession(run, lock, publish_interval_s=0.1)
number = 0
while True:
    number += 1
    session.metrics.publish({"a": number, "b": -number}, number, 10 * number)
    if number % 100 == 0:
        session.metrics.event("info", f"at {number}")
    time.sleep(0.001)
"""


class Death(NamedTuple):
    """One kill: when, at what moment of the run's life, and how long it took to be seen."""

    after_s: float
    moment: str
    crashed_s: float = 0.0
    finished_s: float = 0.0


def deaths(num_kills: int, seed: int) -> list[Death]:
    """Kill `num_kills` processes. Raises AssertionError at the first whose end is not told."""
    moments = random.Random(seed)
    with ExitStack() as stack:
        bystanders = [_start(stack) for _ in range(2)]
        wait_for(lambda: len(list_runs()) == len(bystanders))
        beside = list_runs()
        wait_for(lambda: all(_publish(run) for run in beside))
        found = []
        for kill in range(num_kills):
            is_early = kill % 2 == 1
            after_s = moments.uniform(0.0, CREATION_S if is_early else LIFE_S)
            found.append(_death(after_s, is_early, beside))
    wait_for(lambda: all(recorder_pid(run) is None for run in beside))
    return found


def _death(after_s: float, is_early: bool, beside: list[Run]) -> Death:
    """Kill a process `after_s` from its start or, if `is_early`, from the moment its run exists."""
    known = list_runs()
    with ExitStack() as stack:
        process = _start(stack)
        while is_early and len(list_runs()) == len(known):
            time.sleep(0.0005)
        time.sleep(after_s)
        process.kill()
        killed_s = time.monotonic()
        process.wait()
        after = list_runs()
        assert set(known) <= set(after), "a run is no longer listed"
        assert all(read_status(run).is_alive for run in beside)
        born = [run for run in after if run not in known]
        if not born:
            return Death(after_s, "before the run")
        (run,) = born
        crashed_s = _until(lambda: read_status(run).state == "crashed", killed_s)
        assert crashed_s <= CRASHED_WITHIN_S, f"listed as crashed after {crashed_s:.2f} s"
        if not run.recorder_log_path.exists():
            return Death(after_s, "before the recorder", crashed_s)
        moment = _moment(run)
        finished_s = _until(lambda: is_finished(run), killed_s)
        check_files(run)
        return Death(after_s, moment, crashed_s, finished_s)


def is_finished(run: Run) -> bool:
    """Whether the recorder has told the crash and has ended."""
    is_told = any(text.startswith("crashed") for text in event_texts(run))
    return is_told and recorder_pid(run) is None


def check_files(run: Run) -> None:
    """Check the files that the recorder of a killed process must have left."""
    pages = Path(os.environ["OPERANT_PAGES"])
    assert not list(pages.glob(f"*{run.id}*")), "its page is still on memory"
    texts = event_texts(run)
    assert texts[-1].startswith("crashed")
    assert len(texts) == len(set(texts)), "a message is there twice"
    assert not list(run.folder.glob(".*")), "half a file is left"
    if not run.page_copy_path.exists():
        assert not page_place(run), "its page is lost"
        return
    reader = MetricsReader.attach(run.page_copy_path)
    snapshot = reader.read()
    numbers = publishes(run)
    assert (numbers[-1] if numbers else 0) == (snapshot.publish if snapshot else 0)
    assert numbers == sorted(set(numbers)), "rows are doubled or out of order"
    assert texts[:-1][-1:] == [event.text for event in reader.events()][-1:]
    reader.detach()


def _moment(run: Run) -> str:
    """How far the run had come, for the report."""
    if not page_place(run):
        return "while the page was made"
    return "before the first publish" if not _publish(run) else "while publishing"


def _publish(run: Run) -> int:
    return read_status(run).iteration or 0


def _start(stack: ExitStack) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", VICTIM])
    stack.callback(process.wait)
    stack.callback(process.kill)
    return process


def _until(condition: object, since_s: float) -> float:
    wait_for(condition)  # type: ignore[arg-type]
    return time.monotonic() - since_s


def report(found: list[Death], seed: int) -> dict[str, object]:
    """How often which moment was met, and the slowest answers."""
    finished = [death.finished_s for death in found if death.finished_s]
    return {
        "seed": seed,
        "kills": len(found),
        "moments": dict(Counter(death.moment for death in found)),
        "crashed_within_s": round(max(death.crashed_s for death in found), 3),
        "finished_within_s": round(max(finished, default=0.0), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    with places_of_its_own():
        print(json.dumps(report(deaths(arguments.kills, arguments.seed), arguments.seed), indent=2))


if __name__ == "__main__":
    main()
