"""A helper compiles the learning loops once; training continues if the helper fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from learning import iterate

from operant.trainer.experiment import precompiling
from operant.trainer.experiment.build import processor_experiment
from operant.trainer.experiment.precompiling import Precompiling, start_helper
from operant.trainer.experiment.untrained import make_policy
from operant.trainer.machine.threads import Threads

# Says how many helpers a run starts, and which functions its own process compiles.
RUN = """
import json
import sys

from numba.core import event

from operant.trainer.experiment import precompiling
from operant.trainer.config.from_values import make_config
from operant.trainer.experiment.build import processor_experiment
from operant.trainer.machine import threads as machine_threads
from operant.trainer.machine.stopwatch import Stopwatch
from operant.trainer.machine.threads import Threads

names, helpers = [], []


class Listener(event.Listener):
    def on_start(self, found):
        names.append(found.data["dispatcher"].py_func.__name__)

    def on_end(self, found):
        pass


def start_helper(config, start=precompiling.start_helper):
    helpers.append(start(config))
    return helpers[-1]


event.register("numba:compile", Listener())
precompiling.start_helper = start_helper
machine_threads.available_cores = lambda: 2
threads = Threads(1)
experiment = processor_experiment(make_config(json.loads(sys.argv[1])), threads)
(metrics,) = experiment.iterate(Stopwatch(), wait=True)
experiment.close()
codes = [helper.returncode for helper in helpers]
print(json.dumps({"helpers": codes, "compiled": names, "loss": metrics["loss/policy"]}))
"""

LEARNING = {"gae_template", "learn_template", "actor_gradients", "discount_template"}


@pytest.fixture
def config(small_config):
    return small_config("normalization.reward=true")


@pytest.fixture
def other_python(monkeypatch):
    """Helpers are wanted on any machine, and started with the program that this is called with."""

    def set_program(path: str | None) -> None:
        monkeypatch.setattr("operant.trainer.machine.threads.available_cores", lambda: 2)
        monkeypatch.setattr(precompiling, "has_machine_code", lambda loop: False)
        monkeypatch.setattr(precompiling, "python_program", lambda: path)

    return set_program


# It compiles all loops from nothing, which is what it is about: half a minute.
def test_the_first_run_compiles_none_of_what_learns_and_the_second_nothing(config, tmp_path):
    def run():
        done = subprocess.run(
            [sys.executable, "-P", "-c", RUN, config.model_dump_json()],
            capture_output=True,
            check=True,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        )
        assert done.stderr == b""
        return json.loads(done.stdout)

    first, second = run(), run()
    assert first["helpers"] == [0]
    assert "collect_template" in first["compiled"]
    assert not LEARNING & set(first["compiled"])
    assert (second["helpers"], second["compiled"]) == ([], [])
    assert second["loss"] == first["loss"]


@pytest.mark.slow
def test_a_helper_ends_with_the_run_that_started_it(config, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    helper = start_helper(config)
    helper.stdin.close()  # as the system does for a run that is killed
    assert helper.wait(600) == 1
    assert not list(tmp_path.rglob("*learn_template*"))


def test_a_run_goes_on_when_its_helper_is_killed():
    sleeper = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    Precompiling(sleeper).wait(tick=sleeper.kill)
    assert sleeper.returncode == -9


@pytest.mark.parametrize("program", ["false", "no such program", None])
def test_a_run_trains_without_a_helper(config, other_python, program):
    other_python(program)
    threads = Threads(1)
    experiment = processor_experiment(config, threads)
    iterate(experiment)
    experiment.close()
    assert experiment.iteration == 1


def test_no_helper_where_it_saves_nothing(small_config, other_python, monkeypatch):
    started = []
    other_python(sys.executable)
    monkeypatch.setattr(precompiling, "start_helper", started.append)
    config = small_config()
    policy = make_policy(config)
    Precompiling.of(config, policy)
    assert started == [config]
    monkeypatch.setattr(precompiling, "has_machine_code", lambda loop: True)
    Precompiling.of(config, policy)
    assert started == [config]
