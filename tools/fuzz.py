"""Pages that were damaged in every way, read under a hard limit of memory and time.

    python tools/fuzz.py [--pages N] [--seed N]

Each page is a good one with bytes flipped, fields set to numbers that hurt (its checksums made
right again, so that they do not hide the rest), pieces moved about, its end cut off, or a section
that claims as much as a file with holes can hold. Reading it may raise PageError and nothing else,
take 64 MiB and a second of the processor. One page is not damaged, but full to its last row.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from operant.shared import Metric, MetricsReader, MetricsWriter, PageError
from operant.shared.page.layout import (
    HEADER_CRC_OFFSET,
    MAX_ROWS_BYTES,
    RECORD_CRC_OFFSET,
    RECORD_CRC_START,
    ROWS_HEAD_BYTES,
    SECTION,
    SECTION_TABLE_OFFSET,
)
from operant.shared.rows.curves import Curves

ALLOCATION_LIMIT_BYTES = 64 << 20
PROCESSOR_LIMIT_S = 1.0
HANGS_AFTER_S = 20
M_MMAP_THRESHOLD = -3
FULL_METRICS = 1000  # of the page that is full: 131 MiB
HOLE_BYTES = 1 << 30
HURTFUL = (0, 1, 2, 7, 8, 63, 255, 1023, 1024, 4096, 65535, 2**31 - 1, 2**31, 2**32 - 1)
HURTFUL_LONG = (*HURTFUL, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1)

Mutate = Callable[[bytearray, random.Random], None]


def good_page(folder: Path, max_metrics: int, num_publishes: int) -> bytes:
    """A page as a run leaves it."""
    metrics = [Metric(f"m/{i}", "s") for i in range(max_metrics)]
    writer = MetricsWriter.create(
        folder / "p",
        "run",
        metrics,
        publish_interval_s=1,
        max_metrics=max_metrics,
        rows_bytes=1 << 14,
    )
    for number in range(1, num_publishes + 1):
        writer.publish({metric.name: number for metric in metrics}, number, number)
        if number % 100 == 0:
            writer.event("info", f"event {number}")
    writer.finish("finished", 0, "done")
    writer.save_copy(folder / "copy")
    writer.remove()
    return (folder / "copy").read_bytes()


def sections_of(page: bytearray) -> list[tuple[bytes, int, int, int, int]]:
    """Tag, offset, bytes, bytes a record, records."""
    (num_sections,) = struct.unpack_from("<I", page, 20)
    places = (SECTION_TABLE_OFFSET + SECTION.size * i for i in range(num_sections))
    return [SECTION.unpack_from(page, place) for place in places]


def flip_bytes(page: bytearray, random: random.Random) -> None:
    for _ in range(random.randint(1, 30)):
        page[random.randrange(len(page))] ^= random.randint(1, 255)


def hurt_header(page: bytearray, random: random.Random) -> None:
    """One to three fields of the header or of its table of sections."""
    for _ in range(random.randint(1, 3)):
        if random.random() < 0.5:
            struct.pack_into("<I", page, 4 * random.randrange(64), random.choice(HURTFUL))
        else:
            place = SECTION_TABLE_OFFSET + SECTION.size * random.randrange(12)
            field, form = random.choice([(8, "<Q"), (16, "<Q"), (24, "<I"), (28, "<I")])
            numbers = HURTFUL_LONG if form == "<Q" else HURTFUL
            struct.pack_into(form, page, place + field, random.choice(numbers))
    struct.pack_into("<I", page, HEADER_CRC_OFFSET, zlib.crc32(page[:HEADER_CRC_OFFSET]))


def hurt_record(page: bytearray, random: random.Random) -> None:
    """Head fields of a slot or of the first row of the ring, whose CRC then holds again."""
    records = {part[0].rstrip(b"\0"): part for part in sections_of(page)}
    _, offset, _, record_bytes, num_records = records[b"SNAPSHOT"]
    start = offset + record_bytes * random.randrange(num_records)
    if random.random() < 0.5:
        start = records[b"ROWS"][1] + ROWS_HEAD_BYTES
        record_bytes = struct.unpack_from("<Q", page, start)[0] % 4096
    for _ in range(random.randint(1, 3)):
        place, form = random.choice([(0, "<Q"), (12, "<I"), (16, "<Q"), (24, "<Q"), (40, "<Q")])
        numbers = HURTFUL_LONG if form == "<Q" else HURTFUL
        struct.pack_into(form, page, start + place, random.choice(numbers))
    count = struct.unpack_from("<I", page, start + 12)[0]
    for end in (start + 64 + 8 * min(count, 4096), start + record_bytes):
        crc = zlib.crc32(page[start + RECORD_CRC_START : end])
        if random.random() < 0.5:
            struct.pack_into("<I", page, start + RECORD_CRC_OFFSET, crc)


def move_piece(page: bytearray, random: random.Random) -> None:
    """Copy a stretch over another, or blank it, each near the beginning of a section."""
    size = random.choice([8, 64, 1024, 8192])
    source, target = (
        min(random.choice(sections_of(page))[1] + random.randrange(4096), len(page) - size)
        for _ in range(2)
    )
    piece = page[source : source + size] if random.random() < 0.7 else bytes(size)
    page[target : target + size] = piece


def cut_short(page: bytearray, random: random.Random) -> None:
    del page[random.randrange(len(page)) :]


def claim_more(page: bytearray, random: random.Random) -> None:
    """One section moves to the end and grows to what a page or a ring may be at most; newer numbers
    in the snapshot have a reader believe that its rows are there. `read_all_of` makes the file as
    large.
    """
    sections = sections_of(page)
    i = random.randrange(len(sections))
    tag, _, _, record_bytes, _ = sections[i]
    size = random.choice([HOLE_BYTES - len(page), MAX_ROWS_BYTES])
    record_bytes = random.choice([record_bytes, record_bytes, 64, size // 2 & -8, size & -8])
    room = size // record_bytes
    entry = (tag, len(page), size, record_bytes, random.choice([room, 1, 2, room // 2]))
    SECTION.pack_into(page, SECTION_TABLE_OFFSET + SECTION.size * i, *entry)
    struct.pack_into("<Q", page, 24, HOLE_BYTES)
    struct.pack_into("<I", page, HEADER_CRC_OFFSET, zlib.crc32(page[:HEADER_CRC_OFFSET]))
    snapshot, events = sections[1], sections[2]
    if random.random() < 0.5:
        struct.pack_into("<Q", page, events[1], random.choice(HURTFUL_LONG))
    for place in (snapshot[1], snapshot[1] + snapshot[3]):
        number = random.choice([2**20, 2**40, 2**62])
        struct.pack_into("<Q", page, place, number)
        struct.pack_into("<Q", page, place + 16, number)
        count = struct.unpack_from("<I", page, place + 12)[0]
        covered = page[place + RECORD_CRC_START : place + 64 + 8 * count]
        struct.pack_into("<I", page, place + RECORD_CRC_OFFSET, zlib.crc32(covered))


MUTATIONS: tuple[Mutate, ...] = (
    flip_bytes,
    hurt_header,
    hurt_record,
    move_piece,
    cut_short,
    claim_more,
)


def make_full_page(path: Path, num_metrics: int) -> None:
    """A page at `path` whose ring is full of the rows that take most memory: of one metric each."""
    metrics = [Metric(f"m/{i}") for i in range(num_metrics)]
    writer = MetricsWriter.create(
        path, "run", metrics, publish_interval_s=1, max_metrics=num_metrics
    )
    for number in range(writer.header.layout["ROWS"].size_bytes // 80):
        writer.publish({metrics[number % num_metrics].name: 1.0}, number, number)
    writer.leave()


def read_all(path: Path) -> None:
    """Everything a reader can be asked, twice: the second time it has what it read before."""
    reader = MetricsReader.attach(path)
    curves, position = Curves(None, reader), 0
    try:
        for _ in range(2):
            snapshot = reader.read()
            schema = reader.schema()
            history = curves.history()
            for metric in schema[:3]:
                history.series(metric.name)
            reader.events()
            reader.outcome()
            reader.num_rejected_metrics()
            position = reader.rows(position).position
            if snapshot:
                reader.age_s(snapshot)
                reader.gaps_s(snapshot, 16)
                reader.env_steps_per_s(snapshot)
                reader.average_env_steps_per_s(snapshot)
    finally:
        reader.detach()


def fuzz(num_pages: int, seed: int) -> dict[str, int]:
    """Read `num_pages` damaged pages; how many were readable and how many a PageError, by mutation.
    Anything else that is raised comes out of here.
    """
    counted: Counter[str] = Counter()
    choose = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="operant-fuzz-", dir=_memory()) as name:
        folder = Path(name)
        bases = [good_page(folder, 2, 1500), good_page(folder, 8, 20), good_page(folder, 64, 3)]
        read_all_of(folder / "page", bases[0])
        make_full_page(folder / "full", FULL_METRICS)
        limit_memory()
        before_s, used_s = time.process_time(), [0.0]
        read_all(folder / "full")
        counted["full: readable"] += 1
        for _ in range(num_pages):
            # Small pages more often: what hurts does not depend on the size.
            page = bytearray(choose.choices(bases, (20, 20, 1))[0])
            mutation = choose.choice(MUTATIONS)
            mutation(page, choose)
            signal.alarm(HANGS_AFTER_S)
            size = HOLE_BYTES if mutation is claim_more else len(page)
            used_s.append(time.process_time() - before_s)
            before_s = time.process_time()
            try:
                read_all_of(folder / "page", page, size)
                counted[f"{mutation.__name__}: readable"] += 1
            except PageError:
                counted[f"{mutation.__name__}: refused"] += 1
            signal.alarm(0)
    print(f"at most {max(used_s):.3f} s of the processor for a page", file=sys.stderr)
    assert max(used_s) <= PROCESSOR_LIMIT_S
    return dict(sorted(counted.items()))


def read_all_of(path: Path, page: bytes | bytearray, size_bytes: int = 0) -> None:
    """Read `page` from a file of `size_bytes`, its rest a hole."""
    path.write_bytes(page)
    os.truncate(path, max(size_bytes, len(page)))
    read_all(path)


def limit_memory() -> None:
    """From here on the process may allocate no more than ALLOCATION_LIMIT_BYTES. What is freed goes
    back at once, so that holes between what is kept do not count.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 1 << 17)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + ALLOCATION_LIMIT_BYTES, resource.RLIM_INFINITY))


def _memory() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(json.dumps({"pages": arguments.pages, **fuzz(arguments.pages, arguments.seed)}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
