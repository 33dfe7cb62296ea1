"""A sweep's table: its best runs, name and lock, and errors in its file."""

from __future__ import annotations

import json

import pytest
from sweeping import made_up_table

from operant.shared.errors import RunFolderError, SweepNotFoundError, UsageError
from operant.shared.processes.lock import RunLock
from operant.shared.runs.sweep_folder import find_sweep, free_name, list_sweeps, new_sweep
from operant.shared.runs.sweep_table import SweepTable, front


def test_one_objective_has_the_best_on_its_front():
    assert front([(1.0,), (3.0,), (2.0,), (3.0,)], [True]) == [False, True, False, True]
    assert front([(1.0,), (3.0,)], [False]) == [True, False]
    assert front([], [True]) == []


def test_a_front_has_those_that_no_other_beats():
    # return up, seconds down: (9, 5) and (4, 2) are beaten by none; (9, 6) is by (9, 5)
    scores = [(9.0, 5.0), (9.0, 6.0), (4.0, 2.0), (4.0, 3.0), (1.0, 2.0)]
    assert front(scores, [True, False]) == [True, False, True, False, False]


def test_a_table_is_read_as_it_was_written():
    table = made_up_table(num_objectives=2)
    assert SweepTable.of_json(json.loads(json.dumps(table.as_json()))) == table


@pytest.mark.parametrize(
    "damage",
    [
        lambda table: [],
        lambda table: {},
        lambda table: table | {"trials": [{"number": 1}]},
        lambda table: table | {"of_a_later_version": 1},
    ],
)
def test_what_is_no_table_is_one_error(damage):
    sweep = new_sweep("odd")
    sweep.write_table(json.dumps(damage(made_up_table().as_json())).encode())
    with pytest.raises(RunFolderError, match="cannot be read"):
        sweep.table()


def test_a_run_is_one_of_this_home():
    told = json.loads(json.dumps(made_up_table().as_json()))
    told["trials"][0]["runs"] = ["good", "../elsewhere", "/etc", "..", ".", "", "a/b", "\0"]
    assert SweepTable.of_json(told).trials[0].runs == ("good",)


def test_a_sweep_is_found_by_part_of_its_name():
    with pytest.raises(SweepNotFoundError, match="no sweeps in"):
        find_sweep("one")
    for name in ("one-a", "one-b"):
        RunLock(new_sweep(name).lock_path, 0).release()
    assert find_sweep("-a").name == "one-a"
    assert [sweep.name for sweep in list_sweeps()] == ["one-b", "one-a"]
    with pytest.raises(SweepNotFoundError, match="matches 2 sweeps: one-b, one-a"):
        find_sweep("one")
    with pytest.raises(SweepNotFoundError, match="no sweep is called 'x'; there are one-b"):
        find_sweep("x")


def test_a_name_is_taken_once_and_the_next_free_one_is_told():
    assert free_name("cart_pole_ppo") == "cart_pole_ppo"
    new_sweep("cart_pole_ppo")
    assert free_name("cart_pole_ppo") == "cart_pole_ppo-2"
    with pytest.raises(UsageError, match="--resume cart_pole_ppo` goes on"):
        new_sweep("cart_pole_ppo")
    for name in ("", "../up", "a/b", "-x", "x" * 25):
        with pytest.raises(UsageError, match="letters, digits"):
            new_sweep(name)
    assert len(free_name("x" * 60)) == 24
    assert free_name("../..") == "sweep"


def test_a_sweep_runs_as_long_as_somebody_holds_its_lock():
    sweep, table = new_sweep("one"), made_up_table()
    lock = RunLock(sweep.lock_path)
    assert sweep.state(table) == "running"
    lock.release()
    assert sweep.state(table) == "interrupted"
    assert sweep.state(made_up_table(0, num_wanted=0)) == "finished"
