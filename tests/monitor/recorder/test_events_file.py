"""events.log has one harmless line for each message, once."""

from __future__ import annotations

from operant.monitor.recorder.events_file import EventsFile, event_line
from operant.shared import Event

NOON_NS = 1_795_262_400 * 10**9  # 2026-11-21 12:00 UTC
SAVED = Event(1, NOON_NS + 1_234_567, "info", "checkpoint: a.pt")
WARNED = Event(2, NOON_NS + 2_000_000_000, "warning", "disk nearly full")


def test_a_line_has_time_level_and_text():
    assert event_line(SAVED) == "2026-11-21T12:00:00.001234Z  info     checkpoint: a.pt"
    assert event_line(WARNED).endswith("02.000000Z  warning  disk nearly full")


def test_a_message_cannot_forge_lines_or_command_a_terminal():
    evil = Event(1, NOON_NS, "error", "Traceback\n  File x\r\x1b[2J\u202eboom")
    assert event_line(evil) == "2026-11-21T12:00:00.000000Z  error    Traceback File x [2J boom"


def test_a_time_that_is_none_is_written_all_the_same():
    assert event_line(Event(1, 2**63 - 1, "info", "x")).endswith("Z  info     x")
    assert event_line(Event(1, -(2**63), "info", "x")).endswith("Z  info     x")


def test_what_is_there_is_not_written_again(tmp_path):
    path = tmp_path / "events.log"
    EventsFile(path).append([event_line(SAVED)])
    again = EventsFile(path)
    again.append([event_line(SAVED), event_line(WARNED), event_line(WARNED)])
    again.append([event_line(WARNED)])
    assert path.read_text().splitlines() == [event_line(SAVED), event_line(WARNED)]
    assert again.has_text("disk nearly full")
    assert not again.has_text("nearly full")


def test_half_a_line_at_the_end_is_written_anew(tmp_path):
    path = tmp_path / "events.log"
    EventsFile(path).append([event_line(SAVED), event_line(WARNED)])
    path.write_bytes(path.read_bytes()[:-9])
    EventsFile(path).append([event_line(SAVED), event_line(WARNED)])
    assert path.read_text().splitlines() == [event_line(SAVED), event_line(WARNED)]


def test_ever_new_texts_are_all_written_and_only_the_newest_remembered(tmp_path):
    path = tmp_path / "events.log"
    file = EventsFile(path)
    texts = [f"{number} {'x' * 990}" for number in range(3000)]  # three times what is read again
    for text in texts:
        file.append([event_line(Event(1, NOON_NS, "info", text))])
    assert len(path.read_text().splitlines()) == 3000
    assert sum(map(len, file.lines())) <= 2**20
    assert file.has_text(texts[-1])
    file.append([event_line(Event(1, NOON_NS, "info", texts[-1]))])
    assert len(path.read_text().splitlines()) == 3000
