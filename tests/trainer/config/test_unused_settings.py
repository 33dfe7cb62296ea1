"""Every setting is honoured, or refused with the reason: none is accepted and then ignored."""

from __future__ import annotations

import key_effects
import pytest

from operant.shared.errors import ConfigError
from operant.trainer.config.files import load_config, preset_names
from operant.trainer.config.from_values import fields_with_defaults, make_config
from operant.trainer.config.keys import keys_of_all
from operant.trainer.config.tables import EvaluationConfig
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

# For every key: a preset and overrides with which it is refused, one line that says why; or None
# where every run honours it, whatever it trains on.
REFUSED: dict[str, tuple[str, tuple[str, ...], str] | None] = {
    "env": None,
    "algorithm": None,
    "seed": None,
    "device": None,
    "num_threads": (CART_POLE, ("num_threads=2", "device=cuda"), "num_threads = 2 is for the"),
    "num_envs": (TINYPHYSICS, ("num_envs=66",), "multiple of tinyphysics.rollouts_per_route = 4"),
    "rollout_steps": (TINYPHYSICS, ("rollout_steps=100",), "rollout_steps = 100: .* use 400"),
    "rollout": (CART_POLE, ("rollout=fused", "device=cpu"), "rollout = fused is for a GPU"),
    "overlap": (CART_POLE_PQN, ("overlap=true",), "only ppo has one"),
    "compile": (CART_POLE_DQN, ("compile=true",), "only ppo and pqn are compiled"),
    "total_env_steps": None,
    "policy.encoder": (TINYPHYSICS, ("policy.encoder=a:Net",), "steered by a plain network"),
    "policy.hidden_sizes": None,
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
    **{f"{name}.{key}": (
        CART_POLE_PQN if name == "ppo" else CART_POLE, (f"{name}.{key}=0.5",),
        f"algorithm = {name} alone, and .* its own table is ",
    ) for name, section in algorithm_sections().items()
       for key in section.model_fields if key not in section.unused_fields},
    "evaluation.time_fraction": (
        CART_POLE, ("evaluation.time_fraction=0.2", "evaluation.every_s=5"),
        "is for runs without an interval; set every_s = 0",
    ),
    "replay.capacity": (CART_POLE, ("replay.capacity=5",), "algorithm = dqn, .*, ac_iqn alone"),
    "replay.memory": (CART_POLE, ("replay.memory=host",), "algorithm = dqn, .*, ac_iqn alone"),
    "replay.priority_exponent": (
        CART_POLE, ("replay.priority_exponent=0.6",), "algorithm = dqn, .*, ac_iqn alone",
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
    **{f"tinyphysics.{key}": (CART_POLE, (f"tinyphysics.{key}={value}",), "env = tinyphysics alone")
       for key, value in {
           "model": "m.onnx", "routes": "data", "num_routes": 3, "held_out_routes": 3,
           "rollouts_per_route": 3, "critic_epochs": 1, "engine": "torch",
       }.items()},
    **{f"cloning.{key}": (CART_POLE, (f"cloning.{key}={value}",), "env = tinyphysics alone")
       for key, value in {
           "source": "pid", "num_epochs": 1, "learning_rate": 0.5,
           "copies": 2,
       }.items()},
    **{f"marine_nav.{key}": (CART_POLE, (f"marine_nav.{key}={value}",), "env = marine_nav alone")
       for key, value in {
           "num_robots": 3, "num_obstacles": 1, "num_vortices": 1, "min_goal_distance_m": 9,
           "curriculum": [], "actions": "discrete", "noise": "false",
       }.items()},
    **{f"{env}.{key}": (CART_POLE, (f"{env}.{key}={value}",), f"env = {env} alone")
       for env in ("grid", "mettagrid")
       for key, value in {
           "num_agents": 2, "height": 9, "width": 9, "num_walls": 1, "num_mines": 1,
           "num_generators": 1, "num_altars": 1, "map": "a.txt", "max_steps": 9, "cooldown": 1,
           "ore_limit": 1, "battery_limit": 1, "ore_reward": 1, "battery_reward": 1,
           "ore_reward_cap": 2, "battery_reward_cap": 2, "num_tokens": 20, "embedding_size": 9,
       }.items()},
    **{f"minatar.{key}": (CART_POLE, (f"minatar.{key}={value}",), "env = minatar_.* alone")
       for key, value in {
           "sticky_actions": 0.5, "ramping": "false", "minimal_actions": "true", "max_steps": 9,
       }.items()},
    "grid.num_maps": (CART_POLE, ("grid.num_maps=2",), "env = grid alone"),
    "mettagrid.config": (CART_POLE, ("mettagrid.config=a.json",), "env = mettagrid alone"),
    "gymnasium.vectorization": (
        CART_POLE, ("gymnasium.vectorization=own",), "is for env = gymnasium:ID alone",
    ),
    **{f"preprocessing.{key}": (CART_POLE, (f"preprocessing.{key}={value}",),
                                "env = gymnasium:ID, envpool:ID alone")
       for key, value in {
           "protocol": "deepmind", "frame_stack": 2, "frame_skip": 2, "greyscale": "true",
           "resize": 84, "sticky_actions": 0.25, "noop_starts": 30, "life_loss": "true",
           "reward_sign": "true", "time_limit": 9,
       }.items()},
    **{f"workers.{key}": (CART_POLE, (f"workers.{key}={value}",), "env = gymnasium:.* alone")
       for key, value in {
           "num_workers": 2, "async_factor": 2, "timeout_s": 3,
       }.items()},
    "evaluation.every_iterations": None,
    "evaluation.every_env_steps": None,
    "evaluation.every_s": None,
    "evaluation.num_episodes": (
        TINYPHYSICS, ("tinyphysics.held_out_routes=0",), "there is no route to evaluate on",
    ),
    "evaluation.max_episode_steps": (
        TINYPHYSICS, ("evaluation.max_episode_steps=5",), "end by themselves",
    ),
    "checkpoint.every_iterations": None,
    "checkpoint.every_env_steps": None,
    "checkpoint.every_s": None,
    "checkpoint.keep": None,
    "checkpoint.replay": (CART_POLE, ("checkpoint.replay=false",), "ppo has no use for it"),
    "checkpoint.best": (CART_POLE, ("checkpoint.best=loss/polcy",), "no such metric; did you mean"),
    "stop.at_return": (
        CART_POLE, ("stop.at_return=5", "evaluation.num_episodes=0"), "it looks at evaluations",
    ),
    "stop.patience": (
        CART_POLE, ("stop.patience=5", "evaluation.num_episodes=0"), "it looks at evaluations",
    ),
    "recorder.on": None,
    "recorder.to": (CART_POLE, ("recorder.on=false", "recorder.to=wandb"), "recorder.on = false"),
    "recorder.wait_s": (CART_POLE, ("recorder.on=false", "recorder.wait_s=1"), "no recorder"),
    "recorder.prometheus_port": None,
    "recorder.prometheus_address": None,
    "recorder.alerts": (
        CART_POLE, ("recorder.on=false", "recorder.alerts=['loss/value > 1']"),
        "it is the recorder that decides",
    ),
    **{f"{table}.{key}": None
       for table in ("gradients", "weights", "trace", "episodes")
       for key in ("every_iterations", "every_env_steps", "every_s")},
    **{f"kickstart.{key}": (CART_POLE_DQN, (f"kickstart.{key}={value}",), "algorithm = ppo alone")
       for key, value in {
           "teachers": "['a']", "policy_coef": 2, "value_coef": 2, "until_fraction": 0.2,
           "fade_fraction": 0.2,
       }.items()},
    **{f"contrastive.{key}": (
        CART_POLE_DQN, (f"contrastive.{key}={value}",), "algorithm = ppo alone",
    ) for key, value in {
        "coef": 0.1, "temperature": 0.2, "discount": 0.5, "embedding_size": 8,
    }.items()},
    "trace.keep": None,
    "ranks.silent_for_s": None,
    "episodes.keep": (CART_POLE, ("episodes.keep=3",), "no interval of episodes is set"),
    "episodes.max_steps": (CART_POLE, ("episodes.max_steps=3",), "no interval of episodes is set"),
}  # fmt: skip


def test_of_every_key_it_is_known_where_it_is_honoured():
    assert set(REFUSED) == {key for key, _, _ in fields_with_defaults()}


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


@pytest.mark.parametrize("key", [key for key, refused in REFUSED.items() if refused])
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
        (CART_POLE, ("algorithm=pq",), "did you mean 'pqn'"),
        (CART_POLE, ("evaluation.every_s=5", "evaluation.every_env_steps=5"), "one unit"),
        (CART_POLE_PQN, ("env=pendulum",),
         "pqn needs discrete actions; pendulum has continuous ones: ppo, ddpg, td3, sac, tqc, "
         "crossq, ac_iqn"),
        (CART_POLE_PQN, ("env=gymnasium:Pendulum-v1",),
         "pqn needs discrete actions; gymnasium:Pendulum-v1 has continuous ones: ppo"),
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
        (CART_POLE_PQN, ("pqn.num_minibatches=3",),
         "pqn.num_minibatches = 3 does not divide the rollout of 32 environments x 64 steps"),
        (CART_POLE, ("ppo.priority_exponent=1",), "no use for it, ppo.sampler = shuffled"),
        (CART_POLE, ("ppo.importance_exponent=1",), "no use for it, ppo.sampler = shuffled"),
        (CART_POLE, ("kickstart.policy_coef=2",), "there are no kickstart.teachers"),
        (TINYPHYSICS, ("kickstart.teachers=['a']",), "cannot learn from other policies"),
        (CART_POLE, ("kickstart.teachers=['a']", "kickstart.policy_coef=0"), "one is wanted"),
        ("acrobot_dqn", ("dqn.epsilon_start=0", "dqn.epsilon_end=0", "dqn.epsilon_fraction=0.2"),
         "dqn.epsilon_fraction = 0.2: dqn.epsilon_start and dqn.epsilon_end are both 0$"),
        ("acrobot_rainbow", ("rainbow.epsilon_start=0.05", "rainbow.epsilon_fraction=0.2"),
         "are both 0.05"),
        ("acrobot_pqn", ("pqn.epsilon_start=0", "pqn.epsilon_end=0", "pqn.epsilon_fraction=0.3"),
         "pqn.epsilon_fraction = 0.3"),
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
        ("pendulum_ac_iqn", ("policy.hidden_sizes=[]",), "ac_iqn needs a hidden layer"),
        ("marine_nav_sac", ("policy.hidden_sizes=[]",), "sac needs a hidden layer"),
        (MARINE_NAV_PPO, ("ppo.num_minibatches=7",), "256 environments x 5 agents x 64 steps = 8"),
        (CART_POLE, ("ppo.num_minibatches=5",), "x 32 steps = 4096; use 4 or 8"),
        (CART_POLE, ("policy.memory.kind=gru", "policy.memory.horizon=10"),
         "policy.memory.horizon = 10 does not divide rollout_steps = 32; use 8 or 16"),
        (CART_POLE, ("policy.memory.kind=gru", "policy.memory.horizon=64"),
         "policy.memory.horizon = 64 does not divide rollout_steps = 32; use 32"),
        (CART_POLE, ("policy.memory.kind=gru", "policy.memory.horizon=16", "ppo.num_minibatches=6"),
         "does not divide the 256 rows of 16 steps .*; use 4 or 8"),
        (CART_POLE_PQN, ("policy.memory.kind=rnn",), "policy.memory.kind = 'rnn'"),
    ],
)  # fmt: skip
def test_other_combinations_that_cannot_be_are_refused_as_well(preset, overrides, words):
    with pytest.raises(ConfigError, match=words) as caught:
        load_runnable(preset, overrides)
    assert "\n" not in str(caught.value)


def test_an_engine_for_a_gpu_is_refused_on_the_processor():
    with pytest.raises(ConfigError, match="engine = tensorrt needs a GPU, and device = cpu"):
        load_config(TINYPHYSICS, ["tinyphysics.engine=tensorrt", "device=cpu"])


@pytest.mark.parametrize("preset", preset_names())
def test_what_a_checkpoint_keeps_of_a_preset_is_no_setting_to_refuse(preset):
    config = load_config(preset)
    assert make_config(config.model_dump(mode="json")) == config


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["dqn", "pqn"])
def test_a_search_finds_no_key_that_is_accepted_and_changes_nothing(algorithm):
    """As tools/key_effects.py does for every algorithm and with every switch off."""
    values, keys = key_effects.small(algorithm), key_effects.tried_keys(algorithm)
    assert len(keys) > 15
    assert list(key_effects.Effects().dead_keys(values, keys)) == []


def test_the_search_finds_a_key_that_changes_nothing():
    # Iterations alone are compared, and nothing is evaluated in them.
    field = EvaluationConfig.model_fields["max_episode_steps"]
    key = key_effects.Key("evaluation.max_episode_steps", field)
    (dead,) = key_effects.Effects().dead_keys(key_effects.small("pqn"), [key])
    assert dead.startswith("evaluation.max_episode_steps = ")
