"""Every row of a trainer at full speed is on disk; `row_deaths.py` is the long form."""

from __future__ import annotations

import pytest
from command_line import operant
from leftover_rows import take_leftover_rows
from recorded import kill_recorder, recorder_pid
from row_deaths import BURST_ROWS, Trainer, check_rows, row_deaths
from waiting import wait_for


@pytest.fixture(autouse=True)
def _recorders(monkeypatch):
    monkeypatch.setenv("OPERANT_RECORDER", "on")


def test_a_burst_of_20000_rows_of_64_metrics_is_on_disk_once_and_in_order():
    trainer = Trainer(BURST_ROWS, 0)
    wait_for(lambda: trainer.seconds)
    trainer.finish()
    wait_for(lambda: recorder_pid(trainer.run) is None and trainer.run.rows_path.exists())
    assert check_rows(trainer.run) == 20_000


def test_trainers_killed_at_random_moments_leave_every_row_that_they_wrote():
    found = row_deaths(num_kills=3, seed=20261121)
    assert {death.kind for death in found} == {"burst", "sustained", "no recorder"}
    assert all(death.num_rows for death in found)


@pytest.mark.parametrize("by_hand", [True, False])
def test_the_newest_20000_rows_wait_for_a_recorder_while_none_lives(by_hand):
    trainer = Trainer(BURST_ROWS, 0)
    kill_recorder(trainer.run)
    wait_for(lambda: trainer.seconds)
    if by_hand:
        trainer.kill()
        operant("record", trainer.run.id)
    else:  # beside a trainer that goes on
        taken = take_leftover_rows(trainer.run)
        assert 0 < taken <= 20_000  # the recorder may have taken some before it was killed
        assert take_leftover_rows(trainer.run) == 0
        trainer.kill()
    assert check_rows(trainer.run) == 20_000
