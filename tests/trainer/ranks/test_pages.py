"""Which pages a rank writes, and what those of ranks elsewhere show."""

from __future__ import annotations

import math

import pytest

from operant.shared.errors import OperantError, RunFolderError
from operant.shared.requests import send_request
from operant.shared.run_folder import Run, create_run
from operant.shared.run_part import host_of_whole, open_part
from operant.shared.session import RunSession
from operant.shared.status import open_page
from operant.trainer.ranks.machines import Machines, place_of_pages, place_of_runs
from operant.trainer.ranks.meeting import Introduction
from operant.trainer.ranks.told import Mirror, Told, Word


def machines(*places: tuple[str, str]) -> Machines:
    return Machines(
        [Introduction("h", 1, "", {}, None, "", pages=pages, home=home) for pages, home in places]
    )


def test_on_another_machine_the_lowest_rank_keeps_the_part():
    found = machines(("a", "x"), ("a", "x"), ("b", "y"), ("c", "z"), ("b", "y"))
    assert found.are_several
    assert [found.is_first(rank) for rank in range(5)] == [True, True, False, False, False]
    assert [found.lead(rank) for rank in range(5)] == [None, None, 2, 3, 2]


def test_pages_of_a_part_never_lie_beside_those_of_the_run():
    other_home, no_home = machines(("a", "x"), ("a", "y")), machines(("a", "x"), ("b", ""))
    for found in (other_home, no_home):
        assert found.are_several
        assert not found.is_first(1)
        assert found.lead(1) is None


def test_ranks_of_one_machine_are_one(operant_home):
    here = (place_of_pages(), place_of_runs())
    assert all(here)
    assert not machines(here, (place_of_pages(), place_of_runs(operant_home / "runs"))).are_several


def test_a_word_is_the_newest_of_every_number_told():
    told = Told()
    told.phase("learning", None, None, "")
    told.publish({"a": 1.0, "b": math.nan}, 1, 10)
    told.publish({"a": 2.0}, 2, 20)
    told.beat()
    word = Word.decode(told.word.encode().encode())
    assert (word.num_publishes, word.num_signs, word.iteration, word.env_steps) == (2, 4, 2, 20)
    assert word.values["a"] == 2.0
    assert math.isnan(word.values["b"])
    assert word.phase == ("learning", None, None, "")


@pytest.mark.parametrize("line", [b"", b"{}", b"[1, 2]", b"\xff", b"[[]]"])
def test_what_is_no_word_is_refused(line):
    with pytest.raises(ValueError, match="no word of a rank"):
        Word.decode(line)


def test_a_mirror_shows_what_changed(operant_home):
    run, lock = create_run("mirror", {}, rank=0)
    session = RunSession(run, lock, publish_interval_s=9.0, host="air", recorder=None)
    mirror, told = Mirror(session), Told()
    told.phase("evaluating", 3, 10, "episodes")
    told.publish({"loss": 1.0, "evaluation": 5.0}, 1, 10)
    mirror.show(told.word)
    mirror.show(told.word)
    told.publish({"loss": 2.0}, 2, 20)
    mirror.show(told.word)
    reader = open_page(run)
    history, phase = reader.history(), reader.phase()
    assert history.env_steps.tolist() == [10, 20]
    assert history.series("loss").mean.tolist() == [1.0, 2.0]
    assert math.isnan(history.series("evaluation").mean[1])  # told once, and not again
    assert (phase.name, phase.done, phase.total) == ("evaluating", 3, 10)
    assert reader.header.host == "air"
    told.beat()
    mirror.show(told.word)
    assert reader.phase().beat_ns > phase.beat_ns
    reader.detach()
    session.close("finished", 0)


def test_a_part_is_taken_again_and_asked_for_nothing_but_a_stop(operant_home):
    told = ("20261121-142530-small-abcd", "laptop", "/runs/there", {"name": "small"})
    run, lock = open_part(*told)
    assert (run.id, host_of_whole(run)) == (told[0], "laptop")
    with pytest.raises(OperantError, match="part of a run on laptop: ask for a checkpoint there"):
        send_request(run, "checkpoint")
    run.rank_path(3).write_text("{}")
    lock.release()
    again, lock = open_part(*told)
    assert (again, again.ranks()) == (run, [0])
    with pytest.raises(RunFolderError, match="in use"):
        open_part(*told)
    lock.release()


def test_a_folder_of_the_run_itself_is_no_part(operant_home):
    run, lock = create_run("small", {}, rank=0)
    with pytest.raises(RunFolderError, match="the run's own"):
        open_part(run.id, "laptop", str(run.folder), {"name": "small"})
    assert host_of_whole(Run(run.folder)) == ""
    lock.release()
