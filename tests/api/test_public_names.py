"""The public names: `dir(operant)`, completion, and modules that need no import."""

from __future__ import annotations

import importlib.util

from command_line import python

import operant


def test_dir_shows_what_is_public_and_nothing_else():
    shown = {name for name in dir(operant) if not name.startswith("__")}
    missing = {
        name for name, libraries in operant._NEEDS.items()
        if not any(map(importlib.util.find_spec, libraries))
    }  # fmt: skip
    assert shown == {*operant.__all__, "algorithms", "testing"} - missing
    assert all(hasattr(operant, name) for name in shown)


def test_a_completion_can_look_at_all_names_where_other_libraries_are_missing():
    code = """
import importlib.util, sys
hidden = ("stable_baselines3", "lightning", "pytorch_lightning", "transformers")
find = importlib.util.find_spec
sys.modules.update(dict.fromkeys(hidden))
importlib.util.find_spec = lambda name, *rest: None if name in hidden else find(name, *rest)
import operant, rlcompleter
print(rlcompleter.Completer(globals()).attr_matches("operant."))
"""
    done = python("-c", code)
    assert "operant.train(" in done.stdout, done.stderr
    assert "OperantCallback" not in done.stdout


def test_algorithms_and_testing_need_no_import_of_their_own():
    code = "import operant; print(operant.algorithms.DQN, operant.testing.check_algorithm)"
    assert "check_algorithm" in python("-c", code).stdout
