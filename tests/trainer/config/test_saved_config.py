"""A checkpoint of another version: what is new takes its default, what is unknown is left out."""

from __future__ import annotations

import copy

import pytest

from operant.shared.errors import CheckpointError, ConfigError
from operant.trainer.config.saved_config import saved_config
from operant.trainer.experiment.checkpoints import Checkpoint, check_same_config


@pytest.fixture
def values(small_config):
    return copy.deepcopy(small_config("ppo.gamma=0.9").model_dump(mode="json"))


def test_what_this_version_saves_it_reads_without_a_word(values, small_config):
    saved = saved_config(values)
    assert saved.config == small_config("ppo.gamma=0.9")
    assert saved.warning == ""


def test_keys_and_tables_that_it_lacks_take_their_defaults(values):
    del values["rollout"], values["ppo"]["value_coef"], values["normalization"]
    config = saved_config(values).config
    assert (config.rollout, config.ppo.value_coef, config.ppo.gamma) == ("steps", 0.5, 0.9)
    assert config.normalization.reward is False


def test_a_run_that_lacks_a_key_is_resumed_with_its_default_and_with_no_other(values, small_config):
    del values["ppo"]["value_coef"]
    checkpoint = Checkpoint(1, 128, 1, values, {})
    check_same_config(checkpoint, small_config("ppo.gamma=0.9"))
    with pytest.raises(CheckpointError, match=r"has ppo.value_coef = 0.5, not 0.25"):
        check_same_config(checkpoint, small_config("ppo.gamma=0.9", "ppo.value_coef=0.25"))


def test_a_setting_that_an_older_version_ignored_takes_its_default(values, small_config):
    values["ppo"] |= {"entropy_schedule": "linear", "value_clip": 0.5, "value_coef": 0.0}
    saved = saved_config(values)
    assert saved.config == small_config("ppo.gamma=0.9", "ppo.value_coef=0")
    check_same_config(Checkpoint(1, 128, 1, values, {}), saved.config)
    with pytest.raises(ConfigError, match="there is no bonus to change"):
        saved_config(values, ["ppo.entropy_schedule=linear"])


def test_keys_and_tables_that_nobody_knows_are_left_out_and_named(values, small_config):
    values |= {"sampler": {"kind": "new"}, "gravity": 9}
    values["ppo"]["momentum"] = 0.5
    saved = saved_config(values)
    assert saved.config == small_config("ppo.gamma=0.9")
    assert saved.unknown == ["ppo.momentum = 0.5", "sampler = {'kind': 'new'}", "gravity = 9"]
    assert saved.warning == (
        "the checkpoint has ppo.momentum = 0.5, sampler = {'kind': 'new'}, gravity = 9, which this "
        "version of operant does not know; it goes on without"
    )
    check_same_config(Checkpoint(1, 128, 1, values, {}), saved.config)


def test_tables_that_were_once_written_for_every_run_are_left_out_without_a_word(
    values, small_config
):
    values |= {"tinyphysics": {"engine": "auto"}, "cloning": {}, "gymnasium": {"x": 1}, "pqn": {}}
    saved = saved_config(values)
    assert saved.config == small_config("ppo.gamma=0.9")
    assert saved.warning == ""


def test_a_value_that_is_no_longer_allowed_is_one_clear_line(values):
    values["ppo"]["gamma"] = 1.5
    with pytest.raises(CheckpointError, match=r"^this version .* ppo.gamma = 1.5: [^\n]*$"):
        saved_config(values)


def test_processes_of_each_environment_are_as_many_workers(small_config):
    values = small_config("env=gymnasium:CartPole-v1").model_dump(mode="json")
    del values["workers"]
    values["gymnasium"]["vectorization"] = "async"
    saved = saved_config(values)
    assert saved.config.gymnasium.vectorization == "sync"
    assert saved.config.workers.num_workers == saved.config.num_envs == 8
    assert saved.warning == ""


def test_an_override_is_checked_as_ever(values):
    assert saved_config(values, ["ppo.gamma=0.5"]).config.ppo.gamma == 0.5
    with pytest.raises(ConfigError, match=r"unknown key 'ppo.gama'; did you mean 'ppo.gamma'"):
        saved_config(values, ["ppo.gama=0.5"])


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("algorithm=pqn", "the checkpoint has algorithm = ppo, not pqn"),
        ("env=pendulum", "the checkpoint has env = cart_pole, not pendulum"),
    ],
)
def test_a_checkpoint_of_another_algorithm_or_environment_is_refused_as_such(
    values, override, words
):
    with pytest.raises(CheckpointError, match=words):
        saved_config(values, [override])
    assert saved_config(values, ["algorithm=ppo", "seed=3"]).config.seed == 3
