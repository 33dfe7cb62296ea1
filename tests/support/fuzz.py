"""Pages that were damaged in every way, read under a hard limit of memory and time.

    python tests/support/fuzz.py [--pages N] [--seed N]

Each page is a good one with bytes flipped, fields set to numbers that hurt (its checksums made
right again, so that they do not hide the rest), pieces moved about, or its end cut off. Reading it
may raise PageError and nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import struct
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from operant.shared import Metric, MetricsReader, MetricsWriter, PageError
from operant.shared.layout import (
    HEADER_CRC_OFFSET,
    RECORD_CRC_OFFSET,
    RECORD_CRC_START,
    SECTION,
    SECTION_TABLE_OFFSET,
)

ALLOCATION_LIMIT_BYTES = 64 << 20
HANGS_AFTER_S = 20
HURTFUL = (0, 1, 2, 7, 8, 63, 255, 1023, 1024, 4096, 65535, 2**31 - 1, 2**31, 2**32 - 1)
HURTFUL_LONG = (*HURTFUL, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1)

Mutate = Callable[[bytearray, random.Random], None]


def good_page(folder: Path, max_metrics: int, num_publishes: int) -> bytes:
    """A page as a run leaves it."""
    metrics = [Metric(f"m/{i}", "s") for i in range(max_metrics)]
    writer = MetricsWriter.create(
        folder / "p", "run", metrics, publish_interval_s=1, max_metrics=max_metrics
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
    """Head fields of one slot or history row, whose CRC then holds again."""
    records = [part for part in sections_of(page) if part[0][:4] in (b"SNAP", b"HIST")]
    _, offset, _, record_bytes, num_records = random.choice(records)
    start = offset + record_bytes * random.randrange(min(num_records, 300))
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


MUTATIONS: tuple[Mutate, ...] = (flip_bytes, hurt_header, hurt_record, move_piece, cut_short)


def read_all(path: Path) -> None:
    """Everything a reader can be asked, twice: the second time it has what it read before."""
    reader = MetricsReader.attach(path)
    try:
        for _ in range(2):
            snapshot = reader.read()
            schema = reader.schema()
            history = reader.history()
            for metric in schema[:3]:
                history.series(metric.name)
            reader.events()
            reader.outcome()
            reader.num_rejected_metrics()
            if snapshot:
                reader.age_s(snapshot)
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
        limit_memory()
        for _ in range(num_pages):
            # Small pages more often: what hurts does not depend on the size.
            page = bytearray(choose.choices(bases, (20, 20, 1))[0])
            mutation = choose.choice(MUTATIONS)
            mutation(page, choose)
            signal.alarm(HANGS_AFTER_S)
            try:
                read_all_of(folder / "page", page)
                counted[f"{mutation.__name__}: readable"] += 1
            except PageError:
                counted[f"{mutation.__name__}: refused"] += 1
            signal.alarm(0)
    return dict(sorted(counted.items()))


def read_all_of(path: Path, page: bytes | bytearray) -> None:
    path.write_bytes(page)
    read_all(path)


def limit_memory() -> None:
    """From here on the process may allocate no more than ALLOCATION_LIMIT_BYTES."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + ALLOCATION_LIMIT_BYTES, resource.RLIM_INFINITY))


def _memory() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    print(json.dumps({"pages": asked.pages, **fuzz(asked.pages, asked.seed)}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
