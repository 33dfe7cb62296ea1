"""`from operant import wandb`: what is asked for, what is kept, and what is refused."""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from pathlib import Path

import pytest
from command_line import python

from operant import wandb
from operant.shared import UsageError
from operant.shared.runs.find_runs import list_runs


def test_what_is_given_to_init_is_in_the_manifest(seen):
    wandb.init(project="p", name="my run", tags=["a"], notes="n", config={"lr": 0.1, "no": None})
    manifest = seen.run.manifest()
    assert manifest["name"] == "my run"
    assert (manifest["project"], manifest["tags"], manifest["notes"]) == ("p", ["a"], "n")
    assert manifest["config"] == {"lr": 0.1}
    assert {"created", "command_line", "versions"} <= manifest.keys()
    assert "my-run" in seen.run.id
    assert wandb.run.project == "p"


def test_a_run_is_called_after_its_project_or_its_script(monkeypatch):
    assert wandb.init(project="proj").name == "proj"
    wandb.finish()
    monkeypatch.setattr(sys, "argv", ["/somewhere/my_script.py"])
    assert wandb.init().name == "my_script"


@dataclasses.dataclass
class Settings:
    lr: float = 0.1
    layers: tuple[int, ...] = (64, 64)


@pytest.mark.parametrize(
    "config", [Settings(), argparse.Namespace(lr=0.1, layers=(64, 64)), vars(Settings())]
)
def test_a_config_is_read_by_attribute_and_by_item(config, seen):
    wandb.init(config=config)
    assert wandb.config.lr == wandb.config["lr"] == 0.1
    wandb.config.batch_size = 32
    wandb.config.update({"seed": 3}, allow_val_change=True)
    assert dict(wandb.config) == {"lr": 0.1, "layers": (64, 64), "batch_size": 32, "seed": 3}
    kept = seen.run.manifest()["config"]
    assert kept == {"lr": 0.1, "layers": [64, 64], "batch_size": 32, "seed": 3}
    with pytest.raises(AttributeError, match="there is no 'momentum'"):
        _ = wandb.config.momentum


def test_a_config_of_any_objects_is_kept_as_text(seen, tmp_path):
    wandb.init(config={"path": tmp_path, "kind": Settings, "odd": "\udcff", "many": [1, None]})
    kept = seen.run.manifest()["config"]
    assert kept == {"path": str(tmp_path), "kind": str(Settings), "odd": "?", "many": [1, "None"]}


@pytest.mark.parametrize("text", ['{"lr": {"value": 0.1}}', '{"lr": 0.1}'])
def test_a_config_may_be_the_path_of_a_file(text, seen, tmp_path):
    (tmp_path / "config.json").write_text(text)
    wandb.init(config=tmp_path / "config.json")
    assert seen.run.manifest()["config"] == {"lr": 0.1}


def test_what_cannot_be_a_config_is_warned_of(seen, capsys):
    wandb.init(config="config.yaml")
    assert "config = 'config.yaml' cannot be read" in capsys.readouterr().err
    assert seen.status.state == "running"


def test_unknown_keywords_and_modes_are_warned_of_and_those_of_wandb_are_not(seen, capsys):
    wandb.init(entity="e", save_code=True, dir="/nowhere", settings={"silent": True})
    wandb.finish(quiet=True)
    assert capsys.readouterr().err == ""
    wandb.init(proyect="p", mode="onlien")
    warnings = capsys.readouterr().err
    assert "'proyect'; did you mean 'project'" in warnings
    assert "mode = 'onlien' is unknown: expected one of online" in warnings


def test_the_only_argument_without_a_keyword_is_the_project_and_the_first_of_several_the_entity():
    assert wandb.init("proj").project == "proj"
    wandb.finish()
    run = wandb.init("team", "proj", notes="n")
    assert (run.entity, run.project, run.notes) == ("team", "proj", "n")


@pytest.mark.parametrize("variables", [{"WANDB_MODE": "disabled"}, {"WANDB_DISABLED": "true"}])
def test_wandbs_variables_disable_a_run_and_an_argument_enables_it_again(variables, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with wandb.init(config={"lr": 0.1}) as run:
        assert run.disabled
        run.log({"loss": 1.0}, step=3)  # it takes everything and keeps nothing
        run.summary["best"] = 1.0
        assert run.config.lr == 0.1
    assert list_runs() == []
    assert not wandb.init(mode="online").disabled


def test_before_init_the_error_says_what_to_do():
    assert wandb.run is None
    with pytest.raises(UsageError, match=r"init\(\) comes before log\(\)"):
        wandb.log({"loss": 1})
    with pytest.raises(UsageError, match=r"init\(\) comes before config"):
        wandb.config.lr = 0.1


def test_while_a_run_is_open_init_returns_it_unless_told_otherwise():
    first = wandb.init(name="first")
    assert wandb.init(name="again") is first
    second = wandb.init(name="second", reinit="create_new")
    assert wandb.run is second
    assert first.is_open
    wandb.init(name="third", reinit=True)
    assert not second.is_open
    first.finish()
    assert len(list_runs()) == 3


def test_a_finished_run_has_its_last_values_in_the_manifest(seen):
    run = wandb.init()
    run.log({"loss": 2.0, "acc": 0.5})
    run.log({"loss": 1.0})
    run.summary["best"] = 0.75
    run.finish()
    assert seen.run.manifest()["summary"] == {"loss": 1.0, "acc": 0.5, "best": 0.75}
    assert seen.status.state == "finished"


def test_an_alert_is_an_event(seen):
    wandb.init()
    wandb.alert(title="Low", text="accuracy is low", level=wandb.AlertLevel.WARN)
    (event,) = seen.events
    assert (event.level, event.text) == ("warning", "Low: accuracy is low")


def test_what_has_no_place_is_accepted_and_said_once(seen, capsys):
    run = wandb.init()
    for _ in range(2):
        wandb.watch(object(), log="all")
        list(run.use_artifact("data:v3").files())
        wandb.log({"loss": 1.0}, unheard=True)
    warnings = capsys.readouterr().err.splitlines()
    assert len(warnings) == 4
    assert "watch() is accepted" in warnings[0]
    assert "run.use_artifact() is not in operant: it is accepted" in warnings[1]
    assert "log() knows no 'unheard'" in warnings[3]
    assert seen.series("loss") == [1.0, 1.0]


def test_an_unknown_attribute_of_a_run_names_the_nearest():
    with pytest.raises(AttributeError, match="no attribute 'finnish'; did you mean 'finish'"):
        wandb.init().finnish()


def test_a_name_that_is_missing_is_an_error_that_says_what_to_do():
    with pytest.raises(AttributeError, match="no 'initt'; did you mean 'init'"):
        wandb.initt()
    with pytest.raises(AttributeError, match=r"no 'plot'; `operant capture -- python train.py`"):
        wandb.plot.line([])
    assert all(hasattr(wandb, name) for name in wandb.__all__ if name not in ("config", "summary"))


def test_details_of_a_run_can_change(seen):
    run = wandb.init(project="p", tags=["a"], config={"lr": 0.1})
    run.tags += ("b",)
    run.notes, run.group = "n", "g"
    run.config.persist()
    assert run.tags == ("a", "b")
    manifest = seen.run.manifest()
    assert (manifest["tags"], manifest["notes"], manifest["group"]) == (["a", "b"], "n", "g")
    assert not run.disabled


def test_resume_goes_on_with_the_curves_of_the_run_that_was_given_the_id(seen):
    first = wandb.init(id="job-7", config={"lr": 0.1}, max_metrics=8)
    first.log({"loss": 3.0}, step=10)
    first.finish()
    again = wandb.init(id="job-7", resume="allow", config={"more": 1})
    # As wandb's, the step is that of the next row.
    assert (again.id, again.resumed, again.step) == (first.id, True, 11)
    again.log({"loss": 2.5})
    assert again.step == 12
    again.log({"loss": 2.0}, step=20)
    again.finish()
    assert seen.series("loss") == [3.0, 2.5, 2.0]
    assert list(seen.history.env_steps) == [10, 11, 20]
    assert seen.status.state == "finished"
    assert seen.run.manifest()["config"] == {"lr": 0.1, "more": 1}
    assert len(seen.run.manifest()["resumed"]) == 1


def test_without_resume_an_id_begins_a_new_run():
    wandb.init(id="job-7").finish()
    wandb.init(id="job-7").finish()
    assert len(list_runs()) == 2
    with pytest.raises(UsageError, match="there is a run 'job-7' already"):
        wandb.init(id="job-7", resume="never")
    with pytest.raises(UsageError, match="there is no run 'job-8'"):
        wandb.init(id="job-8", resume="must")
    with pytest.raises(
        UsageError, match="resume = 'perhaps' is unknown: expected allow, must or never"
    ):
        wandb.init(id="job-7", resume="perhaps")


def test_a_run_that_is_still_going_is_not_resumed(seen):
    run = wandb.init(id="job-7")
    with pytest.raises(UsageError, match="is still running"):
        wandb.init(id="job-7", resume=True, reinit="create_new")
    run.finish()
    assert seen.status.state == "finished"


@pytest.mark.untraced
def test_nothing_of_a_framework_is_imported():
    code = """
import sys, operant
assert not {"numpy", "multiprocessing", "platformdirs"} & set(sys.modules)
with operant.init() as run:
    run.log({"loss": 1.0}, step=1)
operant.integrations.SummaryWriter().close()
frameworks = {"torch", "wandb", "tensorboard", "stable_baselines3", "lightning", "gymnasium",
              "pytorch_lightning", "pandas", "numba", "textual"}
assert not frameworks & set(sys.modules), frameworks & set(sys.modules)
"""
    done = python("-c", code)
    assert done.returncode == 0, done.stderr


def test_the_files_of_an_artifact_are_copied_into_the_run(tmp_path):
    run = wandb.init()
    (tmp_path / "best.pt").write_text("weights")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("a")
    artifact = wandb.Artifact("m", "model", metadata={"return": 500})
    artifact.add_file(tmp_path / "best.pt", name="../model.pt")
    artifact.add_dir(tmp_path / "folder", name="sub")
    run.log_artifact(artifact).wait()
    (tmp_path / "best.pt").write_text("better")
    run.log_model(tmp_path / "best.pt", name="policy")
    run.log_artifact(tmp_path / "folder")
    assert run.save(str(tmp_path / "*.pt")) == [str(tmp_path / "best.pt")]
    copies = Path(run.dir) / "files"
    found = {str(path.relative_to(copies)): path.read_text() for path in copies.rglob("*.*")}
    assert found == {
        "m/unnamed/model.pt": "weights", "m/sub/a.txt": "a", "policy/best.pt": "better",
        "folder/a.txt": "a", "best.pt": "better",
    }  # fmt: skip


def test_a_file_that_cannot_be_copied_is_warned_of(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    run = wandb.init()
    run.log_artifact(tmp_path / "pipe")
    run.log_artifact("")  # would be all of the folder that one is in
    run.save("/nowhere/*.pt")
    said = capsys.readouterr().err
    assert "1 of 1 files are not kept: " in said
    assert "pipe is not a regular file" in said
    assert "the path of an artifact is empty" in said
    assert "save(): no file matches '/nowhere/*.pt'" in said
    assert not (Path(run.dir) / "files").exists()


def test_a_folder_of_ever_so_many_files_is_no_artifact(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("operant.shared.integrations.artifacts.MAX_FILES", 2)
    for name in "abc":
        (tmp_path / name).touch()
    run = wandb.init()
    run.log_artifact(tmp_path)
    assert "has more than 2 files" in capsys.readouterr().err
    assert not (Path(run.dir) / "files").exists()


@pytest.fixture
def consoles(monkeypatch):
    """Whether the runs of `init` keep the console, in order."""
    begin, asked = wandb.begin_run, []

    def noted(options):
        asked.append(options.console)
        return begin(options)

    monkeypatch.setattr(wandb, "begin_run", noted)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    return asked


@pytest.mark.parametrize(
    ("arguments", "switch", "keeps"),
    [
        ({}, "", True),
        ({"settings": wandb.Settings(console="wrap", start_method="thread")}, "", True),
        ({"console": True}, "off", True),
        ({}, "off", False),
        ({"console": False}, "", False),
        ({"settings": wandb.Settings(console="off")}, "", False),
        ({"settings": {"console": "off"}}, "", False),
    ],
)
def test_the_console_is_kept_unless_a_switch_says_no(
    monkeypatch, consoles, arguments, switch, keeps
):
    monkeypatch.setenv("WANDB_CONSOLE", switch)
    wandb.init(**arguments)
    assert consoles == [keeps]


def test_notebooks_and_second_runs_of_a_process_keep_none(monkeypatch, consoles):
    first = wandb.init()
    wandb.init(reinit="create_new").finish()
    first.finish()
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    wandb.init()
    assert consoles == [True, False, False]
