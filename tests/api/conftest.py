"""Environments that are defined in a test as they would be in a script, and finished runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from own_lines import SMALL, make_line_class

import operant

Trained = Callable[..., Path]


@pytest.fixture
def line():
    return make_line_class()


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Train a run in a home of its own; returns the home."""

    def train(env: Any, **settings: Any) -> Path:
        folder = tmp_path_factory.mktemp("trained")
        with pytest.MonkeyPatch.context() as patch:
            for name in ("OPERANT_HOME", "OPERANT_PAGES", "XDG_CONFIG_HOME"):
                patch.setenv(name, str(folder / name))
            for name in ("OPERANT_RECORDER", "OPERANT_CONSOLE"):
                patch.setenv(name, "off")
            operant.train(env, **SMALL, **settings)
        return folder / "OPERANT_HOME"

    return train


@pytest.fixture(scope="session")
def _cart_pole_home(trained: Trained) -> Path:
    return trained("cart_pole", total_env_steps=64, ppo={"num_minibatches": 1})


@pytest.fixture(scope="session")
def _line_home(trained: Trained) -> Path:
    return trained(make_line_class(), total_env_steps=128)


@pytest.fixture
def cart_pole_run(_cart_pole_home: Path, operant_home: Path) -> operant.Run:
    """A finished run of PPO, trained once for all tests; each has a copy."""
    shutil.copytree(_cart_pole_home, operant_home)
    return operant.runs()[0]


@pytest.fixture
def line_run(_line_home: Path, operant_home: Path) -> operant.Run:
    """The same in an environment of a script."""
    shutil.copytree(_line_home, operant_home)
    return operant.runs()[0]
