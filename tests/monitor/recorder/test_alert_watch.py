"""Alerts are decided from the numbers as they come, once, and not without reason."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from views import SCHEMA, make_history, training_curves

from operant.monitor.recorder.alert_kinds import (
    CollapsedEntropy,
    KlSpike,
    Point,
    SlowDecline,
    SlowSuddenly,
    Still,
)
from operant.monitor.recorder.alert_watch import AlertWatch, RuleHolds
from operant.shared import History
from operant.shared.rows.row_batch import NEVER_WRITTEN
from operant.shared.runs.alert_rule import parse_rule


def found(kind, *parts, every_s=1.0):
    """(seconds, text) of all that `kind` finds in `parts`, each a value and how often it comes."""
    values = [value for value, times in parts for _ in range(times)]
    points = [Point(every_s * place, value) for place, value in enumerate(values)]
    return [(point.at_s, finding.text) for point in points if (finding := kind.take(point))]


def watched(num_rows=200, pieces=1, watch=None, rules=(), **changed):
    """Alerts of a typical run with columns `changed`, read in `pieces` parts."""
    watch = watch or AlertWatch()
    watch.follow([parse_rule(rule) for rule in rules])
    columns = training_curves(num_rows) | {
        name.replace("__", "/"): column for name, column in changed.items()
    }
    steps = 2048 * np.arange(1, num_rows + 1)
    alerts = []
    for end in np.linspace(0, num_rows, pieces + 1).astype(int)[1:]:
        part = {name: column[:end] for name, column in columns.items()}
        alerts += watch.take(SCHEMA, make_history(part, steps[:end]))
    return alerts


def test_half_the_usual_speed_three_times_in_a_row_is_told_once():
    speeds = [(1000.0, 60), (10.0, 2), (1000.0, 10), (400.0, 50)]
    # 60 + 2 + 10 seconds on, the third of the slow ones is the 75th point: second 74.
    assert found(SlowSuddenly(), *speeds) == [
        (74.0, "speed fell to 400, under half of the usual 1.00k")
    ]


def test_a_speed_that_hovers_at_half_is_told_once_until_it_was_well_again():
    hovering = [(480.0, 3), (520.0, 3)] * 20
    assert len(found(SlowSuddenly(), (1000.0, 60), *hovering)) == 1
    assert len(found(SlowSuddenly(), (1000.0, 60), (480.0, 5), (710.0, 1), (480.0, 5))) == 2


def test_a_start_is_no_fall():
    slowly = [(25.0 * second, 1) for second in range(1, 41)]
    assert found(SlowSuddenly(), *slowly, (1000.0, 100)) == []
    assert found(SlowSuddenly(), (1000.0, 10), (100.0, 100)) == []  # 10 s tell nothing of usual


def test_a_fifth_lost_in_five_minutes_is_a_decline_and_less_is_none():
    # From 1000 by 1 a second: after 330 s the newest half minute is 0.7 of that 5 minutes before,
    throttling = [(1000.0, 30), *((1000.0 - second, 1) for second in range(1, 301))]
    ((at_s, text),) = found(SlowDecline(), *throttling)
    # and 0.8 as soon as five minutes are known: 1000 - 285 + ... against the first second's 1000.
    assert at_s == 300.0
    assert text == "speed declined to 744, 1.00k five minutes before"
    mild = [(1000.0, 30), *((1000.0 - 0.5 * second, 1) for second in range(1, 301))]
    assert found(SlowDecline(), *mild) == []


def test_a_decline_is_told_again_only_after_another_fifth_or_once_it_was_well():
    lower = [(1000.0, 330), (700.0, 900)]
    assert len(found(SlowDecline(), *lower)) == 1
    assert len(found(SlowDecline(), (1000.0, 330), (700.0, 400), (1000.0, 400), (700.0, 400))) == 2


def test_a_policy_that_stops_exploring_is_told_and_one_that_hovers_is_told_once():
    ((at_s, text),) = found(CollapsedEntropy(), (0.69, 50), (0.01, 30), (0.04, 5), (0.01, 100))
    assert at_s == 69.0  # the 20th of those below 0.0345
    assert text == "entropy collapsed to 0.01000, from 0.6900 at the start"
    assert len(found(CollapsedEntropy(), (0.69, 50), (0.01, 30), (0.08, 1), (0.01, 30))) == 2


def test_the_entropy_of_continuous_actions_passes_through_nought_without_an_alert():
    falling = [(1.42 - 0.02 * place, 1) for place in range(200)]
    assert found(CollapsedEntropy(), *falling) == []
    assert found(CollapsedEntropy(), (-3.0, 100)) == []


def test_a_kl_spike_is_told_and_a_storm_of_them_once():
    assert [at for at, _ in found(KlSpike(), (0.01, 90), (0.5, 1), (0.01, 30))] == [90.0]
    storm = [(0.5, 1), (0.01, 3)] * 10
    assert len(found(KlSpike(), (0.01, 90), *storm)) == 1
    assert len(found(KlSpike(), (0.01, 90), (0.5, 1), (0.01, 20), (0.5, 1))) == 2
    assert found(KlSpike(), (1e-6, 90), (1e-3, 1)) == []  # far below 0.02 nats


def test_first_updates_are_larger_than_others_and_no_spikes():
    assert found(KlSpike(), (0.01, 7), (0.5, 1), (0.01, 90)) == []
    assert found(KlSpike(), (0.05, 60), (0.002, 140)) == []


def test_no_env_steps_for_a_minute_is_no_progress():
    steps = [(float(step), 1) for step in range(20)]
    ((at_s, text),) = found(Still(), *steps, (20.0, 200))
    assert at_s == 80.0  # it came to 20 in second 20
    assert text == "no progress: env steps have stood still for 1m 00s"
    assert found(Still(), *steps, (20.0, 60)) == []


def test_an_evaluation_that_takes_minutes_is_no_standing_still():
    kind = Still()
    for second in range(600):
        assert kind.take(Point(float(second), 5.0)) is None
        kind.paused(float(second))


def test_a_run_that_goes_well_has_none():
    assert watched() == []
    assert AlertWatch().take(SCHEMA, History()) == []


def test_nan_is_an_error_at_its_first_step_told_once():
    loss = np.full(200, 1.0)
    loss[120:130] = np.nan
    loss[150:] = np.nan
    (alert,) = watched(loss__policy=loss)
    assert (alert.level, alert.kind, alert.metric) == ("error", "nan", "loss/policy")
    assert (alert.publish, alert.env_steps) == (121, 2048 * 121)
    assert alert.text == "NaN or infinite: loss/policy"


def test_metrics_that_turn_nan_together_are_one_alert_and_unwritten_ones_none():
    bad = np.where(np.arange(200) < 50, 1.0, np.nan)
    (alert,) = watched(loss__policy=bad, loss__value=bad, policy__entropy=bad)
    assert alert.text.endswith("and 1 more")
    assert watched(loss__policy=np.where(np.arange(200) < 50, 1.0, NEVER_WRITTEN)) == []


@pytest.mark.parametrize("pieces", [1, 7, 100])
def test_the_same_is_decided_whether_rows_come_one_by_one_or_all_at_once(pieces):
    kl = np.full(200, 0.01)
    kl[[90, 150]] = 0.5
    loss = np.where(np.arange(200) == 60, np.inf, 1.0)
    alerts = watched(pieces=pieces, policy__approx_kl=kl, loss__value=loss)
    assert [(alert.kind, alert.publish) for alert in alerts] == [
        ("nan", 61),
        ("kl", 91),
        ("kl", 151),
    ]
    assert alerts[1].numbers == {"value": 0.5, "usual": 0.01}


def test_what_a_former_recorder_has_decided_is_not_decided_again():
    kl = np.full(200, 0.01)
    kl[[90, 150]] = 0.5
    first, second = watched(policy__approx_kl=kl)
    again = watched(watch=AlertWatch(first.publish, [first]), policy__approx_kl=kl)
    assert again == [second]
    assert watched(watch=AlertWatch(200, [first, second]), policy__approx_kl=kl) == []


def test_a_rule_counts_again_once_it_did_not_hold_ten_times_in_a_row():
    def told(*parts):
        return len(found(RuleHolds(parse_rule("x > 3")), *parts))

    assert told((1.0, 5), (4.0, 30)) == 1
    assert told((4.0, 1), (1.0, 9), (4.0, 1)) == 1
    assert told((4.0, 1), (1.0, 10), (4.0, 1)) == 2


def test_a_rule_is_an_alert_at_the_step_where_it_first_holds():
    loss = np.where(np.arange(200) < 120, 1.0, 2e3)
    rules = ["loss/value > 1e3", "return < 100 after 204_800", "nothing > 0", "loss/value > 1e4"]
    late, high = watched(rules=rules, loss__value=loss, episode__return=np.full(200, 43.0))
    assert (late.text, late.metric) == (
        "return < 100 after 204_800: it is 43.00",
        "episode/return",
    )
    assert (late.publish, late.env_steps) == (100, 204_800)
    assert (high.text, high.publish) == ("loss/value > 1e3: it is 2000", 121)
    assert (high.kind, high.level) == ("rule", "warning")
    assert high.numbers == {"value": 2e3, "limit": 1e3}


def test_rules_that_come_later_hold_from_then_on_and_those_that_go_hold_no_more():
    watch = AlertWatch()
    loss = np.full(200, 5.0)
    assert watched(100, watch=watch, loss__value=loss[:100]) == []
    (alert,) = watched(150, watch=watch, rules=["loss/value > 3"], loss__value=loss[:150])
    assert alert.publish == 101
    assert watched(200, watch=watch, loss__value=loss) == []


def test_a_rule_that_a_former_recorder_has_told_of_is_told_again_only_once_it_was_well():
    loss = np.where(np.arange(200) % 100 < 50, 5.0, 1.0)
    rules = ["loss/value > 3", "loss/value > 4"]
    first, other, *_ = watched(rules=rules, loss__value=loss)
    assert (first.publish, other.publish) == (1, 1)
    again = watched(watch=AlertWatch(0, [first]), rules=rules, loss__value=loss)
    assert [(alert.text[:14], alert.publish) for alert in again] == [
        ("loss/value > 4", 1),
        ("loss/value > 3", 101),
        ("loss/value > 4", 101),
    ]


@given(arrays(float, (5, 60), elements=st.floats()))
def test_nothing_that_a_page_may_hold_raises(values):
    names = ["loss/policy", "policy/entropy", "policy/approx_kl", "speed/env_steps_per_s", "a"]
    history = make_history(dict(zip(names, values, strict=True)), np.arange(60))
    for alert in AlertWatch().take(SCHEMA, history):
        assert alert.publish in history.publish
