"""Runs of others are read, never written or deleted; and no link in a run is followed."""

from __future__ import annotations

import os
import shutil
import stat
import time
from pathlib import Path

import pytest
from owners import ended_run, give_away

from operant.monitor.recorder.completing import complete_run
from operant.shared.errors import PageError, RunFolderError, RunNotFoundError, UsageError
from operant.shared.integrations.artifacts import copy_file
from operant.shared.integrations.media_folder import MediaFolder
from operant.shared.page.page_file import make_page_folder
from operant.shared.processes.lock import RECORDER, RunLock
from operant.shared.rows.row_file_reader import RowFileReader
from operant.shared.runs.find_runs import find_run, latest_run, list_runs
from operant.shared.runs.left_behind import runs_left_behind
from operant.shared.runs.removal import remove_leftovers, remove_run
from operant.shared.runs.run_folder import (
    Run,
    create_run,
    memory_runs_folder,
    refused_folders,
    runs_folder,
)
from operant.shared.runs.run_notes import change_notes
from operant.shared.runs.session import RunSession
from operant.shared.runs.status import read_status
from operant.shared.runs.sweep_folder import find_sweep, new_sweep


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask():
    """Sets the umask; the former one holds again after the test."""
    former = os.umask(0o022)
    yield os.umask
    os.umask(former)


@pytest.fixture
def foreign() -> Run:
    """The newest run, which is another user's; an own one is older."""
    ended_run("mine")
    run = Run(ended_run("theirs").folder.rename(runs_folder() / "20991231-235959-theirs-zzzz"))
    run.write_manifest({"id": run.id})
    give_away(run.folder)
    return run


def test_the_latest_run_is_never_one_of_another_user(foreign):
    assert list_runs()[0] == foreign
    assert latest_run().id.rpartition("-")[0].endswith("mine")
    remove_run(latest_run())
    with pytest.raises(RunNotFoundError, match=r"none of the 1 runs in .* is yours"):
        latest_run()


def test_a_run_of_another_user_is_read_by_its_name(foreign):
    assert find_run("theirs") == foreign
    assert foreign.manifest()["id"] == foreign.id


def test_a_run_of_another_user_is_neither_deleted_nor_written(foreign):
    before = sorted(os.listdir(foreign.folder))
    with pytest.raises(UsageError, match=r"stays: .* belongs to another user, 12345"):
        remove_run(foreign)
    for refused in (
        lambda: change_notes(foreign.folder, lambda notes: notes),
        lambda: RunLock(foreign.lock_path, RECORDER),
    ):
        with pytest.raises(RunFolderError, match="belongs to another user, 12345"):
            refused()
    assert sorted(os.listdir(foreign.folder)) == before


def test_a_home_of_another_user_is_read_and_nothing_in_it_is_deleted(operant_home):
    run = ended_run()
    for path in (operant_home, runs_folder(), run.folder):
        give_away(path)
        path.chmod(0o755)
    assert list_runs() == [run]
    assert read_status(run).state == "finished"
    assert refused_folders() == []
    with pytest.raises(UsageError, match="belongs to another user"):
        remove_run(run)
    os.chown(run.folder, os.getuid(), -1)  # whoever has the folder above may put any run there
    with pytest.raises(UsageError, match="belongs to another user"):
        remove_run(run)
    assert run.folder.exists()
    with pytest.raises(RunFolderError, match="belongs to another user"):
        create_run("another", {})
    assert mode(operant_home) == 0o755


def test_runs_in_a_folder_that_others_can_write_are_not_listed():
    run = ended_run()
    runs_folder().chmod(0o775)
    assert list_runs() == []
    (line,) = refused_folders()
    assert line.startswith(f"{runs_folder()} can be written by other users: `chmod go-w ")
    runs_folder().chmod(0o755)
    assert list_runs() == [run]
    assert refused_folders() == []


@pytest.mark.parametrize(
    ("place", "is_link", "said"),
    [
        ("pages", True, "belongs to another user"),
        ("pages", False, "belongs to another user"),
        ("pages that all can write", True, "can be written by other users"),
        ("runs", True, "is a link"),
        ("a run", True, "are not followed: photos"),
    ],
)
def test_what_others_plant_where_runs_are_looked_for_is_neither_listed_nor_removed(
    place, is_link, said, operant_home, operant_pages, tmp_path
):
    victim = tmp_path / "victim"
    forged = victim / "20991231-235959-forged-zzzz"  # newer than any run
    forged.mkdir(parents=True)
    (forged / "run.toml").write_text(f'id = "{forged.name}"')
    (forged / "lock").touch()
    path = memory_runs_folder() if "pages" in place else runs_folder()
    source = victim
    if place == "a run":
        path, source = path / "photos", forged
    path.parent.mkdir(parents=True, exist_ok=True)
    if is_link:
        path.symlink_to(source)
    else:
        shutil.copytree(source, path)
    if "write" in place:
        operant_pages.chmod(0o777)
    else:
        give_away(operant_pages if "pages" in place else operant_home)
    before = sorted(tmp_path.rglob("*"))
    assert list_runs() == []
    assert sum(said in line for line in refused_folders()) >= 1
    with pytest.raises(RunNotFoundError):
        latest_run()
    with pytest.raises((UsageError, RunFolderError)):
        remove_run(Run(path / forged.name if place != "a run" else path))
    remove_leftovers()
    assert sorted(tmp_path.rglob("*")) == before
    operant_pages.chmod(0o700)


def test_the_folder_of_runs_may_be_a_link_of_the_users_own(operant_home, tmp_path):
    run = ended_run()
    runs_folder().rename(tmp_path / "large disk")
    runs_folder().symlink_to(tmp_path / "large disk")
    assert list_runs() == [run]
    other = ended_run("other")
    assert (tmp_path / "large disk" / other.id).is_dir()
    remove_run(other)
    assert os.listdir(tmp_path / "large disk") == [run.id]
    operant_home.chmod(0o777)  # anyone could have put the link there
    assert list_runs() == []
    assert "is a link, which is not followed" in refused_folders()[0]


def test_only_a_folder_whose_run_toml_names_it_is_deleted():
    run = ended_run()
    copy = run.folder.rename(run.folder.with_name("Documents"))
    with pytest.raises(UsageError, match=r"Documents stays: .*run.toml does not name it"):
        remove_run(Run(copy))
    Run(copy).manifest_path.unlink()
    with pytest.raises(UsageError, match=r"Documents stays: .*run.toml does not name it"):
        remove_run(Run(copy))
    assert copy.is_dir()


def test_of_what_removals_left_only_what_was_a_run_goes():
    run, other = ended_run(), ended_run("other")
    named = run.folder.rename(runs_folder() / f".{run.id}.0123abcd.removing")
    (named / "lock").unlink()
    foreign = other.folder.rename(runs_folder() / ".Documents.0123abcd.removing")
    empty = runs_folder() / ".empty.0123abcd.removing"
    empty.mkdir()
    remove_leftovers()
    assert os.listdir(runs_folder()) == [foreign.name]


@pytest.mark.parametrize("mask", [0o000, 0o002, 0o022, 0o077, 0o777])
def test_folders_are_this_users_alone_under_any_umask(umask, mask, operant_home):
    umask(mask)
    run, lock = create_run("test", {})
    lock.release()
    folders = (operant_home, runs_folder(), run.folder)
    assert [oct(mode(folder)) for folder in folders] == ["0o700"] * 3


def test_a_home_that_was_there_loses_what_others_may_do(umask, operant_home, monkeypatch, tmp_path):
    operant_home.mkdir()
    operant_home.chmod(0o775)
    ended_run()
    assert mode(operant_home) == 0o755  # the user's own choice of a folder: it may be read
    monkeypatch.delenv("OPERANT_HOME")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    default = tmp_path / "state" / "operant"
    (default / "runs").mkdir(parents=True)
    assert mode(default) == 0o755
    ended_run()
    assert mode(default) == 0o700


def test_a_folder_that_all_users_share_keeps_its_mode(operant_home, operant_pages, monkeypatch):
    operant_home.mkdir()
    operant_home.chmod(0o1777)
    ended_run()
    assert mode(operant_home) == 0o1777
    operant_pages.chmod(0o1777)
    with pytest.raises(PageError, match="name a folder inside it"):
        make_page_folder(operant_pages)
    assert mode(operant_pages) == 0o1777
    operant_pages.chmod(0o700)


def test_pages_in_a_folder_that_is_not_trusted_are_left_alone(operant_pages):
    half = operant_pages / ".20261121-142530-test-k3f9.page.building"
    half.touch()
    os.utime(half, (time.time() - 3600,) * 2)
    operant_pages.chmod(0o777)
    assert runs_left_behind() == []
    assert half.exists()
    operant_pages.chmod(0o700)
    runs_left_behind()
    assert not half.exists()


def test_a_run_of_another_user_is_not_completed(foreign):
    foreign.recording_path.touch()
    assert foreign not in runs_left_behind()


def test_a_sweep_of_another_user_is_found_and_not_run():
    theirs = new_sweep("theirs")
    theirs.lock_path.touch()
    give_away(theirs.folder)
    assert find_sweep("theirs") == theirs
    with pytest.raises(RunFolderError, match="belongs to another user"):
        RunLock(theirs.lock_path)


def test_a_page_is_not_announced_through_a_link(precious):
    run = ended_run()
    run.place_path.unlink()
    run.place_path.symlink_to(precious / "thesis")
    RunSession(run, RunLock(run.lock_path), publish_interval_s=1).close("finished", 0)
    assert not run.place_path.is_symlink()
    assert (precious / "thesis").read_text() == "all of it"


def test_media_are_not_written_through_a_link(precious):
    run = ended_run()
    (run.folder / "media").symlink_to(precious)
    with pytest.raises(OSError, match="is a link"):
        MediaFolder(run.folder / "media").write("images", "a", 1, ".png", b"x")
    assert os.listdir(precious) == ["thesis"]


def test_files_of_artifacts_are_not_copied_through_a_link(precious, tmp_path):
    run = ended_run()
    (tmp_path / "model").write_text("weights")
    (run.folder / "files").mkdir()
    (run.folder / "files" / "copy").symlink_to(precious / "thesis")
    copy_file(tmp_path / "model", run.folder, "copy")
    assert (run.folder / "files" / "copy").read_text() == "weights"
    (run.folder / "files" / "folder").symlink_to(precious)
    with pytest.raises(OSError, match="is a link"):
        copy_file(tmp_path / "model", run.folder, "folder/copy")
    assert (precious / "thesis").read_text() == "all of it"


@pytest.mark.parametrize("name", ["run.toml", "page", "notes.toml"])
def test_files_of_a_run_are_not_read_through_links(tmp_path, name):
    run, other = ended_run(), ended_run("other")
    change_notes(run.folder, lambda notes: notes.with_tags(["here"]))
    (run.folder / name).rename(tmp_path / name)
    (run.folder / name).symlink_to(tmp_path / name)
    assert (run.manifest() == {}) == (name == "run.toml")
    assert (run.notes().tags == ()) == (name == "notes.toml")
    assert (read_status(run).metrics == {}) == (name == "page")
    assert read_status(other).metrics == {"loss": 0.5}


def test_rows_are_not_read_through_a_link(tmp_path):
    run = ended_run()
    (tmp_path / "rows").touch()
    run.rows_path.symlink_to(tmp_path / "rows")
    with pytest.raises(Exception, match="there is no such file"):
        RowFileReader(run.rows_path)


def test_halves_of_files_are_removed():
    run = ended_run()
    run.recording_path.touch()
    half = run.folder / ".building-place.json"
    half.touch()
    assert complete_run(run)
    assert not half.exists()
