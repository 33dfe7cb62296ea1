"""TensorBoard's methods, on a page."""

from __future__ import annotations

import pytest

import operant
from operant.integrations import SummaryWriter
from operant.shared.runs.find_runs import list_runs


def test_scalars_of_one_step_are_one_row(seen, tmp_path):
    writer = SummaryWriter(tmp_path / "runs" / "exp-1")
    assert (tmp_path / "runs" / "exp-1").is_dir()  # scripts put files there
    for step in range(1, 4):
        writer.add_scalar("loss", 1 / step, step)
        writer.add_scalars("acc", {"train": step, "test": -step}, global_step=step)
    writer.close()
    assert list(seen.history.env_steps) == [1, 2, 3]
    assert seen.series("acc/test") == [-1, -2, -3]
    assert seen.status.state == "finished"
    assert seen.run.manifest()["name"] == "exp-1"


def test_flush_shows_what_waits_for_its_step(seen):
    writer = SummaryWriter()
    writer.add_scalar("loss", 0.5, 7, walltime=1e9, new_style=True)
    writer.flush()
    assert (seen.status.metrics, seen.status.env_steps) == ({"loss": 0.5}, 7)
    writer.close()


def test_texts_are_events_and_hyperparameters_are_configuration(seen):
    with SummaryWriter(comment="-lr") as writer:
        writer.add_text("note", "hello", 1)
        writer.add_hparams({"lr": 0.1, "net": "mlp"}, {"hparam/loss": 2.0})
    assert [event.text for event in seen.events] == ["note: hello"]
    assert seen.run.manifest()["config"] == {"lr": 0.1, "net": "mlp"}
    assert seen.status.metrics == {"hparam/loss": 2.0}
    assert seen.run.manifest()["name"].endswith("-lr")


def test_a_step_to_purge_from_is_said_to_have_no_effect(seen, capsys):
    for purge_step in (None, 0, 5, 6):
        operant.init(reinit=False)
        SummaryWriter(purge_step=purge_step)
    assert capsys.readouterr().err.count("purge_step") == 1
    assert [e.text for e in seen.events] == ["purge_step = 5 has no effect: the run is new"]


def test_it_logs_into_the_run_that_init_began_and_leaves_it_open(seen):
    run = operant.init(name="mine")
    writer = SummaryWriter("elsewhere/log")
    writer.add_scalar("loss", 1.0, 5)
    writer.close()
    assert seen.status.metrics == {"loss": 1.0}
    assert run.is_open


def test_two_writers_are_two_runs(tmp_path):
    writers = [SummaryWriter(tmp_path / name) for name in ("train", "test")]
    for writer in writers:
        writer.add_scalar("loss", 1.0, 1)
        writer.close()
    assert len(list_runs()) == 2


def test_an_error_in_the_block_is_a_failed_run(seen):
    with pytest.raises(ValueError, match="boom"), SummaryWriter():
        raise ValueError("boom")
    assert (seen.status.state, seen.status.message) == ("failed", "ValueError: boom")


def test_all_methods_of_the_real_writer_are_there():
    real = pytest.importorskip("torch.utils.tensorboard").SummaryWriter
    methods = {name for name in dir(real) if name.startswith("add_")} | {"flush", "close"}
    with SummaryWriter() as writer:
        assert {name for name in methods if not hasattr(writer, name)} == set()


def test_a_folder_that_the_writer_made_goes_if_nothing_is_put_there(seen, tmp_path, run_script):
    writer = SummaryWriter(tmp_path / "runs" / "exp-1")
    writer.add_scalar("loss", 1.0, 1)
    writer.close()
    assert list(tmp_path.glob("runs*")) == []

    (tmp_path / "mine").mkdir()
    SummaryWriter(tmp_path / "mine" / "a").close()
    assert list(tmp_path.glob("mine/*")) == []
    assert (tmp_path / "mine").is_dir()  # it was there before

    with SummaryWriter(tmp_path / "used") as writer:
        (tmp_path / "used" / "model.pt").touch()
    assert (tmp_path / "used" / "model.pt").exists()

    never_closed = (
        f"import operant; operant.integrations.SummaryWriter({str(tmp_path / 'left' / 'open')!r})"
    )
    assert run_script(never_closed).returncode == 0
    assert not (tmp_path / "left").exists()
