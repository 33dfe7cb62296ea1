"""Tuning advice names only keys that the run has and that could help it."""

from __future__ import annotations

import dataclasses
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operant.monitor.runs.machine.tuning_advice import (
    CHANGES,
    MORE_ENVS,
    TUNE,
    Knobs,
    knobs_of,
)
from operant.monitor.runs.reading.run_description import RecordedManifest
from operant.shared.runs.run_folder import create_run
from operant.trainer.config.files import load_config, preset_names
from operant.trainer.config.flat_keys import flat_keys

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.dictionaries(
        st.sampled_from(["config", "algorithm", "ppo", "num_envs", "workers", "evaluation"]), inner
    ),
)


def knobs(config: str = "cart_pole_ppo", *overrides: str, device: str = "cpu") -> Knobs:
    values = load_config(config, overrides).model_dump(mode="json")
    told = knobs_of({"config": values, "device": device})
    assert told
    return told


@pytest.mark.parametrize("preset", preset_names())
def test_every_knob_is_a_key_of_the_run_or_a_command(preset):
    keys = flat_keys(load_config(preset).model_dump(mode="json"))
    told = dataclasses.asdict(knobs(preset))
    for words in filter(None, map(str, list(told.values())[1:])):
        words = words.removesuffix(CHANGES)
        key = re.sub(r"^(raise|lower|set) ", "", words).partition("=")[0]
        assert words == TUNE or key in keys, words
        assert len(words) <= 36  # what a pane of a terminal of 80 columns holds


@pytest.mark.parametrize(
    ("overrides", "collect"),
    [
        ((), TUNE),
        (("env=native:my:make", "num_envs=16"), "set workers.num_workers=auto"),
        (("env=native:my:make", "num_envs=1"), MORE_ENVS),
        (("env=native:my:make", "num_envs=16", "workers.num_workers=auto"), TUNE),
        (("env=native:my:make", "num_envs=16", "workers.num_workers=2"), TUNE),
    ],
)
def test_what_makes_collecting_faster(overrides, collect):
    config = {"algorithm": "ppo", "ppo": {"num_epochs": 4}, "num_envs": 16}
    for key, value in (override.split("=") for override in overrides):
        number = int(value) if value.isdigit() else value
        if key.startswith("workers."):
            config["workers"] = {"num_workers": number}
        else:
            config |= {key: number}
    if "env" in config:
        config.setdefault("workers", {"num_workers": 0})
    assert knobs_of({"config": config}).collect == collect


def test_an_environment_that_steps_itself_has_no_use_for_workers():
    config = {"algorithm": "ppo", "ppo": {"num_epochs": 4}, "num_envs": 16,
              "workers": {"num_workers": 0}, "gymnasium": {"vectorization": "auto"}}  # fmt: skip
    for way in ("gymnasium", "mjbatch"):
        assert knobs_of({"config": config, "stepped_by": way}).collect == TUNE
    assert knobs_of({"config": config, "stepped_by": "workers"}).collect.startswith("set workers")


def test_what_keeps_a_gpu_busy_while_it_learns_changes_what_is_learned():
    assert knobs().learn_on_idle_gpu == "lower ppo.num_minibatches (changes learning)"
    assert knobs("pendulum_sac").learn_on_idle_gpu == "raise sac.batch_size (changes learning)"
    assert knobs("cart_pole_ppo", "ppo.num_minibatches=1").learn_on_idle_gpu == ""


def test_an_interval_is_raised_in_its_own_unit():
    assert knobs().evaluate == "raise evaluation.every_iterations"
    assert knobs("cart_pole_ppo", "evaluation.every_s=5").evaluate == "raise evaluation.every_s"
    assert knobs("cart_pole_ppo", "evaluation.every_iterations=0").evaluate == ""


def test_the_device_is_the_one_that_was_chosen():
    assert knobs(device="cuda (NVIDIA H200)").is_on_gpu
    assert not knobs(device="cpu").is_on_gpu
    assert not knobs(device="auto").is_on_gpu


@given(st.dictionaries(st.sampled_from(["config", "device"]), anything))
def test_whatever_a_manifest_holds_nothing_is_raised(manifest):
    told = knobs_of(manifest)
    assert told is None or isinstance(told, Knobs)


def test_the_knobs_follow_the_manifest():
    values = load_config("cart_pole_ppo").model_dump(mode="json", exclude_none=True)
    run, _lock = create_run("test", {"config": values, "device": "auto"})
    recorded = RecordedManifest(run)
    assert not recorded.read()[0].is_on_gpu
    run.write_manifest({**run.manifest(), "device": "cuda (NVIDIA H200)"})
    assert recorded.read()[0].is_on_gpu
    run.manifest_path.unlink()
    assert recorded.read()[0].is_on_gpu
