"""Alerts are what `events.log` holds: every one that was written is read as it was decided."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from operant.monitor.panels.event_lines import with_alerts
from operant.monitor.recorder.events_file import event_line
from operant.monitor.runs.reading.alerts import Alert, RecordedAlerts, alerts_in
from operant.shared import Event

NOON_NS = 1_795_262_400 * 10**9
SPIKE = Alert(
    "warning", "KL spike of 0.5, the median is 0.01", 91, 2048 * 91, NOON_NS, "policy/approx_kl",
    "kl", {"value": 0.5, "usual": 0.01},
)  # fmt: skip


def test_an_alert_is_read_as_it_was_written_with_the_numbers_it_was_decided_on():
    line = event_line(SPIKE.as_event())
    assert line == (
        "2026-11-21T12:00:00.000000Z  warning  alert: KL spike of 0.5, the median is 0.01 "
        '{"kind": "kl", "metric": "policy/approx_kl", "publish": 91, "env_steps": 186368, '
        '"value": 0.5, "usual": 0.01}'
    )
    (read,) = alerts_in([line])
    assert read == SPIKE
    assert read.numbers == SPIKE.numbers


def test_what_other_events_say_is_no_alert():
    texts = ["evaluation: mean return 1.0", "alert: no numbers", 'alert: x {"kind": "kl"}',
             'alert: x {"kind": 1, "metric": "", "publish": 1, "env_steps": 1}', "alert: x {]}",
             "alert: x " + "{" * 5000 + "}" * 5000]  # fmt: skip
    lines = [event_line(Event(1, NOON_NS, "warning", text)) for text in texts]
    lines.append(event_line(replace(SPIKE.as_event(), level="info")))
    assert alerts_in([*lines, "", "no line of ours"]) == ()


def test_an_alert_with_numbers_that_nothing_can_draw_or_say_is_none():
    line = event_line(SPIKE.as_event())
    for large in ("1" + "0" * 400, str(1 << 63), str(-(1 << 63) - 1)):
        assert alerts_in([line.replace("186368", large), line.replace(": 91", f": {large}")]) == ()
        (alert,) = alerts_in([line.replace("0.01}", f"{large}}}")])
        assert alert.numbers == {"value": 0.5}
    (alert,) = alerts_in([line.replace("186368", str((1 << 63) - 1))])
    assert with_alerts([], [alert])[0].text.startswith("KL spike")


def test_a_line_longer_than_any_recorder_writes_is_not_searched():
    # Each of its braces could begin the numbers: a search would try them all.
    assert alerts_in([f"2026-11-21T12:00:00Z  warning  alert: {' {' * 128_000}"]) == ()
    assert alerts_in([event_line(replace(SPIKE, text="x" * 9000).as_event())]) != ()
    assert alerts_in([event_line(replace(SPIKE, text="x" * 10_000).as_event())]) == ()


@given(st.text())
def test_no_line_whatsoever_hides_the_alert_after_it(text):
    odd = [text, f"2026-11-21T12:00:00.000000Z  error    alert: x {{{text}}}"]
    assert SPIKE in alerts_in([*odd, event_line(SPIKE.as_event())])


def test_alerts_are_read_as_the_file_grows_and_stay_the_same_while_it_does_not(tmp_path):
    path = tmp_path / "events.log"
    alerts = RecordedAlerts(path)
    assert alerts.read() == ()
    path.write_text(event_line(SPIKE.as_event()) + "\n")
    first = alerts.read()
    assert first == (SPIKE,)
    assert alerts.read() is first
    later = replace(SPIKE, publish=200, wall_ns=NOON_NS + 10**9)
    with path.open("a") as file:
        file.write(event_line(later.as_event()) + "\n")
    assert alerts.read() == (SPIKE, later)
