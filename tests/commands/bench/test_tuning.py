"""`operant bench --tune`, at sizes that measure nothing."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from command_line import error_line, operant_json

from operant.commands.bench import command, sides, tuning
from operant.commands.bench.tuning import Candidate, candidates, fastest
from operant.trainer.config.files import load_config
from operant.trainer.experiment.build import make_experiment

pytestmark = pytest.mark.slow

SIZES = ("num_envs=8", "rollout_steps=32", "policy.memory.horizon=8", "ppo.num_minibatches=4")


def tuned(speeds):
    """The candidate that is chosen among those with these speeds, one list for each measurement of
    each; and how often each was measured.
    """
    tried = [Candidate((name,)) for name in speeds]

    def measure(candidate):
        values = speeds[candidate.settings[0]]
        candidate.speeds.append(values[min(len(candidate.speeds), len(values) - 1)])

    chosen = fastest(tried, measure)
    return chosen.settings[0], {each.settings[0]: len(each.speeds) for each in tried}


def test_an_iteration_keeps_its_env_steps():
    assert list(candidates(load_config("cart_pole_memory_ppo", [*SIZES, "num_threads=0"]), ())) == [
        (),
        ("num_envs=2", "rollout_steps=128"),
        ("num_envs=4", "rollout_steps=64"),
        ("num_envs=16", "rollout_steps=16"),
        ("num_envs=32", "rollout_steps=8"),
    ]


def test_what_people_set_stays():
    config = load_config("cart_pole_ppo", ["num_threads=1"])
    assert list(candidates(config, {"num_envs", "num_threads"})) == [()]
    assert ("num_threads=0",) in list(candidates(config, {"num_envs"}))


def test_workers_that_people_set_go_with_every_number_of_environments():
    overrides = ["env=gymnasium:CartPole-v1", "workers.num_workers=2", *SIZES]
    found = list(
        candidates(load_config("cart_pole_memory_ppo", overrides), {"workers.num_workers"})
    )
    assert {"num_envs=4", "num_envs=16", "num_envs=32"} <= {s for each in found for s in each}
    assert not any("workers" in setting for each in found for setting in each)


def test_the_fastest_is_chosen_and_slow_ones_are_measured_once():
    chosen, counts = tuned({"as it is": [100], "slow": [90], "fast": [120], "fastest": [130]})
    assert chosen == "fastest"
    assert counts == {"as it is": 4, "slow": 1, "fast": 4, "fastest": 4}


def test_a_candidate_that_cannot_be_measured_is_passed_over():
    tried = [Candidate(), Candidate(("num_envs=16",))]

    def measure(candidate):
        if candidate.settings:
            candidate.failure = "out of memory"
        else:
            candidate.speeds.append(1.0)

    assert fastest(tried, measure) is tried[0]


def test_the_choice_of_threads_is_behind_before_anything_is_measured():
    experiment = make_experiment(load_config("cart_pole_memory_ppo", [*SIZES, "num_threads=0"]))
    sides.warm_up(experiment, 2)
    assert sides.is_settled(experiment)
    assert experiment.iteration > 2
    experiment.close()


def test_all_candidates_are_measured_and_one_that_trains_is_written(tmp_path):
    output = tmp_path / "tuned.toml"
    small = ["--set", "num_envs=8", "--set", "rollout_steps=8", "--set", "num_threads=1"]
    small += ["--set", "ppo.num_minibatches=2"]
    options = ["--tune", *small, "--seconds", "0", "-o", str(output)]
    answer = operant_json("bench", "cart_pole_ppo", *options)
    # Keys that are set stay, so that nothing is left to try.
    assert [each["settings"] for each in answer["tried"]] == [[]]
    assert answer["tried"][0]["env_steps_per_s"] > 0
    assert (answer["settings"], answer["output"]) == ([], str(output))
    assert load_config(str(output)).num_envs == 8


def test_the_fastest_sizes_are_printed_and_written(tmp_path, monkeypatch):
    monkeypatch.setattr(tuning, "speed_of", lambda config, seconds: float(config.num_envs))
    output = tmp_path / "tuned.toml"
    done = CliRunner().invoke(command, ["--tune", "cart_pole_ppo", "-o", str(output)])
    assert done.exit_code == 0, done.output
    preset, config = load_config("cart_pole_ppo"), load_config(str(output))
    assert config.num_envs == 4 * preset.num_envs
    assert config.rollout_size == preset.rollout_size
    assert "4.00 x" in done.output
    assert f"fastest: --set num_envs={config.num_envs} --set rollout_steps=" in done.output
    assert output.read_text().startswith(f"# cart_pole, num_envs={config.num_envs} ")


def test_a_file_that_is_there_or_cannot_be_written_is_refused_before_anything_is_measured(tmp_path):
    output = tmp_path / "tuned.toml"
    output.write_text("mine")
    assert "exists already" in error_line("bench", "--tune", "cart_pole_ppo", "-o", str(output))
    assert output.read_text() == "mine"
    output = tmp_path / "nowhere" / "tuned.toml"
    line = error_line("bench", "--tune", "cart_pole_ppo", "-o", str(output))
    assert f"-o {output}: cannot write a file there" in line
