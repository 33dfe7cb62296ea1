"""Neutral defaults: the settings of an algorithm in an environment that no preset is tuned for.

The values are those of the field's reference implementations for environments whose observations
are vectors: CleanRL (github.com/vwxyzjn/cleanrl), Stable-Baselines3 (SB3) with sb3-contrib, and
the RL Baselines3 Zoo (`hyperparams/*.yml`). A run that starts from them says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Settings = dict[str, Any]  # by whole keys; `*` stands for the algorithm's own table

MAX_WARMUP_ENV_STEPS = 10_000  # Zoo, SAC and TD3 on MuJoCo: learning_starts
MAX_REPLAY_TRANSITIONS = 1_000_000  # SB3 and CleanRL: buffer_size
MAX_REPLAY_BYTES = 2**30  # of observations: fewer transitions are kept where they are large
MIN_REPLAY_TRANSITIONS = 1_000

# SB3's PPO and CleanRL's ppo_continuous_action: 2,048 env steps an iteration, 10 epochs of
# minibatches of 64, 3e-4. Eight environments as in the Zoo, the annealing is CleanRL's.
PPO: Settings = {
    "num_envs": 8,
    "rollout_steps": 256,
    "total_env_steps": 1_000_000,
    "policy.hidden_sizes": [64, 64],
    "policy.activation": "tanh",
    "*.learning_rate": 3e-4,
    "*.learning_rate_schedule": "linear",
    "*.gamma": 0.99,
    "*.gae_lambda": 0.95,
    "*.num_epochs": 10,
    "*.num_minibatches": 32,
    "*.clip_coef": 0.2,
    "*.entropy_coef": 0.01,  # CleanRL's ppo, for discrete actions
    "*.max_grad_norm": 0.5,
}

# CleanRL's pqn; twice the environments, each with the same steps.
PQN: Settings = {
    "num_envs": 8,
    "rollout_steps": 128,
    "total_env_steps": 500_000,
    "policy.hidden_sizes": [128, 128],
    "policy.activation": "relu",
    "*.learning_rate": 2.5e-4,
    "*.learning_rate_schedule": "linear",
    "*.gamma": 0.99,
    "*.q_lambda": 0.65,
    "*.num_epochs": 4,
    "*.num_minibatches": 8,
    "*.max_grad_norm": 10.0,
    "*.epsilon_end": 0.05,
    "*.epsilon_fraction": 0.5,
}

# One environment, as SB3 and CleanRL have it: the first episode ends soonest. Eight env steps and
# their updates in turn, as in the Zoo where environments are slow.
REPLAY: Settings = {
    "num_envs": 1,
    "rollout_steps": 8,
    "policy.hidden_sizes": [256, 256],
    "policy.activation": "relu",
    "*.gamma": 0.99,
    "*.target_tau": 0.005,
}

# SB3's and CleanRL's sac_continuous_action, td3_continuous_action and ddpg_continuous_action: an
# update of 256 transitions for each env step. What the algorithms differ in are their own defaults.
ACTOR_CRITIC: Settings = {
    **REPLAY,
    "total_env_steps": 1_000_000,
    "*.learning_rate": 3e-4,
    "*.batch_size": 256,
    "*.updates_per_env_step": 1.0,
}

# SB3's DQN makes an update for each four env steps; batches of 128, as CleanRL's dqn has them, and
# networks of 256-256, as the Zoo's DQN and QR-DQN on Acrobot. The learning rate lies between SB3's
# 1e-4, CleanRL's 2.5e-4 and the Zoo's 6.3e-4, exploration between SB3's 0.1 of the run and
# CleanRL's 0.5.
VALUE_BASED: Settings = {
    **REPLAY,
    "total_env_steps": 500_000,
    "*.learning_rate": 5e-4,
    "*.batch_size": 128,
    "*.updates_per_env_step": 0.25,
}
EPSILON: Settings = {"*.epsilon_end": 0.05, "*.epsilon_fraction": 0.2}

# CleanRL's c51: returns of -100 to 100. Discounted by 0.99, rewards of 1 add up to 100.
CATEGORICAL: Settings = {"*.lowest": -100.0, "*.highest": 100.0, "*.num_atoms": 101}

NEUTRAL: dict[str, Settings] = {
    "ppo": PPO,
    "pqn": PQN,
    "dqn": VALUE_BASED | EPSILON,
    "c51": VALUE_BASED | EPSILON | CATEGORICAL,
    "qr_dqn": VALUE_BASED | EPSILON,
    "iqn": VALUE_BASED | EPSILON,
    "rainbow": VALUE_BASED | CATEGORICAL,  # its noisy layers explore
    "ddpg": ACTOR_CRITIC,
    "td3": ACTOR_CRITIC,
    "sac": ACTOR_CRITIC,
    "tqc": ACTOR_CRITIC,
    "crossq": {**ACTOR_CRITIC, "*.learning_rate": 1e-3},  # sb3-contrib's
    "ac_iqn": ACTOR_CRITIC,
}

# CleanRL's ppo_continuous_action and the Zoo's MuJoCo settings normalise both; no entropy bonus.
CONTINUOUS: dict[str, Settings] = {
    "ppo": {"*.entropy_coef": 0.0, "normalization.obs": True, "normalization.reward": True},
}

# Convolutions have layers of their own before the heads, as in CleanRL's ppo_atari, dqn_atari and
# c51_atari. IQN multiplies features with those of fractions before a layer of 512.
IMAGES: Settings = {"policy.hidden_sizes": [], "policy.activation": "tanh"}
PPO_IMAGES: Settings = {  # ppo_atari
    **IMAGES,
    "rollout_steps": 128,
    "total_env_steps": 10_000_000,
    "*.learning_rate": 2.5e-4,
    "*.num_epochs": 4,
    "*.num_minibatches": 4,
    "*.clip_coef": 0.1,
}
REPLAY_IMAGES: Settings = {  # dqn_atari
    **IMAGES, "total_env_steps": 10_000_000, "*.learning_rate": 1e-4, "*.batch_size": 32,
}  # fmt: skip
OF_IMAGES: dict[str, Settings] = {
    "ppo": PPO_IMAGES,
    "pqn": {**IMAGES, "total_env_steps": 10_000_000},
    **dict.fromkeys(("dqn", "c51", "qr_dqn", "rainbow"), REPLAY_IMAGES),
    "iqn": {**REPLAY_IMAGES, "policy.hidden_sizes": [512], "policy.activation": "relu"},
}

# operant's own environments are compiled: more of them cost little, and a small budget is enough.
FAST_ON_POLICY: Settings = {"num_envs": 32, "rollout_steps": 128, "*.num_minibatches": 32}
FAST_OFF_POLICY: Settings = {"num_envs": 8, "rollout_steps": 8, "total_env_steps": 100_000}


def neutral_settings(
    algorithm: str,
    asked: Mapping[str, Any],
    *,
    is_fast: bool,
    is_continuous: bool = False,
    is_image: bool = False,
    scales_itself: bool = False,
    obs_bytes: int = 4,
) -> Settings:
    """The settings of `algorithm`, by whole keys, for an environment that is fast or slow to step,
    and whose observations, of `obs_bytes` each, may be images for convolutions, or have parts that
    are, whose encoder `scales_itself`.

    `asked` are the settings that the user chose. Minibatches, replay, warm-up, evaluations and
    checkpoints follow its sizes and its budget. Raises KeyError for an unknown algorithm.
    """
    learns_from_replay = "*.batch_size" in NEUTRAL[algorithm]
    values = dict(NEUTRAL[algorithm])
    if is_fast:
        values |= FAST_OFF_POLICY if learns_from_replay else FAST_ON_POLICY
    if is_continuous:
        values |= CONTINUOUS.get(algorithm, {})
    if is_image:
        values |= OF_IMAGES.get(algorithm, {})
    if is_image or scales_itself:
        values["normalization.obs"] = False
    values = {key.replace("*", algorithm): value for key, value in values.items()}
    chosen = values | dict(asked)

    def number(key: str) -> int:
        """A whole number above 0; a wrong one of the user's is refused elsewhere."""
        value = chosen[key]
        return value if type(value) is int and value > 0 else int(values[key])

    budget = number("total_env_steps")
    every_tenth = max(1, budget // 10)
    values["evaluation.num_episodes"] = 10
    values["evaluation.every_env_steps"] = values["checkpoint.every_env_steps"] = every_tenth
    if learns_from_replay:
        batch_size = number(f"{algorithm}.batch_size")
        fit = max(MIN_REPLAY_TRANSITIONS, MAX_REPLAY_BYTES // obs_bytes)
        capacity = max(batch_size, min(MAX_REPLAY_TRANSITIONS, max(budget, 10_000), fit))
        warmup = max(batch_size, min(MAX_WARMUP_ENV_STEPS, budget // 20, capacity))
        values |= {"replay.capacity": capacity, f"{algorithm}.warmup_env_steps": warmup}
    else:
        num_parts = number("rollout_steps")
        if chosen.get("policy.memory.kind", "none") != "none":  # minibatches are of whole rows
            horizon = chosen.get("policy.memory.horizon")
            num_parts = num_parts // horizon if type(horizon) is int and horizon > 0 else 1
        num_parts *= number("num_envs")
        key = f"{algorithm}.num_minibatches"
        values[key] = max(n for n in range(1, values[key] + 1) if num_parts % n == 0)
    return values
