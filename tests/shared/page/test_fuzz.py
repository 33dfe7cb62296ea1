"""Damaged pages are refused or read, never more: no other error, no hang, little memory."""

from __future__ import annotations

import json
import subprocess
import sys

import fuzz


def test_five_hundred_damaged_pages_do_no_harm():
    # In a process of its own, whose memory is limited for good.
    done = subprocess.run(
        [sys.executable, fuzz.__file__, "--pages", "500", "--seed", "1"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert sum(found.values()) == 2 * 500 + 1
    assert found["full: readable"] == 1
    assert found["claim_more: refused"] > 12
    assert found["claim_more: readable"] > 12
    assert found["cut_short: refused"] > 25
    assert found["hurt_header: refused"] > 25
    assert found["hurt_record: readable"] > 25
