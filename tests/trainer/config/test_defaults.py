"""An environment has the preset that is tuned for it, or neutral defaults, and nothing else."""

from __future__ import annotations

import math
from typing import Any

import pytest
from learning import iterate

from operant.shared.errors import ConfigError
from operant.shared.runs.setting_sources import started_in_words
from operant.trainer.config import files
from operant.trainer.config.defaults import neutral_settings
from operant.trainer.config.files import load_config, resolve
from operant.trainer.config.train_config import algorithm_sections
from operant.trainer.envs.hosts import load_spec
from operant.trainer.experiment.build import make_experiment

DISCRETE = ("cart_pole", "gymnasium:CartPole-v1")
CONTINUOUS = ("pendulum", "gymnasium:Pendulum-v1")
ENVS = (*DISCRETE, *CONTINUOUS)


def can_act(algorithm: str, env: str) -> bool:
    spec = load_spec(env)
    return algorithm_sections()[algorithm]().can_act(spec.actions)


FITTING = [(a, env) for a in algorithm_sections() for env in ENVS if can_act(a, env)]


@pytest.fixture
def no_presets(monkeypatch):
    """No environment has a preset that is tuned for it."""
    monkeypatch.setattr(files, "_tuned_presets", dict)


def started(source=None, *overrides: str, overlays=()) -> str:
    config, sources, _ = resolve(source, overrides, overlays)
    return started_in_words(config.algorithm, config.env, sources)


def source_of(source: str, *overrides: str, overlays=()) -> dict[str, str]:
    """The source of each key that has one."""
    listed = resolve(source, overrides, overlays).sources
    keys = [key for keys in listed.values() for key in keys]
    assert len(keys) == len({*keys})
    return {key: source for source, keys in listed.items() for key in keys}


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "env"), FITTING)
def test_neutral_defaults_train_for_two_iterations(algorithm, env, no_presets):
    small = ["policy.hidden_sizes=[8]", "num_threads=1", "device=cpu"]
    if "replay" in algorithm_sections()[algorithm].tables:  # else it only warms up
        small += [f"{algorithm}.batch_size=8", f"{algorithm}.warmup_env_steps=8"]
    config, sources, _ = resolve(env, [f"algorithm={algorithm}", *small])
    assert [*sources] == [f"defaults of {algorithm}", "you"]
    experiment = make_experiment(config)
    try:
        values = iterate(experiment, 2)
    finally:
        experiment.close()
    assert math.isfinite(values["loss/value"])


@pytest.mark.parametrize(("algorithm", "env"), FITTING)
def test_the_first_episodes_end_and_an_evaluation_comes_early(algorithm, env, no_presets):
    config = load_config(env, [f"algorithm={algorithm}"])
    assert config.num_envs <= (8 if ":" in env else 32)
    assert config.evaluation.num_episodes == 10
    assert config.evaluation.every_env_steps == config.total_env_steps // 10
    assert (config.seed, config.device) == (1, "auto")


@pytest.mark.parametrize("source", [None, "gymnasium:CartPole-v1"])
def test_an_environment_that_is_set_takes_no_settings_of_another(source):
    config, sources, defaults = resolve(source, ["env=gymnasium:CartPole-v1"])
    assert config == load_config("gymnasium:CartPole-v1")
    assert [*sources] == ["defaults of ppo", "you"]
    assert {*sources["you"]} == {"env"}
    assert "ppo.learning_rate" in sources["defaults of ppo"]
    assert not defaults  # neutral values are the defaults of this environment
    assert (config.num_envs, config.ppo.learning_rate, config.ppo.gamma) == (8, 3e-4, 0.99)


def test_an_algorithm_that_is_set_is_not_refused_for_keys_that_nobody_set():
    overrides = ["env=gymnasium:Pendulum-v1", "algorithm=sac", "total_env_steps=5000"]
    config = load_config(None, overrides)
    assert (config.sac.warmup_env_steps, config.evaluation.every_env_steps) == (256, 500)
    assert load_config("marine_nav", ["algorithm=c51"]).table("marine_nav").actions == "discrete"


@pytest.mark.parametrize(
    ("env", "algorithm", "preset"),
    [
        ("pendulum", "sac", "pendulum_sac"),
        ("gymnasium:LunarLander-v3", "ppo", "lunar_lander_ppo"),
        ("cart_pole_no_velocity", "ppo", "cart_pole_memory_ppo"),
        ("cart_pole", "ppo", "cart_pole_ppo"),
    ],
)
def test_an_environment_and_an_algorithm_have_the_preset_that_is_tuned_for_both(
    env, algorithm, preset
):
    config, sources, _ = resolve(env, [f"algorithm={algorithm}"])
    assert config == load_config(preset)
    assert [*sources] == [f"preset {preset}", "you"]
    assert load_config(None, [f"env={env}", f"algorithm={algorithm}"]) == config


def test_without_anything_it_is_cart_pole_with_ppo():
    assert load_config() == load_config("cart_pole_ppo")
    assert load_config(None, ["algorithm=pqn"]) == load_config("cart_pole_pqn")


def test_a_preset_with_another_environment_says_whose_settings_these_are():
    config, sources, _ = resolve("cart_pole_ppo", ["env=acrobot"])
    assert config.ppo.learning_rate == load_config("cart_pole_ppo").ppo.learning_rate
    assert next(iter(sources)) == "preset cart_pole_ppo (tuned for cart_pole, not for acrobot)"
    # Tables of its own environment are no settings of another.
    assert resolve("marine_nav_ppo", ["env=cart_pole"]).config.env == "cart_pole"


def test_the_first_words_of_a_run_say_where_its_settings_come_from(tmp_path):
    assert started() == "started ppo on cart_pole: preset cart_pole_ppo"
    assert started("pendulum", "algorithm=sac", "seed=3") == (
        "started sac on pendulum: preset pendulum_sac, 1 setting by you: seed"
    )
    assert started("grid", "seed=3", "num_envs=64", overlays=["fast"]) == (
        "started ppo on grid: preset grid_ppo, overlay fast, 2 settings by you: seed, num_envs"
    )
    path = tmp_path / "mine.toml"
    path.write_text("num_envs = 8\n")
    assert started(str(path)) == (
        f"started ppo on cart_pole: preset cart_pole_ppo, your file {path}"
    )


def test_each_setting_has_the_source_that_set_it_last(tmp_path):
    source = source_of(
        "grid", "ppo.gamma=0.9", "policy.memory={kind='gru'}", overlays=["fast", "smoke"]
    )
    assert source["ppo.learning_rate"] == "overlay fast"
    assert source["num_envs"] == "overlay smoke"
    assert source["ppo.gamma"] == source["policy.memory.kind"] == "you"
    assert source["total_env_steps"] == "overlay smoke"
    assert source["grid.ore_reward"] == "preset grid_ppo"
    assert "seed" not in source  # by default

    source = source_of("cart_pole", "num_envs=64", overlays=["gpu_small"])
    assert source["env"] == source["num_envs"] == "you"
    assert source["algorithm"] == "preset cart_pole_ppo"
    assert source["rollout_steps"] == "overlay gpu_small"

    path = tmp_path / "mine.toml"
    path.write_text("num_envs = 8\nseed = 5\n")
    source = source_of(str(path), "seed=6")
    assert (source["num_envs"], source["seed"]) == (f"your file {path}", "you")
    assert source["rollout_steps"] == "preset cart_pole_ppo"


def test_the_default_of_a_setting_is_what_the_run_had_without_it():
    _, _, defaults = resolve("gymnasium:CartPole-v1", ["num_envs=16", "seed=7"])
    assert defaults == {"num_envs": 8, "seed": 1}


def outcome(source: str, *overrides: str) -> dict[str, Any] | str:
    """The settings, or the reason why there are none: grid takes ppo alone."""
    try:
        return load_config(source, overrides).model_dump()
    except ConfigError as error:
        return str(error)


FAMILIES = (*ENVS, "grid", "marine_nav", "minatar_breakout", "gymnasium:HalfCheetah-v5")


@pytest.mark.parametrize(
    ("algorithm", "env"),
    [(a, env) for env in FAMILIES for a in algorithm_sections() if can_act(a, env)],
)
def test_a_file_of_two_lines_is_the_command_line(algorithm, env, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(f'env = "{env}"\nalgorithm = "{algorithm}"\n')
    assert outcome(str(path)) == outcome(env, f"algorithm={algorithm}")


def test_the_keys_of_a_file_are_the_same_as_overrides(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'env = "CartPole-v1"\nalgorithm = "sac"\ntotal_env_steps = 5000\n'
        '[evaluation]\nevery_iterations = 3\n[ppo]\ntarget_kl = "none"\n'
    )
    overrides = ["total_env_steps=5000", "evaluation.every_iterations=3", "ppo.target_kl=none"]
    config = load_config(str(path), ["algorithm=ppo"])
    assert config == load_config("CartPole-v1", overrides)
    assert config.checkpoint.every_env_steps == 500  # follows the budget of the file


@pytest.mark.parametrize(
    "preset", ["cart_pole_ppo_smoke", "cart_pole_dqn", "grid_ppo_fast", "pendulum_tqc"]
)
def test_a_file_that_extends_a_preset_and_changes_one_key_differs_in_that_key_alone(
    preset, tmp_path
):
    path, above = tmp_path / "mine.toml", tmp_path / "more" / "above.toml"
    path.write_text(f'extends = "{preset}"\nseed = 5\n')
    above.parent.mkdir()
    above.write_text('extends = "../mine.toml"\nnum_threads = 1\n')
    values = load_config(preset).model_dump()
    assert load_config(str(path)).model_dump() == {**values, "seed": 5}
    assert load_config(str(above)).model_dump() == {**values, "seed": 5, "num_threads": 1}
    source = source_of(str(above))
    assert source["num_envs"] == f"preset {preset}"
    assert source["seed"] == f"your file {above.parent / '../mine.toml'}"


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ('extends = "mine.toml"', "mine.toml: a file cannot extend itself"),
        ('extends = "cart_pole"', "extends = 'cart_pole': no preset is called so"),
        ("extends = 3", "extends = 3: expected a preset or a TOML file"),
        ('extends = "pendulum_sac"\nalgorithm = "ppo"', "the preset pendulum_sac is for sac"),
    ],
)
def test_what_a_file_cannot_extend_is_one_line(content, error, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(content)
    with pytest.raises(ConfigError, match=error):
        load_config(str(path))


def test_two_environments_are_one_too_many():
    with pytest.raises(ConfigError, match=r"^two environments are given: 'pendulum' and env = ac"):
        load_config("pendulum", ["env=acrobot"])


@pytest.mark.parametrize(
    ("asked", "key", "value"),
    [
        ({"num_envs": 3, "rollout_steps": 50}, "ppo.num_minibatches", 30),
        ({"rollout_steps": 7, "num_envs": 1}, "ppo.num_minibatches", 7),
        ({"policy.memory.kind": "lstm"}, "ppo.num_minibatches", 8),
        ({"policy.memory.kind": "gru", "policy.memory.horizon": 64}, "ppo.num_minibatches", 32),
        ({"total_env_steps": 5}, "evaluation.every_env_steps", 1),
        ({"total_env_steps": "many"}, "evaluation.every_env_steps", 100_000),
    ],
)
def test_what_follows_from_sizes_fits_them(asked, key, value):
    assert neutral_settings("ppo", asked, is_fast=False)[key] == value


@pytest.mark.parametrize(
    ("asked", "obs_size", "capacity", "warmup"),
    [
        ({}, 4, 1_000_000, 10_000),
        ({"total_env_steps": 100_000}, 4, 100_000, 5_000),
        ({"total_env_steps": 100, "sac.batch_size": 512}, 4, 10_000, 512),
        # 2^30 bytes of float32: pictures of 210 x 160 x 3
        ({}, 100_800, 2_663, 2_663),
    ],
)
def test_replay_and_warm_up_fit_the_budget_and_the_memory(asked, obs_size, capacity, warmup):
    settings = neutral_settings("sac", asked, is_fast=False, obs_bytes=4 * obs_size)
    assert settings["replay.capacity"] == capacity
    assert settings["sac.warmup_env_steps"] == warmup


@pytest.mark.parametrize("source", ["gymnasium:CartPole-v1", "cart_pole_dqn"])
def test_a_value_that_nobody_set_is_dropped_where_it_would_have_no_effect(source):
    same = ["dqn.epsilon_start=0.1", "dqn.epsilon_end=0.1"]
    assert "dqn.epsilon_fraction" not in source_of(source, "algorithm=dqn", *same)
    config = load_config(source, ["algorithm=dqn", *same])
    assert config.dqn.epsilon_fraction == type(config.dqn).model_fields["epsilon_fraction"].default
    with pytest.raises(ConfigError, match=r"^dqn\.epsilon_fraction = 0\.3: "):
        load_config(source, ["algorithm=dqn", *same, "dqn.epsilon_fraction=0.3"])


@pytest.mark.parametrize("robot", ["Ant", "InvertedDoublePendulum"])
def test_mujocos_environments_share_a_preset(robot):
    env = f"gymnasium:{robot}-v5"
    config, sources, _ = resolve(f"{robot}-v5")
    assert config.model_dump() == {**load_config("mujoco_ppo").model_dump(), "env": env}
    assert config == load_config("mujoco_ppo", [f"env={env}"])
    assert "preset mujoco_ppo" in sources
    assert load_config(env, ["algorithm=sac"]).algorithm == "sac"
