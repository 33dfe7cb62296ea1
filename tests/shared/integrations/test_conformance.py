"""Scripts written for wandb or TensorBoard go on as they are: a table of pieces, run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import conformance
import pytest

# A minute on an idle machine; several where many tests share two cores.
pytestmark = pytest.mark.timeout(900)
SCRIPT = Path(conformance.__file__)


def outcomes(table: str, side: str) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), table, side], capture_output=True, text=True, timeout=850
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("table", conformance.TABLES)
def test_every_piece_is_kept_or_dropped_as_the_table_says(table):
    expected = {
        f"{group}: {piece.title}": "kept" if piece.keeps else "dropped"
        for group, pieces in conformance.TABLES[table].items()
        for piece in pieces
    }
    assert outcomes(table, "operant") == expected


@pytest.mark.parametrize("table", conformance.TABLES)
def test_every_piece_works_with_the_original(table):
    if table == "wandb":
        pytest.importorskip("wandb")
    found = outcomes(table, "real")
    assert len(found) > 35
    assert {title: outcome for title, outcome in found.items() if outcome != "works"} == {}
