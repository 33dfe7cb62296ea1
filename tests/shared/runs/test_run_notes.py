"""Notes are written completely, and shown without control characters, whatever the file holds."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from operant.shared.errors import RunFolderError, RunNotFoundError, UsageError
from operant.shared.runs.find_runs import find_run
from operant.shared.runs.run_folder import Run, create_run
from operant.shared.runs.run_notes import MAX_NOTE_CHARACTERS, NO_NOTES, change_notes, read_notes

whatever = st.recursive(
    st.booleans() | st.integers(-9, 9) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
)


@pytest.fixture
def run() -> Run:
    made, lock = create_run("test", {})
    lock.release()
    return made


def write(run: Run, **changes) -> None:
    change_notes(run.folder, lambda notes: replace(notes, **changes))


def test_notes_are_read_as_they_were_written_and_leave_no_file_when_there_are_none(run):
    write(run, note="a wider\nnetwork ", tags=("baseline", "v2"), name="wide", is_archived=True)
    notes = run.notes()
    assert notes.note == "a wider network"
    assert (notes.name, notes.tags, notes.is_archived) == ("wide", ("baseline", "v2"), True)
    write(run, note="", tags=(), name="", is_archived=False)
    assert run.notes() == NO_NOTES
    assert not run.notes_path.exists()


def test_what_the_loop_said_holds_until_people_say_otherwise():
    run, _lock = create_run("test", {"tags": ["own", "two words"], "notes": "by the loop"})
    assert run.notes() == replace(NO_NOTES, tags=("own", "two_words"), note="by the loop")
    write(run, tags=())
    assert run.notes() == replace(NO_NOTES, note="by the loop")
    assert run.manifest()["tags"] == ["own", "two words"]


def test_keys_of_a_newer_operant_stay(run):
    run.notes_path.write_text('stars = 5\nnote = "old"\n')
    write(run, note="new")
    assert "stars = 5" in run.notes_path.read_text()
    assert run.notes().note == "new"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"note": "x" * (MAX_NOTE_CHARACTERS + 1)}, "up to 1000 characters, this one has 1001"),
        ({"note": "\x1b[31mred"}, "plain text"),
        ({"name": "gpu-box:run"}, "contain a colon"),
        ({"name": "--latest"}, "begin with -"),
        ({"tags": ("two words",)}, "'two words' is not a valid tag"),
        ({"tags": ("-x",)}, "'-x' is not a valid tag"),
        ({"tags": ("x" * 51,)}, "up to 50 characters"),
        ({"tags": tuple(f"t{i}" for i in range(51))}, "up to 50 tags, and would have 51"),
    ],
)
def test_what_cannot_be_kept_is_refused_in_one_line_and_nothing_is_written(run, changes, says):
    with pytest.raises(UsageError, match=says) as error:
        write(run, **changes)
    assert "\n" not in str(error.value)
    assert not run.notes_path.exists()


def test_tags_are_equal_whatever_their_case():
    notes = NO_NOTES.with_tags(["Base", "v1"]).with_tags(["base", "v2"])
    assert notes.tags == ("Base", "v1", "v2")
    assert notes.without_tags(["BASE"]).tags == ("v1", "v2")


def test_a_terminal_obeys_nothing_that_stands_in_the_file(run):
    run.notes_path.write_text('name = "a\\u001b[2Jb"\nnote = "\\u202edcba"\ntags = ["\\u0007x"]\n')
    notes = run.notes()
    assert (notes.name + notes.note + "".join(notes.tags)).isprintable()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.dictionaries(st.sampled_from(["name", "note", "tags", "archived", "x"]), whatever))
def test_whatever_is_in_the_file_it_is_read(tmp_path, told):
    import tomli_w

    (tmp_path / "notes.toml").write_text(tomli_w.dumps(told))
    notes = read_notes(tmp_path)
    assert all(isinstance(tag, str) and tag.isprintable() for tag in notes.tags)


def test_a_file_that_cannot_be_read_is_not_written_over(run):
    run.notes_path.write_text("what people typed")
    assert run.notes() == NO_NOTES
    with pytest.raises(RunFolderError, match="is not overwritten"):
        write(run, note="new")
    assert run.notes_path.read_text() == "what people typed"


def test_a_link_is_replaced_and_not_written_through(run, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text('note = "mine"\n')
    run.notes_path.symlink_to(secret)
    write(run, note="new")
    assert secret.read_text() == 'note = "mine"\n'
    assert not run.notes_path.is_symlink()


def test_writers_at_the_same_time_lose_nothing(run):
    def tag(number: int) -> None:
        for i in range(10):
            change_notes(run.folder, lambda notes, i=i: notes.with_tags([f"t{number}.{i}"]))

    threads = [threading.Thread(target=tag, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(run.notes().tags) == 40


def test_a_run_is_found_by_the_name_in_its_run_toml():
    run, lock = create_run("script", {"name": "lm-wandb"})
    lock.release()
    assert "lm-wandb" not in run.id
    assert find_run("lm-wandb") == run


def test_a_run_is_found_by_the_name_it_was_given(run):
    create_run("other", {})[1].release()
    write(run, name="wide network")
    assert find_run("wide network") == run
    assert find_run("wide") == run
    assert run.name == "wide network"
    assert find_run(run.id) == run
    with pytest.raises(RunNotFoundError, match="no run is called 'narrow'"):
        find_run("narrow")
