"""Damaged pages are refused or read, never more: no other error, no hang, little memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import fuzz
import pytest

from operant.shared import MetricsReader


def test_two_thousand_damaged_pages_do_no_harm():
    # In a process of its own, whose memory is limited for good.
    done = subprocess.run(
        [sys.executable, fuzz.__file__, "--pages", "2000", "--seed", "1"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert sum(found.values()) == 2 * 2000 + 1
    assert found["full: readable"] == 1
    assert found["claim_more: refused"] > 50
    assert found["claim_more: readable"] > 50
    assert found["cut_short: refused"] > 100
    assert found["hurt_header: refused"] > 100
    assert found["hurt_record: readable"] > 100


def test_a_reader_that_takes_too_much_memory_is_caught(tmp_path: Path):
    code = "import fuzz, numpy; fuzz.limit_memory(); numpy.ones(80 << 17)"
    tools = str(Path(fuzz.__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {tools!r}); {code}"],
        capture_output=True,
        text=True,
    )
    assert "MemoryError" in done.stderr


@pytest.mark.parametrize("mutation", fuzz.MUTATIONS)
def test_every_mutation_changes_the_page(mutation, tmp_path: Path):
    good = fuzz.good_page(tmp_path, 2, 50)
    MetricsReader.attach(tmp_path / "copy").detach()
    choose = fuzz.random.Random(3)
    changed = 0
    for _ in range(60):
        page = bytearray(good)
        mutation(page, choose)
        changed += page != good
    assert changed >= 5
