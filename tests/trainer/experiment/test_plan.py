"""The plan lists a run's components in rows without building any."""

from __future__ import annotations

import pytest

from operant.shared.errors import ConfigError
from operant.trainer.collecting.collector import needs_one_piece
from operant.trainer.config.from_values import make_config
from operant.trainer.config.train_config import algorithm_sections
from operant.trainer.envs.hosts import describe
from operant.trainer.experiment.plan import (
    ANY_MACHINE,
    Machine,
    RankLayout,
    check_ranks,
    load_runnable,
    plan,
)
from operant.trainer.experiment.untrained import make_policy

NO_GPU = Machine(cores=8, loop_threads=6, no_gpu="PyTorch sees no GPU on this machine")
GPU = Machine(cores=8, loop_threads=6)
RANKS = RankLayout(size=4, num_on_machine=2, num_envs=64)

MEMORY = "policy.memory.kind=lstm"
GYM = "env=gymnasium:CartPole-v1"
SAC = ("env=pendulum", "algorithm=sac")
TINYPHYSICS = (
    "env=tinyphysics", "num_envs=80", "rollout_steps=400", "policy.distribution=beta",
    "normalization.obs=false",
)  # fmt: skip
MARINE_DQN = ("env=marine_nav", "marine_nav.actions=discrete", "algorithm=dqn")
WORKERS = ("workers.num_workers=4", "workers.async_factor=2")
TWO_GROUPS = ("workers.num_workers=auto", "workers.async_factor=2")


def planned(overrides, machine, ranks=None):
    config = make_config({}, overrides)
    return plan(config, describe(config), machine, ranks)


# Device, executor, host, update and collector.
PROCESSOR = [
    ((), "vector compiled compiled"),
    (("policy.precision=bfloat16",), "vector pytorch sliced"),
    (("ppo.sampler=sequential",), "vector pytorch sliced"),
    (("kickstart.teachers=['a-run']",), "vector pytorch sliced"),
    ((MEMORY,), "vector pytorch sliced"),
    (("env=grid",), "vector pytorch sliced"),
    (("env=marine_nav",), "vector compiled compiled"),
    (("algorithm=pqn",), "vector pytorch sliced"),
    (("algorithm=rainbow",), "vector pytorch stepped"),
    (SAC, "vector pytorch sliced"),
    ((*SAC, "sac.exploration=state_dependent"), "vector pytorch stepped"),
    ((GYM,), "workers compiled stepped"),
    ((GYM, *WORKERS), "workers compiled in_groups"),
    ((GYM, MEMORY, *WORKERS), "workers pytorch in_groups"),
    ((GYM, "gymnasium.vectorization=own"), "gymnasium compiled stepped"),
    (TINYPHYSICS, "routes pytorch"),
]
ON_A_GPU = [
    ((), "graphs gpu_vector pytorch actor"),
    (("policy.precision=bfloat16",), "graphs gpu_vector pytorch actor"),
    (("rollout=fused",), "graphs gpu_vector pytorch fused"),
    (("overlap=true",), "overlapping_graphs gpu_vector pytorch actor"),
    (("overlap=true", "rollout=fused"), "overlapping_graphs gpu_vector pytorch fused"),
    ((MEMORY,), "graphs gpu_vector pytorch recurrent_actor"),
    (("algorithm=pqn",), "graphs gpu_vector pytorch stepped"),
    (SAC, "graphs gpu_vector pytorch stepped"),
    (("env=grid",), "graphs gpu_vector pytorch stepped"),  # whose agents all end at once
    (("env=grid", MEMORY), "graphs gpu_vector pytorch stepped"),
    (MARINE_DQN, "graphs gpu_vector pytorch agents"),
    (TINYPHYSICS, "inline routes pytorch"),
]
# Where a GPU is of no use to them.
NOT_ON_A_GPU = [
    ((GYM,), "inline workers compiled stepped"),
    (("env=marine_nav",), "inline vector compiled compiled"),
    (("device=cpu",), "inline vector compiled compiled"),
]


def row(made):
    parts = (made.device, made.executor, made.host, made.update, made.collector)
    return " ".join(filter(None, parts))


@pytest.mark.parametrize(("overrides", "parts"), PROCESSOR)
def test_what_a_run_on_the_processor_is_made_of(overrides, parts):
    assert row(planned(overrides, NO_GPU)) == f"cpu inline {parts}"


@pytest.mark.parametrize(("overrides", "parts"), ON_A_GPU)
@pytest.mark.parametrize("device", ["auto", "cuda"])
def test_what_a_run_on_a_gpu_is_made_of(overrides, parts, device):
    assert row(planned((*overrides, f"device={device}"), GPU)) == f"cuda {parts}"


@pytest.mark.parametrize(("overrides", "parts"), NOT_ON_A_GPU)
def test_what_stays_on_the_processor_beside_a_gpu(overrides, parts):
    assert row(planned(overrides, GPU)) == f"cpu {parts}"


@pytest.mark.parametrize(
    ("overrides", "ranks", "parts"),
    [
        ((), RANKS, "cpu inline vector ranked compiled"),  # each has a GPU for `cuda` alone
        (("device=cuda",), RANKS, "cuda graphs gpu_vector pytorch actor"),
        ((MEMORY,), RANKS, "cpu inline vector pytorch sliced"),
        ((GYM,), RANKS, "cpu inline workers ranked stepped"),
        (TINYPHYSICS, RANKS, "cpu inline routes pytorch"),
    ],
)
def test_what_one_of_several_ranks_is_made_of(overrides, ranks, parts):
    assert row(planned(overrides, GPU, ranks)) == parts


@pytest.mark.parametrize("algorithm", algorithm_sections())
def test_every_algorithm_runs_on_a_gpu(algorithm):
    env = "cart_pole" if "Discrete" in algorithm_sections()[algorithm].action_kinds else "pendulum"
    made = planned((f"algorithm={algorithm}", f"env={env}"), GPU)
    assert (made.device, made.executor) == ("cuda", "graphs")


@pytest.mark.parametrize(
    ("overrides", "ranks", "num_threads", "tries"),
    [
        ((), None, 6, True),
        (("num_threads=3",), None, 3, False),
        (("algorithm=dqn",), None, 1, True),
        (TINYPHYSICS, None, 6, False),
        ((), RANKS, 3, False),  # two ranks share this machine
        (("algorithm=dqn",), RANKS, 1, False),
        ((), RANKS._replace(num_on_machine=9), 1, False),
    ],
)
def test_how_many_threads_there_are_and_whether_others_are_tried(
    overrides, ranks, num_threads, tries
):
    made = planned(overrides, NO_GPU, ranks)
    assert (made.num_threads, made.tries_threads) == (num_threads, tries)


@pytest.mark.parametrize(
    ("overrides", "cores", "pairs", "notice"),
    [
        (("workers.num_workers=0",), 8, [(0, 1)], None),
        (("workers.num_workers=4", "workers.async_factor=2"), 8, [(4, 2)], None),
        (("workers.num_workers=4",), 8, [(4, 1), (4, 2)], None),
        (("workers.num_workers=auto",), 2, [(0, 1), (2, 1), (2, 2)], None),
        (("workers.num_workers=8", "workers.async_factor=1"), 3, [(2, 1)],
         "workers: 2 and not 8 as configured, for there are 3 cores"),
        (("workers.num_workers=8", "workers.async_factor=8"), 4, [(4, 4)],
         "workers: 4 and not 8 as configured, for there are 4 cores"),
    ],
)  # fmt: skip
def test_which_numbers_of_workers_and_groups_there_are(overrides, cores, pairs, notice):
    made = planned((GYM, "num_envs=8", *overrides), Machine(cores, cores, "none"))
    assert list(made.workers) == pairs
    assert made.notices == ((notice,) if notice else ())


def test_a_rank_has_workers_for_its_own_environments_and_its_part_of_the_cores():
    made = planned((GYM, "num_envs=128", "workers.num_workers=8"), NO_GPU, RANKS)
    assert made.num_envs == 64
    assert list(made.workers) == [(4, 1), (4, 2)]
    assert made.notices == (
        "workers: 4 and not 8 as configured, for a rank here has 4 of the 8 cores, and 64 "
        "environments",
    )


@pytest.mark.parametrize(
    "noise",
    [
        (*SAC, "env=gymnasium:Pendulum-v1", "sac.exploration=state_dependent"),
        (GYM, "algorithm=dqn", "dqn.noisy_std=0.5"),
    ],
)
def test_noise_that_lasts_is_explored_in_one_group(noise):
    config = make_config({}, (*noise, "num_envs=8", "workers.num_workers=auto"))
    assert plan(config, describe(config), Machine(2, 2, "none")).workers == ((0, 1), (2, 1))
    assert needs_one_piece(make_policy(config))  # the collector asks the policy


@pytest.mark.parametrize(
    ("overrides", "machine", "ranks", "precompiles"),
    [
        ((), NO_GPU, None, True),
        ((), NO_GPU._replace(loop_threads=1), None, False),
        (("ppo.sampler=sequential",), NO_GPU, None, False),  # PyTorch learns
        ((GYM,), NO_GPU, None, False),  # there is nothing to compile meanwhile
        ((), NO_GPU, RANKS, False),  # the other cores have ranks of their own
        ((), GPU, None, False),
    ],
)
def test_a_second_process_compiles_where_that_saves_time(overrides, machine, ranks, precompiles):
    assert planned(overrides, machine, ranks).precompiles == precompiles


@pytest.mark.parametrize(
    ("overrides", "ranks", "not_captured"),
    [
        ((), None, ()),
        (("device=cuda",), RANKS, ("learn", "remember")),
    ],
)
def test_what_asks_the_host_is_in_no_graph(overrides, ranks, not_captured):
    assert planned(overrides, GPU, ranks).not_captured == not_captured


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (("policy.precision=bfloat16",), "because of policy.precision = bfloat16"),
        (("policy.encoder=hosted_envs:Any",), "because of policy.encoder = hosted_envs:Any"),
        (("compile=true",), "compile has no effect"),
        (("algorithm=dqn", "replay.memory=host"), "replay.memory = host changes nothing"),
    ],
)
def test_what_changes_nothing_on_the_processor_is_said_there_alone(overrides, words):
    (notice,) = planned(overrides, NO_GPU).notices
    assert words in notice
    assert planned(overrides, GPU).notices == ()


@pytest.mark.parametrize(
    ("overrides", "machine", "line"),
    [
        (("device=cuda",), NO_GPU,
         "device = cuda: PyTorch sees no GPU on this machine; device = cpu works everywhere"),
        (("rollout=fused",), NO_GPU,
         "rollout = fused is for a GPU, and there is none here; use steps"),
        (("overlap=true",), NO_GPU,
         "overlap = true: this run is on the processor, whose cores collect and learn in turn; "
         "use false"),
        ((GYM, "device=cuda"), GPU,
         "device = cuda: gymnasium:CartPole-v1 lives on the processor; use cpu"),
        (("env=marine_nav", "device=cuda"), GPU,
         "device = cuda: marine_nav has 5 agents an environment, and only what learns from replay, "
         "with normalization.obs = false, has those on a GPU; use cpu"),
    ],
)  # fmt: skip
def test_what_this_machine_cannot_do_is_refused(overrides, machine, line):
    with pytest.raises(ConfigError) as caught:
        planned(overrides, machine)
    assert str(caught.value) == line


# Each with what it would be refused for on a machine that has everything.
@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (("rollout=fused", GYM), "takes its steps one by one"),
        (("rollout=fused", "policy.encoder=image_envs:Pair"), "it runs no encoder"),
        (("rollout=fused", "env=marine_nav"), "several agents an environment"),
        (("rollout=fused", MEMORY), "policy.memory.kind = lstm takes its steps one by one"),
        ((MEMORY, *TINYPHYSICS), "steered by a policy without memory"),
        ((MEMORY, "policy.precision=bfloat16"), "policy.memory.kind = lstm it is float32"),
        (("overlap=true", *TINYPHYSICS), "where its model is, in turn"),
        (("overlap=true", "device=cpu"), "device = cpu is on the processor"),
        (("overlap=true", GYM), "gymnasium:CartPole-v1 is on the processor"),
        (("overlap=true", "env=marine_nav"), "this run is on the processor"),
        ((GYM, "algorithm=dqn", "dqn.noisy_std=0.5", *TWO_GROUPS), "layers are noisy"),
        (
            (*SAC, "env=gymnasium:Pendulum-v1", "sac.exploration=state_dependent", *TWO_GROUPS),
            "noise that lasts from step to step; use 1",
        ),
    ],
)
def test_what_no_machine_can_do_is_refused_in_one_line(overrides, words):
    with pytest.raises(ConfigError, match=words) as caught:
        planned(overrides, ANY_MACHINE)
    assert "\n" not in str(caught.value)
    with pytest.raises(ConfigError, match=words):
        load_runnable(None, overrides)


@pytest.mark.parametrize(
    ("overrides", "setting"),
    [
        (("compile=true",), "compile = true"),
        (("overlap=true",), "overlap = true"),
        (("rollout=fused",), "rollout = fused"),
        ((MEMORY, "contrastive.coef=0.1"), "contrastive.coef = 0.1"),
        ((*TINYPHYSICS, "device=cuda"), "env = tinyphysics with device = cuda"),
        ((*TINYPHYSICS, "tinyphysics.engine=tensorrt"), "tinyphysics.engine = tensorrt"),
        (("env=pendulum", "algorithm=crossq"), "algorithm = crossq"),
    ],
)
def test_what_several_ranks_do_not_do_yet_is_named(overrides, setting):
    with pytest.raises(ConfigError) as caught:
        check_ranks(make_config({}, overrides), "", 2)
    assert str(caught.value) == f"{setting} does not go with several ranks yet"
