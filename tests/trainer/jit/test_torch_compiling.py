"""torch.compile changes neither what is learned, beyond rounding, nor what a checkpoint holds.

Most of this is with a backend that traces and makes no machine code, which takes a tenth of the
time: `pytest --inductor` has all of it with the real one, as `make compile` does.
"""

from __future__ import annotations

import copy
import os
from pathlib import Path

import pytest
import torch
from learning import iterate

from operant.shared.errors import ConfigError
from operant.trainer.envs.hosts import describe
from operant.trainer.experiment.plan import plan
from operant.trainer.experiment.traits import Machine
from operant.trainer.jit import torch_compiling

pytestmark = pytest.mark.slow

PYTORCH = "ppo.max_minibatch_size=1000000"
MEMORY = ("policy.memory.kind=lstm", "policy.memory.horizon=8")
DEAD = ("env=gymnasium:CartPole-v1", "gymnasium.vectorization=own")  # next-step resets: dead steps
SCHEDULED = ("ppo.entropy_schedule=linear", "ppo.entropy_coef=0.01")
RUNS = {
    "ppo": (PYTORCH, *SCHEDULED),
    "in pieces": ("ppo.max_minibatch_size=16", "ppo.sampler=prioritised"),
    "memory": (*MEMORY, "contrastive.coef=0.1", "normalization.obs=true"),
    "dead steps": (*DEAD, PYTORCH, "ppo.num_epochs=1"),
    "pqn": ("algorithm=pqn",),
}


@pytest.fixture(params=RUNS)
def run(request):
    return RUNS[request.param]


@pytest.fixture
def quick(request, monkeypatch):
    if not request.config.getoption("--inductor"):
        monkeypatch.setattr(torch_compiling, "BACKEND", "aot_eager")


def compiled(make, *options):
    experiment = make("compile=true", *options)
    experiment.compile(lambda: None)
    return experiment


def flat(state, name=""):
    if isinstance(state, dict | list):
        items = state.items() if isinstance(state, dict) else enumerate(state)
        return {k: x for key, part in items for k, x in flat(part, f"{name}.{key}").items()}
    return {name: torch.as_tensor(0 if state is None else state)}


def check_equal(found, expected):
    found, expected = flat(found), flat(expected)
    assert found.keys() == expected.keys()
    assert [key for key, x in expected.items() if not torch.equal(x, found[key])] == []


def check_one_iteration(make, *options):
    plain, ours = make(*options), compiled(make, *options)
    expected, found = iterate(plain), iterate(ours)
    # 16 optimizer steps with a learning rate of 3e-4 move every weight by up to 5e-3.
    torch.testing.assert_close(
        ours.policy.flat_parameters, plain.policy.flat_parameters, atol=1e-5, rtol=0.0
    )
    assert found.keys() == expected.keys()


def test_parameters_agree_within_1e_5_after_an_iteration(quick, make_experiment, run):
    check_one_iteration(make_experiment, *run)


def test_they_do_with_machine_code(make_experiment):
    """A test of PyTorch's own compiler, which takes ten seconds where its cache is empty."""
    check_one_iteration(make_experiment, *RUNS["ppo"])


def test_they_do_as_a_gpu_would_have_it(quick, make_cuda_experiment):
    check_one_iteration(make_cuda_experiment, *SCHEDULED)


def test_all_is_compiled_beforehand_and_nothing_is_learned_by_it(quick, make_experiment, run):
    experiment = make_experiment("compile=true", *run)
    before = copy.deepcopy(experiment.state_dict())
    ticks = []
    experiment.compile(lambda: ticks.append(1))
    assert ticks  # a run shows that it is alive
    check_equal(experiment.state_dict(), before)
    if run != RUNS["dead steps"]:  # whose minibatches are of many sizes
        torch._dynamo.utils.counters.clear()
        iterate(experiment, 3)
        assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 0


def test_checkpoints_are_those_of_what_is_not_compiled(quick, make_experiment):
    plain, ours = make_experiment(*RUNS["memory"]), compiled(make_experiment, *RUNS["memory"])
    iterate(ours)
    state = copy.deepcopy(ours.state_dict())
    assert flat(state).keys() == flat(plain.state_dict()).keys()
    assert not any("_orig_mod" in key for key in flat(state))
    plain.load_state_dict(state, 1)
    check_equal(plain.state_dict(), state)
    iterate(plain)
    later = copy.deepcopy(plain.state_dict())
    ours.load_state_dict(later, 2)
    check_equal(ours.state_dict(), later)
    iterate(ours)


def test_two_iterations_and_two_more_are_four_bit_for_bit(quick, make_experiment):
    options = (*MEMORY, "ppo.sampler=prioritised", "contrastive.coef=0.1")
    straight, first = (compiled(make_experiment, *options) for _ in range(2))
    iterate(straight, 4)
    iterate(first, 2)
    second = compiled(make_experiment, *options)
    second.load_state_dict(first.state_dict(), 2)
    iterate(second, 2)
    check_equal(second.state_dict(), straight.state_dict())


def test_no_two_minibatches_and_no_two_rollouts_have_the_same_random_numbers(
    quick, make_experiment, monkeypatch
):
    experiment = compiled(make_experiment, *MEMORY, "contrastive.coef=0.1", "ppo.num_epochs=1")
    drawn, actions = [], []
    (contrastive,) = experiment.algorithm.auxiliary_losses
    prepared = contrastive.prepared

    def watched(minibatch):
        drawn.append(prepared(minibatch).extra["later"].clone())
        return prepared(minibatch)

    monkeypatch.setattr(contrastive, "prepared", watched)
    for _ in range(2):
        iterate(experiment)
        actions.append(experiment.collector.rollout.actions.clone())
    assert len(drawn) == 2 * 4
    assert not any(torch.equal(x, y) for i, x in enumerate(drawn) for y in drawn[:i])
    assert not torch.equal(*actions)


def test_without_a_compiler_it_is_one_line_that_says_what_is_missing(small_config, monkeypatch):
    from torch._inductor import exc
    from torch._inductor.cpp_builder import get_cpp_compiler  # noqa: F401

    def none_found():
        raise exc.InvalidCxxCompiler

    monkeypatch.setattr("torch._inductor.cpp_builder.get_cpp_compiler", none_found)
    with pytest.raises(
        ConfigError, match="no C\\+\\+ compiler was found; install g\\+\\+"
    ) as caught:
        torch_compiling.Compiled(lambda x: x, torch.device("cpu"))
    assert "compile = false" in str(caught.value)


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """The folder of the user's caches."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "")  # so that it is put back
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_machine_code_lies_in_a_folder_of_this_user_alone(monkeypatch, cache):
    monkeypatch.setattr(torch_compiling, "why_no_compiler", lambda device: "")
    torch_compiling.Compiled(lambda x: x, torch.device("cpu"))
    folder = Path(os.environ["TORCHINDUCTOR_CACHE_DIR"])
    assert folder.is_relative_to(cache)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_machine_code_is_not_kept_where_a_link_leads(cache):
    (cache / "theirs").mkdir()
    (cache / "operant").mkdir()
    (cache / "operant" / "torchinductor").symlink_to(cache / "theirs")
    with pytest.raises(ConfigError, match="TORCHINDUCTOR_CACHE_DIR"):
        torch_compiling.Compiled(lambda x: x, torch.device("cpu"))


def test_what_cannot_be_compiled_is_one_line(monkeypatch):
    def broken(graph, inputs):
        raise RuntimeError("C++ compile error\nmany\nlines")

    monkeypatch.setattr(torch_compiling, "BACKEND", broken)
    with pytest.raises(ConfigError) as caught:
        torch_compiling.Compiled(lambda x: x + 1, torch.device("cpu"))(torch.ones(2))
    assert str(caught.value) == (
        "compile = true: torch.compile failed: C++ compile error; compile = false works everywhere"
    )


def test_beside_the_compiled_loops_of_ppo_it_has_nothing_to_do_and_says_so(small_config):
    processor = Machine(no_gpu="none")
    config = small_config("compile=true")
    (notice,) = plan(config, describe(config), processor).notices
    assert "compile has no effect" in notice
    by_torch = small_config("compile=true", "ppo.sampler=sequential")
    (notice,) = plan(by_torch, describe(by_torch), processor).notices
    assert "PyTorch collects and learns, because of ppo.sampler = sequential" in notice
