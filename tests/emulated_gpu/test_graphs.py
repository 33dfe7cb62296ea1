"""How large captured graphs are, how often each is replayed, and what the host does besides."""

from __future__ import annotations

import tomllib
from collections import Counter

import gpu_runs
import pytest
import torch

from operant.shared.errors import ConfigError
from operant.trainer.algorithms import off_policy
from operant.trainer.config.files import load_config, preset_names
from operant.trainer.config.from_values import make_config
from operant.trainer.config.overlays import hardware_names
from operant.trainer.config.toml_file import PRESET_FOLDER
from operant.trainer.config.train_config import algorithm_sections
from operant.trainer.envs.hosts import host_of
from operant.trainer.experiment.traits import can_be_on_gpu
from operant.trainer.jit import graphs

MOST_OPERATIONS = 20_000
CONTINUOUS = ("ddpg", "td3", "sac", "tqc", "crossq", "ac_iqn")
# One of each way to learn; the long form has all.
SHORT = {"acrobot_ppo, gpu_large", "cart_pole_memory_ppo", "dqn", "rainbow", "sac"}


@pytest.fixture
def replays(monkeypatch):
    """How often each graph was replayed."""
    counts = Counter()
    replay = torch.cuda.CUDAGraph.replay

    def counted(graph):
        counts[graph] += 1
        replay(graph)

    monkeypatch.setattr(torch.cuda.CUDAGraph, "replay", counted)
    return counts


def shapes():
    """Presets, those with sizes for hardware, and the defaults of every algorithm: by name a
    function that makes the configuration with more settings.
    """
    for preset in preset_names():
        env = tomllib.loads((PRESET_FOLDER / f"{preset}.toml").read_text())["env"]
        if not host_of(env).is_own:
            continue
        config = load_config(preset)
        if not can_be_on_gpu(config.facts()):
            continue
        yield preset, lambda more, preset=preset: load_config(preset, more)
        for hardware in hardware_names():
            try:
                load_config(preset, overlays=[hardware])
            except ConfigError:  # it has no sizes for this environment
                continue
            name = f"{preset}, {hardware}"
            yield name, lambda more, p=preset, sizes=hardware: load_config(p, more, [sizes])
    for algorithm in algorithm_sections():
        env = "pendulum" if algorithm in CONTINUOUS else "cart_pole"
        values = {"algorithm": algorithm, "env": env}
        if algorithm == "crossq":  # 3 does not divide the updates of an iteration
            values["crossq"] = {"policy_delay": 1}
        yield algorithm, lambda more, values=values: make_config(values, more)


SHAPES = dict(shapes())


def with_few_envs(make):
    """A configuration with few environments and small batches: its graphs are those of the whole,
    but for the number of updates of algorithms with a replay, which is as if 64 were due.
    """
    config = make([])
    if config.learns_from_replay:
        steps = 4 * config.rollout_steps * (config.num_rows // config.num_envs)
        key = config.algorithm
        return make([
            "num_envs=4", "replay.capacity=20000", f"{key}.warmup_env_steps={steps}",
            f"{key}.batch_size=8", f"{key}.updates_per_env_step={64 / steps}",
        ])  # fmt: skip
    parts = config.algorithm_section.num_minibatches
    if config.policy.memory.is_on:
        return make([f"num_envs={parts}"])
    num_envs = next(n for n in range(2, 999) if n * config.rollout_steps % parts == 0)
    return make([f"num_envs={num_envs}"])


def marked(name):
    return pytest.param(name, marks=() if name in SHORT else pytest.mark.long_rehearsal)


@pytest.mark.parametrize("name", map(marked, SHAPES))
def test_no_graph_has_more_than_20000_operations(name, replays):
    config = with_few_envs(SHAPES[name])
    run = gpu_runs.make_run(config, "cuda")
    gpu_runs.iterate(run, 3)
    sizes = [gpu_runs.num_operations(graph) for graph in replays]
    assert sizes
    assert max(sizes) <= MOST_OPERATIONS
    if config.learns_from_replay:  # one graph, for each 16 updates
        assert max(replays.values()) == 2 * 64 // 16


MANY_UPDATES = {
    "num_envs": 8, "rollout_steps": 16, "total_env_steps": 8 * 16 * 20,
    "policy": {"hidden_sizes": [16]}, "normalization": {"obs": True},
    "replay": {"capacity": 2000},
}  # fmt: skip
SECTION = {"warmup_env_steps": 300, "batch_size": 16, "updates_per_env_step": 0.5}
RUNS = {
    "dqn": {"env": "cart_pole", "dqn": {**SECTION, "target_every": 24, "target_tau": 1.0}},
    "td3": {"env": "pendulum", "td3": {**SECTION, "learning_rate_schedule": "linear"}},
    "rainbow": {"env": "cart_pole", "rainbow": SECTION},
}


def config_of(algorithm):
    return make_config({**MANY_UPDATES, "algorithm": algorithm, **RUNS[algorithm]})


@pytest.mark.parametrize(
    "algorithm", ["dqn", "rainbow", pytest.param("td3", marks=pytest.mark.long_rehearsal)]
)
def test_a_block_replayed_several_times_does_what_the_processor_does(algorithm):
    config = config_of(algorithm)
    on_cpu, on_gpu = (gpu_runs.make_run(config, device) for device in ("cpu", "cuda"))
    expected = gpu_runs.iterate(on_cpu, 7)
    assert str(gpu_runs.iterate(on_gpu, 7)) == str(expected)
    assert gpu_runs.differences(on_cpu, on_gpu) == {}
    # From the third iteration on there are env steps enough: 64 updates in each.
    assert [x["updates/count"] for x in expected] == [0, 0, 64, 128, 192, 256, 320]


def test_the_size_of_a_block_changes_no_bit_of_the_state(monkeypatch):
    config, runs = config_of("rainbow"), []
    for most in (16, 64):
        monkeypatch.setattr(off_policy, "MOST_UPDATES_IN_GRAPH", most)
        runs.append(gpu_runs.make_run(config, "cuda"))
        gpu_runs.iterate(runs[-1], 5)
    assert gpu_runs.differences(*runs) == {}


def test_before_warm_up_no_update_is_computed(replays):
    run = gpu_runs.make_run(config_of("rainbow"), "cuda")
    cold = gpu_runs.iterate(run, 2)
    assert "loss/value" not in cold[0]
    # Collecting aside, what is replayed is far less than one update.
    assert sum(gpu_runs.num_operations(graph) for graph in replays) < 1000
    assert int(run.state_dict()["learner"]["replay"]["draws"]) == 0
    assert run.state_dict()["learner"]["draws"]["noise"]["count"] == 0
    warm = gpu_runs.iterate(run, 2)
    assert warm[0]["loss/value"] > 0
    assert int(run.state_dict()["learner"]["replay"]["draws"]) == 128


def wait_for_event():
    event = torch.cuda.Event()
    event.record()
    event.synchronize()


PLANTED = {
    "nothing": lambda: None,
    "an event": wait_for_event,
    "a number": lambda: torch.ones((), device="cuda").item(),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_the_host_waits_for_nothing_between_blocks_and_iterations(planted, monkeypatch):
    from emulated_gpu.watching import Waits, watching  # importing it makes the emulation

    run = gpu_runs.make_run(config_of("dqn"), "cuda")
    gpu_runs.iterate(run, 5)  # captured
    replay = graphs.replay

    def replay_and_wait(*arguments):
        replay(*arguments)
        PLANTED[planted]()

    monkeypatch.setattr(graphs, "replay", replay_and_wait)
    waits = Waits()
    with watching(waits):
        gpu_runs.start(run, 2)
    assert run.num_started == 7
    assert bool(waits.seen) == (planted != "nothing"), waits.seen
