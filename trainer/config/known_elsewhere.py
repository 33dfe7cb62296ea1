"""Names of keys and algorithms in other libraries, for errors that answer with the name here.

docs/coming-from.md has the same as tables.
"""

from __future__ import annotations

from collections.abc import Container

# The first of these keys that a configuration has is meant; `*` is the algorithm's own table.
KEYS: dict[str, tuple[str, ...]] = {
    "total_timesteps": ("total_env_steps",),
    "total_frames": ("total_env_steps",),
    "env_id": ("env",),
    "env_name": ("env",),
    "n_envs": ("num_envs",),
    "n_steps": ("*.n_step", "rollout_steps"),
    "num_steps": ("rollout_steps",),
    "frames_per_batch": ("rollout_steps",),
    "train_freq": ("rollout_steps",),
    "train_frequency": ("rollout_steps",),
    "cuda": ("device",),
    "lr": ("*.learning_rate",),
    "policy_lr": ("*.learning_rate",),
    "q_lr": ("*.learning_rate",),
    "anneal_lr": ("*.learning_rate_schedule",),
    "lmbda": ("*.gae_lambda", "*.q_lambda"),
    "gae_lambda": ("*.gae_lambda", "*.q_lambda"),
    "n_epochs": ("*.num_epochs",),
    "update_epochs": ("*.num_epochs",),
    "batch_size": ("*.batch_size", "*.num_minibatches"),
    "minibatch_size": ("*.num_minibatches", "*.batch_size"),
    "clip": ("*.clip_coef",),
    "clip_eps": ("*.clip_coef",),
    "eps_clip": ("*.clip_coef",),
    "clip_param": ("*.clip_coef",),
    "clip_range": ("*.clip_coef",),
    "clip_epsilon": ("*.clip_coef",),
    "clip_range_vf": ("*.value_clip",),
    "clip_vloss": ("*.value_clip",),
    "clip_value": ("*.value_clip",),
    "norm_adv": ("*.normalize_advantages",),
    "normalize_advantage": ("*.normalize_advantages",),
    "ent_coef": ("*.entropy_coef", "*.alpha"),
    "entropy_coeff": ("*.entropy_coef", "*.alpha"),
    "vf_coef": ("*.value_coef",),
    "critic_coef": ("*.value_coef",),
    "critic_coeff": ("*.value_coef",),
    "net_arch": ("policy.hidden_sizes",),
    "num_cells": ("policy.hidden_sizes",),
    "activation_fn": ("policy.activation",),
    "activation_class": ("policy.activation",),
    "log_std_init": ("policy.initial_log_std",),
    "norm_obs": ("normalization.obs",),
    "norm_reward": ("normalization.reward",),
    "clip_reward": ("preprocessing.reward_sign", "normalization.reward_limit"),
    "frame_stack": ("preprocessing.frame_stack",),
    "stack_num": ("preprocessing.frame_stack",),
    "stack_size": ("preprocessing.frame_stack",),
    "n_stack": ("preprocessing.frame_stack",),
    "num_stack": ("preprocessing.frame_stack",),
    "frameskip": ("preprocessing.frame_skip",),
    "frame_skip": ("preprocessing.frame_skip",),
    "screen_size": ("preprocessing.resize",),
    "img_height": ("preprocessing.resize",),
    "img_width": ("preprocessing.resize",),
    "grayscale_obs": ("preprocessing.greyscale",),
    "gray_scale": ("preprocessing.greyscale",),
    "noop_max": ("preprocessing.noop_starts",),
    "repeat_action_probability": ("preprocessing.sticky_actions",),
    "action_repeat_probability": ("preprocessing.sticky_actions",),
    "terminal_on_life_loss": ("preprocessing.life_loss",),
    "episodic_life": ("preprocessing.life_loss",),
    "reward_clip": ("preprocessing.reward_sign", "normalization.reward_limit"),
    "buffer_size": ("replay.capacity",),
    "learning_starts": ("*.warmup_env_steps",),
    "init_random_frames": ("*.warmup_env_steps",),
    "gradient_steps": ("*.updates_per_env_step",),
    "utd_ratio": ("*.updates_per_env_step",),
    "tau": ("*.target_tau",),
    "target_update_interval": ("*.target_every",),
    "target_network_frequency": ("*.target_every",),
    "policy_frequency": ("*.policy_delay",),
    "exploration_initial_eps": ("*.epsilon_start",),
    "start_e": ("*.epsilon_start",),
    "exploration_final_eps": ("*.epsilon_end",),
    "end_e": ("*.epsilon_end",),
    "exploration_fraction": ("*.epsilon_fraction",),
    "exploration_noise": ("*.exploration_std",),
    "action_noise": ("*.exploration_std",),
    "target_policy_noise": ("*.smoothing_std",),
    "policy_noise": ("*.smoothing_std",),
    "target_noise_clip": ("*.smoothing_clip",),
    "noise_clip": ("*.smoothing_clip",),
    "autotune": ("*.alpha",),
    "use_sde": ("*.exploration",),
    "n_atoms": ("*.num_atoms",),
    "v_min": ("*.lowest",),
    "v_max": ("*.highest",),
    "n_quantiles": ("*.num_quantiles",),
    "eval_freq": ("evaluation.every_env_steps",),
    "n_eval_episodes": ("evaluation.num_episodes",),
    "save_freq": ("checkpoint.every_env_steps",),
    "track": ("recorder.to",),
    "tensorboard_log": ("recorder.to",),
    "capture_video": ("episodes.every_env_steps",),
}

# By lowercase letters and digits alone. Behind the algorithm, the settings that make it the one.
ALGORITHMS: dict[str, tuple[str, ...]] = {
    "a2c": ("ppo",),
    "a3c": ("ppo",),
    "acktr": ("ppo",),
    "appo": ("ppo",),
    "impala": ("ppo",),
    "maskableppo": ("ppo",),
    "pg": ("ppo",),
    "ppg": ("ppo",),
    "ppo2": ("ppo",),
    "reinforce": ("ppo",),
    "trpo": ("ppo",),
    "vpg": ("ppo",),
    "ppolstm": ("ppo", "policy.memory.kind=lstm"),
    "recurrentppo": ("ppo", "policy.memory.kind=lstm"),
    "qlearning": ("dqn",),
    "ddqn": ("dqn", "dqn.double=true"),
    "doubledqn": ("dqn", "dqn.double=true"),
    "duelingdqn": ("dqn", "dqn.dueling=true"),
    "d3qn": ("dqn", "dqn.double=true", "dqn.dueling=true"),
    "noisydqn": ("dqn", "dqn.noisy_std=0.5"),
    "per": ("dqn", "replay.priority_exponent=0.6"),
    "prioritizeddqn": ("dqn", "replay.priority_exponent=0.6"),
    "categoricaldqn": ("c51",),
    "fqf": ("iqn",),
    "r2d2": ("rainbow",),
    "d4pg": ("td3",),
    "droq": ("sac",),
    "redq": ("sac",),
}


def algorithm_elsewhere(name: str) -> str:
    """`; did you mean 'dqn' with dqn.double=true?` for an algorithm that other libraries have;
    nothing for any other name.
    """
    letters = "".join(filter(str.isalnum, name.lower()))
    if letters not in ALGORITHMS:
        return ""
    algorithm, *settings = ALGORITHMS[letters]
    suffix = f" with {' and '.join(settings)}" if settings else ""
    return f"; did you mean '{algorithm}'{suffix}?"


def known_elsewhere(key: str, algorithm: str, known: Container[str]) -> str | None:
    """`; did you mean ...?` where another library says `key` (in whatever table) for one of the
    `known` keys, nothing where it says so for one that is not among them: the end of an error's
    text. None where no other library says so.
    """
    name = key.rpartition(".")[2].lower().replace("-", "_")
    if name not in KEYS:
        return None
    candidates = [candidate.replace("*", algorithm) for candidate in KEYS[name]]
    return next((f"; did you mean '{meant}'?" for meant in candidates if meant in known), "")
