"""`operant train`, from its first line to its last word."""

from __future__ import annotations

import json
import signal
import tomllib

import pytest
from command_line import ENDLESS, SHORT, error_line, operant, operant_json, operant_process
from recorded import delete_folder
from waiting import wait_for

from operant.shared.runs.find_runs import list_runs
from operant.shared.runs.status import open_page, read_status


def test_without_a_terminal_it_prints_plain_lines_and_ends_by_itself(tmp_path, monkeypatch):
    done = operant_process("train", "cart_pole_ppo_smoke", "--monitor", *SHORT)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    (run,) = list_runs()
    assert lines[0] == run.id
    assert [line for line in lines if "finished" in line] == lines[-5:-4]
    assert lines[-4].startswith("  evaluation/return ")
    advised = [line.partition(run.id)[0].split() for line in lines[-3:]]
    assert advised == [
        ["operant", "eval"], ["operant", "play"], ["operant", "export", "-o", "run.csv"]
    ]  # fmt: skip
    monkeypatch.chdir(tmp_path)
    exported = operant(*advised[-1][1:], run.id)  # the line is complete as it stands
    assert (exported.returncode, exported.stderr) == (0, "")
    assert "mean return of the evaluation" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert read_status(run).state == "finished"


def test_json_is_the_final_status_and_the_run_folder_tells_how_the_run_came_to_be():
    own = ("--seed", "7", "--name", "my run")
    done = operant_process("train", "cart_pole_ppo_smoke", "--json", *own, *SHORT)
    assert done.returncode == 0, done.stderr
    status = json.loads(done.stdout)
    (run,) = list_runs()
    assert status["id"] == run.id
    assert status["folder"] == str(run.folder)
    assert (status["state"], status["env_steps"], status["iteration"]) == ("finished", 4096, 2)
    assert status["progress_fraction"] == 1.0
    assert status["eta_s"] is None
    assert status["metrics"]["evaluation/return"] > 5

    assert "-my-run-" in run.id
    manifest = tomllib.loads(run.manifest_path.read_text())
    assert manifest["seed"] == manifest["config"]["seed"] == 7
    assert manifest["config"]["total_env_steps"] == 4096
    assert manifest["sources"]["you"] == [
        "total_env_steps", "evaluation.num_episodes", "num_threads", "seed"
    ]  # fmt: skip
    assert "ppo.learning_rate" in manifest["sources"]["preset cart_pole_ppo_smoke"]
    assert manifest["defaults"]["seed"] == 1
    assert "train cart_pole_ppo_smoke --json --seed 7" in manifest["command_line"]
    assert {"torch", "numba", "numpy", "python", "operant-rl"} == set(manifest["versions"])
    assert run.page_copy_path.exists()
    assert list(run.checkpoint_folder.iterdir())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["cart_pol_ppo"], "did you mean 'cart_pole_ppo'"),
        (["no/such/file.toml"], "No such file"),
        (["--set", "ppo.learing_rate=1"], "did you mean 'ppo.learning_rate'"),
        (["--set", "ppo.gamma=2"], "ppo.gamma = 2"),
        (["--set", "ppo.num_minibatches=7"], "does not divide"),
        (["--seed", "-1"], "seed = -1"),
        (["--device", "tpu"], "tpu"),
        (["--resume", "x"], "no runs in"),
        (["--config", "cart_pole"], "`operant train --config` is now `operant train CONFIG`"),
        (
            ["--hardware", "cpu"],
            "`operant train --hardware` is now `operant train CONFIG --with NAME`",
        ),
        (["--help-config"], "`operant train --help-config` is now `operant train --keys [PREFIX]`"),
        (["--output", "mine.toml"], "--output mine.toml: write it with --dry-run"),
        (["--dry-run", "--resume", "x"], "--dry-run and --resume exclude each other"),
        (["--monitor", "--json"], "exclude each other"),
        (["--sed", "1"], "--sed"),
    ],
)
def test_wrong_input_is_one_line_and_leaves_no_run(arguments, words):
    assert words in error_line("train", *arguments)
    assert list_runs() == []


def test_a_home_that_cannot_be_written_is_one_line(operant_home):
    operant_home.write_text("in the way")
    assert "cannot write runs to" in error_line("train", *SHORT)


@pytest.mark.parametrize(
    ("number", "exit_code", "message"),
    [(signal.SIGINT, 130, "by SIGINT"), (signal.SIGTERM, 143, "by SIGTERM")],
    ids=["ctrl-c", "term"],
)
def test_a_stop_signal_leaves_a_checkpoint_that_resumes(start_training, number, exit_code, message):
    process, run = start_training("cart_pole_ppo_smoke", *ENDLESS)
    process.send_signal(number)
    printed, _ = process.communicate()
    assert process.returncode == exit_code
    assert "NaN" not in printed  # nothing was evaluated
    stopped = read_status(run)
    assert (stopped.state, stopped.message) == ("stopped", message)
    assert stopped.metrics["loss/value"] > 0

    goal = stopped.env_steps + 4096
    status = operant_json("train", "--resume", run.id[-4:], "--set", f"total_env_steps={goal}")
    assert (status["id"], status["state"], status["env_steps"]) == (run.id, "finished", goal)
    assert status["iteration"] == stopped.iteration + 2
    assert list_runs() == [run]
    sources = run.manifest()["sources"]
    assert "total_env_steps" in sources["you"]
    assert "total_env_steps" not in sources["preset cart_pole_ppo_smoke"]
    assert [e.text for e in open_page(run).events() if e.text.startswith("started ")] == [
        "started ppo on cart_pole: preset cart_pole_ppo_smoke, 4 settings by you: "
        "total_env_steps, evaluation.every_iterations, num_threads, checkpoint.every_iterations"
    ]


def test_an_environment_that_exits_ends_the_run_with_a_line_that_says_so(tmp_path, monkeypatch):
    (tmp_path / "leaving.py").write_text(
        "import gymnasium as gym\n"
        "class Env(gym.Env):\n"
        "    observation_space = gym.spaces.Box(-1, 1, (2,))\n"
        "    action_space = gym.spaces.Discrete(2)\n"
        "    def reset(self, **_): return self.observation_space.sample(), {}\n"
        "    def step(self, _): raise SystemExit(3)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    done = operant("train", "gymnasium:leaving:Env", *SHORT)
    assert done.returncode == 3
    assert ": stopped (by SystemExit)" in done.stdout


def test_resuming_is_refused_where_it_makes_no_sense(start_training):
    process, run = start_training("cart_pole_ppo_smoke", *ENDLESS)
    assert "still running" in error_line("train", "--resume", run.id)
    process.send_signal(signal.SIGINT)
    process.communicate()
    text = error_line("train", "--resume", run.id, "--set", "policy.hidden_sizes=[8]")
    assert "policy.hidden_sizes = [64, 64], not [8]" in text

    (checkpoint,) = run.checkpoint_folder.iterdir()
    whole = checkpoint.read_bytes()
    checkpoint.write_bytes(whole[: len(whole) // 2])
    assert "cannot be read" in error_line("train", "--resume", run.id)
    assert read_status(run).state == "stopped"
    checkpoint.write_bytes(whole)
    goal = f"total_env_steps={read_status(run).env_steps + 1}"
    done = operant_json("train", "--resume", run.id, "--set", goal)
    assert done["state"] == "finished"
    assert "is complete" in error_line("train", "--resume", run.id)
    fewer = error_line("train", "--resume", run.id, "--set", "total_env_steps=2048")
    assert f"total_env_steps = {2 * done['env_steps']} would continue it" in fewer


def test_a_run_whose_folder_was_deleted_leaves_nothing(start_training):
    often = ("--set", "checkpoint.every_env_steps=2048")
    process, run = start_training("cart_pole_ppo_smoke", *often, *ENDLESS)
    delete_folder(run)
    wait_for(lambda: read_status(run).message == "its folder was deleted")
    begun = read_status(run).iteration or 0
    wait_for(lambda: (read_status(run).iteration or 0) > begun + 10)
    assert "stopped; its folder was deleted" in operant("stop", run.id).stdout
    process.communicate()
    assert not run.folder.exists()
    assert list_runs() == []


@pytest.mark.usefixtures("kill_runs")
def test_detach_returns_once_the_run_has_published(operant_home):
    status = operant_json("train", "cart_pole_ppo_smoke", "--detach", *ENDLESS)
    (run,) = list_runs()
    assert (status["id"], status["state"]) == (run.id, "running")
    assert status["env_steps"] > 0
    assert run.console_path().exists()

    stopped = operant("stop", "--latest")
    assert stopped.returncode == 0
    assert "stopped" in stopped.stdout
    assert read_status(run).state == "stopped"
    assert "is not running" in operant("stop", run.id).stdout

    again = operant("train", "--resume", run.id, "--detach")
    assert again.returncode == 0, again.stderr
    assert f"operant monitor {run.id}" in again.stdout
    assert read_status(run).iteration >= status["iteration"]


def test_a_trainer_that_dies_at_once_shows_its_log(monkeypatch, tmp_path):
    tmp_path.joinpath("torch.py").write_text("raise RuntimeError('no torch today')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = operant("train", "cart_pole_ppo_smoke", "--detach", *SHORT)
    assert done.returncode == 1
    assert "no torch today" in done.stdout
    assert operant_json("status")["state"] == "failed"
    assert "died before its first publish" in done.stderr


DRY = ("train", "cart_pole", "--algorithm", "dqn", "--seed", "3", "--dry-run")


def test_a_dry_run_shows_what_would_run_and_where_its_settings_come_from():
    lines = operant(*DRY).stdout.splitlines()
    assert lines[0].split() == ["environment", "cart_pole"]
    text = " ".join(" ".join(lines).split())
    assert "network policy: 128x4, 128x128, 2x128; 17,922 weights" in text
    assert "settings preset cart_pole_dqn: num_envs = 16, rollout_steps = 16, " in text
    assert text.endswith("you: seed = 3")
    assert len(lines) < 24  # one screen
    facts = operant_json(*DRY)
    assert facts["settings"]["dqn.n_step"] == {"value": 5, "source": "preset cart_pole_dqn"}
    assert facts["settings"]["num_threads"] == {"value": 0, "source": "defaults"}
    assert facts["memory_bytes"]["replay"] > 100_000 * 4 * 4
    assert list_runs() == []


def test_the_file_of_a_dry_run_trains_the_same_run(tmp_path):
    from operant.trainer.config.files import load_config

    path = tmp_path / "mine.toml"
    operant(*DRY, "--set", "dqn.max_grad_norm=3", "--output", str(path))
    overrides = ["algorithm=dqn", "seed=3", "dqn.max_grad_norm=3"]
    assert load_config(str(path)) == load_config("cart_pole", overrides)


def test_keys_lists_the_keys_that_begin_with_a_prefix():
    keys = [line for line in operant("train", "--keys", "replay.").stdout.splitlines()
            if not line.startswith(" ")]  # fmt: skip
    assert keys
    assert all(line.startswith("replay.") for line in keys)
    assert error_line("train", "--keys", "replya") == (
        "operant: --keys replya: no key begins with it; did you mean 'replay'?\n"
    )
    assert error_line("train", "--keys", "PPO").endswith("; did you mean 'ppo'?\n")


def test_a_gpu_that_is_not_there_is_said_in_one_line_and_leaves_no_run():
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is one")
    assert "device = cuda: " in error_line("train", "--device", "cuda")
    assert list_runs() == []
