"""`define_metric`: a metric is drawn over another, whose value stands in each of its rows."""

from __future__ import annotations

import csv

import operant
from operant import wandb
from operant.monitor.export.writing import export
from operant.shared.runs.status import open_page


def step_metrics_of(run):
    reader = open_page(run)
    try:
        return {metric.name: metric.step_metric for metric in reader.schema()}
    finally:
        reader.detach()


def test_names_and_patterns_are_drawn_over_their_step_metric(seen):
    operant.init(project="p")
    wandb.define_metric("epoch")
    wandb.define_metric("val/*", step_metric="epoch")
    wandb.define_metric("val/*", step_metric="epoch", summary="min")
    wandb.define_metric("val/other", step_metric="round")
    operant.log({"loss": 1.0, "val/loss": 2.0, "val/other": 3.0, "epoch": 1})
    found = step_metrics_of(seen.run)
    assert found["loss"] == found["epoch"] == found["round"] == ""
    assert (found["val/loss"], found["val/other"]) == ("epoch", "round")


def test_what_is_logged_already_is_drawn_over_it_too(seen):
    operant.init(project="p")
    operant.log({"val/loss": 2.0})
    wandb.define_metric("val/loss", step_metric="epoch")
    assert step_metrics_of(seen.run) == {"val/loss": "epoch", "epoch": ""}


def test_each_row_of_a_metric_has_the_newest_value_of_its_step_metric(seen, tmp_path):
    operant.init(project="p")
    wandb.define_metric("val/*", step_metric="epoch")
    operant.log({"val/loss": 4.0})
    operant.log({"epoch": 7})
    operant.log({"val/loss": 3.0})
    operant.log({"loss": 1.0})
    export(seen.run, "csv", tmp_path / "a.csv")
    with (tmp_path / "a.csv").open() as file:
        rows = [(row["val/loss"], row["epoch"]) for row in csv.DictReader(file)]
    assert rows == [("4.0", ""), ("", "7.0"), ("3.0", "7.0"), ("", "")]
