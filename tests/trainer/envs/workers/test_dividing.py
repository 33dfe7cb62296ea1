"""Numbers of workers and groups that fit, and what is said of those that do not."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operant.shared.errors import ConfigError
from operant.trainer.config.files import load_config
from operant.trainer.config.from_values import make_config
from operant.trainer.envs.workers.dividing import most_groups, most_workers, why_not

TOLD = re.compile(r"(num_workers|num_envs|async_factor) (?:may be )?(\d+)(?: or (\d+))?")

counts = st.integers(1, 300)


@given(counts, st.integers(0, 64), st.integers(1, 64), st.integers(1, 64))
def test_what_fits_is_shared_out_evenly_and_nothing_else(envs, workers, groups, cores):
    fits = why_not(envs, workers, groups, cores) == ""
    if workers == 0:
        assert fits == (groups == 1)
    else:
        assert fits == (workers <= cores and envs % workers == 0 and workers % groups == 0)


@given(counts, st.integers(1, 64), st.integers(1, 64), st.integers(1, 64))
def test_every_number_that_is_named_instead_works(envs, workers, groups, cores):
    reason = why_not(envs, workers, groups, cores)
    told = TOLD.findall(reason)
    for key, *values in told:
        for value in filter(None, values):
            better = {"num_envs": envs, "num_workers": workers, "async_factor": groups}
            better[key] = int(value)
            then = why_not(*better.values(), cores)
            # What was wrong is right then; the next number may still be wrong.
            assert then == "" or key not in then.partition("may be")[0].partition(" does")[0]
    assert bool(told) == bool(reason)


@given(counts, st.integers(1, 64), st.integers(1, 64), st.integers(1, 8))
def test_what_a_smaller_machine_makes_of_it_fits(envs, workers, cores, groups):
    capped = most_workers(envs, workers, cores)
    assert 1 <= capped <= min(workers, cores)
    assert why_not(envs, capped, most_groups(capped, groups), cores) == ""


ENV = "env=gymnasium:CartPole-v1"


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (
            ("num_envs=8", "workers.num_workers=3"),
            "workers.num_workers = 3 does not divide num_envs = 8; num_workers may be 2 or 4, or "
            "num_envs 6 or 9",
        ),
        (
            ("num_envs=8", "workers.async_factor=2"),
            "workers.async_factor = 2 is for workers, and workers.num_workers = 0; use 1",
        ),
        (
            ("num_envs=8", "gymnasium.vectorization=own", "workers.num_workers=2"),
            "workers.num_workers = 2: with gymnasium.vectorization = own the environment steps "
            "itself",
        ),
    ],
)
def test_numbers_that_do_not_fit_are_refused_with_the_key_to_change(overrides, words, monkeypatch):
    monkeypatch.setattr("operant.trainer.envs.workers.section.num_cores", lambda: 16)
    with pytest.raises(ConfigError) as caught:
        make_config({}, (ENV, *overrides))
    assert str(caught.value) == words


def test_more_workers_than_cores_are_refused_where_they_are_asked_for(monkeypatch):
    monkeypatch.setattr("operant.trainer.envs.workers.section.num_cores", lambda: 2)
    with pytest.raises(ConfigError) as caught:
        load_config("lunar_lander_ppo", ["num_envs=8", "workers.num_workers=4"])
    assert str(caught.value) == (
        "workers.num_workers = 4 is more than the 2 cores of this machine; num_workers may be 2"
    )


def test_a_preset_for_a_larger_machine_has_as_many_as_there_are_cores(monkeypatch, tmp_path):
    monkeypatch.setattr("operant.trainer.config.files.PRESET_FOLDER", tmp_path)
    monkeypatch.setattr("operant.trainer.envs.workers.section.num_cores", lambda: 3)
    (tmp_path / "large.toml").write_text(
        'env = "gymnasium:CartPole-v1"\nalgorithm = "ppo"\nnum_envs = 32\n'
        "[workers]\nnum_workers = 16\nasync_factor = 8\n"
    )
    config = load_config("large")
    # 2 is the largest number up to 3 that divides 32; 2 groups are the most of 2 workers.
    plan = config.table("workers").plan(config.num_envs)
    assert (plan.num_workers, plan.async_factor) == (2, 2)
