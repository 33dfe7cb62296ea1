"""Controllers written for the challenge, and what is said of those that cannot be used."""

from __future__ import annotations

import numpy as np
import pytest

from operant.shared.errors import OperantError, UsageError
from operant.trainer.envs.tinyphysics.controllers import Pid
from operant.trainer.envs.tinyphysics.draws import reference_draws
from operant.trainer.envs.tinyphysics.engines.choosing import make_engine
from operant.trainer.envs.tinyphysics.python_controller import load_python_controller
from operant.trainer.envs.tinyphysics.simulator import simulate

PID = """
from . import BaseController
class Controller(BaseController):
    def __init__(self):
        self.p, self.i, self.d = 0.195, 0.100, -0.053
        self.error_integral = self.prev_error = 0
    def update(self, target_lataccel, current_lataccel, state, future_plan):
        error = target_lataccel - current_lataccel
        self.error_integral += error
        error_diff = error - self.prev_error
        self.prev_error = error
        return self.p * error + self.i * self.error_integral + self.d * error_diff
"""
SPY = """
from . import BaseController
from .beside import SEEN
class Controller(BaseController):
    def update(self, target_lataccel, current_lataccel, state, future_plan):
        SEEN.append((target_lataccel, state, future_plan))
        return 0.0
"""


@pytest.fixture(scope="module")
def engine(small_model):
    return make_engine(small_model, "onnxruntime", num_threads=1)


def driven_by(controller, engine, routes):
    return simulate(engine, routes, controller, reference_draws(routes.names, 140))


def test_a_controller_file_steers_as_it_does_in_the_challenge(tmp_path, engine, routes):
    path = tmp_path / "mine.py"
    path.write_text(PID)
    theirs = driven_by(load_python_controller(path), engine, routes)
    np.testing.assert_array_equal(theirs.actions, driven_by(Pid(), engine, routes).actions)


def test_a_controller_is_told_of_its_state_and_the_next_49_rows(tmp_path, engine, routes):
    (tmp_path / "beside.py").write_text("SEEN = []\n")
    path = tmp_path / "spy.py"
    path.write_text(SPY)
    controller = load_python_controller(path)
    driven_by(controller, engine, routes.at([1]))
    import controllers.beside

    seen = controllers.beside.SEEN
    assert len(seen) == 140 - 20  # every step from the first on
    target, state, plan = seen[0]
    assert target == routes.field("target")[20, 1]
    assert state.v_ego == routes.field("v_ego")[20, 1]
    assert plan.roll_lataccel == routes.field("roll_lataccel")[21:70, 1].tolist()
    assert len(plan.lataccel) == len(plan.v_ego) == len(plan.a_ego) == 49
    assert [len(plan.lataccel) for _, _, plan in seen[-3:]] == [2, 1, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def nothing(): pass", "no class Controller with a method update"),
        ("class Controller(", "SyntaxError"),
    ],
)
def test_a_file_that_is_no_controller_is_one_line(tmp_path, text, message):
    path = tmp_path / "bad.py"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        load_python_controller(path)
    with pytest.raises(UsageError, match="no such file"):
        load_python_controller(tmp_path / "none.py")


def test_an_action_that_is_no_number_names_the_controller_and_the_step(tmp_path, engine, routes):
    path = tmp_path / "silent.py"
    path.write_text("class Controller:\n    def update(self, *_):\n        return float('nan')\n")
    with pytest.raises(OperantError, match=r"silent\.py gave .* at step 20"):
        driven_by(load_python_controller(path), engine, routes)
