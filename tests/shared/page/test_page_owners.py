"""A page is believed where its run's owner put it, and nowhere else."""

from __future__ import annotations

import pytest
from owners import give_away

from operant.shared import MetricsReader, MetricsWriter, PageError
from operant.shared.runs.run_folder import Run, create_run
from operant.shared.runs.session import RunSession
from operant.shared.runs.status import read_status


@pytest.fixture
def run() -> Run:
    """A run whose page lies in memory, and nowhere else."""
    run, lock = create_run("test", {})
    session = RunSession(run, lock, publish_interval_s=100.0)
    session.metrics.publish({"a": 1.0}, 1, 1)
    run.place_path.unlink()
    yield run
    session.close("finished", 0)


def test_a_users_own_page_is_believed(run):
    assert read_status(run).metrics == {"a": 1.0}


@pytest.mark.parametrize("mode", [None, 0o606, 0o770, 0o1777])
@pytest.mark.parametrize("is_folder", [True, False])
def test_a_page_that_others_own_or_can_write_is_not_believed(run, operant_pages, is_folder, mode):
    (page,) = operant_pages.iterdir()
    path = operant_pages if is_folder else page
    path.chmod(mode) if mode else give_away(path)
    status = read_status(run)
    assert status.metrics == {}
    said = "can be written by other users" if mode else "belongs to another user"
    assert said in status.message
    if not is_folder and mode:
        with pytest.raises(PageError, match="can be written"):
            MetricsReader.attach(page)


def test_a_page_in_a_folder_that_is_a_link_is_not_believed(run, operant_pages):
    real = operant_pages.with_name(operant_pages.name + "-real")
    operant_pages.rename(real)
    operant_pages.symlink_to(real)
    assert read_status(run).metrics == {}
    operant_pages.unlink()
    real.rename(operant_pages)


def test_root_reads_the_page_of_the_owner_of_the_run(run, operant_pages):
    give_away(run.folder)
    give_away(operant_pages)
    (page,) = operant_pages.iterdir()
    give_away(page)
    assert read_status(run).metrics == {"a": 1.0}


def test_the_folder_that_the_run_names_is_checked_as_well(run, operant_pages, tmp_path):
    theirs = tmp_path / "theirs"
    writer = MetricsWriter.create(
        theirs / f"{run.id}.page", run.id, [], publish_interval_s=1, max_metrics=1
    )
    writer.publish({"believed": 1.0})
    run.place_path.write_text(f'{{"page": "{writer.path}"}}')
    assert read_status(run).metrics == {"believed": 1.0}
    give_away(theirs)
    assert read_status(run).metrics == {"a": 1.0}
