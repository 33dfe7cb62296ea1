"""Say whether two runs have the same rows, to the bit, and where they part.

    python tools/compare_runs.py A B [--renamed OLD=NEW ...]

A and B are CSV files from `operant export`, or two folders of such files, which are compared by
name. Rows are matched by iteration. Rows that only say how far an iteration is are left out, and so
are metrics of time and speed, which differ in every run. Exits with 1 where a value differs, or
where one side has a metric, a row or a file that the other lacks.

A change that is not about computation is shown with the short runs of all presets:

    python tools/preset_runs.py BEFORE   # in a checkout of the commit before
    python tools/preset_runs.py AFTER
    python tools/compare_runs.py BEFORE AFTER
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

HEADS = ("publish", "publishes", "time", "elapsed_s")
TIMED = ("time/", "speed/", "updates/per_s", "progress/eta_s", "rank/", "machine/")
PROGRESS = {"env_steps", "progress/fraction"}
Rows = dict[int, dict[str, str]]  # by iteration: the metrics with a value, as written


def read_rows(path: Path, renamed: dict[str, str]) -> Rows:
    """The values of each iteration, also where several rows have them."""
    rows: Rows = {}
    with path.open(encoding="utf-8", newline="") as file:
        for cells in csv.DictReader(file):
            iteration = int(cells.pop("iteration") or -1)
            values = {
                renamed.get(name, name): value
                for name, value in cells.items()
                if value and name not in HEADS and not name.startswith(TIMED)
            }
            if not values.keys() <= PROGRESS:
                rows.setdefault(iteration, {}).update(values)
    return rows


def differences(before: Rows, after: Rows) -> list[str]:
    """One line for each metric that differs: the first iteration where it does."""
    found = {}
    for iteration in sorted(before.keys() | after.keys()):
        if iteration not in before or iteration not in after:
            side = "the first" if iteration in before else "the second"
            found.setdefault("", f"only {side} has iteration {iteration}")
            continue
        old, new = before[iteration], after[iteration]
        for name in sorted(old.keys() | new.keys()):
            if old.get(name) != new.get(name):
                values = f"{old.get(name, 'nothing')} and {new.get(name, 'nothing')}"
                found.setdefault(name, f"{name}: {values} in iteration {iteration}")
    return list(found.values())


def compare(before: Path, after: Path, renamed: dict[str, str]) -> bool:
    """Print how two CSV files compare; true where they are equal."""
    old, new = read_rows(before, renamed), read_rows(after, {})
    lines = differences(old, new)
    num_values = sum(map(len, old.values()))
    if not num_values:
        lines.append("there is nothing to compare")
    equal = f"{len(old)} iterations, {num_values} values equal"
    print(f"{before.stem}: {equal if not lines else 'differs'}")
    for line in lines:
        print(f"  {line}")
    return not lines


def main() -> int:
    """Compare two files or two folders; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--renamed", action="append", default=[], metavar="OLD=NEW")
    options = parser.parse_args()
    renamed = dict(pair.split("=", 1) for pair in options.renamed)
    if options.before.is_file():
        return 0 if compare(options.before, options.after, renamed) else 1
    names = [
        {path.name for path in folder.glob("*.csv")} for folder in (options.before, options.after)
    ]
    for name in sorted(names[0] ^ names[1]):
        print(f"{name}: only in {options.before if name in names[0] else options.after}")
    same = [
        compare(options.before / name, options.after / name, renamed)
        for name in sorted(names[0] & names[1])
    ]
    print(f"{sum(same)} of {len(same)} equal")
    return 0 if all(same) and names[0] == names[1] and same else 1


if __name__ == "__main__":
    sys.exit(main())
