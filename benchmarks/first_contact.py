"""All that a first user of operant with a GPU runs and sends: `make first-contact`.

    python benchmarks/first_contact.py [FOLDER] [--minutes 60] [--dry]

It says what machine this is and whether the code that is generated fits its driver, runs the tests
of the GPU path, then measures every figure of `gpu.py`. FOLDER/first_contact.json is written anew
after each of these, and FOLDER/logs has the output of each. A test or a figure that fails, dies or
takes too long is recorded, and the next one starts in a fresh process. `--dry` measures at tiny
sizes, on the processor where there is no GPU: its numbers say nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / "benchmarks"
# Of `gpu.py`, the most important first.
FIGURES = (
    "raw_few_envs", "raw_many_envs", "rollout", "train_4_epochs", "train_1_epoch", "profile",
    "synchronisation", "tinyphysics", "raw_curve", "overlap", "train_bfloat16", "grid_steps",
    "marine_nav_decisions", "out_of_memory", "same_seed", "updates_captured", "updates_bfloat16",
    "replay_draws", "rainbow_per_c51", "replay_waits", "dqn_cart_pole", "sac_pendulum",
    "ac_iqn_marine_nav", "equality",
)  # fmt: skip
LAST_LINES = 15
LIMIT_S = 150.0  # of one process, but for the one that runs all tests in turn
ALL_TESTS_LIMIT_S = 900.0
OUTCOME = re.compile(r"^(\S+::.*?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b", re.MULTILINE)


@dataclass
class Ended:
    """How a process ended: `code` is None where it took longer than its limit."""

    code: int | None
    seconds: float
    output: str

    def why(self) -> str:
        """How the process ended, and its last lines."""
        fate = f"exit code {self.code}"
        if self.code is None:
            fate = f"stopped after {self.seconds:.0f} s, its limit"
        elif self.code < 0:
            fate = f"ended by signal {-self.code}"
        return "\n".join([fate, *self.output.splitlines()[-LAST_LINES:]])[-4000:]


class Contact:
    """Records measurements in a folder until a deadline."""

    def __init__(
        self, folder: Path, seconds: float, env: Mapping[str, str] = os.environ, root: Path = ROOT
    ) -> None:
        """Tests are those of the project in `root`."""
        self.folder, self._env, self._root = folder.resolve(), env, root
        self.deadline = time.monotonic() + seconds
        self.result: dict[str, Any] = {"began": time.strftime("%Y-%m-%d %H:%M:%S %z")}
        (self.folder / "logs").mkdir(parents=True, exist_ok=True)

    @property
    def left_s(self) -> float:
        return self.deadline - time.monotonic()

    def run(self, name: str, command: Sequence[str | Path], limit_s: float = LIMIT_S) -> Ended:
        """Run Python with these arguments for at most so long; ends it with all that it started."""
        log, start = self.folder / "logs" / f"{name}.log", time.monotonic()
        with log.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, *map(str, command)], env=self._env, cwd=self._root, stdout=file,
                stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            code = None
            try:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    code = process.wait(max(0.0, min(limit_s, self.left_s)))
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return Ended(code, time.monotonic() - start, log.read_text(errors="replace"))

    def record(self, part: str, answer: Any) -> None:
        """Write the file anew, whole or not at all."""
        self.result[part] = answer
        unfinished = self.folder / "first_contact.part"
        unfinished.write_text(json.dumps(self.result, indent=1) + "\n")
        unfinished.replace(self.folder / "first_contact.json")

    def ask(self, question: str) -> None:
        """Record what `gpu_machine.py` answers."""
        ended = self.run(question, [HERE / "gpu_machine.py", question])
        answer = {"error": ended.why()}
        if ended.code == 0:
            answer = json.loads(ended.output.splitlines()[-1])
        self.record(question, answer)
        print(f"{question:<24} {json.dumps(answer)[:300]}", flush=True)


def run_tests(contact: Contact, tests: Sequence[str | Path]) -> dict[str, Any]:
    """Run them all in one process, then alone what failed or was not reached: a process that died,
    or one error of CUDA's, spoils all that comes after it.
    """
    pytest = ("-m", "pytest", "-p", "no:cacheprovider", "--tb=short")
    # The project's settings have one -q, which makes this a list of names.
    collected = contact.run("collected_tests", [*pytest, "--collect-only", *tests])
    pytest += ("-vv",)
    names = [line for line in collected.output.splitlines() if "::" in line]
    if not names:
        return {"error": f"no test was collected: {collected.why()}"}
    ended = contact.run("tests", [*pytest, *tests], ALL_TESTS_LIMIT_S)
    found = dict(OUTCOME.findall(ended.output))
    failed: dict[str, Any] = {}
    outcomes = {}
    for number, name in enumerate(names):
        outcome = found.get(name, "not reached").lower()
        if outcome in ("failed", "error", "not reached") and contact.left_s > 0:
            alone = contact.run(f"test_{number}", [*pytest, name])
            second = dict(OUTCOME.findall(alone.output))
            outcome = second.get(name, "too long" if alone.code is None else "died").lower()
            if outcome not in ("passed", "skipped"):
                failed[name] = alone.why()
        outcomes[name] = outcome
        contact.record("tests", {"outcomes": outcomes, "failed": failed})
    counts = Counter(outcomes.values())
    answer = {"counts": counts, "outcomes": outcomes, "failed": failed}
    return answer | ({"error": f"{len(failed)} failed"} if failed else {})


def measure(contact: Contact, names: Sequence[str], options: Sequence[str]) -> dict[str, Any]:
    """Every figure, each in a process of its own."""
    figures: dict[str, Any] = {}
    for name in names:
        path = contact.folder / "logs" / f"{name}.json"
        path.unlink(missing_ok=True)
        figures[name] = {"error": "not begun: the time was over"}
        if contact.left_s > 0:
            ended = contact.run(name, [HERE / "gpu.py", path, *options, "--only", name])
            measured = json.loads(path.read_text())["parts"] if path.exists() else {}
            figures[name] = measured.get(name, {"error": ended.why()})
        contact.record("figures", figures)
        print(f"{name:<24} {json.dumps(figures[name])[:300]}", flush=True)
    bad = [name for name, figure in figures.items() if "error" in figure]
    return figures | ({"error": f"in {', '.join(bad)}"} if bad else {})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path("first_contact"))
    parser.add_argument("--minutes", type=float, default=60, help="for all of it (60)")
    parser.add_argument("--tests", nargs="*", default=["tests/gpu"], help="tests to run")
    parser.add_argument("--only", nargs="*", default=FIGURES, help="figures to measure")
    parser.add_argument("--tinyphysics", metavar="DIR", help="TinyPhysics' model and routes")
    parser.add_argument("--dry", action="store_true", help="tiny sizes, without a GPU as well")
    arguments = parser.parse_args()
    options = ["--dry"] if arguments.dry else []
    options += ["--tinyphysics", arguments.tinyphysics] if arguments.tinyphysics else []
    with tempfile.TemporaryDirectory() as found:
        Path(found, "operant").symlink_to(ROOT)  # it need not be installed
        path = f"{found}{os.pathsep}{os.environ.get('PYTHONPATH', '')}".rstrip(os.pathsep)
        contact = Contact(
            arguments.folder, 60 * arguments.minutes, {**os.environ, "PYTHONPATH": path}
        )
        contact.ask("versions")
        contact.ask("fit")
        if arguments.tests:
            contact.record("tests", run_tests(contact, arguments.tests))
            print(f"{'tests':<24} {contact.result['tests'].get('counts')}", flush=True)
        contact.record("figures", measure(contact, arguments.only, options))
    errors = [name for name, part in contact.result.items() if "error" in part]
    print(f"errors in {', '.join(errors)}" if errors else "all of it ran")
    print(f"please send {contact.folder}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
