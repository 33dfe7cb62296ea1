"""Which names there are, and which are mistakes."""

from __future__ import annotations

import importlib
from importlib.util import find_spec

import pytest
from command_line import python

import operant
from operant.shared.integrations import wandb_names


def public(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


def test_every_public_name_of_the_installed_wandb_is_known():
    wandb = pytest.importorskip("wandb")
    assert public(wandb) <= wandb_names.MODULE
    assert public(wandb.Run) <= wandb_names.RUN
    assert public(wandb.Artifact) <= wandb_names.ARTIFACT
    for kind in ("Image", "Table", "Histogram", "Video", "Audio", "Html", "Object3D", "Molecule"):
        assert public(getattr(wandb, kind)) <= wandb_names.MEDIA | public(operant.Table)


def test_every_known_name_can_be_had():
    run = operant.init()
    for name in wandb_names.MODULE:
        assert hasattr(operant, name), name
    for name in wandb_names.RUN:
        assert hasattr(run, name), name
    for name in wandb_names.ARTIFACT:
        assert hasattr(operant.Artifact("a"), name), name


def test_dir_lists_the_public_names_and_imports_nothing():
    needs = {"OperantCallback": "stable_baselines3", "OperantTrainerCallback": "transformers"}
    missing = {name for name, library in needs.items() if find_spec(library) is None}
    assert public(operant) == {*operant.__all__, "algorithms", "testing"} - missing
    code = "import operant, sys; dir(operant); print({'torch', 'numpy'} & sys.modules.keys())"
    assert python("-c", code).stdout.strip() == "set()"


def test_what_wandb_has_not_is_a_mistake_here_too():
    assert not hasattr(operant, "initt")
    assert not hasattr(operant, "__wrapped__")
    with pytest.raises(ImportError):
        from operant import MetricsWritr  # noqa: F401
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("operant.nothing")


def test_submodules_are_imported_and_no_stand_ins_come_between():
    code = """
import sys
from operant import trainer, monitor, cli
import operant.shared.page.layout
assert trainer.__name__ == "operant.trainer" and cli.__name__ == "operant.cli"
assert operant.shared.page.layout.__name__ == "operant.shared.page.layout"
"""
    done = python("-c", code)
    assert done.returncode == 0, done.stderr


def test_a_stand_in_can_be_used_in_the_ways_that_scripts_use_it(capsys):
    keras = operant.keras
    assert list(keras.anything) == []
    assert len(keras) == 0
    with keras.scope():
        pass

    @keras.decorated
    def function() -> int:
        return 3

    assert function() == 3
    assert not isinstance(3, keras.Kind)
    assert f"{keras.loss:.3f}" == "<operant.keras.loss: not in operant>"
    with pytest.raises(TypeError):
        float(keras.loss)
    assert "operant.keras.scope() is accepted" in capsys.readouterr().err
