"""A real Lightning training, as every command sees it."""

from __future__ import annotations

import os
import signal

import pytest

import operant

pytest.importorskip("lightning")

import torch
from lightning.pytorch import LightningModule, Trainer


class Line(LightningModule):
    def __init__(self, learning_rate: float = 0.1, fail_at: int = -1) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.layer = torch.nn.Linear(1, 1)

    def training_step(self, batch, batch_idx):
        if batch_idx == self.hparams.fail_at:
            raise ValueError("boom")
        loss = self.layer(batch[0]).square().mean()
        self.log("train/loss", loss)
        return loss

    def test_step(self, batch, batch_idx):
        self.log("test/loss", self.layer(batch[0]).square().mean())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.hparams.learning_rate)


def make_trainer(logger, **options):
    return Trainer(
        logger=logger,
        max_epochs=1,
        log_every_n_steps=1,
        accelerator="cpu",
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **options,
    )


@pytest.fixture
def data():
    values = torch.linspace(0, 1, 8).unsqueeze(1)
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(values), batch_size=2)


@pytest.mark.filterwarnings("ignore")
def test_a_training_and_its_test_are_one_run(seen, data):
    logger = operant.integrations.LightningLogger("line", config={"note": "mine"})
    trainer = make_trainer(logger)
    trainer.fit(Line(), data)
    trainer.test(Line(), data, verbose=False)
    logger.experiment.finish()
    status = seen.status
    assert (status.state, status.env_steps) == ("finished", 4)
    assert status.metrics["test/loss"] >= 0
    assert len(seen.series("train/loss")) == 4
    config = seen.run.manifest()["config"]
    assert config == {"note": "mine", "learning_rate": 0.1, "fail_at": -1}
    assert (logger.name, logger.version) == ("line", seen.run.id)


@pytest.mark.filterwarnings("ignore")
def test_a_trainer_that_fails_leaves_a_failed_run_that_says_why(seen, data):
    with pytest.raises(ValueError, match="boom"):
        make_trainer(operant.integrations.LightningLogger()).fit(Line(fail_at=2), data)
    assert (seen.status.state, seen.status.message) == ("failed", "ValueError: boom")
    assert seen.events[-1].text.rstrip().endswith("ValueError: boom")


@pytest.mark.filterwarnings("ignore")
def test_a_trainer_that_gets_sigterm_finishes_its_batch_and_is_stopped(seen, data):
    class Stopped(Line):
        def on_train_batch_end(self, outputs, batch, batch_idx):
            if batch_idx == 1:
                os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(SystemExit):
        make_trainer(operant.integrations.LightningLogger()).fit(Stopped(), data)
    assert (seen.status.state, seen.status.message) == ("stopped", "by SIGTERM")
    assert seen.status.env_steps == 1
