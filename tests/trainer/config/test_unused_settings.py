"""Every setting is honoured, or refused with the reason: none is accepted and then ignored."""

from __future__ import annotations

import key_effects
import pytest

from operant.shared.errors import ConfigError
from operant.trainer.config.files import load_config
from operant.trainer.config.from_values import fields_with_defaults, make_config
from operant.trainer.config.keys import keys_of_all
from operant.trainer.config.train_config import algorithm_sections
from operant.trainer.experiment.plan import load_runnable

TINYPHYSICS = "tinyphysics_ppo"
CART_POLE = "cart_pole_ppo"
MARINE_NAV_PPO = "marine_nav_ppo"
CART_POLE_PQN = "cart_pole_pqn"
CART_POLE_DQN = "cart_pole_dqn"
PENDULUM_SAC = "pendulum_sac"
PENDULUM_DDPG = "pendulum_ddpg"
REMEMBERING = "cart_pole_memory_ppo"

INTERVALS = ("every_iterations", "every_env_steps", "every_s")
# Keys that every run honours, whatever it trains on.
HONOURED = {
    "env", "algorithm", "seed", "device", "total_env_steps", "schedule_env_steps",
    "policy.hidden_sizes",
    "checkpoint.keep", "recorder.on", "recorder.prometheus_port", "recorder.prometheus_address",
    "trace.keep", "ranks.silent_for_s",
    *(f"{table}.{key}" for key in INTERVALS
      for table in ("evaluation", "checkpoint", "gradients", "weights", "trace", "episodes")),
}  # fmt: skip
# For others: a preset and overrides with which it is refused, and words of the line that says why.
REFUSED: dict[str, tuple[str, tuple[str, ...], str]] = {
    "num_threads": (CART_POLE, ("num_threads=2", "device=cuda"), "num_threads = 2 is for the"),
    "num_envs": (TINYPHYSICS, ("num_envs=66",), "multiple of tinyphysics.rollouts_per_route = 4"),
    "rollout_steps": (TINYPHYSICS, ("rollout_steps=100",), "rollout_steps = 100: .* use 400"),
    "rollout": (CART_POLE, ("rollout=fused", "device=cpu"), "rollout = fused is for a GPU"),
    "overlap": (CART_POLE_PQN, ("overlap=true",), "only ppo has one"),
    "compile": (CART_POLE_DQN, ("compile=true",), "only ppo and pqn are compiled"),
    "policy.encoder": (TINYPHYSICS, ("policy.encoder=a:Net",), "steered by a plain network"),
    "policy.activation": (
        CART_POLE, ("policy.hidden_sizes=[]", "policy.activation=relu"), "no hidden layer",
    ),
    "policy.distribution": (TINYPHYSICS, ("policy.distribution=gaussian",), "mean of a beta"),
    "policy.initial_log_std": (CART_POLE, ("policy.initial_log_std=-1",), "is for gaussians"),
    "policy.precision": (
        CART_POLE, ("rollout=fused", "policy.precision=bfloat16"), "it computes in float32",
    ),
    "policy.memory.kind": (CART_POLE_DQN, ("policy.memory.kind=lstm",), "only ppo has them"),
    "policy.memory.size": (CART_POLE, ("policy.memory.size=32",), "policy.memory.kind = none"),
    "policy.memory.horizon": (CART_POLE, ("policy.memory.horizon=8",), "policy.memory.kind = none"),
    "evaluation.time_fraction": (
        CART_POLE, ("evaluation.time_fraction=0.2", "evaluation.every_s=5"),
        "is for runs without an interval; set every_s = 0",
    ),
    "replay.importance_exponent": (
        CART_POLE_DQN, ("replay.importance_exponent=0.5",), "are no priorities",
    ),
    "normalization.obs": (TINYPHYSICS, ("normalization.obs=true",), "come in fixed units"),
    "normalization.reward_limit": (
        CART_POLE_DQN, ("normalization.reward_limit=1",), "dqn has no use",
    ),
    "normalization.reward_centring": (
        CART_POLE_DQN, ("normalization.reward_centring=0.1",), "dqn has no use",
    ),
    "normalization.reward": (CART_POLE_DQN, ("normalization.reward=true",), "dqn has no use"),
    "evaluation.num_episodes": (
        TINYPHYSICS, ("tinyphysics.held_out_routes=0",), "there is no route to evaluate on",
    ),
    "evaluation.max_episode_steps": (
        TINYPHYSICS, ("evaluation.max_episode_steps=5",), "end by themselves",
    ),
    "checkpoint.replay": (CART_POLE, ("checkpoint.replay=false",), "ppo has no use for it"),
    "checkpoint.best": (CART_POLE, ("checkpoint.best=loss/polcy",), "no such metric; did you mean"),
    "stop.at_return": (
        CART_POLE, ("stop.at_return=5", "evaluation.num_episodes=0"), "it looks at evaluations",
    ),
    "stop.patience": (
        CART_POLE, ("stop.patience=5", "evaluation.num_episodes=0"), "it looks at evaluations",
    ),
    "recorder.to": (CART_POLE, ("recorder.on=false", "recorder.to=wandb"), "recorder.on = false"),
    "recorder.wait_s": (CART_POLE, ("recorder.on=false", "recorder.wait_s=1"), "no recorder"),
    "recorder.alerts": (
        CART_POLE, ("recorder.on=false", "recorder.alerts=['loss/value > 1']"),
        "it is the recorder that decides",
    ),
    "episodes.keep": (CART_POLE, ("episodes.keep=3",), "no interval of episodes is set"),
    "episodes.max_steps": (CART_POLE, ("episodes.max_steps=3",), "no interval of episodes is set"),
}  # fmt: skip


# Tables that other runs refuse as a whole: a key of each, and whose they are.
TABLES = {
    **{name: ("gamma=0.5", f"algorithm = {name} alone, and .* its own table is ")
       for name in algorithm_sections()},
    "tinyphysics": ("num_routes=3", "env = tinyphysics alone"),
    "cloning": ("copies=2", "env = tinyphysics alone"),
    "marine_nav": ("num_robots=3", "env = marine_nav alone"),
    "grid": ("width=9", "env = grid alone"),
    "mettagrid": ("config=a.json", "env = mettagrid alone"),
    "minatar": ("sticky_actions=0.5", "env = minatar_.* alone"),
    "gymnasium": ("vectorization=own", "is for env = gymnasium:ID alone"),
    "preprocessing": ("protocol=deepmind", "env = gymnasium:ID, envpool:ID alone"),
    "workers": ("num_workers=2", "env = gymnasium:.* alone"),
    "replay": ("capacity=5", "algorithm = dqn, .*, ac_iqn alone"),
    "kickstart": ("teachers=['a']", "algorithm = ppo alone"),
    "contrastive": ("coef=0.1", "algorithm = ppo alone"),
}  # fmt: skip


def test_of_every_key_it_is_known_where_it_is_honoured():
    keys = {key for key, _, _ in fields_with_defaults()}
    assert HONOURED | set(REFUSED) <= keys
    assert not HONOURED & set(REFUSED)
    assert {key.partition(".")[0] for key in keys - HONOURED - set(REFUSED)} <= set(TABLES)
    assert set(TABLES) <= {key.partition(".")[0] for key in keys}


@pytest.mark.parametrize("table", TABLES)
def test_a_table_of_other_algorithms_or_environments_is_refused(table):
    setting, words = TABLES[table]
    preset = CART_POLE_PQN if table in ("ppo", "kickstart", "contrastive") else CART_POLE
    with pytest.raises(ConfigError, match=words) as caught:
        load_runnable(preset, (f"{table}.{setting}",))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "key", ["ac_iqn.loss", "tqc.loss", "crossq.target_tau", "crossq.target_every"]
)
def test_inherited_settings_without_effect_are_refused_and_not_listed(key):
    value = {"loss": "huber", "target_tau": "0.5", "target_every": "3"}[key.partition(".")[2]]
    with pytest.raises(ConfigError, match=f"^{key} = {value}: (its critic|crossq has no target)"):
        make_config({"env": "pendulum", "algorithm": key.partition(".")[0]}, [f"{key}={value}"])
    listed = {name for name, _, _ in fields_with_defaults()}
    assert key not in listed | {name.name for name in keys_of_all()}
    assert f"sac.{key.partition('.')[2]}" in listed


@pytest.mark.parametrize("key", REFUSED)
def test_what_would_be_ignored_is_refused_with_the_reason(key):
    preset, overrides, words = REFUSED[key]
    with pytest.raises(ConfigError, match=words) as caught:
        load_runnable(preset, overrides)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("preset", "overrides", "words"),
    [
        (CART_POLE, ("env=pendulum", "policy.distribution=beta", "policy.initial_log_std=-1"),
         "gaussians"),
        (CART_POLE, ("algorithm=muzero",), "'muzero' is not an algorithm; there are ppo, pqn"),
        (CART_POLE_PQN, ("env=pendulum",),
         "pqn needs discrete actions; pendulum has continuous ones: ppo, ddpg, td3, sac, tqc, "
         "crossq, ac_iqn"),
        (PENDULUM_SAC, ("env=cart_pole",),
         "sac needs continuous actions; cart_pole has discrete ones: ppo, pqn, dqn"),
        (PENDULUM_SAC, ("sac.learn_alpha=false", "sac.target_entropy=-1"), "alpha stays"),
        (PENDULUM_DDPG, ("ddpg.smoothing_clip=0.1",), "ddpg.smoothing_std = 0"),
        (CART_POLE_DQN, ("policy.initial_log_std=-1",), "dqn has no use for it"),
        (CART_POLE, ("policy.precision=float16",), "ppo takes float32 or bfloat16"),
        (CART_POLE_DQN, ("dqn.updates_per_env_step=0.3",), "76.8 updates, which is no whole"),
        (CART_POLE_DQN, ("dqn.batch_size=2000",), "comes after 1000 env steps; raise dqn.warmup"),
        (CART_POLE_DQN, ("replay.capacity=900",), "dqn.warmup_env_steps wants 1000"),
        (CART_POLE_DQN, ("replay.capacity=1000", "dqn.n_step=100"), "and more than 100 are wanted"),
        (CART_POLE_PQN, ("policy.precision=bfloat16",),
         "policy.precision = bfloat16: pqn has no use for it"),
        (CART_POLE_PQN, ("rollout=fused",), "rollout = fused: pqn has no use for it"),
        (CART_POLE, ("ppo.priority_exponent=1",), "no use for it, ppo.sampler = shuffled"),
        (CART_POLE, ("kickstart.policy_coef=2",), "there are no kickstart.teachers"),
        (TINYPHYSICS, ("kickstart.teachers=['a']",), "cannot learn from other policies"),
        (CART_POLE, ("kickstart.teachers=['a']", "kickstart.policy_coef=0"), "one is wanted"),
        ("acrobot_dqn", ("dqn.epsilon_start=0", "dqn.epsilon_end=0", "dqn.epsilon_fraction=0.2"),
         "dqn.epsilon_fraction = 0.2: dqn.epsilon_start and dqn.epsilon_end are both 0$"),
        ("acrobot_rainbow", ("rainbow.epsilon_start=0.05", "rainbow.epsilon_fraction=0.2"),
         "are both 0.05"),
        (CART_POLE_DQN, ("device=cpu", "replay.memory=host"), "device = cpu is on the processor"),
        (CART_POLE_DQN, ("env=gymnasium:CartPole-v1", "replay.memory=host"),
         "gymnasium:CartPole-v1 is on the processor"),
        (CART_POLE, ("ppo.entropy_schedule=linear",), "there is no bonus to change"),
        (CART_POLE, ("ppo.num_epochs=1", "ppo.target_kl=0.1"), "no later epoch could be left out"),
        (CART_POLE, ("ppo.value_coef=0", "ppo.value_clip=1"), "values are not learned"),
        (CART_POLE, ("contrastive.temperature=0.2",), "contrastive.coef = 0.0, which is off"),
        (CART_POLE, ("contrastive.coef=0.1",), "policy.memory.kind = none; use lstm or gru"),
        (REMEMBERING, ("contrastive.coef=0.1", "policy.memory.horizon=1"), "have no later step"),
        (REMEMBERING, ("contrastive.coef=0.1", "num_envs=4"),
         "ppo.num_minibatches = 4 has one of the 4; use at most 2"),
        (REMEMBERING, ("contrastive.coef=0.1", "num_envs=1", "ppo.num_minibatches=1"),
         "raise num_envs"),
        ("cart_pole_c51", ("c51.lowest=3", "c51.highest=2"),
         r"c51\.lowest = 3 is not below c51\.highest = 2"),
        ("pendulum_tqc", ("tqc.dropped_quantiles=25",), "= 25 leaves none of"),
        ("pendulum_td3", ("td3.target_every=3",), "= 3: targets move with"),
        ("cart_pole_iqn", ("policy.hidden_sizes=[]",), "iqn needs a hidden layer"),
        ("marine_nav_sac", ("policy.hidden_sizes=[]",), "sac needs a hidden layer"),
        (MARINE_NAV_PPO, ("ppo.num_minibatches=7",), "256 environments x 5 agents x 64 steps = 8"),
        (CART_POLE, ("ppo.num_minibatches=5",), "x 32 steps = 4096; use 4 or 8"),
        (CART_POLE, ("policy.memory.kind=gru", "policy.memory.horizon=10"),
         "policy.memory.horizon = 10 does not divide rollout_steps = 32; use 8 or 16"),
        (CART_POLE, ("policy.memory.kind=gru", "policy.memory.horizon=16", "ppo.num_minibatches=6"),
         "does not divide the 256 rows of 16 steps .*; use 4 or 8"),
    ],
)  # fmt: skip
def test_other_combinations_that_cannot_be_are_refused_as_well(preset, overrides, words):
    with pytest.raises(ConfigError, match=words) as caught:
        load_runnable(preset, overrides)
    assert "\n" not in str(caught.value)


def test_an_engine_for_a_gpu_is_refused_on_the_processor():
    with pytest.raises(ConfigError, match="engine = tensorrt needs a GPU, and device = cpu"):
        load_config(TINYPHYSICS, ["tinyphysics.engine=tensorrt", "device=cpu"])


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["dqn", "pqn"])
def test_a_search_finds_no_key_that_is_accepted_and_changes_nothing(algorithm):
    """Run the search of tools/key_effects.py with every switch off."""
    values, keys = key_effects.small(algorithm), key_effects.tried_keys(algorithm)
    assert len(keys) > 15
    assert list(key_effects.Effects().dead_keys(values, keys)) == []
