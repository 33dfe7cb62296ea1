"""Runs are deleted whole, and nothing else ever is."""

from __future__ import annotations

import os
import shutil

import pytest
from owners import ended_run

from operant.shared.errors import RunFolderError, UsageError
from operant.shared.page.page_place import page_path
from operant.shared.processes.lock import RECORDER, RunLock
from operant.shared.runs import removal
from operant.shared.runs.find_runs import list_runs
from operant.shared.runs.removal import (
    check_can_be_removed,
    remove_leftovers,
    remove_run,
    size_bytes,
)
from operant.shared.runs.run_folder import Run, create_run, runs_folder
from operant.shared.runs.session import RunSession
from operant.shared.runs.status import read_status


def test_a_run_goes_whole_and_the_others_stay():
    run, other = ended_run(), ended_run("other")
    (run.folder / "deep" / "er").mkdir(parents=True)
    (run.folder / "deep" / "er" / "file").write_text("x")
    remove_run(run)
    assert list_runs() == [other]
    assert os.listdir(runs_folder()) == [other.id]


def test_links_are_removed_and_not_followed(precious):
    run = ended_run()
    (run.folder / "to_folder").symlink_to(precious)
    (run.folder / "checkpoints").symlink_to(precious)
    (run.folder / "to_file").symlink_to(precious / "thesis")
    os.link(precious / "thesis", run.folder / "hard")
    remove_run(run)
    assert (precious / "thesis").read_text() == "all of it"
    assert not run.folder.exists()


def test_a_folder_that_is_a_link_stays_and_so_does_where_it_leads(precious):
    runs_folder().mkdir(parents=True)
    link = runs_folder() / "20261121-142530-linked-k3f9"
    link.symlink_to(precious)
    with pytest.raises(UsageError, match="is a link, which is not followed"):
        remove_run(Run(link))
    assert link.is_symlink()
    assert (precious / "thesis").exists()


def test_a_run_stays_in_which_a_folder_of_the_same_file_system_is_mounted(monkeypatch, tmp_path):
    """A bind mount: only the kernel's list of mounts tells it from a folder of the run."""
    run = ended_run()
    inside = run.folder / "my media"
    inside.mkdir()
    (inside / "thesis").write_text("all of it")
    removing = run.folder.rename(runs_folder() / f".{run.id}.0123abcd.removing")
    mounts = tmp_path / "mountinfo"
    monkeypatch.setattr(removal, "MOUNTS", mounts)
    line = "36 25 0:1 /theirs {} rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    mounts.write_text(line.format(str(removing / "my\\040media")))
    remove_leftovers()
    removing.rename(run.folder)
    mounts.write_text(line.format(str(run.folder / "my\\040media")))
    with pytest.raises(UsageError, match=r"another file system is mounted at .*my media"):
        remove_run(run)
    assert (inside / "thesis").read_text() == "all of it"
    mounts.write_text(line.format(f"{run.folder}-other"))
    remove_run(run)
    assert not run.folder.exists()


@pytest.mark.parametrize("place", ["..", ".", "20261121-142530-a-k3f9/../.."])
def test_nothing_outside_the_folder_of_runs_is_removed(place):
    ended_run()
    with pytest.raises(UsageError, match="is not among the runs of"):
        remove_run(Run(runs_folder() / place))
    assert len(list_runs()) == 1


def test_a_run_that_lives_stays():
    run, lock = create_run("test", {})
    session = RunSession(run, lock, publish_interval_s=1)
    with pytest.raises(UsageError, match=r"is running: stop it first with `operant stop"):
        remove_run(run)
    assert run.folder.exists()
    session.close("stopped", 0)
    remove_run(run)


def test_a_run_that_is_being_recorded_stays():
    run = ended_run()
    lock = RunLock(run.lock_path, RECORDER)
    with pytest.raises(UsageError, match="is still being recorded"):
        remove_run(run)
    lock.release()
    check_can_be_removed(run)


def test_the_page_that_a_killed_run_left_in_memory_goes_too(operant_pages):
    run = ended_run()
    shutil.copy(run.page_copy_path, page_path(run))
    foreign = operant_pages / "other.page"
    foreign.write_text("another run's")
    remove_run(run)
    assert os.listdir(operant_pages) == [foreign.name]


def test_a_page_that_the_run_names_elsewhere_goes_only_where_it_is_a_page_of_it(precious):
    run = ended_run()
    link = precious / page_path(run).name
    link.symlink_to(precious / "thesis")
    run.place_path.write_text(f'{{"page": "{link}"}}')
    remove_run(run)
    assert link.is_symlink()
    assert (precious / "thesis").exists()


def test_what_goes_on_from_checkpoints_is_kept_with_them():
    run = ended_run()
    run.checkpoint_folder.mkdir()
    (run.checkpoint_folder / "iteration-3.pt").write_bytes(b"x" * 5000)
    (run.folder / "rows.sqlite").write_bytes(b"x" * 90_000)
    (run.folder / "traces").mkdir()
    (run.folder / "traces" / "one").write_bytes(b"x" * 90_000)
    freed = size_bytes(run, keep_checkpoints=True)
    assert 180_000 <= freed < size_bytes(run)
    remove_run(run, keep_checkpoints=True)
    assert size_bytes(run, keep_checkpoints=True) <= 4096 + freed - 180_000
    assert {path.name for path in run.folder.iterdir()} == {
        "run.toml", "lock", "page", "place.json", "checkpoints",
    }  # fmt: skip
    assert (run.checkpoint_folder / "iteration-3.pt").exists()
    status = read_status(run)
    assert (status.state, status.metrics) == ("finished", {"loss": 0.5})


def test_with_checkpoints_kept_links_are_not_followed_either(precious):
    run = ended_run()
    (run.folder / "media").symlink_to(precious)
    remove_run(run, keep_checkpoints=True)
    assert (precious / "thesis").exists()
    assert not (run.folder / "media").is_symlink()


def test_what_cannot_be_removed_is_said_and_not_listed_as_a_run(monkeypatch):
    run = ended_run()
    run.checkpoint_folder.mkdir()

    def refused(path, **options):
        raise PermissionError(13, "Permission denied", "media")

    with monkeypatch.context() as disk:
        disk.setattr(shutil, "rmtree", refused)
        with pytest.raises(RunFolderError, match=r"not all of .*: media: Permission denied"):
            remove_run(run)
    assert list_runs() == []
    (left,) = os.listdir(runs_folder())
    assert "run.toml" in os.listdir(runs_folder() / left)  # goes last
    remove_leftovers()
    assert os.listdir(runs_folder()) == []


def test_an_odd_lock_does_not_keep_a_broken_run():
    run = ended_run()
    run.lock_path.unlink()
    os.mkfifo(run.lock_path)
    remove_run(run)
    assert list_runs() == []


def test_what_lies_in_folders_that_are_kept_frees_no_room():
    run = ended_run()
    run.checkpoint_folder.mkdir()
    freed = size_bytes(run, keep_checkpoints=True)
    (run.checkpoint_folder / "iteration-3.pt").write_bytes(b"x" * 90_000)
    assert size_bytes(run, keep_checkpoints=True) == freed
