"""The notebooks of docs/notebooks run, and what a run looks like in one."""

from __future__ import annotations

import nbformat
import notebooks
import pytest
from own_lines import SMALL

import operant

BOOKS = sorted(notebooks.FOLDER.glob("*.ipynb"))


def kinds_of(cell):
    """The types of a cell's outputs but for printed text, which depends on what is compiled."""
    return [x.output_type for x in cell.get("outputs", ()) if x.output_type != "stream"]


@pytest.mark.release
@pytest.mark.timeout(300)
@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_was_saved_with_its_outputs(path, monkeypatch):
    monkeypatch.setenv("OPERANT_HOME", "")  # which running one changes
    now = notebooks.executed(path)
    saved = nbformat.read(path, as_version=4)
    for cell, before in zip(now.cells, saved.cells, strict=True):
        assert kinds_of(cell) == kinds_of(before), "make notebooks writes them anew"
    texts = [str(x) for cell in now.cells for x in cell.get("outputs", ())]
    assert any("<svg" in text for text in texts), "the run's curve"


def test_a_run_is_shown_with_its_curve_and_its_state(line):
    run = operant.train(line, total_env_steps=256, **SMALL)
    shown = run._repr_html_()
    assert shown.startswith(f"<b>{run.id}</b><svg ")
    assert "episode/return: " in shown
    assert ", 256 env steps</text>" in shown
    assert "finished" in shown


def test_a_run_without_returns_is_shown_without_a_curve():
    run = operant.init(name="no returns")
    operant.log({"loss/x": 1.0})
    run_id = run.id
    operant.finish()
    shown = next(each for each in operant.runs() if each.id == run_id)._repr_html_()
    assert "<svg" not in shown
    assert "ended" in shown or "finished" in shown
