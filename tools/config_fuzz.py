"""Random configurations: each trains two iterations with finite numbers, or is refused by one line.

    python tools/config_fuzz.py [--configs 1000] [--seed N] [--only NUMBER]

Each goes the whole way of `operant train`, many in one process, which has a limit of memory and of
time for each. Prints a line for every one that ended in another way, and what became of the rest.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import io
import json
import math
import os
import re
import resource
import secrets
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, NamedTuple, NoReturn

# Where environments of tests are imported from by name, too.
sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

import tomli_w
from random_configs import Case, draw
from tinyphysics_files import write_model, write_routes

from operant import cli
from operant.shared import MetricsReader, PageError
from operant.shared.errors import ConfigError
from operant.shared.runs.find_runs import list_runs
from operant.shared.runs.outcome import Outcome
from operant.shared.runs.run_folder import Run
from operant.trainer.config.files import load_config
from operant.trainer.config.train_config import TrainConfig

HANGS_AFTER_S = 600.0  # of the clock, on a machine that may be busy
AT_ONCE = 25  # in one process
MEMORY_BYTES = 12 << 30  # of addresses, of which PyTorch and Numba have a good part
LONGEST_LINE = 400
Draw = Callable[[int], Case]
# No number where there is nothing to take one of.
MAY_BE_NAN = re.compile(
    r"(episode|evaluation|weights|gradient)/|value/explained_variance|value/overestimation|progress/eta|cost/"
)


class Ended(NamedTuple):
    """How a configuration ended: "trained", "refused", "failed" with one line, or a "fault"."""

    number: int
    kind: str
    text: str = ""
    seconds: float = 0.0
    case: str = ""


def run_case(case: Case, folder: Path) -> Ended:
    """Train in this process as the command line does."""
    began_s = time.monotonic()
    source = case.source
    if not isinstance(source, str):
        path = folder / "config.toml"
        path.write_text(tomli_w.dumps(source))
        source = str(path)
    overrides = list(case.overrides)
    keys = {each.partition("=")[0] for each in overrides}
    with contextlib.suppress(ConfigError):
        if "total_env_steps" not in keys:
            overrides.append(f"total_env_steps={steps_that_learn(load_config(source, overrides))}")
    arguments = ["operant", "train", source, *(f"--set={each}" for each in overrides)]
    code, said = spoken(arguments)
    runs = list_runs()
    problem = problem_of(code, said, runs, keys)
    kind = "fault" if problem else {0: "trained", 2: "refused"}.get(code, "failed")
    for run in runs:
        shutil.rmtree(run.folder, ignore_errors=True)
    seconds = time.monotonic() - began_s
    text = problem or said.strip().splitlines()[-1]
    return Ended(case.number, kind, text, seconds, f"{case.kind}: {case.in_words}")


def steps_that_learn(config: TrainConfig) -> int:
    """Env steps of two iterations after those in which there is nothing to learn from yet."""
    warmup = getattr(config.algorithm_section, "warmup_env_steps", 0)
    return config.rollout_size * (2 + -(-warmup // config.rollout_size))


def spoken(arguments: list[str]) -> tuple[int, str]:
    """The exit code of the command line and what it said."""
    sys.argv, said = arguments, io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            cli.main()
            code = 0
        except SystemExit as error:
            code = int(error.code or 0)
        except BaseException:
            return -1, said.getvalue() + traceback.format_exc()
    return code, said.getvalue()


def problem_of(code: int, said: str, runs: list[Run], keys: set[str]) -> str:
    """The problem with the end of a configuration's run; empty if there is none."""
    if code not in (0, 1, 2) or "Traceback" in said:
        return f"exit code {code}: {said.strip()}"
    lines = said.strip().splitlines()
    if code == 0:
        return problem_of_run(runs)
    if code == 2 and not runs and len(lines) != 1:
        return f"refused in {len(lines)} lines: {said.strip()}"
    last = lines[-1]
    if len(last) > LONGEST_LINE:
        return f"a line of {len(last)} characters: {last}"
    if code == 2 and not any(_names(last, key) for key in keys):
        return f"refused without the key: {last}"
    return ""


def _names(line: str, key: str) -> bool:
    parts = (key, *key.split("."), key[:-1])
    return f"'{key}'" in line or any(part in line for part in parts if len(part) > 2)


def problem_of_run(runs: list[Run]) -> str:
    """The problem with a run that reports that it has finished."""
    if len(runs) != 1:
        return f"it left {len(runs)} runs"
    try:
        reader = MetricsReader.attach(runs[0].page_copy_path)
    except PageError as error:
        return str(error)
    try:
        snapshot, outcome = reader.read(), reader.outcome()
    finally:
        reader.detach()
    if not isinstance(outcome, Outcome) or outcome.state != "finished":
        return f"exit code 0, and its outcome is {outcome}"
    if snapshot is None or snapshot.iteration < 1:
        return "it published nothing"
    values = snapshot.metrics
    bad = [
        f"{name} = {value}"
        for name, value in values.items()
        if math.isinf(value) or (math.isnan(value) and not may_be_nan(name, values))
    ]
    return f"finished with {', '.join(bad)}" if bad else ""


def may_be_nan(name: str, values: Mapping[str, float]) -> bool:
    """Whether there is no number to expect: nothing was learned yet, or updates were skipped."""
    if name.startswith(("loss/", "value/", "optimizer/")) and values.get("updates/count") == 0:
        return True
    if name == "optimizer/grad_norm" and values.get("updates/skipped", 0) > 0:
        return True
    return bool(MAY_BE_NAN.match(name))


def batch(drawn: Draw, numbers: list[int], folder: Path, say: Callable[[Ended], None]) -> None:
    """In a process of its own: one case after the other."""
    limit_memory()
    os.environ |= {
        "OPERANT_HOME": str(folder / "home"), "OPERANT_PAGES": str(folder / "pages"),
        "OPERANT_RECORDER": "off",
    }  # fmt: skip
    faulthandler.enable((folder / "stack").open("w"))
    for number in numbers:
        case = drawn(number)
        say(Ended(number, "begun", case=case.in_words))
        say(run_case(case, folder))


def limit_memory() -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_BYTES, resource.RLIM_INFINITY))


def in_processes(drawn: Draw, numbers: list[int], folder: Path) -> Iterator[Ended]:
    """All cases; a process that hangs or dies takes one of them with it."""
    left = list(numbers)
    while left:
        yield from _in_one_process(drawn, left, folder)


def _in_one_process(drawn: Draw, left: list[int], folder: Path) -> Iterator[Ended]:
    read, write = os.pipe()
    place = Path(tempfile.mkdtemp(dir=folder))
    child = os.fork()
    if not child:
        _be_child(drawn, left[:AT_ONCE], place, write)
    os.close(write)
    with os.fdopen(read) as answers:
        for _ in left[:AT_ONCE]:
            begun = _answer(answers)
            ended = _answer(answers) if begun else None
            number = left.pop(0)
            if not ended:
                yield Ended(number, "fault", _stop(child, place), case=begun.case if begun else "")
                break
            yield ended
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(child, 0)
    shutil.rmtree(place, ignore_errors=True)


def _be_child(drawn: Draw, numbers: list[int], place: Path, write: int) -> NoReturn:
    os.setsid()
    said = os.open(place / "said", os.O_CREAT | os.O_WRONLY)
    os.dup2(said, 1)
    os.dup2(said, 2)

    def say(ended: Ended) -> None:
        os.write(write, json.dumps(ended).encode() + b"\n")

    try:
        batch(drawn, numbers, place, say)
    except BaseException:
        traceback.print_exc()
    os._exit(0)


def _answer(answers: IO[str]) -> Ended | None:
    """The next answer; None where there is none for long, or the process is gone."""
    if not select.select([answers], [], [], HANGS_AFTER_S)[0]:
        return None
    line = answers.readline()
    return Ended(*json.loads(line)) if line else None


def _stop(child: int, place: Path) -> str:
    """Why a process says nothing more."""
    time.sleep(0.5)
    done, status = os.waitpid(child, os.WNOHANG)
    words = f"the process died, status {status}"
    if not done:
        os.kill(child, signal.SIGABRT)  # its handler writes the stack
        os.waitpid(child, 0)
        words = "hangs"
    texts = (place / "stack").read_text()[:2500], (place / "said").read_text()[-2000:]
    return f"{words}: {' '.join(texts)}"


def files_in(folder: Path) -> dict[str, str]:
    """The files that tinyphysics needs."""
    model = write_model(folder / "model.onnx")
    routes = write_routes(folder / "routes", 6)
    return {"tinyphysics.model": str(model), "tinyphysics.routes": str(routes)}


def fuzz(numbers: list[int], seed: int, folder: Path) -> Iterator[Ended]:
    """How each configuration of a seed ended."""
    files = files_in(folder)
    return in_processes(lambda number: draw(number, seed, files), numbers, folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--configs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    parser.add_argument("--only", type=int, nargs="*", help="these of the seed")
    parser.add_argument("--all", action="store_true", help="say how each ended")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    counted: Counter[str] = Counter()
    slowest = (0.0, -1)
    with tempfile.TemporaryDirectory(prefix="operant-configs-") as name:
        numbers = arguments.only or list(range(arguments.configs))
        for ended in fuzz(numbers, arguments.seed, Path(name)):
            counted[ended.kind] += 1
            slowest = max(slowest, (ended.seconds, ended.number))
            if ended.kind == "fault" or arguments.all or arguments.only:
                line = f"{ended.number} {ended.kind} after {ended.seconds:.1f} s: {ended.text}"
                print(f"{line}\n    {ended.case}", flush=True)
    print(f"the slowest took {slowest[0]:.1f} s: {slowest[1]}")
    print(json.dumps(dict(counted)))
    return 1 if counted["fault"] else 0


if __name__ == "__main__":
    sys.exit(main())
