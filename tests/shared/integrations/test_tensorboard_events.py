"""`init(sync_tensorboard=True)`: what TensorBoard's own writers write is recorded."""

from __future__ import annotations

import pytest

from operant.shared.runs.status import read_status

WRITES = {
    "torch": "from torch.utils.tensorboard import SummaryWriter",
    "tensorboardX": "from tensorboardX import SummaryWriter",
}


@pytest.mark.parametrize("library", WRITES)
@pytest.mark.parametrize("is_imported_first", [True, False])
def test_all_that_a_writer_writes_is_recorded(
    library, is_imported_first, run_script, seen, tmp_path
):
    begin = "from operant import wandb; run = wandb.init(sync_tensorboard=True)"
    first, second = (begin, WRITES[library])[:: -1 if is_imported_first else 1]
    done = run_script(f"""
import numpy as np
{first}
{second}
writer = SummaryWriter({str(tmp_path / "logs")!r})
writer.add_scalar("loss", 0.5, 10)
writer.add_scalars("acc/all", {{"train": 0.75, "test": 0.25}}, 11)
writer.add_histogram("weights", np.arange(1001.0), 12)
writer.add_image("picture", np.zeros((3, 8, 8), dtype=np.uint8), 13)
writer.add_text("note", "hello", 14)
writer.add_text("table", "|key|value|\\n|-|-|\\n|num_envs|4|", 14)
writer.add_hparams({{"lr": 0.125, "net": "mlp", "flag": True}}, {{"score": 2.0}}, global_step=15)
writer.close()
""")
    assert done.returncode == 0, done.stderr
    metrics = seen.status.metrics
    assert metrics["loss"] == 0.5
    assert (metrics["acc/all/train"], metrics["acc/all/test"]) == (0.75, 0.25)
    # Buckets of TensorBoard are a tenth wide.
    assert metrics["weights/p50"] == pytest.approx(500, rel=0.1)
    assert metrics["score"] == 2.0
    assert seen.run.manifest()["config"] == {"lr": 0.125, "net": "mlp", "flag": True}
    assert "note: hello" in [event.text for event in seen.events]
    (text,) = (seen.run.folder / "media" / "texts").iterdir()
    assert "|num_envs|4|" in text.read_text()
    (picture,) = (seen.run.folder / "media" / "images").iterdir()
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_without_the_keyword_and_after_the_run_nothing_is_recorded(run_script, seen, tmp_path):
    done = run_script(f"""
from operant import wandb
from torch.utils.tensorboard import SummaryWriter
writer = SummaryWriter({str(tmp_path / "logs")!r})
wandb.init(name="followed", sync_tensorboard=True)
writer.add_scalar("loss", 1.0, 1)
wandb.finish()
writer.add_scalar("loss", 2.0, 2)
run = wandb.init(name="other")
writer.add_scalar("loss", 3.0, 3)
run.log({{"own": 1.0}})
""")
    assert done.returncode == 0, done.stderr
    from operant.shared.runs.find_runs import list_runs

    metrics = {run.manifest()["name"]: read_status(run).metrics for run in list_runs()}
    assert metrics == {"followed": {"loss": 1.0}, "other": {"own": 1.0}}


def test_subfolders_of_a_writer_keep_their_names_apart(run_script, seen, tmp_path):
    done = run_script(f"""
from operant import wandb
from torch.utils.tensorboard import SummaryWriter
wandb.init(sync_tensorboard=True)
for folder in ("logs", "logs/eval/deep"):
    SummaryWriter({str(tmp_path)!r} + "/" + folder).add_scalar("loss", len(folder), 1)
""")
    assert done.returncode == 0, done.stderr
    assert seen.status.metrics == {"loss": 4, "eval/deep/loss": 14}
