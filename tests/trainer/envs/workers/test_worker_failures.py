"""A worker's failure is a one-line error and leaves nothing; also if the trainer dies."""

from __future__ import annotations

import gc
import os
import re
import signal
import subprocess
import sys
from contextlib import closing, nullcontext
from pathlib import Path

import numpy as np
import psutil
import pytest
from command_line import ENDLESS, PATIENCE_S
from waiting import wait_for

from operant.trainer.envs.hosts import load_spec, make_envs
from operant.trainer.envs.vector import Transitions
from operant.trainer.envs.workers import processes
from operant.trainer.envs.workers.dividing import WorkerPlan
from operant.trainer.envs.workers.hosted import first_seed
from operant.trainer.envs.workers.processes import WorkerError
from operant.trainer.jit.streams import TRAINING

TROUBLED = "gymnasium:hosted_envs:make_troubled"
CLOSING = "gymnasium:hosted_envs:make_closing"
FILE = r"\(\S+hosted_envs\.py, line \d+, in {}\)"


@pytest.fixture
def trouble(monkeypatch):
    """Has environment 3 of 4 get into trouble in its third step."""

    def choose(kind):
        monkeypatch.setenv("TROUBLE", kind)
        monkeypatch.setenv("TROUBLED_SEED", str(first_seed(1, TRAINING) + 3))

    return choose


def failure(plan):
    """The error that `plan` raises; it leaves no process and no open file behind."""
    gc.collect()  # what earlier tests left may go whenever it likes
    before, files = set(psutil.Process().children()), os.listdir("/proc/self/fd")
    said = ""
    try:
        play(plan)
    except WorkerError as error:
        said = str(error)
    assert set(psutil.Process().children()) == before
    gc.collect()  # the last array over the region
    assert len(os.listdir("/proc/self/fd")) == len(files)
    assert said
    assert "\n" not in said
    return said


def play(plan, env=TROUBLED):
    with closing(make_envs(load_spec(env, plan), 4, 1, TRAINING)) as envs:
        out = Transitions.empty(3, 4)
        envs.reset(out.obs)
        for _ in range(5):
            envs.step(np.zeros(4, np.int64), out)


IN_3 = r"in environment 3"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("raises", rf": {IN_3} RuntimeError: the wheel fell off {FILE.format('_raise')}$"),
        (
            "changes shape",
            rf": {IN_3} env = '.*': step gives an observation of shape \(1,\), and "
            r"observation_space has \(3,\) \(step 3 of its episode\)$",
        ),
        ("exits", rf": {IN_3} SystemExit: 3 {FILE.format('<lambda>')}$"),
        ("exits at once", rf" ended itself with exit code 3, {IN_3}$"),
        ("is killed", rf" was killed by SIGKILL, as the kernel does where memory .*, {IN_3}$"),
        ("crashes", rf" was ended by SIGSEGV, {IN_3} \(.*ctypes.*\)$"),
    ],
)
def test_a_worker_that_fails_is_one_line_with_the_environment_and_the_place(trouble, kind, words):
    trouble(kind)
    said = failure(WorkerPlan(2))
    assert re.search(r"^worker 1 \(environments 2 to 3\)" + words, said), said


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["hangs", "holds the interpreter"])
def test_a_worker_that_hangs_is_told_with_the_place_where_it_does(trouble, kind):
    trouble(kind)
    function = {"hangs": "_hang", "holds the interpreter": "_hang_with_the_interpreter"}[kind]
    said = failure(WorkerPlan(4, 4, timeout_s=8.0))
    assert re.search(
        r"^worker 3 \(environment 3\) has not answered for 8 s \(workers.timeout_s\), "
        rf"{IN_3} {FILE.format(function)}$",
        said,
    ), said


@pytest.mark.slow
@pytest.mark.parametrize("end", ["closed", "killed"])
def test_what_environments_print_is_seen_however_their_worker_ends(capfd, monkeypatch, end):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    monkeypatch.setenv("HOSTED_ENVS_END", end)
    with pytest.raises(WorkerError) if end == "killed" else nullcontext():
        play(WorkerPlan(1), "gymnasium:hosted_envs:make_printing")
    # Five steps of four environments, or two of them and the first of the third.
    lines = [f"step {1 + i // 4}" for i in range(20 if end == "closed" else 9)]
    assert capfd.readouterr().err.splitlines() == lines


@pytest.fixture
def closed(tmp_path, monkeypatch):
    """The seeds of environments that were closed so far, from the first of them on."""
    monkeypatch.setenv("CLOSED", str(tmp_path))
    first = first_seed(1, TRAINING)
    return lambda: sorted(int(each.name) - first for each in tmp_path.iterdir())


@pytest.mark.slow
def test_all_environments_are_closed_where_one_of_them_fails(trouble, closed, monkeypatch):
    trouble("raises")
    monkeypatch.setenv("CLOSE_S", "2.1")  # longer than last words are when the trainer has gone
    monkeypatch.setattr(processes, "CLOSE_S", PATIENCE_S)
    with pytest.raises(WorkerError, match="the wheel fell off"):
        play(WorkerPlan(2), CLOSING)
    assert closed() == [0, 1, 2, 3]


@pytest.mark.slow
def test_environments_that_never_close_are_ended_after_a_while(trouble, closed, monkeypatch):
    trouble("raises")
    monkeypatch.setenv("CLOSE_S", "10000")
    monkeypatch.setattr(processes, "CLOSE_S", 0.1)
    before = set(psutil.Process().children())
    with pytest.raises(WorkerError, match="the wheel fell off"):
        play(WorkerPlan(2), CLOSING)
    assert set(psutil.Process().children()) == before


@pytest.mark.slow
def test_environments_that_cannot_be_made_there_are_one_line(trouble, monkeypatch):
    trouble("raises")
    spec = load_spec(TROUBLED, WorkerPlan(2))
    trouble("cannot be made")
    before = set(psutil.Process().children())
    with pytest.raises(WorkerError, match=r"in environment \d RuntimeError: there is no simulator"):
        make_envs(spec, 4, 1, TRAINING)
    assert set(psutil.Process().children()) == before


@pytest.mark.slow
def test_signals_that_stop_a_trainer_do_not_stop_its_workers():
    spec = load_spec("gymnasium:hosted_envs:make_endless", WorkerPlan(1))
    before = set(psutil.Process().children())
    with closing(make_envs(spec, 2, 1, TRAINING)) as envs:
        (worker,) = set(psutil.Process().children()) - before
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            worker.send_signal(number)
        out = Transitions.empty(3, 2)
        envs.reset(out.obs)
        envs.step(np.zeros(2, np.int64), out)
        assert out.reward.tolist() == [1.0, 1.0]


# A trainer in small: what a run has of workers, without what learns.
TRAINER = """
import sys
import threading
sys.path.append("{support}")
import psutil
from operant.trainer.envs.workers.processes import Processes
from operant.trainer.envs.workers.region import Layout
from operant.trainer.envs.hosts import load_spec
from operant.trainer.envs.workers.worker import RESET, STEP

spec = load_spec("{env}")
layout = Layout(2, 2, 1, spec.obs_size, spec.actions)

def run():
    workers = Processes(spec, layout, 0, 120.0)
    workers.fields.seeds[:] = {seeds}
    for command in (RESET, STEP, STEP):
        workers.start(command, (0, 1))
        workers.finish((0, 1))
    workers.start(STEP, (0, 1))
    print(*(worker.pid for worker in psutil.Process().children()), flush=True)
    workers.finish((0, 1))
    sys.stdin.read()

{begin}
"""


@pytest.mark.parametrize(
    ("number", "kind", "begin"),
    [
        (signal.SIGKILL, None, "run()"),
        (signal.SIGHUP, None, "run()"),
        # From a thread, as evaluations have them.
        (signal.SIGKILL, "holds the interpreter", "threading.Thread(target=run).start()"),
    ],
)
def test_workers_end_when_the_trainer_is_killed_also_those_that_hang(
    request, trouble, number, kind, begin
):
    trouble(kind or "raises")
    first = first_seed(1, TRAINING)
    seeds = [[first, first + 1], [first + 2, first + 3]]
    code = TRAINER.format(
        env=TROUBLED if kind else "gymnasium:hosted_envs:make_endless",
        support=Path(__file__).parents[3] / "support",
        seeds=seeds,
        begin=begin,
    )
    trainer = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    request.addfinalizer(trainer.kill)
    assert trainer.stdout
    workers = [psutil.Process(int(pid)) for pid in trainer.stdout.readline().split()]
    assert len(workers) == 2
    for worker in workers:
        request.addfinalizer(lambda worker=worker: worker.is_running() and worker.kill())
    trainer.send_signal(number)
    trainer.communicate(timeout=PATIENCE_S)
    wait_for(lambda: not any(map(psutil.Process.is_running, workers)))


def test_a_run_with_workers_stops_in_good_order(request):
    trainer = subprocess.Popen(
        [
            *(sys.executable, "-m", "operant", "train", *ENDLESS, "--set", "num_envs=4"),
            *("--set", "env=gymnasium:CartPole-v1", "--set", "workers.num_workers=2"),
            *("--set", "workers.async_factor=2", "--set", "rollout_steps=16"),
        ],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    request.addfinalizer(trainer.kill)  # where the test fails
    assert trainer.stdout
    while "env steps" not in trainer.stdout.readline():
        assert trainer.poll() is None
    workers = psutil.Process(trainer.pid).children()
    assert len(workers) == 2
    trainer.send_signal(signal.SIGINT)
    _, errors = trainer.communicate(timeout=PATIENCE_S)
    assert trainer.returncode == 130, errors
    assert "Traceback" not in errors
    assert not any(map(psutil.Process.is_running, workers))
