"""Readers see only published values, however fast the writer is."""

from __future__ import annotations

import pytest
from torture import (
    torture,
)


@pytest.mark.untraced
def test_three_readers_never_see_what_was_not_published():
    readers = torture(num_publishes=100_000, num_readers=3)
    assert [reader.get("error") for reader in readers] == [None] * 3
    for reader in readers:
        assert reader["last publish"] == 100_000
        assert min(reader["snapshots"], reader["history rows"], reader["events"]) > 0
