"""A run that another version made is listed with one line, and refused where it is named."""

from __future__ import annotations

import pytest
import tomli_w
from command_line import error_line, operant, operant_json

from operant.shared.errors import RunFolderError
from operant.shared.runs.find_runs import find_run, latest_run
from operant.shared.runs.run_folder import Run, create_run


def former_run(**manifest: object) -> Run:
    run, lock = create_run("former", {})
    lock.release()
    run.manifest_path.write_text(tomli_w.dumps({"id": run.id, "name": "former", **manifest}))
    return run


@pytest.mark.parametrize(
    ("manifest", "version"),
    [({"versions": {"operant-rl": "0.2.0"}}, "0.2.0"), ({}, "0.3"),
     ({"format": 3, "versions": {"operant-rl": "0.5.1"}}, "0.5.1")],
)  # fmt: skip
def test_its_version_is_named_wherever_it_is_met(manifest, version):
    run = former_run(**manifest)
    made_by = f"made by operant {version}, which reads it"
    (listed,) = operant_json("runs")
    assert (listed["id"], listed["message"]) == (run.id, made_by)
    assert error_line("status", run.id) == f"operant: {run.id} was {made_by}\n"
    assert operant("eval", run.id).returncode == 2
    with pytest.raises(RunFolderError, match=made_by):
        run.read_manifest()


def test_the_latest_run_is_the_newest_that_can_be_read():
    own, lock = create_run("own", {})
    lock.release()
    former = former_run()
    assert latest_run() == own
    with pytest.raises(RunFolderError, match=former.id):
        find_run(former.id)


def test_it_can_be_deleted():
    run = former_run()
    assert operant("rm", run.id, "--yes").returncode == 0
    assert not run.folder.exists()
