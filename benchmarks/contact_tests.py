"""The tests of `first_contact.py`: some processes at once, each with a few tests and a limit."""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from collections.abc import Sequence
from typing import Any

from ended import Ended, run_within

TESTS_EACH = 4  # in a process: its start costs seconds
LIMIT_S = 150.0  # of a process
NONE_COLLECTED_S = 100.0
MOST_AT_ONCE = 6


def run_tests(contact: Any, tests: Sequence[str]) -> dict[str, Any]:
    """Run them all, as far as the call's time goes; every one is in the answer with its outcome."""
    ids = collected(contact, tests)
    work: queue.Queue[list[str]] = queue.Queue()
    for i in range(0, len(ids), TESTS_EACH):
        work.put(ids[i : i + TESTS_EACH])
    suite = Suite(contact, ids, work)
    at_once = max(1, min(MOST_AT_ONCE, (os.cpu_count() or 1) // 2))
    threads = [threading.Thread(target=suite.work_off, args=(number,)) for number in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return suite.answer()


def collected(contact: Any, tests: Sequence[str]) -> list[str]:
    """The ids of all tests in them. Raises RuntimeError where pytest cannot tell."""
    command = [*pytest_command(contact), "--collect-only", *tests]
    log = contact.out / "logs" / "collect.log"
    ended = run_within(
        min(NONE_COLLECTED_S, contact.left_s), command, contact.env, log, cwd=contact.root
    )
    if ended.code != 0:
        raise RuntimeError(f"nothing collected: {ended.why()}\n{ended.last_lines()}")
    ids = [line for line in ended.output.splitlines() if "::" in line]
    if not ids:
        raise RuntimeError(f"nothing collected\n{ended.last_lines()}")
    return ids


def pytest_command(contact: Any) -> list[str]:
    root = contact.root
    options = [f"--rootdir={root}", "-c", str(root / "pyproject.toml"), "-p", "no:cacheprovider"]
    return [sys.executable, "-m", "pytest", *options]


class Suite:
    """What is still to run, and what became of the others. Several threads work it off."""

    def __init__(self, contact: Any, ids: Sequence[str], work: queue.Queue[list[str]]) -> None:
        self.contact, self.ids, self.work = contact, ids, work
        self.found: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()

    def work_off(self, number: int) -> None:
        """Start a process for the next few tests until there are none, or there is no time."""
        round_ = 0
        while self.contact.left_s > 1:
            try:
                ids = self.work.get_nowait()
            except queue.Empty:
                return
            round_ += 1
            rest = self._run(ids, f"tests_{number}_{round_}")
            if rest:
                self.work.put(rest)

    def _run(self, ids: list[str], name: str) -> list[str]:
        """Run these; returns those that the process did not come to."""
        log = self.contact.out / "logs" / f"{name}.log"
        told = log.with_suffix(".jsonl")
        env = {**self.contact.env, "TOLD_TESTS": str(told)}
        limit_s = min(LIMIT_S, self.contact.left_s)
        command = [*pytest_command(self.contact), "-p", "told_tests", "-q", "--tb=short", *ids]
        ended = run_within(limit_s, command, env, log, cwd=self.contact.root)
        outcomes = outcomes_of(told.read_text() if told.exists() else "", ids, ended)
        with self._lock:
            self.found |= outcomes
            self.contact.record("tests", self.answer())
        return [id_ for id_ in ids if id_ not in outcomes]

    def answer(self) -> dict[str, Any]:
        tests = {id_: self.found.get(id_, {"outcome": "not begun"}) for id_ in self.ids}
        counts: dict[str, int] = {}
        for test in tests.values():
            counts[test["outcome"]] = counts.get(test["outcome"], 0) + 1
        bad = sorted(set(counts) - {"passed", "skipped"})
        errors = {"error": ", ".join(f"{counts[x]} {x}" for x in bad)} if bad else {}
        return {"counts": counts, **errors, "tests": tests}


def outcomes_of(told: str, ids: Sequence[str], ended: Ended) -> dict[str, dict[str, Any]]:
    """Of each test that the process came to; the one it ended in has its fate. A process that never
    began a test has that fate for all of them: they would meet it again.
    """
    outcomes: dict[str, dict[str, Any]] = {}
    began = []
    for line in told.splitlines():
        test = json.loads(line)
        id_ = test.pop("id")
        if test["outcome"] == "began":
            began.append(id_)
        elif outcomes.get(id_, {}).get("outcome") != "failed":  # its teardown may tell once more
            outcomes[id_] = test
    fate = "over its time" if ended.code is None else "died"
    lost = {"outcome": fate, "why": f"{ended.why()}\n{ended.last_lines()}"}
    unfinished = began if began else ids
    return outcomes | {id_: lost for id_ in unfinished if id_ not in outcomes}
