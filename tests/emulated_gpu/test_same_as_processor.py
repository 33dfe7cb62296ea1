"""A run captured and replayed on a GPU is the same parts run as they stand on the processor."""

from __future__ import annotations

import gpu_runs
import pytest

from operant.shared.errors import ConfigError
from operant.trainer.config.files import make_config
from operant.trainer.config.train_config import TrainConfig, algorithm_sections

# All of an iteration is small: what is compared is every bit, not how well it learns.
SIZES = {
    "num_envs": 16, "rollout_steps": 16, "total_env_steps": 16 * 16 * 14,
    "policy": {"hidden_sizes": [16, 16]},
    "evaluation": {"num_episodes": 3, "max_episode_steps": 50},
}  # fmt: skip
REPLAY = {"replay": {"capacity": 16 * 120}, "normalization": {"obs": True}}
OFF_POLICY = {"warmup_env_steps": 600, "batch_size": 32, "updates_per_env_step": 0.03125}
ROLLOUTS = {"normalization": {"obs": True, "reward": True}}
GRID = {
    "num_envs": 4, "normalization": {"obs": False}, "grid": {
        "num_agents": 2, "height": 9, "width": 9, "num_walls": 4, "num_mines": 2,
        "num_generators": 2, "num_altars": 2, "num_tokens": 16, "embedding_size": 8,
        "max_steps": 12,
    },
}  # fmt: skip
VESSELS = {
    "num_envs": 8, "normalization": {"obs": False},
    "marine_nav": {
        "num_robots": 2, "num_obstacles": 0, "min_goal_distance_m": 20.0, "curriculum": [
            {"until_env_steps": 1200, "num_robots": 1, "num_obstacles": 0,
             "min_goal_distance_m": 10.0},
        ],
    },
}  # fmt: skip
BY_COURSE = {**VESSELS, "marine_nav": {**VESSELS["marine_nav"], "actions": "discrete"}}
ENVS = {
    "cart_pole": {}, "pendulum": {}, "mountain_car_continuous": {}, "grid": GRID,
    "marine_nav": VESSELS, "marine_nav discrete": BY_COURSE,
}  # fmt: skip

# What a run on a GPU can be asked for besides: settings by a name that says what is tried.
PPO = {
    "overlap": {"overlap": True},
    "overlap-fused": {"overlap": True, "rollout": "fused"},
    "fused": {"rollout": "fused"},
    "offload": {"cpu_offload": True},
    "offload-prioritised-pieces": {
        "cpu_offload": True, "ppo": {"sampler": "prioritised", "max_minibatch_size": 40},
    },
    "bfloat16": {"policy": {"precision": "bfloat16"}},
    "lstm": {"policy": {"memory": {"kind": "lstm", "horizon": 8}}},
    "gru": {"policy": {"memory": {"kind": "gru"}}},
    "lstm-overlap": {"overlap": True, "policy": {"memory": {"kind": "lstm"}}},
    "lstm-offload": {"cpu_offload": True, "policy": {"memory": {"kind": "lstm", "horizon": 8}}},
    "contrastive": {"policy": {"memory": {"kind": "gru"}}, "contrastive": {"coef": 0.1}},
    "sequential": {"ppo": {"sampler": "sequential"}},
    "prioritised": {"ppo": {"sampler": "prioritised"}},
    "kl-stop": {"ppo": {"target_kl": 0.001}},
    "anew-each-epoch": {"ppo": {"recompute_advantages": "epoch", "recompute_returns": True}},
    "anew-each-minibatch": {"ppo": {"recompute_advantages": "minibatch"}},
    "pieces": {"ppo": {"max_minibatch_size": 24}},
    "schedules": {
        "ppo": {"learning_rate_schedule": "linear", "clip_schedule": "linear",
                "entropy_coef": 0.01, "entropy_schedule": "linear", "value_clip": 0.5},
    },
    "plain-rewards": {"normalization": {"obs": False, "reward": False}},
    "centred-rewards": {"normalization": {"reward_centring": 0.01, "reward_limit": 0.5}},
}  # fmt: skip
PPO_CONTINUOUS = {
    "beta": {"policy": {"distribution": "beta"}},
    "squashed": {"policy": {"distribution": "squashed_gaussian"}},
}
PQN = {
    "offload": {"cpu_offload": True},
    "one-epoch": {"pqn": {"num_epochs": 1, "num_minibatches": 8}},
}
FROM_REPLAY = {
    "bfloat16": {"policy": {"precision": "bfloat16"}},
    "float16": {"policy": {"precision": "float16"}},
    "priorities-n-step": {"replay": {"priority_exponent": 0.6}, "n_step": 3},
    "in-main-memory": {"replay": {"memory": "host"}},
    "soft-targets": {"target_tau": 0.05, "target_every": 2},
}
VALUE_BASED = ("dqn", "c51", "qr_dqn", "iqn", "rainbow")


def deep(one, other):
    """Settings of both; where a key is in both, those of `other`."""
    found = dict(one)
    for key, value in other.items():
        both = isinstance(value, dict) and isinstance(found.get(key), dict)
        found[key] = deep(found[key], value) if both else value
    return found


def settings_of(algorithm: str, env: str, more=()) -> dict:
    from_replay = "replay" in algorithm_sections()[algorithm].tables
    chosen = deep(SIZES, REPLAY if from_replay else ROLLOUTS)
    chosen = deep(chosen, {"algorithm": algorithm, "env": env.split()[0], **ENVS[env]})
    own = OFF_POLICY if from_replay else {"num_minibatches": 4, "num_epochs": 2}
    chosen = deep(chosen, {algorithm: {"learning_rate": 3e-3, **own}})
    section = algorithm_sections()[algorithm].model_fields
    for key, value in dict(more).items():
        table = {algorithm: {key: value}} if key in section else {key: value}
        chosen = deep(chosen, table)
    return chosen


def cases():
    for algorithm, section in algorithm_sections().items():
        for env in ENVS:
            try:
                config = make_config(settings_of(algorithm, env))
            except ConfigError:
                continue
            if gpu_runs.can_be_on_a_gpu(config):
                yield f"{algorithm}-{env}", settings_of(algorithm, env)
        from_replay = "replay" in section.tables
        env = "cart_pole" if algorithm in VALUE_BASED or not from_replay else "pendulum"
        switches = FROM_REPLAY if from_replay else PPO if algorithm == "ppo" else PQN
        for name, more in switches.items():
            yield f"{algorithm}-{env}-{name}", settings_of(algorithm, env, more)
    for name, more in PPO_CONTINUOUS.items():
        yield f"ppo-pendulum-{name}", settings_of("ppo", "pendulum", more)


CASES = dict(cases())
# One of each way of being executed; the long form has all.
SHORT = {
    "ppo-cart_pole", "ppo-cart_pole-overlap", "ppo-cart_pole-offload", "ppo-cart_pole-lstm",
    "pqn-cart_pole", "rainbow-cart_pole", "dqn-cart_pole-float16", "sac-pendulum",
}  # fmt: skip


def marked(name):
    return pytest.param(name, marks=() if name in SHORT else pytest.mark.long_rehearsal)


def test_every_algorithm_and_every_environment_is_among_them():
    tried = {(values["algorithm"], values["env"]) for values in CASES.values()}
    assert {algorithm for algorithm, _ in tried} == set(algorithm_sections())
    assert {env for _, env in tried} == {env.split()[0] for env in ENVS}


@pytest.fixture(autouse=True)
def _same_operations():
    with gpu_runs.without_processor_loops():
        yield


@pytest.mark.parametrize("name", map(marked, CASES))
def test_a_gpu_does_what_the_processor_does_bit_for_bit_and_goes_on_with_its_checkpoints(name):
    config: TrainConfig = make_config(CASES[name])
    on_cpu, on_gpu = (gpu_runs.make_run(config, device) for device in ("cpu", "cuda"))
    expected = gpu_runs.iterate(on_cpu, 6)
    # As text: a mean of no episodes is NaN on both.
    assert str(gpu_runs.iterate(on_gpu, 6)) == str(expected)
    assert gpu_runs.differences(on_cpu, on_gpu) == {}
    assert str(gpu_runs.evaluated(on_gpu, 3)) == str(gpu_runs.evaluated(on_cpu, 3))
    # Each goes on where the other stopped, and itself.
    from_cpu, from_gpu = gpu_runs.saved(on_cpu), gpu_runs.saved(on_gpu)
    moved_to_gpu = gpu_runs.loaded(config, "cuda", from_cpu)
    moved_to_cpu = gpu_runs.loaded(config, "cpu", from_gpu)
    after = [gpu_runs.iterate(run, 5) for run in (on_gpu, moved_to_gpu, moved_to_cpu)]
    assert str(after[1]) == str(after[2])
    assert gpu_runs.differences(moved_to_gpu, moved_to_cpu) == {}
    assert str(after[0]) == str(after[1])
