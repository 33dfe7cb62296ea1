"""Alerts come from the numbers alone, at the step where something began, and not without reason."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from views import SCHEMA, make_history, training_curves

from operant.monitor.alerts import alerts_of
from operant.shared import History
from operant.shared.history import NEVER_WRITTEN


def alerts(num_rows=200, **changed):
    columns = training_curves(num_rows) | {
        name.replace("__", "/"): column for name, column in changed.items()
    }
    return alerts_of(SCHEMA, make_history(columns, 2048 * np.arange(1, num_rows + 1)))


def test_a_run_that_goes_well_has_none():
    assert alerts() == ()
    assert alerts_of(SCHEMA, History()) == ()


def test_nan_is_an_error_at_its_first_step():
    loss = np.full(200, 1.0)
    loss[120:] = np.nan
    (alert,) = alerts(loss__policy=loss)
    assert (alert.level, alert.metric, alert.publish) == ("error", "loss/policy", 121)
    assert alert.env_steps == 2048 * 121
    assert "loss/policy" in alert.text


def test_metrics_that_turn_nan_together_are_one_alert_and_unwritten_ones_none():
    bad = np.where(np.arange(200) < 50, 1.0, np.nan)
    (alert,) = alerts(loss__policy=bad, loss__value=bad, policy__entropy=bad)
    assert "and 1 more" in alert.text
    assert alerts(loss__policy=np.where(np.arange(200) < 50, 1.0, NEVER_WRITTEN)) == ()


def test_speed_under_half_its_median_for_a_while():
    speed = np.full(200, 1000.0)
    speed[100] = 10.0  # once is chance
    assert alerts(speed__env_steps_per_s=speed) == ()
    speed[150:160] = 300.0
    (alert,) = alerts(speed__env_steps_per_s=speed)
    assert alert.publish == 151
    assert "300" in alert.text
    assert "half its median of 1.00k" in alert.text


def test_a_start_is_not_a_fall():
    slowly = np.minimum(1000.0, 25.0 * np.arange(1, 201))  # 40 points to its usual speed
    assert alerts(speed__env_steps_per_s=slowly) == ()
    large = np.where(np.arange(200) < 60, 0.05, 0.002)  # updates, while there is most to learn
    assert alerts(policy__approx_kl=large) == ()
    largest = np.where(np.arange(200) == 7, 0.5, 0.01)
    assert alerts(policy__approx_kl=largest) == ()


def test_entropy_that_collapses():
    entropy = np.full(200, 0.69)
    entropy[80:] = 0.001
    (alert,) = alerts(policy__entropy=entropy)
    assert alert.publish == 81
    assert alerts(policy__entropy=np.full(200, -3.0)) == ()


def test_a_kl_spike():
    kl = np.full(200, 0.01)
    kl[90] = 0.5
    (alert,) = alerts(policy__approx_kl=kl)
    assert (alert.publish, alert.metric) == (91, "policy/approx_kl")
    assert alerts(policy__approx_kl=np.where(np.arange(200) == 90, 1e-3, 1e-6)) == ()


def test_no_env_steps_for_a_minute_is_no_progress():
    columns = training_curves(900)  # ten rows a second
    steps = np.minimum(2048 * np.arange(1, 901), 2048 * 200)
    (alert,) = alerts_of(SCHEMA, make_history(columns, steps))
    assert alert.publish == 200
    assert "no progress" in alert.text
    assert alerts_of(SCHEMA, make_history(training_curves(600), steps[:600])) == ()


@given(arrays(float, (5, 60), elements=st.floats()))
def test_nothing_that_a_page_may_hold_raises(values):
    names = ["loss/policy", "policy/entropy", "policy/approx_kl", "speed/env_steps_per_s", "a"]
    history = make_history(dict(zip(names, values, strict=True)), np.arange(60))
    found = alerts_of(SCHEMA, history)
    assert list(found) == sorted(found, key=lambda alert: (alert.publish, alert.text))
    assert len(found) <= 15
