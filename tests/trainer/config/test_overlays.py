"""Overlays on configurations of many agents, as `--with fast`."""

from __future__ import annotations

import math

import pytest
from learning import iterate

from operant.shared.errors import ConfigError
from operant.trainer.config.files import load_config
from operant.trainer.experiment.build import make_experiment

NAMES = ("cpu_parallel", "cpu_serial", "fast", "original", "smoke", "ultra_fast")
# A world that is quick, with a small network that remembers.
SEAS = (
    "policy.memory.kind=lstm", "policy.memory.size=4", "policy.hidden_sizes=[4]", "num_threads=1",
    "marine_nav.num_robots=4", "marine_nav.curriculum=[]",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_each_trains_for_two_updates(name):
    config = load_config("marine_nav", SEAS, [name])
    experiment = make_experiment(config)
    try:
        values = iterate(experiment, 2)
    finally:
        experiment.close()
    assert experiment.iteration == 2
    assert math.isfinite(values["loss/policy"])


@pytest.mark.parametrize("name", NAMES)
def test_each_goes_on_mettagrid(name):
    config = load_config("mettagrid", overlays=[name])
    sizes = {"fast": 262_144, "ultra_fast": 262_144, "smoke": 256}
    assert config.rollout_size == sizes.get(name, 16_384)


def test_what_is_set_is_on_top_and_a_later_overlay_on_top_of_a_former():
    config = load_config("mettagrid", ["num_envs=8"], ["fast", "smoke"])
    assert config.num_envs == 8
    assert config.rollout_steps == 16  # of smoke
    assert config.checkpoint.every_iterations == 100  # of fast


@pytest.mark.parametrize(
    ("overlay", "override"),
    [
        ("original", "contrastive.temperature=0.2"),
        ("original", "ppo.priority_exponent=0.7"),
        ("ultra_fast", "rollout_steps=16"),
    ],
)
def test_what_is_set_may_need_what_the_overlay_sets(overlay, override):
    key, value = override.split("=")
    config = load_config("grid", [override], [overlay])
    for name in key.split("."):
        config = getattr(config, name)
    assert str(config) == value


def test_workers_of_an_overlay_are_capped_and_those_that_are_asked_for_are_not():
    assert load_config("mettagrid", overlays=["fast"]).table("workers").num_workers == 16
    with pytest.raises(ConfigError, match=r"workers.num_workers = 512 is more than"):
        load_config("mettagrid", ["workers.num_workers=512"], ["fast"])


@pytest.mark.parametrize(
    ("source", "overlay", "error"),
    [
        ("mettagrid", "fats", "no overlay is called 'fats'; did you mean 'fast'"),
        (
            "cart_pole",
            "gpu_smal",
            r"did you mean 'gpu_small'\?; there are cpu_parallel, .*cpu, gpu",
        ),
        ("cart_pole_no_velocity", "fast", "overlay fast is for environments of many agents; cart"),
        ("cart_pole", "fast", "with fast: policy.memory.horizon = 32: policy.memory.kind = none"),
    ],
)
def test_what_does_not_go_together_is_one_line(source, overlay, error):
    with pytest.raises(ConfigError, match=error):
        load_config(source, overlays=[overlay])


def test_what_is_wrong_with_an_overlay_alone_is_said_to_be_its_fault():
    short = ["rollout_steps=32"]  # less than the horizon of original
    load_config("grid", short)
    with pytest.raises(ConfigError, match=r"^with original: "):
        load_config("grid", short, ["original"])
