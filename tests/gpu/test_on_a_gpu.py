"""On a real GPU: kernels, graphs, and a loop that never waits."""

from __future__ import annotations

import kernel_checks
import pytest
import replay_checks
import torch

from operant.shared import MetricsReader, MetricsWriter
from operant.trainer.config.files import load_config
from operant.trainer.config.from_values import make_config
from operant.trainer.config.metrics import metrics_of
from operant.trainer.envs.names import ENV_NAMES
from operant.trainer.experiment.build import device_experiment
from operant.trainer.experiment.checkpoints import latest_checkpoint
from operant.trainer.experiment.intervals import NOTHING
from operant.trainer.jit.graphs import Replayed
from operant.trainer.machine.staged_values import StagedValues
from operant.trainer.machine.stopwatch import Stopwatch
from operant.trainer.policies.draws_on_gpu import CountedOrders
from operant.trainer.running.loop import train
from operant.trainer.running.telemetry import Telemetry

CUDA = torch.device("cuda")


def long(*values):
    """A parameter of the long rehearsal."""
    return pytest.param(*values, marks=pytest.mark.long_rehearsal)


@pytest.mark.long_rehearsal
@pytest.mark.parametrize("name", ENV_NAMES)
def test_every_step_is_that_of_the_processor(name):
    kernel_checks.check_every_step(name, "cuda", num_envs=300, steps=600)


@pytest.mark.long_rehearsal
@pytest.mark.parametrize("name", ENV_NAMES)
def test_many_steps_in_one_launch_are_those_steps_one_by_one(name):
    kernel_checks.check_many_steps(name, "cuda", num_envs=300, steps=100)


@pytest.mark.long_rehearsal
def test_the_fused_rollout_is_the_one_gathered_step_by_step(config):
    def make(*overrides):
        return device_experiment(config("num_envs=300", "ppo.num_minibatches=1", *overrides), CUDA)

    kernel_checks.check_fused(make, [])


@pytest.mark.long_rehearsal
@pytest.mark.parametrize("is_prioritised", [False, True], ids=["uniform", "by_error"])
@pytest.mark.parametrize("stack", [1, 4], ids=["whole", "frames"])
def test_a_replay_draws_what_the_processor_draws(is_prioritised, stack):
    replay_checks.check_same_as_processor("cuda", is_prioritised, stack=stack)


@pytest.mark.parametrize("is_prioritised", [False, True], ids=["uniform", "by_error"])
def test_a_replay_works_from_a_graph(is_prioritised, strict):
    replay_checks.check_graph(is_prioritised, strict)


def test_a_replay_may_keep_its_observations_in_pinned_memory():
    replay_checks.check_same_as_processor("cuda", True, pinned=True)
    replay_checks.check_same_as_processor("cuda", True, pinned=True, stack=4)


def test_a_replayed_graph_gives_another_order_each_time():
    orders, seen = CountedOrders(1000, 1, CUDA), torch.zeros(1000, dtype=torch.int64, device=CUDA)
    with torch.cuda.stream(torch.cuda.Stream()):
        replayed = Replayed(lambda: seen.copy_(orders.next(1000)), capture=True)
        found = []
        for _ in range(4):
            replayed()
            torch.cuda.synchronize()
            found.append(tuple(seen.tolist()))
    on_the_processor = CountedOrders(1000, 1, torch.device("cpu"))
    assert found == [tuple(on_the_processor.next(1000).tolist()) for _ in range(4)]


def test_values_are_staged_without_waiting(strict):
    staged = StagedValues(["loss"], CUDA)
    arrived = []
    strict()
    for i in range(20):
        staged.values.fill_(float(i))
        while not staged.stage(i):
            arrived += staged.take()
    torch.cuda.set_sync_debug_mode("default")
    arrived += staged.drain()
    assert arrived == [(i, {"loss": float(i)}) for i in range(20)]


@pytest.mark.long_rehearsal
@pytest.mark.parametrize("overlap", ["false", "true"])
@pytest.mark.parametrize("rollout", ["steps", "fused"])
def test_the_loop_never_synchronises_while_it_is_read(
    config, operant_pages, strict, rollout, overlap
):
    experiment = device_experiment(config(f"rollout={rollout}", f"overlap={overlap}"), CUDA)
    writer = MetricsWriter.create(
        operant_pages / "p", "run", metrics_of(load_config()), publish_interval_s=1
    )
    reader = MetricsReader.attach(operant_pages / "p")
    telemetry = Telemetry(writer, experiment)
    for iteration in range(50):
        if iteration == 4:  # all is compiled and captured
            strict()
        for values in experiment.iterate(telemetry.stopwatch, wait=False):
            telemetry.after(values, NOTHING)
            telemetry.publish(values)
            reader.read()
    torch.cuda.set_sync_debug_mode("default")
    for values in experiment.finish():
        telemetry.after(values, NOTHING)
        telemetry.publish(values)
    snapshot = reader.read()
    assert snapshot.iteration == 50
    assert snapshot.metrics["time/collect_s"] > 0


def with_and_without_a_graph(config, num_iterations=6):
    """Two experiments after so many iterations: replayed from graphs, and run as they stand."""
    experiments = [device_experiment(config, CUDA, capture) for capture in (True, False)]
    for experiment in experiments:
        for _ in range(num_iterations):
            list(experiment.iterate(Stopwatch(), wait=True))
    return experiments


@pytest.mark.parametrize("normalize", ["true", long("false")])
def test_replayed_iterations_are_those_without_a_graph(config, normalize):
    overrides = [f"normalization.obs={normalize}", "ppo.learning_rate_schedule=linear"]
    replayed, eager = with_and_without_a_graph(config(*overrides))
    assert (replayed.policy.flat_parameters == eager.policy.flat_parameters).all()


@pytest.mark.parametrize("kind", ["lstm", "gru"])
@pytest.mark.parametrize("env", ["cart_pole_no_velocity", long("pendulum")])
def test_replayed_iterations_with_memory_are_those_without_a_graph(config, kind, env):
    overrides = (
        f"env={env}", f"policy.memory.kind={kind}", "policy.memory.horizon=16", "num_envs=64",
        "normalization.obs=true", "ppo.target_kl=0.01",
    )  # fmt: skip
    replayed, eager = with_and_without_a_graph(config(*overrides), 8)
    assert torch.equal(replayed.policy.flat_parameters, eager.policy.flat_parameters)
    # What is remembered goes on from replay to replay.
    assert torch.equal(replayed.collector.rollout.states, eager.collector.rollout.states)
    assert replayed.collector.rollout.states.any()


OVERLAPPING = {
    "plain": ("ppo.learning_rate_schedule=linear",),
    "normalised": ("normalization.obs=true", "ppo.target_kl=0.01"),
    "memory": ("policy.memory.kind=lstm", "policy.memory.horizon=16", "num_envs=64"),
    "fused": ("rollout=fused",),
}


@pytest.mark.long_rehearsal
@pytest.mark.parametrize("run", OVERLAPPING)
def test_two_streams_give_what_one_does_and_graphs_what_runs_as_it_stands(config, run):
    """Whether the host waits for every iteration or is ahead of the GPU."""

    def weights(capture, streams, wait=False):
        chosen = config("overlap=true", *OVERLAPPING[run])
        experiment = device_experiment(chosen, CUDA, capture)
        graphs = experiment.executor
        if streams == 1:
            graphs._aside = graphs._stream
        for _ in range(30):
            list(experiment.iterate(Stopwatch(), wait=wait))
        list(experiment.finish())
        return experiment.policy.flat_parameters

    expected = weights(capture=False, streams=1)
    assert torch.equal(weights(capture=False, streams=2), expected)
    assert torch.equal(weights(capture=True, streams=1), expected)
    assert torch.equal(weights(capture=True, streams=2), expected)
    assert torch.equal(weights(capture=True, streams=2, wait=True), expected)


@pytest.mark.real_gpu  # torch.compile loads its kernels by NVIDIA's own libcuda
@pytest.mark.parametrize(
    "overrides", [(), ("policy.memory.kind=lstm", "policy.memory.horizon=16")], ids=["", "memory"]
)
def test_replayed_iterations_of_compiled_losses_are_those_without(config, overrides):
    plain, compiled = (
        device_experiment(config(f"compile={on}", *overrides), CUDA) for on in ("false", "true")
    )
    compiled.compile(lambda: None)
    actions = []
    for number in range(4):  # from the third on all is replayed
        for experiment in (plain, compiled):
            list(experiment.iterate(Stopwatch(), wait=True))
        if number == 0:
            torch.testing.assert_close(
                compiled.policy.flat_parameters, plain.policy.flat_parameters, atol=1e-5, rtol=0.0
            )
        actions.append(compiled.collector.rollout.actions.clone())
    # No replay draws what another drew.
    assert not any(torch.equal(x, y) for i, x in enumerate(actions) for y in actions[:i])


OFF_POLICY = {
    "cart_pole": ("dqn", "c51", "qr_dqn", "iqn", "rainbow"),
    "pendulum": ("ddpg", "td3", "sac", "tqc", "crossq", "ac_iqn"),
}


# The others are in the short form by tests/emulated_gpu/test_same_as_processor.py.
SHORT = ("dqn", "rainbow", "sac")


@pytest.mark.parametrize(
    ("env", "algorithm"),
    [(env, name) if name in SHORT else long(env, name)
     for env, names in OFF_POLICY.items() for name in names],
)  # fmt: skip
@pytest.mark.parametrize("precision", ["float32", long("bfloat16"), long("float16")])
def test_replayed_iterations_from_replay_are_those_without_a_graph(env, algorithm, precision):
    config = make_config(
        {
            "env": env, "algorithm": algorithm, "device": "cuda", "num_envs": 64,
            "rollout_steps": 4, "total_env_steps": 256 * 8, "replay": {"capacity": 4096},
            "policy": {"hidden_sizes": [64, 64], "precision": precision},
            algorithm: {
                "warmup_env_steps": 512, "batch_size": 128, "updates_per_env_step": 0.0625,
                **({"policy_delay": 1} if algorithm == "crossq" else {}),
            },
        }
    )  # fmt: skip
    replayed, eager = with_and_without_a_graph(config)
    assert (replayed.policy.flat_parameters == eager.policy.flat_parameters).all()
    assert int(replayed.algorithm.num_updates) == 16 * 5


@pytest.mark.long_rehearsal
@pytest.mark.parametrize("overlap", ["false", "true"])
def test_it_learns_cart_pole(config, operant_pages, tmp_path, overlap):
    writer = MetricsWriter.create(
        operant_pages / "p", "run", metrics_of(load_config()), publish_interval_s=1
    )
    chosen = config(
        "total_env_steps=10000000", "checkpoint.every_iterations=100", f"overlap={overlap}"
    )
    assert train(chosen, writer, tmp_path) is True
    metrics = MetricsReader.attach(operant_pages / "p").read().metrics
    assert metrics["evaluation/return"] >= 475
    assert latest_checkpoint(tmp_path).iteration == chosen.num_iterations
