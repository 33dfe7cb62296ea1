"""`operant autotune`, at sizes that measure nothing."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from command_line import error_line, operant_json

from operant.commands.autotune import command
from operant.commands.bench import autotune, sides
from operant.shared.errors import OperantError
from operant.trainer.config.files import load_config
from operant.trainer.experiment.build import make_experiment

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
    answer = operant_json("autotune", *SMALL, "--seconds", "0", "--output", str(output))
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
    done = CliRunner().invoke(command, ["cart_pole_ppo", "--output", str(output)])
    assert done.exit_code == 0, done.output
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


def test_help_says_what_is_not_measured():
    assert "Returns are not measured" in CliRunner().invoke(command, ["--help"]).output
