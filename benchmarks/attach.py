"""How long the first complete read of a page takes, by how long the run has gone on.

A page of 64 metrics is read whole by a new reader: header, schema, newest snapshot, the history of
all metrics, events. The last age fills every level of the history.

    python benchmarks/attach.py [--publishes 1000 50000 ...] [--repeats 21] [--json FILE]
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from measuring import machine, summary, versions, write_json

from operant.shared import MetricsReader, MetricsWriter
from operant.shared.page_file import page_folder

NUM_METRICS = 64


def read_whole_s(path: Path) -> tuple[float, int]:
    """Seconds of a first read, and the rows it gave."""
    start = time.perf_counter()
    reader = MetricsReader.attach(path)
    reader.read()
    history = reader.history()
    for metric in reader.schema():
        history.series(metric.name)
    reader.events()
    seconds = time.perf_counter() - start
    reader.detach()
    return seconds, len(history)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ages = [1000, 50_000, 1_000_000, 33_600_000]
    parser.add_argument("--publishes", type=int, nargs="+", default=ages)
    parser.add_argument("--repeats", type=int, default=21)
    parser.add_argument("--json", help="also write everything to this file")
    asked = parser.parse_args()
    path = page_folder() / f"benchmark-{os.getpid()}.0.page"
    writer = MetricsWriter.create(path, "benchmark", [], publish_interval_s=1.0)
    values = {f"group/metric_{i:02}": float(i) for i in range(NUM_METRICS)}
    result = {}
    for age in sorted(asked.publishes):
        while writer.num_publishes < age:
            writer.publish(values, writer.num_publishes, writer.num_publishes)
        reads = [read_whole_s(path) for _ in range(asked.repeats)]
        spread = summary([1000 * seconds for seconds, _ in reads])
        result[age] = {"rows": reads[0][1], "read_ms": spread}
        print(
            f"{age:>12,} publishes, {reads[0][1]:>5} rows: median {spread['median']:.1f} ms "
            f"({spread['min']:.1f} to {spread['max']:.1f})",
            flush=True,
        )
    writer.remove()
    write_json(asked.json, {"machine": {**machine(), **versions("numpy")}, "reads": result})


if __name__ == "__main__":
    main()
