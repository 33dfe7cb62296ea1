"""Whose code a stored configuration may name."""

from __future__ import annotations

import os
import pickle
import shutil
import sys
from pathlib import Path

import pytest

from operant.shared.errors import CheckpointError, ConfigError, NotHereError, UsageError
from operant.shared.runs.run_folder import (
    Run,
    create_run,
    home_folder,
    memory_runs_folder,
    runs_folder,
)
from operant.shared.runs.sweep_folder import sweeps_folder
from operant.trainer.config import stored_code
from operant.trainer.config.stored_code import check_stored_code, code_owner, named_code
from operant.trainer.experiment.checkpoints import Checkpoint, load_checkpoint, save_checkpoint
from operant.trainer.settings.importing import import_from_here, imported

CODE = {"env": "gymnasium:own_module:make"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a module that no test may import."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "own_module.py").write_text("raise RuntimeError('imported')")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(stored_code, "_said", set())
    return folder


def checkpoint_of(values: dict[str, object], is_recorded: bool = True) -> Path:
    run, lock = create_run("run", {})
    lock.release()
    owner = code_owner(run.folder, [values]) if is_recorded else {}
    run.write_manifest({**run.manifest(), **owner, "working_folder": os.getcwd()})
    return save_checkpoint(run.checkpoint_folder, Checkpoint(1, 1, 1, values, {}), keep=1)


def refusal(path: Path) -> str:
    with pytest.raises(UsageError) as caught:
        load_checkpoint(path)
    return str(caught.value)


def test_a_run_may_name_code_where_its_user_began_it(project):
    assert load_checkpoint(checkpoint_of(CODE)).config == CODE


def test_a_run_without_a_record_is_refused_in_one_line_that_names_the_file(project):
    told = refusal(checkpoint_of(CODE, is_recorded=False))
    assert f"would run own_module ({project / 'own_module.py'})" in told
    assert "does not say that you began it" in told
    assert "--trust-code" in told
    assert "\n" not in told


@pytest.mark.parametrize("what", ["working folder", "machine", "user", "copied run", "loose file"])
def test_a_run_that_was_begun_elsewhere_is_refused(what, project, tmp_path, monkeypatch):
    path = checkpoint_of(CODE)
    if what == "working folder":
        other = tmp_path / "other"
        shutil.copytree(project, other)
        monkeypatch.chdir(other)
    elif what == "machine":
        monkeypatch.setattr(stored_code, "machine_id", lambda: "another")
    elif what == "user":
        monkeypatch.setattr(stored_code.os, "getuid", lambda: 12345)
    elif what == "loose file":
        path = Path(shutil.copy(path, tmp_path / "loose.pt"))
    else:
        folder = path.parent.parent
        copied = folder.with_name(f"{folder.name}-copied")
        shutil.copytree(folder, copied)
        path = copied / "checkpoints" / path.name
    assert "--trust-code" in refusal(path)


def test_a_run_with_files_of_another_user_is_refused(project):
    path = checkpoint_of(CODE)
    if os.getuid() != 0:
        pytest.skip("needs root, to give a file away")
    os.chown(path, 12345, 12345)
    assert f"{path} is another user's" in refusal(path)


def test_a_run_whose_checkpoint_is_a_link_is_refused(project, tmp_path):
    path = checkpoint_of(CODE)
    path.rename(tmp_path / "elsewhere.pt")
    path.symlink_to(tmp_path / "elsewhere.pt")
    assert "or a link" in refusal(path)


def test_trust_code_says_what_it_lets_in_and_then_does(project, monkeypatch, capsys):
    path = checkpoint_of(CODE, is_recorded=False)
    monkeypatch.setenv("OPERANT_TRUST_CODE", "1")
    load_checkpoint(path)
    load_checkpoint(path)
    line = f"gymnasium:own_module:make runs own_module ({project / 'own_module.py'})"
    assert capsys.readouterr().err == f"operant: --trust-code: {line}\n"


def test_code_in_the_run_itself_is_never_imported(project, monkeypatch, tmp_path):
    """Neither below a folder of runs, nor where a copy of the run lies."""
    monkeypatch.setenv("OPERANT_TRUST_CODE", "1")
    path = checkpoint_of(CODE)
    run = Run(path.parent.parent)
    shutil.copytree(project, run.folder / "media")
    copy = tmp_path / "copy"
    shutil.copytree(run.folder, copy)
    monkeypatch.chdir(run.folder / "media")
    assert f"below the runs folder {runs_folder()}" in refusal(path)
    monkeypatch.chdir(copy / "media")
    assert "nothing is imported from there" in refusal(copy / "checkpoints" / path.name)


@pytest.mark.parametrize("closed", [runs_folder, memory_runs_folder, sweeps_folder])
def test_nothing_below_runs_or_sweeps_is_imported_for_whoever_types_it(
    closed, project, monkeypatch
):
    below = f"below the (runs|sweeps) folder {closed()}"
    media = closed() / "some" / "media"
    shutil.copytree(project, media)
    monkeypatch.chdir(media)
    before = list(sys.path)
    with pytest.raises(ConfigError, match=below):
        import_from_here("own_module")
    assert sys.path == before
    (media / "link").symlink_to(project)
    monkeypatch.chdir(project)
    (project / "other_module.py").symlink_to(media / "own_module.py")
    with pytest.raises(ConfigError, match=below):
        import_from_here("other_module")


@pytest.mark.parametrize("name", ["runs", "sweeps"])
def test_a_game_below_runs_or_sweeps_is_refused_with_trust_code_too(name, project, monkeypatch):
    """Its JSON names classes, and the run is another one than the folder's."""
    monkeypatch.setenv("OPERANT_TRUST_CODE", "1")
    game = home_folder() / name / "another" / "game.json"
    game.parent.mkdir(parents=True)
    game.write_text("{}")
    values = {"env": "mettagrid", "mettagrid": {"config": str(game)}}
    assert f"below the {name} folder {game.parent.parent}" in refusal(checkpoint_of(values))


@pytest.mark.parametrize("path", ["os:abort", "os.path:join", "builtins:exit", "__main__:main"])
def test_modules_of_python_itself_are_refused(path, monkeypatch, project):
    with pytest.raises(ConfigError, match="standard library"):
        imported("env", path)
    monkeypatch.setenv("OPERANT_TRUST_CODE", "1")
    assert "standard library" in refusal(checkpoint_of({"env": f"native:{path}"}))


def test_a_module_that_is_not_here_is_said_to_be_missing(project):
    values = {"env": "native:nowhere:make"}
    with pytest.raises(NotHereError, match="no module is called 'nowhere'"):
        load_checkpoint(checkpoint_of(values))


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ({"env": "cart_pole"}, []),
        ({"env": "gymnasium:ALE/Breakout-v5"}, []),
        ({"env": "gymnasium:ale_py:ALE/Breakout-v5"}, ["gymnasium:ale_py:ALE/Breakout-v5"]),
        ({"env": "gymnasium:a.b:make"}, ["gymnasium:a.b:make"]),
        ({"env": "pettingzoo:sisl/multiwalker-v9"}, []),
        ({"env": "pettingzoo:a/b:make"}, ["pettingzoo:a/b:make"]),
        ({"env": "native:a:make"}, ["native:a:make"]),
        ({"env": "mettagrid", "mettagrid": {"config": ""}}, []),
        ({"env": "mettagrid", "mettagrid": {"config": "a:make"}}, ["mettagrid:a:make"]),
        ({"env": "mettagrid", "mettagrid": {"config": "a.json"}}, ["mettagrid:a.json"]),
        ({"policy": {"encoder": "nature"}}, []),
        ({"policy": {"encoder": "own/Net"}}, []),
        ({"env": "native:a:b", "policy": {"encoder": "c:Net"}}, ["native:a:b", "encoder:c:Net"]),
    ],
)
def test_every_form_that_imports_is_named(values, codes):
    assert named_code(values) == codes


@pytest.mark.parametrize(
    "values",
    [{"env": b"native:own_module:make"}, {"env": 1}, {"mettagrid": {"config": b"a:b"}},
     {"mettagrid": [("config", "a:b")]}, {"policy": [("encoder", "a:b")]},
     {"policy": {"encoder": b"a:b"}}],
)  # fmt: skip
def test_what_validation_could_turn_into_text_is_refused(values, project):
    assert pickle.loads(pickle.dumps(values, 2)) == values  # as a checkpoint may hold it
    with pytest.raises(CheckpointError):
        named_code(values)


def test_a_manifest_of_a_resumed_run_is_asked_about_too(project):
    run = Run(checkpoint_of(CODE, is_recorded=False).parent.parent)
    with pytest.raises(UsageError, match="--trust-code"):
        check_stored_code(CODE, run.folder, [run.manifest_path], run.manifest)
