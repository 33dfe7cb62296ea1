"""A sweep with invalid input fails in one line, before it starts."""

from __future__ import annotations

import importlib.util
import sys

import pytest
from click.testing import CliRunner
from optuna.exceptions import StorageInternalError

from operant.cli import cli
from operant.commands.sweep import command
from operant.shared.errors import OperantError, RunFolderError
from operant.shared.install_command import install_command
from operant.shared.processes.lock import RunLock
from operant.shared.runs.find_runs import list_runs
from operant.shared.runs.sweep_folder import list_sweeps, new_sweep

RATE = ("--param", "ppo.learning_rate=log:1e-4:1e-2")


def complaint(*arguments):
    """The error of a command, and nothing begun."""
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code
    error = result.exception
    if not isinstance(error, OperantError):
        return result.output
    assert error.exit_code == 2
    assert "\n" not in str(error)
    return str(error)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "name an environment, a preset"),
        (("cart_pole_ppo",), "a sweep needs --param"),
        (("cart_pole_pop", *RATE), "no preset or environment is called 'cart_pole_pop'"),
        (("cart_pole_ppo", *RATE, "--objective", "episode/retrun"),
         "episode/retrun: ppo does not publish this metric; did you mean 'episode/return'"),
        (("cart_pole_ppo", *RATE, "--objective", "max:seconds", "--objective", "seconds"),
         "seconds is given twice"),
        (("cart_pole_ppo", *RATE, "--objective", "evaluation/return", "--set",
          "evaluation.num_episodes=0"), "evaluation.num_episodes = 0"),
        (("cart_pole_ppo", *RATE, "--try", "ppo.learning_rate=5"), "not within"),
        (("cart_pole_ppo", *RATE, "--name", "../x"), "--name ../x"),
        (("cart_pole_ppo", *RATE, "--storage", "sqlite:////x.db"), "--storage needs --name"),
        (("cart_pole_ppo", *RATE, "--storage", "/nowhere", "--name", "x"),
         "--storage /nowhere: expected a folder, or a URL"),
        (("cart_pole_ppo", *RATE, "--storage", "sqlite:////nowhere/x.db", "--name", "x"),
         "its storage cannot be used: "),
        (("cart_pole_ppo", *RATE, "--storage", "foo://me:secret@box/x", "--name", "x"),
         "its storage cannot be used: "),
        (("--resume", "nothing"), "no sweeps in"),
        (("--resume", "nothing", *RATE), "--resume nothing and --param exclude each other"),
        (("--resume", "nothing", "--try", "x=1"), "no sweeps in"),
        (("cart_pole_ppo", *RATE, "--prune-after", "0"), "0 is not in the range"),
        (("cart_pole_ppo", "--resume", "nothing"), "--resume nothing and cart_pole_ppo"),
    ],
)  # fmt: skip
def test_it_is_one_line_and_nothing_is_begun(arguments, words):
    assert words in complaint(*arguments)
    assert list_sweeps() == []
    assert list_runs() == []


@pytest.mark.parametrize(
    ("url", "package", "module"),
    [("postgresql", "'psycopg[binary]'", "psycopg"), ("mysql", "mysqlclient", "MySQLdb")],
)
def test_without_the_driver_of_a_database_it_says_what_to_install(
    url, package, module, monkeypatch
):
    monkeypatch.setitem(sys.modules, module, None)
    storage = f"{url}://me:secret@box/x"
    words = complaint("cart_pole_ppo", *RATE, "--storage", storage, "--name", "x")
    assert words == f"--storage {url}: pip install {package}"
    assert list_sweeps() == []


def test_another_search_of_the_same_name_in_a_storage_is_refused(tmp_path, monkeypatch):
    shared = ("--storage", str(tmp_path), "--name", "x")
    monkeypatch.setattr("operant.commands.sweep.begin._run", lambda *_: 0)
    assert CliRunner().invoke(command, ("cart_pole_ppo", *RATE, *shared)).exit_code == 0
    monkeypatch.setenv("OPERANT_HOME", str(tmp_path / "another"))
    words = "--name x: the storage has another search of this name"
    for arguments in (("acrobot_ppo", *RATE), ("cart_pole_ppo", *RATE, "--seeds", "2")):
        assert complaint(*arguments, *shared) == words
    assert list_sweeps() == []
    arguments = ("cart_pole_ppo", *RATE, *shared, "--trials", "3")
    assert CliRunner().invoke(command, arguments).exit_code == 0


def test_without_optuna_it_says_what_to_install(monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "optuna" else found(name)
    )
    words = f"needs Optuna: {install_command('sweep')}"
    assert words in complaint("cart_pole_ppo", *RATE)


def test_a_sweep_that_lost_its_files_says_which():
    RunLock(new_sweep("odd").lock_path, 0).release()
    with pytest.raises(RunFolderError, match=r"table\.json cannot be read"):
        cli(["status", "odd"], standalone_mode=False)
    assert "sweep.toml cannot be read" in complaint("--resume", "odd")


@pytest.mark.parametrize(
    "reason",
    [OSError(28, "No space left on device"), StorageInternalError("No space left on device")],
)
def test_a_sweep_that_the_disk_ends_says_how_to_go_on(reason, monkeypatch):
    def full(sweeper, stop_signals):
        raise reason

    monkeypatch.setattr("operant.commands.sweep.sweeper.Sweeper.run", full)
    error = CliRunner().invoke(command, ("cart_pole_ppo", *RATE, "--name", "few")).exception
    assert isinstance(error, OperantError)
    assert error.exit_code == 1
    assert "few cannot go on: No space left on device" in str(error)
    assert "`operant sweep --resume few` takes them up again" in str(error)
    RunLock(new_sweep("other").lock_path, 0).release()  # what held the sweep is let go of
    assert not list_sweeps()[1].is_held()
