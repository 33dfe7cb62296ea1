"""Which pages a rank writes, and what those of ranks elsewhere show."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
from torch import distributed

from operant.shared.errors import OperantError, RunFolderError
from operant.shared.page.requests import send_request
from operant.shared.runs.find_runs import find_run
from operant.shared.runs.ranks import read_status
from operant.shared.runs.run_folder import Run, create_run
from operant.shared.runs.run_part import host_of_whole, open_part
from operant.shared.runs.session import RunSession
from operant.shared.runs.status import open_page
from operant.trainer.config.from_values import make_config
from operant.trainer.distributed.meeting import Introduction
from operant.trainer.distributed.watch import RankLostError
from operant.trainer.running.rank_pages import (
    Machines,
    Mirror,
    Pages,
    Told,
    Word,
    introduce_pages,
    place_of_pages,
    place_of_runs,
)


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


@pytest.fixture
def two_machines(operant_home, tmp_path, monkeypatch):
    """(run, pages of rank 0; part, pages of rank 1; exchange) as if rank 1 were elsewhere."""
    store = distributed.TCPStore("127.0.0.1", 0, 2, True, wait_for_workers=False)
    run, lock = create_run("small", {"name": "small"}, rank=0)
    session = RunSession(
        run, lock, publish_interval_s=9.0, world_size=2, is_whole=True, recorder=None
    )
    ranks = [
        Introduction(host, 1, "", {}, None, "", f"rank {rank} ({host}, process 1)")
        for rank, host in enumerate(("laptop", "air"))
    ]
    ranks[1].pages, ranks[1].home = "elsewhere", "elsewhere"
    introduce_pages(ranks[0], session)
    config: Any = make_config({"env": "cart_pole"})
    first, second = Pages(ranks, 0, session), Pages(ranks, 1, None)
    first.open(config, store, SimpleNamespace())
    monkeypatch.setenv("OPERANT_HOME", str(tmp_path / "there"))
    monkeypatch.setenv("OPERANT_PAGES", str(tmp_path / "there" / "pages"))
    second.open(config, store, SimpleNamespace())

    def exchange() -> None:
        for pages in (first, second, first):
            pages.exchange(store)

    yield run, first, find_run(run.id), second, exchange
    for pages in (first, second):
        pages.close(is_complete=True)
    session.close("finished", 0)


def test_each_machine_shows_what_the_other_tells(two_machines):
    run, first, part, second, exchange = two_machines
    assert (part.id, part.folder == run.folder) == (run.id, False)
    exchange()  # of nothing yet
    told = []
    report = first.telling(lambda *row: told.append(row))
    report({"episode/return": 7.0, "speed/env_steps_per_s": 5.0}, 3, 30)
    second.publish({"rank/num_envs": 2.0, "time/learn_s": 0.5}, 3, 30)
    exchange()
    assert told == [({"episode/return": 7.0, "speed/env_steps_per_s": 5.0}, 3, 30)]
    here, there = read_status(run), read_status(part)
    assert (here.ranks[1].host, here.ranks[1].metrics["rank/num_envs"]) == ("air", 2.0)
    assert (there.host, there.iteration, there.env_steps) == ("laptop", 3, 30)
    assert there.metrics["episode/return"] == 7.0
    assert there.ranks[1].metrics["time/learn_s"] == 0.5


def test_of_the_ranks_elsewhere_only_the_one_that_is_lost_has_crashed(two_machines):
    run, first, part, second, exchange = two_machines
    second.publish({"rank/num_envs": 2.0}, 3, 30)
    exchange()
    first.fail(RankLostError("rank 1 (air, process 1) is gone: it has said nothing for 5 s"))
    assert read_status(run).ranks[1].state == "crashed"
    second.fail(RuntimeError("out of memory\nmuch more"))
    states = [(rank.state, rank.message) for rank in read_status(part).ranks]
    assert states == [("failed", "out of memory")] * 2
    exchange()  # with nobody any more


def test_all_ranks_that_end_well_are_told_so(two_machines):
    run, first, part, second, _ = two_machines
    for pages in (first, second):
        pages.close(is_complete=False)
    assert read_status(run).ranks[1].state == "stopped"
    assert [rank.state for rank in read_status(part).ranks] == ["stopped"] * 2


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
