"""The whole suite as two runs of pytest side by side: what trains, and all else.

    python tests/support/in_halves.py PYTEST [ARGUMENTS]

Most tests keep one core busy, and compile; two runs take little more than half as long on two. Each
goes through its half in the same order every time. The first half's output is shown as it comes,
then the other's, and at the end a line that adds up both.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence

HALVES = (["tests/trainer"], ["tests", "--ignore=tests/trainer"])
COUNT = re.compile(r"(\d+) (failed|passed|skipped|errors?|xfailed|xpassed|warnings?)")
CLOSING = re.compile(r"\d+ (?:passed|failed|skipped|error).* in [\d.]+s")
ORDER = ("failed", "passed", "skipped", "xfailed", "xpassed", "error", "warning")


def counts_of(output: str) -> Counter[str]:
    """What the closing line of a run says, by kind."""
    closing = [line for line in output.splitlines() if CLOSING.search(line)]
    found = COUNT.findall(closing[-1]) if closing else [("1", "error")]
    return Counter({kind.rstrip("s"): int(number) for number, kind in found})


def in_words(counts: Counter[str]) -> str:
    plural = ("error", "warning")
    return ", ".join(
        f"{counts[kind]} {kind}{'s' * (kind in plural and counts[kind] > 1)}"
        for kind in ORDER
        if counts[kind]
    )


def main(pytest: Sequence[str]) -> int:
    with tempfile.TemporaryFile("w+") as kept:
        first, other = (
            subprocess.Popen([*pytest, *half], stdout=output, stderr=subprocess.STDOUT, text=True)
            for half, output in zip(HALVES, (subprocess.PIPE, kept), strict=True)
        )
        lines = []
        assert first.stdout
        try:
            for line in first.stdout:
                sys.stdout.write(line)
                sys.stdout.flush()
                lines.append(line)
            codes = [first.wait(), other.wait()]
        finally:
            for process in (first, other):
                process.terminate()  # where this one was interrupted
        kept.seek(0)
        rest = kept.read()
    sys.stdout.write(rest)
    print(in_words(counts_of("".join(lines)) + counts_of(rest)))
    return max(codes, key=abs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
