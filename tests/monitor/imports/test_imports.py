"""`operant import`: every row that other programs logged becomes a row of an ordinary run."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from command_line import error_line, operant, operant_json
from kept_rows import kept_rows, series
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c
from tensorboardX import SummaryWriter

from operant.monitor.imports import imported_run, wandb_folder
from operant.monitor.imports.sources import import_all
from operant.monitor.imports.wandb_folder import _BLOCK_BYTES, _FILE_HEAD, _LAST, _PIECE, _WHOLE
from operant.shared.runs.find_runs import list_runs
from operant.shared.runs.run_folder import Run, create_run
from operant.shared.runs.status import read_status

pytestmark = pytest.mark.slow

BEGAN_S = 1_700_000_000.0  # 2023-11-14 22:13:20 UTC


@pytest.fixture(autouse=True)
def _wandb_is_the_library(monkeypatch):
    """Other tests may have left the repository among the places of imports, whose own module hides
    the library.
    """
    places = [place for place in sys.path if not Path(place, "zoo").is_dir()]
    monkeypatch.setattr(sys, "path", places)


def the_run() -> Run:
    (run,) = list_runs()
    return run


def write_events(folder: Path, num_steps: int, began_s: float = BEGAN_S) -> Path:
    """Two scalars for each step, a second apart; returns their file."""
    writer = SummaryWriter(str(folder))
    for step in range(num_steps):
        for name in ("loss/train", "episode/return"):
            writer.add_scalar(name, step / 2, 10 * step, walltime=began_s + step)
    writer.close()
    (file,) = folder.glob("*tfevents*")
    return file


def test_every_row_of_event_files_is_there_with_its_step_and_time(tmp_path):
    # More rows than the page has room for in one level of its history.
    num_steps = 3000
    write_events(tmp_path / "runs" / "a", num_steps)
    done = operant("import", str(tmp_path / "runs"))
    run = the_run()
    assert done.stdout == f"{run.id}: 3000 rows from {tmp_path}/runs/a\n", done.stderr
    assert done.stderr == ""
    rows = kept_rows(run)
    assert len(rows) == num_steps
    assert [row.env_steps for row in rows] == [10 * step for step in range(num_steps)]
    assert [row.metrics for row in rows[:2]] == [
        {"loss/train": 0.0, "episode/return": 0.0},
        {"loss/train": 0.5, "episode/return": 0.5},
    ]
    assert [row.wall_s - BEGAN_S for row in rows] == pytest.approx([*range(num_steps)], abs=1e-3)
    assert run.id.startswith("20231114-221320-a-")
    status = read_status(run)
    assert (status.state, status.message) == ("ended", f"imported from {tmp_path}/runs/a")
    assert status.env_steps_per_s == pytest.approx(10, rel=0.01)
    assert not run.recording_path.exists()


def test_all_that_a_writer_writes_is_imported(tmp_path):
    writer = SummaryWriter(str(tmp_path / "a"))
    writer.add_scalar("loss", 0.5, 1)
    writer.add_scalars("acc/all", {"train": 0.75, "test": 0.25}, 2)
    writer.add_histogram("weights", np.arange(1001.0), 3)
    writer.add_image("picture", np.zeros((3, 8, 8), dtype=np.uint8), 4)
    writer.add_text("note", "hello", 5)
    writer.add_hparams({"lr": 0.125, "net": "mlp"}, {"score": 2.0}, global_step=6)
    writer.close()
    done = operant("import", str(tmp_path / "a"))
    assert done.returncode == 0, done.stderr
    run = the_run()
    metrics = read_status(run).metrics
    assert (metrics["acc/all/train"], metrics["acc/all/test"]) == (0.75, 0.25)
    assert metrics["weights/p50"] == pytest.approx(500, rel=0.1)
    assert metrics["score"] == 2.0
    assert run.manifest()["config"] == {"lr": 0.125, "net": "mlp"}
    assert "note: hello" in run.events_path.read_text()
    (picture,) = (run.folder / "media" / "images").iterdir()
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_results_of_hyperparameters_without_a_step_are_at_the_end(tmp_path):
    writer = SummaryWriter(str(tmp_path / "a"))
    writer.add_scalar("loss", 0.5, 300)
    writer.add_hparams({"lr": 0.125}, {"score": 2.0})
    writer.close()
    assert operant("import", str(tmp_path / "a")).returncode == 0
    status = read_status(the_run())
    assert (status.env_steps, status.metrics["score"]) == (300, 2.0)


def test_folders_below_are_runs_of_their_own_unless_a_run_has_them(tmp_path):
    for folder in ("a", "a/eval", "b"):
        write_events(tmp_path / folder, 2)
    assert operant("import", str(tmp_path)).returncode == 0
    names = {run.manifest()["name"]: read_status(run).metrics.keys() for run in list_runs()}
    own = {"loss/train", "episode/return"}
    assert names == {"a": own | {f"eval/{name}" for name in own}, "b": own}


def write_scalars(folder: Path, steps: dict[str, range], began_s: float, **options) -> None:
    """Scalars for each step, a second apart, in one more file of `folder`."""
    writer = SummaryWriter(str(folder), filename_suffix=f".{began_s}", **options)
    for name, numbers in steps.items():
        for number, step in enumerate(numbers):
            writer.add_scalar(name, step + began_s % 100, step, walltime=began_s + number)
    writer.close()


def test_a_restart_drops_what_tensorboard_drops(tmp_path):
    folder = tmp_path / "a"
    write_scalars(folder, {"x": range(10), "y": range(10)}, BEGAN_S)
    write_scalars(folder, {"x": range(5, 8)}, BEGAN_S + 20, purge_step=5)
    done = operant("import", str(folder))
    left_out = "10 values are left out: a later file begins at their step or before it"
    assert done.stderr == f"operant: warning: {left_out}\n"
    shown = EventAccumulator(str(folder)).Reload()
    for name in ("x", "y"):
        expected = [(event.step, event.value) for event in shown.Scalars(name)]
        assert series(the_run(), name) == expected
    assert [step for step, _ in series(the_run(), "y")] == [0, 1, 2, 3, 4]


def test_steps_that_go_back_in_a_later_file_replace_those_of_their_tags(tmp_path):
    folder = tmp_path / "a"
    write_scalars(folder, {"x": range(10), "y": range(10)}, BEGAN_S)
    write_scalars(folder, {"x": range(6, 9)}, BEGAN_S + 20)
    write_scalars(folder, {"x": range(8, 12)}, BEGAN_S + 40)
    assert operant("import", str(folder)).returncode == 0
    run = the_run()
    expected = [*range(6), 6 + 20, 7 + 20, *(step + 40 for step in range(8, 12))]
    assert series(run, "x") == list(enumerate(expected))
    assert series(run, "y") == [(step, step) for step in range(10)]


def test_writers_that_share_a_folder_at_one_time_lose_nothing(tmp_path):
    write_scalars(tmp_path / "a", {"x": range(10)}, BEGAN_S)
    write_scalars(tmp_path / "a", {"x": range(10)}, BEGAN_S + 5)
    done = operant("import", str(tmp_path / "a"))
    assert (done.stderr, len(kept_rows(the_run()))) == ("", 20)


def test_an_import_is_not_repeated(tmp_path):
    write_events(tmp_path / "a", 2)
    operant("import", str(tmp_path / "a"))
    again = operant("import", str(tmp_path / "a"))
    run = the_run()
    assert again.stdout == f"{tmp_path}/a is imported already, as {run.id}\n"
    assert again.returncode == 0
    writer = SummaryWriter(str(tmp_path / "a"), filename_suffix="2")
    writer.add_scalar("loss/train", 1.0, 100)
    writer.close()
    grown = operant("import", str(tmp_path / "a"))
    assert f"which lacks a part of it: `operant rm {run.id}`" in grown.stdout
    assert the_run() == run


KILLED_IMPORT = """
import os, signal, sys
from pathlib import Path
from operant.monitor.imports import imported_run, sources
imported_run.RECORD_EVERY_ROWS = 10
imported_run.PageRecorder.look = lambda self: {}
list(sources.import_all(Path(sys.argv[1])))
"""


def interrupted_import(folder: Path, then: str) -> subprocess.Popen[bytes]:
    """An import of `folder` in a process that, once it has read a part, does what `then` says."""
    code = KILLED_IMPORT.format(then)
    return subprocess.Popen(
        [sys.executable, "-c", code, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def test_an_import_that_was_killed_is_replaced_by_the_next(tmp_path, operant_pages):
    write_events(tmp_path / "a", 100)
    interrupted_import(tmp_path / "a", "os.kill(os.getpid(), signal.SIGKILL)").wait()
    killed = the_run()
    assert read_status(killed).state == "crashed"
    done = operant("import", str(tmp_path / "a"))
    assert done.stdout == f"{the_run().id}: 100 rows from {tmp_path}/a\n", done.stderr
    assert the_run() != killed
    assert list(operant_pages.rglob("*.page")) == []
    assert "is imported already" in operant("import", str(tmp_path / "a")).stdout


def test_an_import_that_is_under_way_is_not_begun_a_second_time(tmp_path):
    write_events(tmp_path / "a", 100)
    first = interrupted_import(tmp_path / "a", "print(flush=True) or input()")
    assert first.stdout
    first.stdout.readline()
    assert f"{the_run().id} is running" in error_line("import", str(tmp_path / "a"))
    assert len(list_runs()) == 1
    first.kill()
    first.communicate()


def test_folders_that_are_nested_too_deeply_end_no_import_of_others(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "progress.csv").write_text("step,x\n1,2\n")
    fd = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=fd)
        inner = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
    os.close(fd)
    done = operant("import", str(tmp_path))
    (tmp_path / "d" / "events.out.tfevents.1").touch()  # all folders below are searched for more
    of_events = error_line("import", str(tmp_path / "d"))
    subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(kept_rows(the_run())) == 1
    assert "folders are nested too deeply" in of_events


def test_files_of_a_run_are_not_imported_with_or_without_their_folder(tmp_path):
    folder, inner = tmp_path / "a", tmp_path / "a" / "eval"
    file = write_events(folder, 2)
    operant("import", str(file))
    run = the_run()
    assert operant("import", str(folder)).stdout == f"{folder} is imported already, as {run.id}\n"
    write_events(inner, 2)
    more = operant("import", str(tmp_path)).stdout
    assert more.startswith(f"{folder} is imported already, as {run.id}, which lacks a part of it:")
    operant("rm", "-y", run.id)
    operant("import", str(folder))
    run = the_run()
    for path in (file, inner):
        assert operant("import", str(path)).stdout == f"{path} is imported already, as {run.id}\n"
    # A table beside event files is a run of its own.
    (folder / "progress.csv").write_text("step,loss\n1,2\n")
    assert "1 row from" in operant("import", str(folder / "progress.csv")).stdout


def cut_off(data: bytes) -> bytes:
    return data[: len(data) // 2 + 3]


def changed_in_the_middle(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :]


@pytest.mark.parametrize(
    ("damage", "what"), [(cut_off, "it is cut off"), (changed_in_the_middle, "it is damaged")]
)
def test_an_event_file_is_imported_up_to_its_damage(damage, what, tmp_path):
    file = write_events(tmp_path / "a", 100)
    file.write_bytes(damage(file.read_bytes()))
    done = operant("import", str(tmp_path / "a"))
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert f"{file}: stopped after " in done.stderr
    assert what in done.stderr
    values = [value for _, value in series(the_run(), "loss/train")]
    assert 40 < len(values) < 60
    assert values == [step / 2 for step in range(len(values))]


def test_an_event_that_is_too_large_is_left_out_and_those_behind_it_are_not(tmp_path):
    file = write_events(tmp_path / "a", 100)
    size = (64 << 30).to_bytes(8, "little")  # of a file with a hole: it takes no room on the disk
    head = size + masked_crc32c(size).to_bytes(4, "little")
    data = file.read_bytes()
    with file.open("wb") as sparse:
        sparse.write(head)
        sparse.seek((64 << 30) + 4, os.SEEK_CUR)
        sparse.write(data)
    done = operant("import", str(tmp_path / "a"))
    assert done.stdout == f"{the_run().id}: 100 rows from {tmp_path}/a\n"
    assert done.stderr.count("\n") == 1
    assert f"{file}: events of more than 17 MiB are left out" in done.stderr


@pytest.mark.parametrize(
    "text", ["", "step,x\n1,2\n", '"', "#"], ids=["names", "rows", "an open quote", "a comment"]
)
def test_a_row_without_an_end_is_one_line(tmp_path, text):
    path = tmp_path / "log.csv"
    path.write_text(text)
    with path.open("ab") as sparse:
        sparse.truncate(64 << 30)
    done = operant("import", str(path))
    assert done.stderr.count("\n") == 1
    assert "a row has more than 1048576 characters" in done.stderr
    assert done.returncode == (0 if "x" in text else 2)


def test_a_row_that_goes_on_in_ever_new_lines_is_one_line(tmp_path):
    (tmp_path / "log.csv").write_text("step,x\n1,2\n" + '"a\n",' * 300_000)
    done = operant("import", str(tmp_path / "log.csv"))
    assert "stopped after 1 lines: a row has more than 1048576 characters" in done.stderr
    assert series(the_run(), "x") == [(1, 2.0)]


def log_of_wandb(*records: bytes) -> bytes:
    """W&B log bytes: records split at blocks."""
    log = bytearray(_FILE_HEAD)
    for record in records:
        at = 0
        while at < len(record) or not at:
            room = _BLOCK_BYTES - len(log) % _BLOCK_BYTES
            if room <= _PIECE.size:
                log += bytes(room)
                continue
            data = record[at : at + room - _PIECE.size]
            is_last = at + len(data) == len(record)
            kind = (_WHOLE if at == 0 else _LAST) if is_last else (2 if at == 0 else 3)
            log += _PIECE.pack(zlib.crc32(data, zlib.crc32(bytes([kind]))), len(data), kind) + data
            at += len(data) or 1
    return bytes(log)


def test_a_record_of_wandb_that_is_too_large_is_left_out(tmp_path, monkeypatch):
    records = [b"a" * 100_000, b"b" * 99_999, b"c"]
    log = io.BytesIO(log_of_wandb(*records))
    assert [*wandb_folder._log_records(log)] == records
    monkeypatch.setattr(wandb_folder, "MAX_RECORD_BYTES", 99_999)
    log.seek(0)
    assert [*wandb_folder._log_records(log)] == [None, *records[1:]]


def test_what_is_no_run_is_refused_in_one_line(tmp_path):
    (empty := tmp_path / "empty").mkdir()
    assert "nothing that can be imported" in error_line("import", str(empty))
    assert "no such file or folder" in error_line("import", str(tmp_path / "missing"))
    (tmp_path / "notes.txt").write_text("hello")
    assert "nothing that can be imported" in error_line("import", str(tmp_path / "notes.txt"))
    (tmp_path / "events.out.tfevents.1").write_bytes(b"junk" * 100)
    assert "it has no event that can be read" in error_line("import", str(tmp_path))
    (tmp_path / "events.out.tfevents.1").write_bytes(b"")
    assert "it is empty" in error_line("import", str(tmp_path))
    (tmp_path / "picture.csv").write_bytes(bytes(range(256)) * 100)
    assert "no rows" in error_line("import", str(tmp_path / "picture.csv"))
    (tmp_path / "run-1.wandb").write_bytes(b"junk" * 100)
    assert "it is no log of wandb's" in error_line("import", str(tmp_path / "run-1.wandb"))
    assert list_runs() == []
    run, lock = create_run("own", {})
    lock.release()
    assert "is a run of operant's already" in error_line("import", str(run.folder))


def test_an_import_that_is_interrupted_leaves_nothing(tmp_path, monkeypatch, operant_pages):
    write_events(tmp_path / "a", 100)
    monkeypatch.setattr(imported_run, "RECORD_EVERY_ROWS", 10)

    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(imported_run.PageRecorder, "look", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(import_all(tmp_path / "a"))
    assert list_runs() == []
    assert list(operant_pages.rglob("*.page")) == []


def test_progress_csv_of_stable_baselines3(tmp_path):
    path = tmp_path / "ppo" / "progress.csv"
    path.parent.mkdir()
    path.write_text(
        "time/total_timesteps,rollout/ep_rew_mean,time/time_elapsed,train/loss\n"
        "2048,10.5,2,\n4096,21.0,4,0.5\n6144,31"  # the last line is being written
    )
    os.utime(path, (BEGAN_S + 4, BEGAN_S + 4))
    done = operant("import", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    run = the_run()
    rows = kept_rows(run)
    assert [(row.env_steps, row.metrics) for row in rows] == [
        (2048, {"rollout/ep_rew_mean": 10.5}),
        (4096, {"rollout/ep_rew_mean": 21.0, "train/loss": 0.5}),
        (6144, {"rollout/ep_rew_mean": 31.0}),
    ]
    assert [row.wall_s - BEGAN_S for row in rows[:2]] == [2, 4]
    assert run.manifest()["name"] == "ppo"


def test_rows_without_times_have_no_speed(tmp_path):
    path = tmp_path / "toy" / "metrics.csv"
    path.parent.mkdir()
    path.write_text("step,loss\n" + "".join(f"{100 * i},{i}\n" for i in range(40)))
    assert operant("import", str(path)).returncode == 0
    assert operant_json("runs")[0]["env_steps_per_s"] is None


def test_metrics_csv_of_lightning(tmp_path):
    from lightning.pytorch.loggers import CSVLogger

    logger = CSVLogger(str(tmp_path))
    logger.log_hyperparams({"lr": 0.1})
    for step in range(5):
        logger.log_metrics({"loss": 1 / (step + 1)}, step)
    logger.log_metrics({"val/loss": 0.25}, 4)
    logger.save()
    done = operant("import", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    run = the_run()
    assert run.manifest()["name"] == "lightning_logs-version_0"
    assert run.manifest()["config"] == {"lr": 0.1}
    assert series(run, "loss") == [(step, 1 / (step + 1)) for step in range(5)]
    assert series(run, "val/loss") == [(4, 0.25)]


WANDB_SCRIPT = """
import numpy as np
import wandb
run = wandb.init(
    project="p", name="n", group="g", tags=["t"], config={"lr": 0.1, "deep": {"a": 1}}
)
wandb.define_metric("val/*", step_metric="epoch")
for step in range(200):
    run.log({"loss": 1 / (step + 1), "inner": {"x": step}})
run.log({"val/loss": 0.5, "epoch": 3, "nan": float("nan")})
run.log({"picture": wandb.Image(np.zeros((4, 4, 3), dtype=np.uint8))})
run.log({"weights": wandb.Histogram(np.arange(1000.0))})
run.summary["best"] = 7
run.alert("title", "text")
run.finish(exit_code=3)
"""


def test_a_folder_of_wandb(tmp_path):
    subprocess.run(
        [sys.executable, "-c", WANDB_SCRIPT],
        cwd=tmp_path,
        env={**os.environ, "WANDB_MODE": "offline", "WANDB_SILENT": "true"},
        check=True,
    )
    done = operant("import", str(tmp_path / "wandb"))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("\n") <= 1  # a metric is NaN
    run = the_run()
    manifest = run.manifest()
    assert manifest["config"] == {"lr": 0.1, "deep": {"a": 1}}
    assert [manifest[key] for key in ("project", "group", "tags")] == ["p", "g", ["t"]]
    assert manifest["summary"]["best"] == 7
    losses = [value for _, value in series(run, "loss")]
    assert losses == [1 / (step + 1) for step in range(200)]
    assert len(kept_rows(run)) == 203
    status = read_status(run)
    assert (status.state, status.message) == ("failed", "exit code 3")
    assert status.metrics["weights/p50"] == pytest.approx(500, rel=0.1)
    assert "title: text" in run.events_path.read_text()
    assert len(list((run.folder / "media" / "images").iterdir())) == 1
    (log,) = (tmp_path / "wandb").glob("offline-run-*/run-*.wandb")
    shutil.copy(log, tmp_path / "run-cut.wandb")
    os.truncate(tmp_path / "run-cut.wandb", log.stat().st_size - 1)  # within the last record
    cut = operant("import", str(tmp_path / "run-cut.wandb"))
    assert cut.returncode == 0
    assert "203 rows" in cut.stdout
    assert "it is cut off" in cut.stderr


def test_one_path_without_logs_does_not_end_the_import_of_others(tmp_path):
    (tmp_path / "empty").mkdir()
    write_events(tmp_path / "full", 3)
    done = operant("import", str(tmp_path / "empty"), str(tmp_path / "full"))
    assert done.returncode == 2
    assert "nothing that can be imported" in done.stderr
    assert "3 rows" in done.stdout


def test_a_pipe_is_not_waited_for(tmp_path):
    for name in ("progress.csv", "run-x.wandb"):
        os.mkfifo(tmp_path / name)
    assert "nothing that can be imported" in error_line("import", str(tmp_path))


@pytest.mark.parametrize("text", [
    "step,_runtime,x\n1,1e308,2\n", "#" + "[" * 60_000, "#{}\nstep,x\n7,2\n",
    "\ufeffstep,x\n7,2\n",
])  # fmt: skip
def test_odd_tables_end_in_no_traceback(tmp_path, text):
    path = tmp_path / "log.csv"
    path.write_text(text)
    done = operant("import", str(path))
    assert "Traceback" not in done.stderr
    if "step,x" in text:
        assert series(the_run(), "x") == [(7, 2.0)]


def test_tables_of_one_folder_have_their_own_names(tmp_path):
    for name in ("first", "second"):
        (tmp_path / f"{name}.csv").write_text("step,loss\n1,0.5\n2,0.25\n")
    done = operant("import", *(str(tmp_path / f"{name}.csv") for name in ("first", "second")))
    assert done.returncode == 0, done.stderr
    assert {run.manifest()["name"] for run in list_runs()} == {"first", "second"}
