"""`operant.train`, in this process and in one of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import tomllib
import traceback
from dataclasses import replace

import numpy as np
import pytest
import torch
from command_line import python
from own_lines import SMALL, make_line_class
from waiting import PATIENCE_S

import operant
from operant.shared.runs.run_notes import change_notes
from operant.shared.runs.status import open_page

pytestmark = pytest.mark.slow

ENDLESS = {**SMALL, "total_env_steps": 10**12, "checkpoint": {"every_iterations": 0}}


SCRIPT = """
import operant, sys
try:
    run = operant.train("cart_pole", num_envs=8, rollout_steps=16, num_threads=1,
                        total_env_steps=10**12, evaluation={"num_episodes": 0})
    print(run.status().state, run.status().message)
except KeyboardInterrupt:
    run = operant.runs()[0]
    print(run.status().state, operant.load(run).iteration > 0, flush=True)
    raise
"""


def begun_script():
    """A process that trains, once it has published."""
    script = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + PATIENCE_S
    while not (operant.runs() and operant.runs()[0].status().env_steps):
        assert time.monotonic() < deadline
        assert script.poll() is None
        time.sleep(0.05)
    return script


def test_a_class_of_a_script_is_trained_and_its_run_is_given_back(line):
    run = operant.train(line, total_env_steps=256, seed=3, **SMALL)
    status = run.status()
    assert (status.state, status.env_steps) == ("finished", 256)
    assert run.folder.is_dir()
    assert operant.runs() == [run]
    config = operant.load(run)._trained.config
    assert config.env.startswith("gymnasium:own/Line")
    assert (config.seed, config.num_envs) == (3, 4)


def test_a_function_that_makes_an_environment_and_tables_as_dicts_are_taken(line):
    run = operant.train(
        lambda: line(), total_env_steps=128, ppo={"learning_rate": 0.25, "num_minibatches": 2},
        policy={"hidden_sizes": (8, 8)}, **SMALL,
    )  # fmt: skip
    config = operant.load(run)._trained.config
    assert config.env.startswith("gymnasium:own/lambda")
    assert (config.ppo.learning_rate, config.policy.hidden_sizes) == (0.25, (8, 8))
    sources = tomllib.loads((run.folder / "run.toml").read_text())["sources"]
    assert [*sources] == ["defaults of ppo", "you"]
    given = {"env", "ppo.learning_rate", "ppo.num_minibatches", "policy.hidden_sizes"}
    small = {"num_envs", "rollout_steps", "num_threads", "evaluation.num_episodes"}
    assert {*sources["you"]} == {*given, *small, "total_env_steps"}
    first = open_page(run._run).events()[0].text
    assert first.startswith(f"started ppo on {config.env.removeprefix('gymnasium:')}: defaults of")


def test_what_workers_cannot_get_is_said_in_one_line(line):
    lock = threading.Lock()
    with pytest.raises(operant.UsageError) as failed:
        operant.train(
            lambda: (lock, line())[1], total_env_steps=128, workers={"num_workers": 2}, **SMALL
        )
    assert " cannot be sent to another process" in str(failed.value)
    assert "use workers.num_workers = 0, or define it in a module" in str(failed.value)


def test_a_detached_run_has_the_class_of_a_script_and_can_be_waited_for_and_stopped(line):
    run = operant.train(line, detach=True, **ENDLESS)
    assert run.status().state == "running"
    assert run.wait(timeout_s=0.2).state == "running"
    assert run.stop().state == "stopped"
    assert run.wait().state == "stopped"
    assert operant.load(run).iteration == run.status().iteration


def test_a_detached_run_that_cannot_begin_has_ended(line):
    parent = os.getpid()

    class OnlyHere(line):
        def __init__(self):
            if os.getpid() != parent:
                raise ZeroDivisionError("on purpose")

    with pytest.raises(operant.OperantError, match="died before its first publish"):
        operant.train(OnlyHere, detach=True, **ENDLESS)
    (run,) = operant.runs()
    assert not run.status().is_alive
    assert not run.stop().is_alive  # and this process lives


def test_a_wrong_key_has_the_error_of_the_command(line):
    with pytest.raises(
        operant.UsageError, match=r"unknown key 'nmu_envs'; did you mean 'num_envs'"
    ):
        operant.train(line, nmu_envs=3)
    with pytest.raises(operant.UsageError, match="callback: did you mean callbacks, a list"):
        operant.train(line, callback=[])
    with pytest.raises(operant.UsageError, match=r"^num_envs = 0: .* greater than or equal to 1"):
        operant.train(line, num_envs=0)
    with pytest.raises(operant.UsageError, match=r"ppo\.gamma = <object .*expected a number, text"):
        operant.train(line, ppo={"gamma": object()})
    assert operant.runs() == []


def test_arrays_are_taken_for_lists_and_numbers(line):
    run = operant.train(
        line, total_env_steps=np.int64(64), policy={"hidden_sizes": np.array([8, 4])},
        ppo={"gamma": torch.tensor(0.5), "num_minibatches": np.int32(2)}, **SMALL,
    )  # fmt: skip
    config = operant.load(run)._trained.config
    assert (config.policy.hidden_sizes, config.ppo.gamma) == ((8, 4), 0.5)
    with pytest.raises(operant.UsageError, match=r"ppo.gamma = .*: expected a number, text"):
        operant.train(line, ppo={"gamma": np.complex64(1j)}, **SMALL)


def test_what_a_resumed_run_keeps_is_refused_and_a_complete_one_says_how_it_would_go_on(line_run):
    for given in ({"name": "wide"}, {"presets": ["cpu"]}):
        words = "and resume exclude each other: a resumed run"
        with pytest.raises(operant.UsageError, match=words):
            operant.train(resume=line_run, total_env_steps=256, **given)
    with pytest.raises(operant.UsageError, match="128 env steps; total_env_steps = 256 would con"):
        operant.train(resume=line_run)


def test_an_instance_is_no_environment_to_train_on(line):
    with pytest.raises(operant.UsageError, match="expected a name, or a class or function"):
        operant.train(line())


def test_an_error_in_training_is_raised_and_the_run_is_failed(line, capsys):
    class Breaks(line):
        def step(self, action):
            if self.step_number == 5:
                raise ZeroDivisionError("on purpose")
            return super().step(action)

    with pytest.raises(ZeroDivisionError, match="on purpose"):
        operant.train(Breaks, total_env_steps=256, **SMALL)
    (run,) = operant.runs()
    assert run.status().state == "failed"
    assert "in step" in [event.text for event in open_page(run._run).events()][-1]
    assert "Traceback" not in capsys.readouterr().err  # Python prints it once


def test_a_run_in_a_thread_is_stopped_from_another(line):
    ended = []
    thread = threading.Thread(target=lambda: ended.append(operant.train(line, **ENDLESS)))
    thread.start()
    deadline = time.monotonic() + PATIENCE_S
    while not (operant.runs() and operant.runs()[0].status().env_steps):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    status = operant.runs()[0].stop()
    assert (status.state, status.message) == ("stopped", "by run.stop()")
    thread.join(PATIENCE_S)
    assert ended == operant.runs()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, -2), (signal.SIGTERM, 143)])
def test_a_signal_stops_a_script_in_good_order_and_ends_it(number, code):
    script = begun_script()
    script.send_signal(number)
    printed, errors = script.communicate(timeout=PATIENCE_S)
    assert operant.runs()[0].status().state == "stopped"
    assert script.returncode == code
    if number == signal.SIGINT:
        assert printed == "stopped True\n"
        assert "operant.train(resume=" in errors


RESUMES = """
import operant
from gymnasium.envs.classic_control import PendulumEnv
class Swing(PendulumEnv): pass
try:
    operant.train(resume=RUN, total_env_steps=128)
except operant.UsageError as error:
    print(error)
operant.train(Swing, resume=RUN, total_env_steps=128)
"""


INTERRUPTED = """
import os, signal, sys
import operant

def interrupt(event, arguments):
    if event == "import" and arguments[0] == "torch.nn" and not sent:
        sent.append(os.kill(os.getpid(), signal.SIGINT))

def train():
    small = {"num_envs": 4, "rollout_steps": 16, "num_threads": 1, "total_env_steps": 64}
    return operant.train("cart_pole", **small)

sent = []
sys.addaudithook(interrupt)
try:
    train()
except KeyboardInterrupt:
    print("interrupted", len(operant.runs()))
print(train().status().state)
"""


def test_an_interrupt_during_imports_leaves_a_notebook_that_can_train():
    done = python("-c", INTERRUPTED)
    assert done.stdout == "interrupted 0\nfinished\n", done.stderr


def test_another_process_resumes_with_the_class_of_a_script_and_the_runs_settings():
    from gymnasium.envs.classic_control import PendulumEnv

    class Swing(PendulumEnv):
        pass

    run = operant.train(Swing, total_env_steps=64, ppo={"gamma": 0.5}, **SMALL)
    done = python("-c", RESUMES.replace("RUN", repr(run.id)))
    assert "pass env=Swing to operant.load, or to operant.train with resume" in done.stdout
    assert run.status().env_steps == 128, done.stderr
    assert run.folder.joinpath("run.toml").read_text().count("gamma = 0.5") == 1


def frames_of(error):
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)]


def test_a_traceback_of_wrong_input_has_the_callers_frames_and_few_of_operants(line):
    own = "test_a_traceback_of_wrong_input_has_the_callers_frames_and_few_of_operants"
    with pytest.raises(operant.UsageError) as wrong:
        operant.train(line, nmu_envs=3)
    assert frames_of(wrong.value) == [own, "called"]

    class Logs:
        def on_iteration(self, run):
            run.log({1: 2})

    with pytest.raises(operant.UsageError) as wrong:
        operant.train(line, total_env_steps=64, callbacks=[Logs()], **SMALL)
    assert (frames_of(wrong.value)[0], frames_of(wrong.value)[-1]) == (own, "on_iteration")

    def breaks():
        raise ZeroDivisionError

    with pytest.raises(operant.UsageError) as wrong:
        operant.train(breaks)
    assert frames_of(wrong.value.__cause__)[-1] == "breaks"


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ("Pendulum-v1", "tuned presets for pendulum, operant's own version of it: pendulum_ac_iqn"),
        ("cart_pole", None),  # it has its preset
    ],
)
def test_presets_for_an_environment_are_named_where_none_is_used(env, said):
    run = operant.train(env, total_env_steps=64, **SMALL)
    hints = [e.text for e in open_page(run._run).events() if e.text.startswith("tuned presets")]
    assert [hint[: len(said or "")] for hint in hints] == ([said] if said else [])


def test_the_folder_that_is_named_is_resumed_or_none(line, tmp_path):
    run = operant.train(line, total_env_steps=128, **SMALL)
    copy = run.folder.with_name("copy")
    shutil.copytree(run.folder, copy)
    shutil.copytree(run.folder, run.folder.with_name("copy-2"))
    resumed = operant.train(resume=copy, total_env_steps=256)
    assert resumed.folder == copy
    events = [event.text for event in open_page(resumed._run).events()]
    assert f"resumed from iteration {run.status().iteration}" in events
    assert run.status().env_steps == 128
    elsewhere = shutil.copytree(run.folder, tmp_path / "elsewhere" / run.id)
    with pytest.raises(operant.UsageError, match=r"elsewhere/.* is not in .*: a run is resumed"):
        operant.train(resume=elsewhere, total_env_steps=256)
    assert run.status().env_steps == 128


def test_a_class_of_a_module_has_its_name(tmp_path, monkeypatch):
    (tmp_path / "my_line.py").write_text(
        "from gymnasium.envs.classic_control import PendulumEnv\n"
        "class Mine(PendulumEnv):\n    pass\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    from my_line import Mine

    with pytest.raises(operant.UsageError, match="num_envs = 0"):
        operant.train(Mine, num_envs=0)
    from operant.api.training import _source

    assert _source(Mine) == "gymnasium:my_line:Mine"
    assert _source(make_line_class()).startswith("gymnasium:own/Line")


FORKS = """
import multiprocessing, operant
given = dict(num_envs=16, rollout_steps=16, num_threads=2, evaluation={"num_episodes": 0})
def child():
    try:
        operant.train("cart_pole", total_env_steps=256, **given)
    except operant.OperantError as error:
        print(error, flush=True)
operant.train("cart_pole", total_env_steps=256, **given)
process = multiprocessing.get_context("fork").Process(target=child)
process.start()
process.join()
print(process.exitcode, len(operant.runs()))
"""


def test_a_forked_process_says_that_it_cannot_train():
    done = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True)
    said, last = done.stdout.splitlines()
    assert said.startswith("this process was forked from one in which operant had trained")
    assert last == "0 1"


def test_runs_of_one_name_have_ids_of_their_own_but_a_name_that_was_given_is_one_runs(line):
    first, second = (
        operant.train(line, name="twin", total_env_steps=64, **SMALL) for _ in range(2)
    )
    assert first.id != second.id
    with pytest.raises(operant.UsageError, match=r"'twin' matches 2 runs: .*; give a whole id"):
        operant.load("twin")
    change_notes(first.folder, lambda notes: replace(notes, name="best of all"))
    with pytest.raises(operant.UsageError, match=f"another run is called .*: {first.id}"):
        operant.train(line, name="best of all", **SMALL)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"total_env_steps": {}}, r"total_env_steps = \{\}: it is one setting"),
        ({"total_env_steps": True}, "total_env_steps: expected a number, got true"),
        ({"seed": {}}, r"seed = \{\}: it is one setting"),
        ({"callbacks": 0}, "callbacks = 0: expected a list, as"),
        ({"presets": "cpu"}, "presets = 'cpu': expected a list of overlays"),
        ({"detach": "yes"}, "detach = 'yes': expected True or False"),
        ({"name": "a/b"}, "'a/b' is not a valid name: it must not begin with - or contain"),
        ({"name": 3}, "name = 3: expected text"),
    ],
)
def test_an_argument_of_a_wrong_type_is_named_and_nothing_trains(arguments, said):
    with pytest.raises(operant.UsageError, match=said):
        operant.train("cart_pole", **{"total_env_steps": 64, **SMALL, **arguments})
    assert operant.runs() == []
