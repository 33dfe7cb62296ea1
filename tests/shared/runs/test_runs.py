"""Runs on disk: their names, their order, and how one is asked for."""

from __future__ import annotations

import re

import pytest

from operant.shared import MetricsWriter, RunFolderError, RunNotFoundError
from operant.shared.page.folder_place import FolderPlace
from operant.shared.runs.find_runs import find_run, latest_run, list_runs
from operant.shared.runs.run_folder import create_run, make_run_id
from operant.shared.runs.session import RunSession


def make_run(name="cart_pole-ppo"):
    run, lock = create_run(name, {"seed": 1})
    lock.release()
    return run


def test_an_id_tells_when_and_what():
    assert re.fullmatch(r"\d{8}-\d{6}-cart_pole-ppo-[a-z2-9]{4}", make_run_id("cart_pole-ppo"))


def test_of_a_long_name_an_id_keeps_the_end_which_tells_runs_of_a_sweep_apart():
    ids = [make_run_id(f"ppo-on-the-hardest-of-mazes-lr0.001-clip0.2-seed{i}") for i in (1, 2)]
    assert [run_id[16:-5] for run_id in ids] == [
        "ppo-on-the-h..azes-lr0.001-clip0.2-seed1",
        "ppo-on-the-h..azes-lr0.001-clip0.2-seed2",
    ]
    assert len(make_run_id("x" * 200)) == len("20261121-142530-") + 40 + len("-k3f9")


@pytest.mark.parametrize("name", ["../../etc", "a b/c", "", "...", "-rf", "\x1b[31m", "ß" * 100])
def test_an_id_is_a_plain_file_name_whatever_the_run_is_called(name):
    assert re.fullmatch(r"\d{8}-\d{6}-[A-Za-z0-9_][A-Za-z0-9_.-]*-[a-z2-9]{4}", make_run_id(name))


def test_runs_come_newest_first_even_within_a_second():
    runs = [make_run() for _ in range(5)]
    assert list_runs() == runs[::-1]
    assert latest_run() == runs[-1]


def test_a_run_folder_is_for_its_user_alone_and_holds_its_manifest():
    run = make_run()
    assert run.folder.stat().st_mode & 0o777 == 0o700
    assert run.manifest() == {"id": run.id, "name": "cart_pole-ppo", "seed": 1, "format": 2}


def test_a_part_of_an_id_is_enough_when_no_other_run_has_it():
    first, second = make_run("apple"), make_run("banana")
    assert find_run(first.id) == first
    assert find_run("appl") == first
    assert find_run(second.id[-4:]) == second


def test_the_name_that_a_run_was_given_comes_before_parts_of_others():
    walk, _ = make_run("walk"), make_run("walk-further")
    assert find_run("walk") == walk


def test_an_ambiguous_part_names_the_runs_it_fits():
    runs = [make_run(), make_run()]
    with pytest.raises(RunNotFoundError) as caught:
        find_run("cart_pole")
    assert all(run.id in str(caught.value) for run in runs)


def test_of_several_runs_of_a_name_those_who_look_get_the_newest_and_a_warning():
    ids = [create_run(name, {})[0].id for name in ("twin", "twin", "twins")]
    said: list[str] = []
    assert find_run("twin", said.append).id == ids[1]
    assert said == [f"2 runs are called 'twin': {ids[1]}, {ids[0]}; this is the newest"]
    with pytest.raises(RunNotFoundError, match="'twi' matches 3 runs"):
        find_run("twi", said.append)
    with pytest.raises(RunNotFoundError, match="'twin' matches 2 runs"):
        find_run("twin")


def test_an_unknown_run_is_answered_with_the_newest():
    run = make_run()
    with pytest.raises(RunNotFoundError, match=f"no run is called 'nonsense'.*{run.id}"):
        find_run("nonsense")
    with pytest.raises(RunNotFoundError, match="on another machine, call there"):
        find_run("box:nonsense")


def test_without_any_run_the_error_says_how_to_start_one():
    for ask in (latest_run, lambda: find_run("x")):
        with pytest.raises(RunNotFoundError, match="operant train"):
            ask()


def test_a_folder_that_is_no_run_is_not_listed(operant_home):
    run = make_run()
    (operant_home / "runs" / "empty").mkdir()
    (operant_home / "runs" / "backup").mkdir()
    (operant_home / "runs" / "backup" / "notes.txt").write_text("mine")
    assert list_runs() == [run]


@pytest.mark.parametrize("missing", ["lock", "run.toml"])
def test_a_run_that_lost_one_of_its_files_is_listed(operant_home, missing):
    run = make_run()
    (run.folder / missing).unlink()
    assert list_runs() == [run]


def test_a_page_whose_run_is_called_like_the_folder_above_is_no_run(
    operant_home, operant_pages, monkeypatch
):
    (operant_home / "runs").mkdir(parents=True)
    above = operant_home / "runs" / ".."
    monkeypatch.setattr(FolderPlace, "of", lambda folder: FolderPlace(folder, 1, 1))
    page = MetricsWriter.create(operant_pages / "...page", "..", publish_interval_s=1, folder=above)
    assert list_runs() == []
    page.remove()


def test_a_loop_that_changes_its_folder_keeps_its_relative_home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPERANT_HOME", "home")
    monkeypatch.setenv("OPERANT_PAGES", "pages")
    (tmp_path / "pages").mkdir(mode=0o700)
    (tmp_path / "elsewhere").mkdir()
    run, lock = create_run("test", {})
    warnings = []
    session = RunSession(run, lock, publish_interval_s=5.0, recorder=None, warn=warnings.append)
    monkeypatch.chdir(tmp_path / "elsewhere")
    session.metrics.publish({"a": 1.0})
    session.close("finished", 0)
    assert warnings == []
    assert run.page_copy_path.is_file()
    assert not list((tmp_path / "pages").iterdir())


def test_a_home_that_cannot_be_written_is_one_clear_error(operant_home):
    operant_home.write_text("a file, not a folder")
    with pytest.raises(RunFolderError, match="cannot write runs to"):
        make_run()
