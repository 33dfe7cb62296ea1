"""What readers see is what was published, however fast the writer is."""

from __future__ import annotations

import pytest
from torture import (
    NAMES,
    WrongNumberError,
    check_events,
    check_history,
    check_snapshot,
    torture,
)

from operant.shared import MetricsReader, MetricsWriter


@pytest.mark.untraced
def test_three_readers_never_see_what_was_not_published():
    readers = torture(num_publishes=100_000, num_readers=3)
    assert [reader.get("error") for reader in readers] == [None] * 3
    for reader in readers:
        assert reader["last publish"] == 100_000
        assert min(reader["snapshots"], reader["history rows"], reader["events"]) > 0


def test_the_checks_catch_a_single_wrong_number(operant_pages):
    writer = MetricsWriter.create(operant_pages / "a.page", "run", [], publish_interval_s=1.0)
    reader = MetricsReader.attach(operant_pages / "a.page")
    for publish in range(1, 3000):
        values = {name: publish * 32 + i for i, name in enumerate(NAMES)}
        if publish == 2990:
            values[NAMES[7]] += 1
        writer.publish(values, publish, 2 * publish)
        if publish == 2990:
            with pytest.raises(WrongNumberError, match="snapshot"):
                check_snapshot(reader)
    assert check_snapshot(reader) == 1
    with pytest.raises(WrongNumberError, match="metric/7"):
        check_history(reader)
    writer.event("info", "at 7", 7)
    with pytest.raises(WrongNumberError, match="event"):
        check_events(reader)
    writer.remove()
