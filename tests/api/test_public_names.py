"""The public names: `dir(operant)`, completion, and modules that need no import."""

from __future__ import annotations

import pytest
from command_line import python

import operant


def test_dir_shows_what_is_public_and_nothing_else():
    shown = {name for name in dir(operant) if not name.startswith("__")}
    assert shown == {*operant.__all__, *operant._MODULES}
    assert all(hasattr(operant, name) for name in shown)
    for module in (operant.envs, operant.errors):
        assert all(hasattr(module, name) for name in module.__all__)


def test_a_name_that_is_missing_is_an_error_with_the_nearest_or_what_to_write_now():
    with pytest.raises(AttributeError, match=r"operant has no 'trian'; did you mean 'train'\?"):
        operant.trian()
    with pytest.raises(AttributeError, match=r"no 'config': write operant\.wandb\.config"):
        operant.config.lr = 0.1
    with pytest.raises(AttributeError, match=r"operant has no 'plot'$"):
        operant.plot("x")
    with pytest.raises(ImportError):
        from operant import MetricsWritr  # noqa: F401


def test_looking_for_names_imports_neither_torch_nor_numpy():
    code = "import operant, sys; dir(operant); print({'torch', 'numpy'} & sys.modules.keys())"
    assert python("-c", code).stdout.strip() == "set()"


def test_every_folder_of_the_package_can_be_imported_from_it():
    code = """
from operant import cli, trainer
import operant.shared.page.layout
print(cli.__name__, trainer.__name__, operant.shared.page.layout.__name__)
"""
    expected = "operant.cli operant.trainer operant.shared.page.layout"
    assert python("-c", code).stdout.strip() == expected


def test_a_completion_can_look_at_all_names_where_other_libraries_are_missing():
    code = """
import importlib.util, sys
hidden = ("stable_baselines3", "lightning", "pytorch_lightning", "transformers")
find = importlib.util.find_spec
sys.modules.update(dict.fromkeys(hidden))
importlib.util.find_spec = lambda name, *rest: None if name in hidden else find(name, *rest)
import operant, rlcompleter
for owner in ("operant.", "operant.integrations."):
    print(rlcompleter.Completer(globals()).attr_matches(owner))
"""
    done = python("-c", code)
    assert "operant.train(" in done.stdout, done.stderr
    assert "operant.integrations.SummaryWriter(" in done.stdout, done.stderr
    assert "SB3Callback" not in done.stdout


def test_algorithms_and_testing_need_no_import_of_their_own():
    code = "import operant; print(operant.algorithms.DQN, operant.testing.check_algorithm)"
    assert "check_algorithm" in python("-c", code).stdout
