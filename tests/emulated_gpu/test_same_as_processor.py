"""A run captured and replayed on a GPU is the same parts run as they stand on the processor."""

from __future__ import annotations

import gpu_conformance
import gpu_runs
import pytest

# Each algorithm, each way of being executed, and some of the configurations with many switches;
# the long form has all.
ALONE = {"overlap", "fused", "lstm", "float16", "replay on host", "kickstart"}
EVERY = 48
# What the processor's own loops may change in an iteration. They add in another order, so a sum
# differs in the last bit of a float32. Adam divides by the size of the gradient, so a weight whose
# gradient is nearly 0 may differ by more.
ROUNDING = 1e-5


def cases():
    """None where there is no emulated GPU: listing them takes seconds."""
    every = gpu_conformance.cases() if gpu_runs.is_emulated() else ()
    seen, num_rows = set(), 0
    for case in every:
        levels = {level for _, level in case.levels}
        if not levels:
            is_short = case.place.algorithm not in seen
            seen.add(case.place.algorithm)
        elif len(levels) == 1:
            is_short = levels <= ALONE
        else:
            is_short = num_rows % EVERY == 0
            num_rows += 1
        marks = () if is_short else pytest.mark.long_rehearsal
        yield pytest.param(case, marks=marks, id=case.name.replace(", ", "-"))


@pytest.mark.parametrize("case", cases())
def test_a_gpu_does_what_the_processor_does_bit_for_bit_and_goes_on_with_its_checkpoints(case):
    with gpu_runs.without_processor_loops():
        assert gpu_conformance.compared(case) == {}


def test_the_document_lists_all_of_them():
    """How far they differ depends on the processor that wrote it."""
    written = gpu_conformance.DOCUMENT.read_text()
    rows = gpu_conformance.table({case: {} for case in gpu_conformance.cases()}).splitlines()
    for row in rows:
        assert row.removesuffix("none |") in written, "make gpu-conformance writes it anew"


def test_each_key_that_a_run_on_a_gpu_can_have_is_in_one_of_them():
    assert gpu_conformance.untried_keys() == set()


@pytest.mark.parametrize(
    "name",
    [
        "LSTM", *(pytest.param(x, marks=pytest.mark.long_rehearsal)
                  for x in ("tokens", "tokens and LSTM")),
    ],
)  # fmt: skip
def test_loops_that_only_the_processor_has_differ_by_rounding_alone(name):
    env, levels = gpu_conformance.WITH_LOOPS[name]
    config = gpu_conformance.configured(gpu_conformance.Place("ppo", env), levels)
    on_cpu, on_gpu = (gpu_runs.make_run(config, device) for device in ("cpu", "cuda"))
    for run in (on_cpu, on_gpu):
        gpu_runs.iterate(run, 1)
    assert 0 < gpu_conformance.weight_difference(on_cpu, on_gpu) < ROUNDING


@pytest.mark.parametrize(
    ("algorithm", "env"), [("ppo", "cart_pole"), ("dqn", "cart_pole"), ("sac", "pendulum")]
)
def test_a_network_of_ones_own_learns_the_same_on_both_devices(algorithm, env):
    own = "policy.encoder=image_envs:Pair"
    place = gpu_conformance.Place(algorithm, env)
    config = gpu_conformance.configured(place, (), gpu_conformance.TEACHER, own)
    with gpu_runs.without_processor_loops():
        on_cpu, on_gpu = (gpu_runs.make_run(config, device) for device in ("cpu", "cuda"))
        before = on_cpu.policy.flat_parameters.clone()
        for run in (on_cpu, on_gpu):
            gpu_runs.iterate(run, 3)
    assert gpu_conformance.weight_difference(on_cpu, on_gpu) == 0
    assert not on_cpu.policy.flat_parameters.equal(before)
