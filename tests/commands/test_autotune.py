"""`operant autotune`, at sizes that measure nothing."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import psutil
import pytest
from click.testing import CliRunner
from command_line import error_line, operant_json
from waiting import wait_for

from operant.commands.autotune import command
from operant.commands.bench import autotune, measuring, sides, trials
from operant.shared.errors import OperantError
from operant.trainer.config.files import load_config
from operant.trainer.experiment.build import make_experiment
from operant.trainer.machine.stopwatch import Stopwatch

pytestmark = pytest.mark.slow

SMALL = (
    "cart_pole_memory_ppo", "--set", "num_envs=8", "--set", "rollout_steps=32", "--set",
    "policy.memory.horizon=8", "--set", "ppo.num_minibatches=2", "--set", "num_threads=1",
)  # fmt: skip


def tuned(speeds, config="cart_pole_memory_ppo", fixed=(), overrides=()):
    """What is chosen where `speeds(config, phase)` are measured, and all that was tried."""

    def load(settings):
        return load_config(config, (*overrides, *settings))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(autotune, "speed_of", lambda config, phase, seconds: speeds(config, phase))
        tuning = autotune.Autotune(load, 1.0, fixed=fixed)
        return tuning.run(), tuning.tried


SIZES = ("num_envs=8", "rollout_steps=32", "policy.memory.horizon=8", "ppo.num_minibatches=4")


def test_the_fastest_sizes_are_chosen_and_an_iteration_keeps_its_env_steps():
    chosen, tried = tuned(lambda config, phase: config.num_envs, overrides=SIZES)
    # 8 environments of 32 steps, as 2 of 128, 4 of 64, 16 of 16 and 32 of 8.
    assert chosen == ("num_envs=32", "rollout_steps=8")
    sizes = [each.settings for each in tried if each.phase == "collect"]
    assert sizes == [
        (),
        ("num_envs=2", "rollout_steps=128"),
        ("num_envs=4", "rollout_steps=64"),
        ("num_envs=16", "rollout_steps=16"),
        ("num_envs=32", "rollout_steps=8"),
    ]
    assert all(load_config("cart_pole_ppo", each).rollout_size for each in sizes)


def test_what_is_hardly_faster_is_left_as_configured():
    chosen, _ = tuned(lambda config, phase: 100 + config.num_envs / 1000, overrides=SIZES)
    assert chosen == ()


def test_minibatches_in_pieces_are_tried_by_halving():
    chosen, tried = tuned(
        lambda config, phase: -abs(config.algorithm_section.max_minibatch_size - 16) + 100,
        overrides=SIZES,
    )
    # Minibatches of 8 x 32 / 4 = 64.
    assert [each.settings for each in tried if each.phase == "learn"] == [
        (),
        *((f"ppo.max_minibatch_size={size}",) for size in (32, 16, 8)),
    ]
    assert chosen == ("ppo.max_minibatch_size=16",)


def test_only_smaller_pieces_than_there_are_anyway_are_tried_on_the_processor():
    sizes = ("num_envs=64", "rollout_steps=64", "policy.memory.horizon=8", "ppo.num_minibatches=2",
             "device=cpu")  # fmt: skip
    _, tried = tuned(lambda config, phase: 1.0, overrides=sizes)
    # Minibatches of 64 x 64 / 2 = 2,048, which come in two pieces.
    learning = [each.settings for each in tried if each.phase == "learn"]
    assert learning == [(), *((f"ppo.max_minibatch_size={size}",) for size in (512, 256, 128))]


def test_workers_that_people_set_go_with_every_number_of_environments():
    overrides = ("env=gymnasium:CartPole-v1", "workers.num_workers=2", *SIZES)
    _, tried = tuned(lambda config, phase: 1.0, overrides=overrides, fixed=["workers.num_workers"])
    collecting = [each.settings for each in tried if each.phase == "collect"]
    assert {"num_envs=4", "num_envs=16", "num_envs=32"} <= {s for each in collecting for s in each}
    assert not any("num_workers" in setting for each in collecting for setting in each)
    assert len(set(collecting)) == len(collecting)


def test_the_choice_of_threads_is_behind_before_anything_is_measured():
    experiment = make_experiment(load_config("cart_pole_memory_ppo", [*SIZES, "num_threads=0"]))
    sides.warm_up(experiment, 2)
    assert experiment.executor.thread_choice.is_settled
    assert experiment.iteration > 2
    experiment.close()


def test_iterations_that_only_fill_replay_are_no_measure():
    experiment = make_experiment(load_config("pendulum_sac", ["num_threads=1"]))
    sides.warm_up(experiment, 2)
    (values,) = experiment.iterate(Stopwatch(), wait=True)
    assert "optimizer/learning_rate" in values
    experiment.close()


def test_what_people_set_stays():
    chosen, tried = tuned(
        lambda config, phase: config.num_envs, overrides=SIZES, fixed=["num_envs"]
    )
    assert [each.settings for each in tried if each.phase == "collect"] == [()]
    assert "num_envs" not in " ".join(chosen)


def test_a_candidate_that_cannot_be_is_said_and_passed_over():
    def speeds(config, phase):
        if config.num_envs > 8:
            raise RuntimeError("out of memory\nand much more")
        return 1.0

    _, tried = tuned(speeds, overrides=SIZES)
    failures = [each.failure for each in tried if each.failure]
    assert failures == ["out of memory", "out of memory"]


def test_with_workers_what_is_configured_is_the_first_to_be_measured():
    sizes = ("num_envs=8", "rollout_steps=32", "workers.num_workers=1")
    chosen, tried = tuned(
        lambda config, phase: 2.0 if config.workers.num_workers == 1 else 1.0,
        config="mettagrid_ppo",
        overrides=sizes,
    )
    assert tried[0].settings == ()
    assert chosen == ()  # though none of the others has one worker
    assert ("workers.num_workers=0", "workers.async_factor=1") in [each.settings for each in tried]


def test_gradients_go_back_as_far_with_other_sizes():
    sizes = ("num_envs=8", "rollout_steps=32", "policy.memory.horizon=0", "ppo.num_minibatches=4")
    horizons = []

    def speeds(config, phase):
        horizons.append(config.policy.memory.horizon)
        return 1.0

    _, tried = tuned(speeds, overrides=sizes)
    longer = [each.settings for each in tried if "num_envs=2" in each.settings]
    assert longer == [("num_envs=2", "rollout_steps=128", "policy.memory.horizon=32")]
    assert set(horizons) == {0, 32}


def test_where_nothing_can_be_measured_that_is_the_error():
    def speeds(config, phase):
        raise OperantError("no worker lives")

    with pytest.raises(OperantError, match="nothing could be measured: no worker lives"):
        tuned(speeds, overrides=SIZES)


def test_a_configuration_is_written_that_trains_with_them(tmp_path):
    output = tmp_path / "tuned.toml"
    answer = operant_json("autotune", *SMALL, "--seconds", "0", "--score-env-steps", "0",
                          "--output", str(output))  # fmt: skip
    assert answer["config"] == str(output)
    assert [each["phase"] for each in answer["tried"]] == ["collect"] + ["learn"] * 4
    assert all(each["env_steps_per_s"] > 0 for each in answer["tried"])
    config = load_config(str(output))
    expected = load_config("cart_pole_memory_ppo", [*SMALL[2::2], *answer["settings"]])
    assert config == expected
    assert output.read_text().startswith("# cart_pole_memory_ppo, tuned for ")


def test_what_was_fastest_stands_in_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(autotune, "speed_of", lambda config, phase, seconds: config.num_envs)
    output = tmp_path / "tuned.toml"
    arguments = ["cart_pole_ppo", "--score-env-steps", "0", "--output", str(output)]
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 0, done.output
    assert "4.00 x (4.00 to 4.00), median of 3 measurements" in output.read_text()
    preset, config = load_config("cart_pole_ppo"), load_config(str(output))
    assert config.num_envs == 4 * preset.num_envs
    assert config.rollout_size == preset.rollout_size


def test_files_are_not_written_over(tmp_path):
    output = tmp_path / "tuned.toml"
    output.write_text("mine")
    line = error_line("autotune", "cart_pole_ppo", "--output", str(output))
    assert "exists already" in line
    assert output.read_text() == "mine"


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path):
    output = tmp_path / "nowhere" / "tuned.toml"
    line = error_line("autotune", "cart_pole_ppo", "--output", str(output))
    assert f"--output {output}: cannot write a file there" in line


def test_what_was_fast_once_is_not_chosen():
    measured = []

    def speeds(config, phase):
        measured.append(config.num_envs)
        return 1000.0 if config.num_envs == 16 and measured.count(16) == 1 else 100.0

    chosen, _ = tuned(speeds, overrides=SIZES)
    assert chosen == ()
    assert measured.count(16) > 1


def noisy(gain, seed):
    """Speeds that vary by a tenth, with 32 environments so many times as high."""
    random = np.random.default_rng(seed)
    return lambda config, phase: (
        random.lognormal(0, 0.1) * (gain if config.num_envs == 32 else 1) * 100
    )


def test_a_gain_is_found_in_noise_and_none_is_invented():
    gains = [tuned(noisy(1.5, seed), overrides=SIZES)[0] for seed in range(20)]
    assert sum("num_envs=32" in chosen for chosen in gains) >= 18
    equal = [tuned(noisy(1.0, seed), overrides=SIZES)[0] for seed in range(20)]
    assert sum(chosen == () for chosen in equal) >= 16


def test_the_interval_of_a_gain_holds_the_truth():
    random = np.random.default_rng(1)
    held = 0
    for _ in range(400):
        first, other = random.lognormal(0, 0.1, 5), 1.2 * random.lognormal(0, 0.1, 5)
        gain = autotune.Gain.over(first, other)
        held += gain.low < 1.2 < gain.high
    assert 0.9 < held / 400 < 0.99


def test_candidates_that_cannot_win_are_measured_no_further():
    measured = []

    def speeds(config, phase):
        measured.append((phase, config.num_envs))
        return float(config.num_envs)

    tuned(speeds, overrides=SIZES)
    counts = [measured.count(("collect", size)) for size in (2, 4, 8, 16, 32)]
    assert counts == [1, 1, 3, 3, 3]


@pytest.fixture
def faster_with_more(monkeypatch):
    monkeypatch.setattr(autotune, "speed_of", lambda config, phase, seconds: config.num_envs)


def trial(side, seed, env_steps, score):
    steps, scores = np.linspace(env_steps / 10, env_steps, 10), np.full(10, 280.0 + seed)
    curve = trials.Curve(steps, steps, scores + 20 * bool(side.overrides))
    return trials.Trial(side.name, seed, "run", curve=curve)


def test_the_scores_of_what_is_chosen_are_said(tmp_path, monkeypatch, faster_with_more):
    monkeypatch.setattr(trials, "run_trial", trial)
    output = tmp_path / "tuned.toml"
    arguments = ["cart_pole_ppo", "--score-env-steps", "50000", "--output", str(output)]
    done = CliRunner().invoke(command, arguments)
    line = ("return after 50.0k env steps, 2 seeds: 281.0 to 282.0 as configured, "
            "301.0 to 302.0 as chosen")  # fmt: skip
    assert line in done.output
    assert f"# {line}" in output.read_text()


def test_other_programs_are_said(tmp_path, monkeypatch, faster_with_more):
    monkeypatch.setattr(measuring.BusyCores, "others", lambda self: 0.93)
    arguments = ["cart_pole_ppo", "--score-env-steps", "0", "--output", str(tmp_path / "x.toml")]
    assert (
        "other programs used 0.9 cores meanwhile" in CliRunner().invoke(command, arguments).output
    )


SPIN = "import os, time\nend = time.monotonic() + {}\nwhile time.monotonic() < end: pass"


def test_the_cores_that_another_program_takes_are_counted():
    busy = measuring.BusyCores()
    # In the background of a shell that ends: it is nobody's child.
    spin = f"{sys.executable} -c '{SPIN.format(2)}' &"
    subprocess.run(["sh", "-c", spin], check=True, stdout=subprocess.DEVNULL)
    time.sleep(1.5)
    assert busy.others() > 0.2


def test_what_children_take_is_not_of_other_programs(monkeypatch):
    cores = psutil.cpu_times(percpu=True)
    monkeypatch.setattr(measuring.psutil, "cpu_times", lambda percpu: cores)
    busy = measuring.BusyCores()
    # It spins until it is killed: on a busy machine, a short time may give it no processor time.
    child = subprocess.Popen([sys.executable, "-c", SPIN.format(1000)])
    try:
        wait_for(lambda: psutil.Process(child.pid).cpu_times().user >= 0.1)
        assert busy.others() == 0.0
    finally:
        child.kill()
        child.wait()
    assert busy.others() == 0.0
