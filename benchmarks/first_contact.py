"""All that wants a GPU, on a bare machine without network: tests first, then every figure, as JSON.

    python benchmarks/carried_wheels.py .first_contact/wheels          # where there is a network
    cp -r TINYPHYSICS .first_contact/tinyphysics                       # its model and routes

    python3 benchmarks/first_contact.py --call tests --out "$OUT"        # there: about 9 minutes
    python3 benchmarks/first_contact.py --call benchmarks --out "$OUT"   # the bars, about 9
    python3 benchmarks/first_contact.py --call replay --out "$OUT"       # learning from replay

The machine has Python 3.11 or newer, torch, numba, numba-cuda and what `carried_wheels.py` lists;
its own packages stay as they are. Each call begins anew and writes CALL.json and a log of each part
into --out: installs the wheels into a folder of its own, says what machine that is, looks which
libNVVM writes what the driver takes, then runs the tests or the benchmarks. After each part, test
and figure the JSON is written anew. A part that fails or outlasts its limit is recorded, and the
next goes on; --seconds ends the call, and what was not begun then says so.

`--rehearse` does the same without a GPU, at tiny sizes and in Numba's simulator, with one figure
that fails and one that outlasts its limit; its numbers say nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from contact_benchmarks import BARS, REHEARSED, REPLAY, run_benchmarks
from contact_tests import run_tests
from ended import run_within

ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / "benchmarks"
CALLS = ("tests", "benchmarks", "replay")
SECONDS = 525  # of a call, with all it starts
REHEARSED_TESTS = ("tests/trainer/cuda/simulated_kernels.py::test_this_is_the_simulator",)
SETUP_LIMIT_S = 150.0

# Every Python that is started there loads the chosen libNVVM before anything looks for one; and
# numba-cuda 0.30 cannot be imported without a name that NumPy 2.5 has dropped.
SITECUSTOMIZE = """import ctypes, os
if os.environ.get("FIRST_CONTACT_NVVM"):
    ctypes.CDLL(os.environ["FIRST_CONTACT_NVVM"], ctypes.RTLD_GLOBAL)
try:
    import numpy
    if not hasattr(numpy, "row_stack"):
        numpy.row_stack = numpy.vstack
except ImportError:
    pass
"""


class Contact:
    """One call: its parts, and the JSON that they are recorded in."""

    def __init__(self, call: str, out: Path, seconds: float, rehearse: bool) -> None:
        self.out, self.rehearse, self.root = out.resolve(), rehearse, ROOT
        self.deadline = time.monotonic() + seconds
        self.site = self.out / "site" if rehearse else Path(tempfile.gettempdir(), "first_contact")
        self.path = self.out / f"{call}.json"
        self.result: dict[str, Any] = {
            "call": call, "rehearsal": rehearse, "seconds": seconds, "parts": {},
            "began": time.strftime("%Y-%m-%d %H:%M:%S %z"), "command": sys.argv,
        }  # fmt: skip
        for folder in (self.out / "logs", self.site):
            folder.mkdir(parents=True, exist_ok=True)
        self.env = self._environment()

    def _environment(self) -> dict[str, str]:
        paths = [
            self.site,
            ROOT / "tests/support",
            HERE,
            *os.environ.get("PYTHONPATH", "").split(":"),
        ]
        env = {
            **os.environ, "PYTHONPATH": ":".join(str(path) for path in paths if str(path) != "."),
            "PYTHONUNBUFFERED": "1", "OPERANT_RECORDER": "off",
            "OPERANT_HOME": str(self.site / "home"), "OPERANT_PAGES": str(self.site / "pages"),
        }  # fmt: skip
        env.setdefault("NUMBA_CACHE_DIR", str(self.site / "numba"))
        if self.rehearse:
            env["NUMBA_ENABLE_CUDASIM"] = "1"
        return env

    @property
    def left_s(self) -> float:
        return self.deadline - time.monotonic()

    def record(self, name: str, answer: Mapping[str, Any]) -> None:
        """Write the JSON anew with this part's answer, whole or not at all."""
        self.result["parts"][name] = answer
        unfinished = self.path.with_suffix(".part")
        unfinished.write_text(json.dumps(self.result, indent=1) + "\n")
        unfinished.replace(self.path)

    def part(self, name: str, work: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
        """Do one part and record it, with its error if it has one."""
        start = time.monotonic()
        answer: Mapping[str, Any]
        if self.left_s <= 0:
            answer = {"error": "not begun: the call's time was over"}
        else:
            try:
                answer = work()
            except Exception as error:  # the next part goes on
                lines = traceback.format_exc().splitlines()[-12:]
                answer = {"error": f"{type(error).__name__}: {error}"[:2000], "traceback": lines}
        self.record(name, {**answer, "took_s": round(time.monotonic() - start, 2)})
        print(f"{name:<12} {time.monotonic() - start:6.1f} s  {summary(answer)}", flush=True)
        return answer

    def asked(self, name: str, *command: str, env: Mapping[str, str] | None = None) -> Any:
        """The JSON that a Python process prints last. Raises RuntimeError with what it said."""
        log = self.out / "logs" / f"{name}.log"
        limit_s = min(SETUP_LIMIT_S, self.left_s)
        ended = run_within(limit_s, [sys.executable, *command], env or self.env, log)
        if ended.code != 0:
            raise RuntimeError(f"{ended.why()}\n{ended.last_lines()}")
        return json.loads(ended.output.splitlines()[-1])

    def install(self, wheels: Path) -> dict[str, Any]:
        """The carried wheels and operant itself, into a folder that all processes here see."""
        found = sorted(wheels.glob("*.whl"))
        command = [
            sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-compile",
            "--no-cache-dir", "--upgrade", "--target", str(self.site), *map(str, found),
        ]  # fmt: skip
        if found:
            log = self.out / "logs" / "install.log"
            ended = run_within(min(SETUP_LIMIT_S, self.left_s), command, self.env, log)
            if ended.code != 0:
                raise RuntimeError(f"{ended.why()}\n{ended.last_lines()}")
        (self.site / "operant").unlink(missing_ok=True)
        (self.site / "operant").symlink_to(ROOT)
        (self.site / "sitecustomize.py").write_text(SITECUSTOMIZE)
        return {"wheels": [wheel.name for wheel in found]}

    def fit(self) -> dict[str, Any]:
        """Tries each libNVVM there is, the one that would be found anyway at first, and takes one
        whose code runs; where none does, all goes on as it was.
        """
        real = {name: x for name, x in self.env.items() if name != "NUMBA_ENABLE_CUDASIM"}
        tried: list[dict[str, Any]] = []
        for path in ("", *map(str, self._libraries())):
            env = {**real, "FIRST_CONTACT_NVVM": path} | toolkit_of(path)
            try:
                answer = self.asked("fit", str(HERE / "gpu_machine.py"), "fit", env=env)
            except Exception as error:
                answer = {"error": str(error)[-1500:]}
            tried.append({"asked_for": path or "what is found", **answer})
            if works(answer):
                self.env |= {"FIRST_CONTACT_NVVM": path} | toolkit_of(path)
                return {"chosen": answer.get("nvvm"), "tried": tried}
        return {"error": "no libNVVM here writes what can be run", "tried": tried}

    def _libraries(self) -> list[Path]:
        toolkits = [
            Path(x) for x in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")) if x
        ]
        toolkits += sorted(Path("/usr/local").glob("cuda*"))
        found = [self.site / "nvidia/cu13/lib/libnvvm.so.4"]
        found += [root / "nvvm/lib64/libnvvm.so.4" for root in toolkits]
        found += [root / "lib64/libnvvm.so.4" for root in toolkits]
        return list({path.resolve(): path for path in found if path.exists()}.values())


def toolkit_of(library: str) -> dict[str, str]:
    """CUDA_HOME for a libNVVM of a toolkit, whose libdevice belongs to it."""
    roots = [x for x in Path(library).parents if (x / "nvvm/libdevice").is_dir()] if library else []
    return {"CUDA_HOME": str(roots[0])} if roots else {}


def works(answer: Mapping[str, Any]) -> bool:
    """Whether code of a libNVVM ran, or without a GPU was assembled."""
    if "error" in answer:
        return False
    return (
        bool(answer["ran"]) if answer["ran"] is not None else isinstance(answer["assembled"], int)
    )


def summary(answer: Mapping[str, Any]) -> str:
    """One line of what a part gave."""
    shown = {name: x for name, x in answer.items() if name not in ("tests", "parts")}
    return json.dumps(shown)[:700]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--call", choices=CALLS, required=True)
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", "first_contact")))
    parser.add_argument("--carried", type=Path, default=ROOT / ".first_contact")
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"of this call ({SECONDS})")
    parser.add_argument("--tests", nargs="*", help="files or tests instead of tests/gpu")
    parser.add_argument("--only", nargs="*", help="only these figures")
    parser.add_argument("--rehearse", action="store_true", help="without a GPU, at tiny sizes")
    arguments = parser.parse_args()
    contact = Contact(arguments.call, arguments.out, arguments.seconds, arguments.rehearse)
    contact.part("install", lambda: contact.install(arguments.carried / "wheels"))
    versions = (str(HERE / "gpu_machine.py"), "versions")
    contact.part("machine", lambda: contact.asked("machine", *versions))
    contact.part("fit", contact.fit)
    if arguments.call == "tests":
        tests = arguments.tests or (REHEARSED_TESTS if arguments.rehearse else ["tests/gpu"])
        contact.part("tests", lambda: run_tests(contact, tests))
    else:
        names = arguments.only or (BARS if arguments.call == "benchmarks" else REPLAY)
        chosen = [*names, *(REHEARSED if arguments.rehearse else ())]
        routes = arguments.carried / "tinyphysics"
        contact.part("benchmarks", lambda: run_benchmarks(contact, chosen, routes))
    errors = [name for name, part in contact.result["parts"].items() if part.get("error")]
    print(f"{contact.path}: {f'errors in {errors}' if errors else 'all parts ran'}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
