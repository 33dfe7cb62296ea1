"""Which names there are, and which are mistakes."""

from __future__ import annotations

import importlib
from importlib.util import find_spec

import pytest
from command_line import python

import operant


def public(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


def test_dir_lists_the_public_names_and_imports_nothing():
    needs = {"OperantCallback": "stable_baselines3", "OperantTrainerCallback": "transformers"}
    missing = {name for name, library in needs.items() if find_spec(library) is None}
    assert public(operant) == {*operant.__all__, "algorithms", "testing"} - missing
    code = "import operant, sys; dir(operant); print({'torch', 'numpy'} & sys.modules.keys())"
    assert python("-c", code).stdout.strip() == "set()"


def test_a_misspelt_name_is_a_mistake_and_any_other_a_stand_in():
    with pytest.raises(AttributeError, match="no attribute 'initt'; did you mean 'init'"):
        operant.initt()
    assert not hasattr(operant, "__wrapped__")
    for name in ("unwatch", "Api", "Config", "sweep", "use_artifact", "log_code", "termlog"):
        assert hasattr(operant, name), name
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
    assert len(keras.anything) == 0
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
    assert "operant.keras.scope() is not in operant: it is accepted" in capsys.readouterr().err
