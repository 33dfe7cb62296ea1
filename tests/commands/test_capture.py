"""`operant capture`: a script that knows nothing of operant leaves a run with all that it logs, and
does what it does without operant.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import error_line, operant, operant_process
from kept_rows import kept_rows, series
from waiting import wait_for

from operant.shared.integrations.capture_hook.sitecustomize import Sender
from operant.shared.runs.find_runs import list_runs
from operant.shared.runs.run_folder import Run
from operant.shared.runs.status import read_status

pytestmark = pytest.mark.usefixtures("recorders")


def the_run() -> Run:
    (run,) = list_runs()
    return run


def capture(*command: str, **options) -> subprocess.CompletedProcess[str]:
    done = operant_process("capture", "--", *command, **options)
    run = the_run()
    wait_for(lambda: not run.recording_path.exists())
    return done


def capture_script(code: str, folder: Path, **options) -> subprocess.CompletedProcess[str]:
    (folder / "train.py").write_text(code)
    return capture(sys.executable, "train.py", cwd=folder, **options)


def test_a_script_runs_as_it_does_alone_and_its_run_has_its_exit_code(tmp_path):
    code = (
        "import os, sys\n"
        "print('to standard output', sys.argv, sys.path)\n"
        "print('to standard error', file=sys.stderr)\n"
        "open('file', 'w').write(sys.stdin.read())\n"
        "sys.exit(3)\n"
    )
    (tmp_path / "train.py").write_text(code)
    command = [sys.executable, "train.py", "--lr", "1", ""]
    alone = subprocess.run(command, cwd=tmp_path, input="in", capture_output=True, text=True)
    captured = subprocess.run(
        [sys.executable, "-m", "operant", "capture", *command],
        cwd=tmp_path,
        input="in",
        capture_output=True,
        text=True,
    )
    assert captured.returncode == alone.returncode == 3
    assert captured.stdout == alone.stdout
    run = the_run()
    lines = captured.stderr.splitlines()
    assert sorted(line for line in lines if not line.startswith("operant: ")) == [
        "to standard error"
    ]
    assert f"operant: captured as {run.id}" in lines
    assert "the run has no metrics" in captured.stderr
    assert read_status(run).age_s is not None
    assert (tmp_path / "file").read_text() == "in"
    status = read_status(run)
    assert (status.state, status.message) == ("failed", "exit code 3")
    manifest = run.manifest()
    assert manifest["name"] == "train"
    assert manifest["command_line"].endswith("train.py --lr 1 ''")


TENSORBOARDX = """
from tensorboardX import SummaryWriter
writer = SummaryWriter("logs")
for step in range(500):
    writer.add_scalar("loss", step / 2, 10 * step)
    writer.add_scalar("charts/SPS", step, 10 * step)
writer.add_text("note", "hello", 5000)
writer.close()
"""


def test_every_row_that_tensorboard_gets_is_captured(tmp_path):
    done = capture_script(TENSORBOARDX, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    run = the_run()
    assert series(run, "loss") == [(10 * step, step / 2) for step in range(500)]
    assert [value for _, value in series(run, "charts/SPS")] == [*range(500)]
    assert "note: hello" in run.events_path.read_text()
    assert read_status(run).state == "finished"
    assert list((tmp_path / "logs").glob("*tfevents*"))


def test_children_of_the_command_are_captured_too(tmp_path):
    code = """
import multiprocessing
def work(name):
    from tensorboardX import SummaryWriter
    writer = SummaryWriter(f"logs/{name}")
    for step in range(100):
        writer.add_scalar(name, step, step)
    writer.close()
if __name__ == "__main__":
    for method in ("fork", "spawn"):
        process = multiprocessing.get_context(method).Process(target=work, args=(method,))
        process.start()
        process.join()
"""
    (tmp_path / "train.py").write_text(code)
    done = capture("sh", "-c", f"exec {sys.executable} train.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    metrics = {name for row in kept_rows(the_run()) for name in row.metrics}
    assert {name.rpartition("/")[2] for name in metrics} == {"fork", "spawn"}
    assert len(kept_rows(the_run())) == 200


def test_the_sitecustomize_of_the_environment_runs_as_well(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text("print('customized')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = capture_script(
        "import sys; print(sys.modules['sitecustomize'].__file__)" + TENSORBOARDX, tmp_path
    )
    assert done.stdout.splitlines()[-2:] == ["customized", str(tmp_path / "sitecustomize.py")]
    assert len(series(the_run(), "loss")) == 500


def test_the_exception_that_ends_a_script_is_the_message_of_its_run(tmp_path):
    code = "raise RuntimeError('boom, with\\nlines and password=abcdefgh')\n"
    done = capture_script(code, tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("RuntimeError: boom, with") == 1
    status = read_status(the_run())
    assert (status.state, status.message) == (
        "failed", "RuntimeError: boom, with lines and password=***",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("number", "state"),
    [(signal.SIGKILL, "failed"), (signal.SIGTERM, "stopped"), (signal.SIGINT, "stopped")],
)
def test_a_command_that_a_signal_kills(number, state):
    done = capture("sh", "-c", f"kill -{int(number)} $$")
    assert done.returncode == 128 + number
    status = read_status(the_run())
    assert (status.state, status.message) == (state, f"by {number.name}")


def test_operant_stop_stops_the_command(tmp_path):
    code = "import signal, time\nopen('started', 'w').close()\ntime.sleep(600)\n"
    (tmp_path / "train.py").write_text(code)
    process = subprocess.Popen(
        [sys.executable, "-m", "operant", "capture", sys.executable, "train.py"], cwd=tmp_path
    )
    wait_for((tmp_path / "started").exists)
    wait_for(list_runs)
    assert read_status(the_run()).state == "running"
    done = operant("stop", the_run().id)
    assert "stopped" in done.stdout
    assert process.wait() == 128 + signal.SIGTERM


def test_what_cannot_be_started_is_said_in_one_line(tmp_path):
    assert "there is no command 'nosuch'" in error_line("capture", "--", "nosuch")
    assert "Missing argument" in error_line("capture")
    assert "--name" in error_line("capture", "--name", "", "--", sys.executable, "-c", "")
    assert list_runs() == []
    (tmp_path / "script").write_bytes(b"\x7fELF junk")
    (tmp_path / "script").chmod(0o755)
    done = operant("capture", "--", str(tmp_path / "script"))
    assert done.returncode == 2
    assert "Exec format error" in done.stderr.splitlines()[-1]
    assert read_status(the_run()).state == "failed"


def listen_at(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    listener.settimeout(0.1)
    return listener


def test_nothing_is_sent_to_who_listens_where_a_capture_did(tmp_path):
    first = listen_at(tmp_path / "a")
    sender = Sender(str(tmp_path / "a"))
    sender.send(log={})
    connection, _ = first.accept()
    assert connection.recv(100) == b'{"log": {}}\n'
    connection.close()
    first.close()
    sender.send(log={})
    (tmp_path / "a").unlink()
    with listen_at(tmp_path / "a") as second:
        sender.send(log={}, step=1)
        with pytest.raises(TimeoutError):
            second.accept()


def test_nothing_is_sent_to_another_user(tmp_path, monkeypatch):
    with listen_at(tmp_path / "a") as listener:
        monkeypatch.setattr("os.geteuid", lambda: 12345)
        Sender(str(tmp_path / "a")).send(log={"secret": 1})
        assert listener.accept()[0].recv(100) == b""


def test_the_socket_is_in_the_folder_of_the_run_and_gone_with_the_capture(tmp_path):
    done = capture_script("import os; print(os.environ['OPERANT_CAPTURE'])", tmp_path)
    folder = the_run().folder
    address = Path(done.stdout.splitlines()[-1])
    assert address.parent == folder or len(str(folder)) > 85
    assert not address.exists()


def test_a_folder_with_a_long_path_takes_no_socket_and_captures_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("OPERANT_HOME", str(tmp_path / ("long" * 25)))
    done = capture_script(TENSORBOARDX, tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(series(the_run(), "loss")) == 500


def test_a_message_that_is_none_ends_nothing(tmp_path):
    code = """
import os, socket
connection = socket.socket(socket.AF_UNIX)
connection.connect(os.environ["OPERANT_CAPTURE"])
connection.sendall(b'junk\\n[]\\n{"log": {"a": 1}, "step": 1, "commit": true}\\n{"log"')
"""
    done = capture_script(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert series(the_run(), "a") == [(1, 1)]
    assert "a message of the command is not captured" in done.stderr


STABLE_BASELINES3 = """
from stable_baselines3 import PPO
from stable_baselines3.common.logger import configure
model = PPO("MlpPolicy", "CartPole-v1", n_steps=64, device="cpu", seed=1)
model.set_logger(configure("logs", ["csv", "tensorboard"]))
model.learn(256)
"""


def test_stable_baselines3_is_captured_once_although_it_writes_two_formats(tmp_path):
    done = capture_script(STABLE_BASELINES3, tmp_path)
    assert done.returncode == 0, done.stderr
    run = the_run()
    losses = series(run, "train/loss")
    assert [step for step, _ in losses] == [128, 192, 256]
    lines = (tmp_path / "logs" / "progress.csv").read_text().splitlines()
    place = lines[0].split(",").index("train/loss")
    written = [float(cell) for line in lines[1:] if (cell := line.split(",")[place])]
    assert [value for _, value in losses] == pytest.approx(written)


def test_lightnings_csv_logger_is_captured(tmp_path):
    code = """
import torch
from lightning.pytorch.loggers import CSVLogger
logger = CSVLogger("logs")
logger.log_hyperparams({"lr": 0.1, "folder": __import__("pathlib").Path("x")})
for step in range(5):
    logger.log_metrics({"loss": torch.tensor(1 / (step + 1), requires_grad=True)}, step)
logger.save()
"""
    done = capture_script(code, tmp_path)
    assert done.returncode == 0, done.stderr
    run = the_run()
    assert series(run, "loss") == [(step, pytest.approx(1 / (step + 1))) for step in range(5)]
    assert run.manifest()["config"] == {"lr": 0.1, "folder": "x"}


WANDB = """
import numpy as np
import wandb
run = wandb.init(project="p", name="n", group="g", tags=["t"], config={"lr": 0.1})
run.config.update({"more": 2})
run.define_metric("val/*", step_metric="epoch")
for step in range(50):
    run.log({"loss": 1 / (step + 1)}, step=step)
run.log({"val/loss": 0.5, "epoch": 3}, commit=False)
run.log({"picture": wandb.Image(np.zeros((4, 4, 3), dtype=np.uint8))})
run.summary["best"] = 7
run.finish()
"""


def test_wandb_is_captured(tmp_path):
    done = capture_script(WANDB, tmp_path, env={**os.environ, "WANDB_MODE": "offline"})
    assert done.returncode == 0, done.stderr
    assert "operant: warning" not in done.stderr
    run = the_run()
    assert series(run, "loss") == [(step, 1 / (step + 1)) for step in range(50)]
    assert [value for _, value in series(run, "val/loss")] == [0.5]
    manifest = run.manifest()
    assert manifest["config"] == {"lr": 0.1, "more": 2}
    assert [manifest[key] for key in ("project", "group", "tags")] == ["p", "g", ["t"]]
    assert manifest["summary"]["best"] == 7
    assert len(list((run.folder / "media" / "images").iterdir())) == 1


def test_a_capturing_process_that_hangs_costs_a_second_at_most(tmp_path):
    code = """
import os, signal, time
from tensorboardX import SummaryWriter
writer = SummaryWriter("logs")
os.kill(os.getppid(), signal.SIGSTOP)
began_s = time.monotonic()
for step in range(20_000):
    writer.add_scalar("loss", step, step)
writer.close()
open("done", "w").close()
"""
    (tmp_path / "train.py").write_text(code)
    command = [sys.executable, "-m", "operant", "capture", sys.executable, "train.py"]
    process = subprocess.Popen(command, cwd=tmp_path)
    wait_for((tmp_path / "done").exists)
    os.kill(process.pid, signal.SIGCONT)
    assert process.wait() == 0
    assert len(series(the_run(), "loss")) < 20_000
