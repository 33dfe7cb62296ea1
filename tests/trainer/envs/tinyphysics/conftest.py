"""A small model and a few routes, and the real ones where they are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from tinyphysics_files import transformer, write_routes

from operant.trainer.envs.tinyphysics.route_cache import RouteFolder
from operant.trainer.envs.tinyphysics.routes import Routes


@pytest.fixture(scope="session")
def small_model() -> onnx.ModelProto:
    return transformer()


@pytest.fixture(scope="session")
def route_folder(tmp_path_factory) -> Path:
    return write_routes(tmp_path_factory.mktemp("challenge") / "data", 5, num_rows=140)


@pytest.fixture(scope="session")
def routes(route_folder) -> Routes:
    return RouteFolder(route_folder).take(range(5))


@pytest.fixture(scope="session")
def real_files() -> Path:
    """The folder of the public model, routes and recordings."""
    named = os.environ.get("OPERANT_TINYPHYSICS")
    if not named or not (Path(named) / "golden_pid.npz").is_file():
        pytest.skip("OPERANT_TINYPHYSICS names no folder with recordings of the reference")
    return Path(named)


@pytest.fixture(params=["pid", "zero"])
def recording(request, real_files):
    """(name, arrays) of one of the recordings."""
    return request.param, np.load(real_files / f"golden_{request.param}.npz")
