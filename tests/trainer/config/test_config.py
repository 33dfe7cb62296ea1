"""Every wrong configuration is one line that names the key, the value and the rule."""

from __future__ import annotations

import sys
import tomllib

import pytest

from operant.shared import ConfigError
from operant.trainer.config.files import load_config, preset_names, resolve
from operant.trainer.config.from_values import fields_with_defaults, make_config
from operant.trainer.config.overlays import hardware_names


def error_of(source=None, *overrides, overlays=()) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(source, overrides, overlays)
    text = str(caught.value)
    assert "\n" not in text
    return text


def shortened(value: object) -> str | None:
    """For the names of tests."""
    return str(value)[:30] if isinstance(value, str | bytes) else None


@pytest.mark.slow  # presets of other libraries import these
@pytest.mark.parametrize("preset", preset_names())
def test_a_preset_is_valid_for_a_few_cores_and_the_same_from_a_checkpoint(preset):
    config = load_config(preset)
    assert config.num_iterations >= 1
    assert load_config(preset, overlays=["cpu"]) == config
    assert make_config(config.model_dump(mode="json")) == config


# MountainCar needs longer rollouts than others, and has no sizes for a large GPU.
SIZED = ("acrobot", "cart_pole", "mountain_car_continuous", "pendulum")
WITH_SIZES = {"gpu_small": (*SIZED, "mountain_car"), "gpu_large": SIZED}


def test_hardware_changes_sizes_and_what_must_follow():
    assert hardware_names() == ["cpu", "gpu_large", "gpu_small"]
    for name, rollout_size in (("gpu_small", 65_536), ("gpu_large", 524_288)):
        for env in WITH_SIZES[name]:
            config = load_config(env, overlays=[name])
            assert config.rollout_size == rollout_size
            # Too few updates to learn from is what a size alone would leave.
            assert config.num_iterations >= 50
            assert config.total_env_steps > load_config(env).total_env_steps
            # It is looked at a few times, as a run of the preset's size is.
            assert 2 <= config.num_iterations // config.evaluation.every_iterations <= 20


@pytest.mark.parametrize("env", ["tinyphysics", "gymnasium:CartPole-v1", "mountain_car"])
def test_sizes_that_nobody_has_tried_or_that_do_not_learn_are_refused(env):
    text = error_of(env, overlays=["gpu_large"])
    assert text.startswith("overlay gpu_large has sizes for ")
    assert text.endswith(f"env = {env}")


def test_another_algorithm_than_the_presets_is_answered_with_the_environment():
    assert error_of("cart_pole_ppo", "algorithm=pqn") == (
        "algorithm = pqn: the preset cart_pole_ppo is for ppo; to train with pqn, name the "
        "environment: cart_pole"
    )
    text = error_of("acrobot", "algorithm=c51", "dqn.gamma=0.5")
    assert "dqn.gamma = 0.5 is for algorithm = dqn alone" in text
    assert "did you mean 'rainbow'" in error_of(None, "algorithm=rainbo")


def test_a_table_of_another_algorithm_in_a_file_is_refused(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('algorithm = "ppo"\n[ppo]\ngamma = 0.5\n')
    text = error_of(str(path), "algorithm=pqn")
    assert "ppo.gamma = 0.5 is for algorithm = ppo alone, and algorithm = pqn" in text


def test_overrides_win_over_the_file_and_the_file_over_defaults(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("num_envs = 8\n[ppo]\ngamma = 0.5\nclip_coef = 0.3\n")
    config = load_config(str(path), ["ppo.gamma=0.25", "policy.activation=relu"])
    assert (config.num_envs, config.ppo.gamma, config.ppo.clip_coef) == (8, 0.25, 0.3)
    assert config.policy.activation == "relu"
    assert config.rollout_steps == load_config().rollout_steps


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("ppo.learing_rate=1", ["ppo.learing_rate", "did you mean 'ppo.learning_rate'"]),
        ("learning_rate=1", ["did you mean 'ppo.learning_rate'"]),
        ("ppo.gamma=2", ["ppo.gamma = 2", "less than or equal to 1"]),
        ("pqo.gamma=0.9", ["unknown key 'pqo.gamma'", "did you mean 'ppo.gamma'"]),
        ("num_envs=many", ["num_envs = 'many'", "whole number, as 5000, 10M"]),
        ("ppo.learning_rate=nan", ["ppo.learning_rate", "finite"]),
        ("policy.hidden_sizes=[0]", ["policy.hidden_sizes.0 = 0"]),
        ("env=cart_pool", ["env = 'cart_pool'", "did you mean 'cart_pole'"]),
        ("ppo.num_minibatches=7", ["ppo.num_minibatches = 7", "does not divide", "128", "4096"]),
        ("ppo=3", ["ppo = 3: it is a table, [ppo] with keys of its own"]),
        ("policy.hidden_sizes=64", ["policy.hidden_sizes = 64: it should be a list, as [64, 64]"]),
        ("env=3", ["env = 3: it should be text in quotes"]),
        ("normalization.obs=3", ["normalization.obs = 3: it should be true or false"]),
        ("env.name=x", ["env.name", "not a table"]),
        ("num_envs=true", ["num_envs: expected a number, got true"]),
        ("policy.hidden_sizes=[true]", ["policy.hidden_sizes: ", "expected a number, got [true]"]),
        ("num_envs=" + 5000 * "9", ["num_envs = 999", "the value is too long"]),
        (
            "num_envs=0x" + 5000 * "f",
            ["num_envs = a number of thousands of digits: ", "less than or equal"],
        ),
        ("num_envs=" + 5000 * "[", ["num_envs = [[[", "the value is too long"]),
        (".num_envs=3", [".num_envs=3", "key=value"]),
        ("gamma", ["gamma", "key=value"]),
    ],
    ids=shortened,
)
def test_a_wrong_override_is_explained(override, words):
    text = error_of(None, override)
    for word in words:
        assert word in text


@pytest.mark.parametrize(
    "override", [f"num_envs={5000 * 'many'}", f"{5000 * 'x'}=1"], ids=shortened
)
def test_of_a_long_value_the_beginning_is_shown(override):
    assert len(error_of(None, override)) < 400


def test_an_unknown_preset_is_answered_with_the_nearest():
    text = error_of("cart_pol_ppo")
    assert "; did you mean 'cart_pole_ppo', '" in text
    assert sum(name in text for name in preset_names()) <= 4  # cart_pole_ppo is part of another
    assert error_of("grid+fast").endswith("; for an overlay, write grid --with fast")
    assert error_of("xyzzy").endswith("; operant train --keys lists all presets")


@pytest.mark.parametrize("source", ["", " "])
def test_an_empty_source_is_refused_and_trains_nothing(source):
    assert "expected an environment, a preset or a TOML file" in error_of(source)


def test_a_python_file_is_answered_with_how_to_train_an_environment_of_your_own():
    assert error_of("my_env.py").endswith("write gymnasium:my_env:NAME")
    assert error_of("my_env:make").endswith("a class of a module, write gymnasium:my_env:make")
    wrong = error_of("gymnasium:image_envs:Lage")
    assert "the module image_envs has no function or class Lage" in wrong
    assert wrong.endswith("did you mean 'Large'?")


def test_an_id_of_gymnasiums_needs_no_prefix(tmp_path):
    pytest.importorskip("gymnasium")
    known = resolve("gymnasium:CartPole-v1", ["algorithm=dqn"])
    assert resolve("CartPole-v1", ["algorithm=dqn"]) == known
    for given in ("CartPole-v1", '"CartPole-v1"'):
        assert resolve(None, ["algorithm=dqn", f"env={given}"]) == known
    assert resolve("CartPole-v1", ["env=gymnasium:CartPole-v1", "algorithm=dqn"]) == known
    file = tmp_path / "mine.toml"
    file.write_text('env = "CartPole-v1"')
    assert load_config(str(file)).env == "gymnasium:CartPole-v1"
    assert "is not an environment" in error_of(None, "env=CartPole-v55")
    assert error_of("CartPole-v55").startswith("no preset or environment is called 'CartPole-v55'")
    assert error_of("ALE/Breakout").endswith("; did you mean 'gymnasium:ALE/Breakout'?")


@pytest.mark.parametrize(
    ("mistyped", "near"),
    [
        ("cartpole-v1", "CartPole-v1"),
        ("Pendulm-v1", "Pendulum-v1"),
    ],
)
def test_a_mistyped_id_of_gymnasiums_is_answered_with_the_nearest(mistyped, near):
    pytest.importorskip("gymnasium")
    assert f"; did you mean '{near}'" in error_of(mistyped)
    assert f"; did you mean '{near}'" in error_of(None, f"env={mistyped}")


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"num_envs = 8\nppo = [\n", "line 2"),
        (b"\xff\xfe", "not a text file"),
        (b"a = " + b"[" * 100_000, "nests too deeply"),
        (b"#" * 2**21, "more than"),
        (b"num_envs = " + b"9" * 5000, "digits"),
        (None, "No such file"),
    ],
    ids=shortened,
)
def test_a_file_that_cannot_be_read_is_named_with_the_place(tmp_path, content, word):
    path = tmp_path / "broken.toml"
    if content is not None:
        path.write_bytes(content)
    text = error_of(str(path))
    assert str(path) in text
    assert word in text


def test_every_key_has_a_default_and_a_description():
    for key, defaults, description in fields_with_defaults():
        assert description, key
        for default in {*defaults.values()} - {"(none)"}:
            tomllib.loads(f"{key} = {default}")


def test_none_takes_away_what_a_key_need_not_have():
    assert load_config("cart_pole_ppo", ["ppo.target_kl=0.5"]).ppo.target_kl == 0.5
    assert make_config({"ppo": {"target_kl": 0.5}}, ["ppo.target_kl=none"]).ppo.target_kl is None
    assert load_config("cart_pole_ppo", ["policy.memory.kind=none"]).policy.memory.kind == "none"
    assert "ppo.gamma = 'none'" in error_of("cart_pole_ppo", "ppo.gamma=none")


def test_a_gpu_s_number_is_answered_with_how_one_is_chosen():
    text = error_of("cart_pole_ppo", "device=cuda:1")
    assert "device = cuda:1" in text
    assert "CUDA_VISIBLE_DEVICES=1" in text


@pytest.mark.parametrize(("source", "overlays"), [("cart_pole", []), ("marine_nav", ["fast"])])
def test_an_interval_that_is_set_takes_the_place_of_one_in_another_unit(source, overlays):
    config = load_config(source, ["checkpoint.every_s=60", MEMORY], overlays)
    assert (config.checkpoint.every_s, config.checkpoint.every_iterations) == (60, 0)
    assert config.evaluation.every_iterations > 0  # of another table
    both = ["checkpoint.every_s=60", "checkpoint.every_iterations=5"]
    with pytest.raises(ConfigError, match="an interval has one unit"):
        load_config(source, [*both, MEMORY], overlays)
    # 0 is no interval, and replaces none.
    same = load_config(source, ["checkpoint.every_s=0", MEMORY], overlays)
    assert same == load_config(source, [MEMORY], overlays)


MEMORY = "policy.memory.kind=lstm"  # which overlays are for


@pytest.mark.parametrize(
    ("typed", "value"), [("10M", 10_000_000), ("1.5k", 1500), ("0.5k", 500), ("2B", 2 * 10**9)]
)
def test_numbers_may_be_typed_as_people_do(typed, value, tmp_path):
    assert load_config(None, [f"total_env_steps={typed}"]).total_env_steps == value
    assert load_config(None, [f'total_env_steps="{typed}"']).total_env_steps == value
    file = tmp_path / "mine.toml"
    file.write_text(f'env = "cart_pole"\ntotal_env_steps = "{typed}"\n')
    assert load_config(str(file)).total_env_steps == value


@pytest.mark.parametrize("source", ["CartPole-v1", "ALE/Pong-v5"])
def test_an_id_without_gymnasium_says_what_to_install(source, monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(ConfigError, match="gymnasium is not installed: pip install "):
        load_config(source, ["algorithm=ppo"])
