"""Observations that are dictionaries and tuples: each image has an encoder of its own."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import gymnasium
import numpy as np
import onnxruntime
import pytest
import torch
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Box, Dict, Discrete, Tuple
from gymnasium.vector.utils import batch_space
from own_lines import SMALL
from trained_runs import untrained

import operant
from operant.shared.errors import ConfigError
from operant.trainer.config.from_values import make_config
from operant.trainer.envs.checking import EnvError
from operant.trainer.envs.hosts import load_spec, make_envs
from operant.trainer.envs.own_envs import register_own
from operant.trainer.envs.space_rows import ObsRows
from operant.trainer.envs.vector import Transitions
from operant.trainer.envs.workers.dividing import WorkerPlan
from operant.trainer.experiment.build import make_experiment
from operant.trainer.experiment.onnx_export import write_onnx
from operant.trainer.jit.streams import TRAINING
from operant.trainer.playing.gymnasium_episodes import GymnasiumEpisodes
from operant.trainer.policies.actor_critic import ActorCritic
from operant.trainer.policies.encoder import PartsEncoder, own_encoder
from operant.trainer.policies.normalizers import as_numbers, observe
from operant.trainer.settings.policy import PolicyConfig

pytestmark = pytest.mark.slow

CAMERA = Box(0, 255, (12, 12, 1), np.uint8)


class WhereIsIt(gymnasium.Env):
    """The bright square is left or right in the picture; nothing else says so."""

    observation_space = Dict(
        {"camera": CAMERA, "more": Tuple((Box(-1, 1, (3,), np.float32), Discrete(4)))}
    )
    action_space = Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.number = 0
        return self.show(), {}

    def show(self):
        random = self.np_random
        self.side = int(random.integers(2))
        camera = random.integers(0, 100, CAMERA.shape).astype(np.uint8)
        y, x = random.integers(9), random.integers(3) + 6 * self.side
        camera[y : y + 3, x : x + 3] = 255
        more = random.uniform(-1, 1, 3).astype(np.float32), int(random.integers(4))
        return {"camera": camera, "more": more}

    def step(self, action):
        reward = float(action == self.side)
        self.number += 1
        return self.show(), reward, self.number == 50, False, {}


def spec_of(space):
    made = type("Env", (WhereIsIt,), {"observation_space": space})
    return load_spec(register_own(made))


def sampled(space, seed=1):
    space.seed(seed)
    return space.sample()


def test_parts_lie_side_by_side_in_bytes_each_in_its_own_type():
    spec = load_spec(register_own(WhereIsIt))
    assert (spec.obs_size, spec.obs_type) == (144 + 3 * 4 + 4, np.uint8)
    assert [(part.offset, part.obs_bytes, part.encoder) for part in spec.obs_parts] == [
        (0, 144, "minatar"), (144, 12, "mlp"), (156, 4, "mlp"),
    ]  # fmt: skip
    sample = sampled(WhereIsIt.observation_space)
    row = ObsRows(spec).row(sample)
    assert (row[:144].reshape(CAMERA.shape) == sample["camera"]).all()
    assert (row[144:156].view(np.float32) == sample["more"][0]).all()
    assert row[156:].tolist() == [n == sample["more"][1] for n in range(4)]


def test_floats_begin_at_multiples_of_four_and_a_mask_is_at_the_very_end():
    class Masked(WhereIsIt):
        observation_space = Dict({"a": Discrete(3), "b": CAMERA, "c": Box(-1, 1, (2,), np.float64)})

        def action_masks(self):
            return [True, False]

    spec = load_spec(register_own(Masked))
    assert [part.offset for part in spec.obs_parts] == [0, 3, 148]
    assert (spec.obs_size, spec.mask_size) == (160, 2)  # 156 and 2, aligned


@pytest.mark.parametrize(("encoder", "normalizes"), [("auto", False), ("mlp", True)])
def test_packed_rows_and_flattened_numbers_give_the_same(encoder, normalizes):
    spec = load_spec(register_own(WhereIsIt))
    samples = [sampled(WhereIsIt.observation_space, seed) for seed in range(5)]
    packed = torch.from_numpy(np.stack([ObsRows(spec).row(each) for each in samples]))
    rows = [gymnasium.spaces.flatten(WhereIsIt.observation_space, each) for each in samples]
    numbers = torch.from_numpy(np.stack(rows)).float()
    assert torch.equal(as_numbers(packed, spec.obs_parts), numbers)
    config = PolicyConfig(encoder=encoder, hidden_sizes=(8,))
    policy = ActorCritic(spec, config, normalizes, 1)
    observe(policy.normalizer, [packed])
    assert policy.actor_sizes[0] == (128 if encoder == "auto" else 144) + 7
    for given in policy.outputs, policy.values:
        assert torch.equal(given(packed), given(numbers))


def test_a_network_of_the_users_gets_the_numbers(monkeypatch):
    spec = load_spec(register_own(WhereIsIt))
    encoder = own_encoder("image_envs:Pair", spec, 1)
    row = ObsRows(spec).row(sampled(WhereIsIt.observation_space))
    numbers = as_numbers(torch.from_numpy(row), spec.obs_parts)
    scaled = torch.cat([numbers[:144] / 255, numbers[144:]])
    assert torch.equal(encoder(torch.from_numpy(row)[None]), encoder.module(scaled[None]))
    assert torch.equal(encoder(numbers[None]), encoder.module(scaled[None]))


def test_rows_are_the_same_in_workers_and_episodes_end_with_theirs():
    spec = load_spec(register_own(WhereIsIt))
    taken = []
    for workers in (0, 2):
        envs = make_envs(replace(spec, plan=WorkerPlan(num_workers=workers)), 4, 1, TRAINING)
        out = Transitions.of(spec, 4)
        with closing(envs):
            envs.reset(out.obs)
            for _ in range(50):
                envs.step(np.zeros(4, np.int64), out)
        assert out.terminated.all()
        assert out.obs.dtype == out.final_obs.dtype == np.uint8
        assert (out.obs != out.final_obs).any()
        taken.append((out.obs, out.final_obs))
    for here, there in zip(*taken, strict=True):
        assert (here == there).all()


def test_a_number_that_is_none_beside_a_picture_is_refused():
    class Bad(WhereIsIt):
        def show(self):
            return {"camera": CAMERA.sample(), "more": (np.array([0, np.nan, 0]), 1)}

    envs = make_envs(load_spec(register_own(Bad)), 1, 1, TRAINING)
    with closing(envs), pytest.raises(EnvError, match=r"observation\['more'\]\[0\] with NaN"):
        envs.reset(Transitions.of(envs.spec, 1).obs)


def test_agents_with_pictures_may_have_action_masks():
    spec = load_spec("pettingzoo:parallel_envs:make_masked_cameras")
    assert spec.mask_size == 3
    envs = make_envs(spec, 1, 1, TRAINING)
    out = Transitions.of(spec, 2)
    with closing(envs):
        envs.reset(out.obs)
    assert out.obs[:, -3:].tolist() == [[1, 0, 1]] * 2
    numbers = as_numbers(torch.from_numpy(out.obs), spec.obs_parts)
    assert numbers[:, [0, -1]].tolist() == [[7, 0.5], [8, 1.5]]


def of_rank(obs, number):
    """One of a batch of observations."""
    return {"camera": obs["camera"][number], "more": tuple(x[number] for x in obs["more"])}


def test_a_loaded_policy_takes_what_the_environment_gives(tmp_path):
    policy = untrained(WhereIsIt)
    space = WhereIsIt.observation_space
    batch = batch_space(space, 5)
    obs = sampled(batch)
    actions = policy.act(obs)
    assert [policy.act(of_rank(obs, number)) for number in range(5)] == actions.tolist()
    assert policy.act([of_rank(obs, number) for number in range(5)]).tolist() == actions.tolist()
    rows = [gymnasium.spaces.flatten(space, of_rank(obs, number)) for number in range(5)]
    assert policy.act(np.stack(rows)).tolist() == actions.tolist()

    write_onnx(policy._trained.policy, 151, tmp_path / "policy.onnx", "a test")
    session = onnxruntime.InferenceSession(tmp_path / "policy.onnx")
    (exported,) = session.run(None, {"observation": np.stack(rows).astype(np.float32)})
    assert exported.tolist() == actions.tolist()

    with pytest.raises(operant.UsageError, match=r"without the key 'more', which"):
        policy.act({"camera": obs["camera"][0]})
    with pytest.raises(operant.UsageError, match=r"observation\['camera'\] of shape \(3,\)"):
        policy.act({**of_rank(obs, 0), "camera": np.zeros(3)})
    scaled = (obs["camera"] / 255).astype(np.float32)
    for given in ({**obs, "camera": scaled}, {**of_rank(obs, 0), "camera": scaled[0]}):
        with pytest.raises(operant.UsageError, match="a part has float32, and its space uint8"):
            policy.act(given)


def test_numbers_of_a_discrete_observation_are_taken_as_they_are():
    class Numbered(WhereIsIt):
        observation_space = Discrete(3, start=-1)

        def show(self):
            self.side = 0
            return -1

    policy = untrained(Numbered)
    rows = np.eye(3, dtype=np.float32)
    assert policy.act(np.array([-1, 0, 1])).tolist() == policy.act(rows).tolist()
    assert policy.act(1) == policy.act(rows[2])


@pytest.mark.parametrize("algorithm", ["ppo", "pqn", "dqn", "iqn"])
def test_each_algorithm_has_an_encoder_for_the_picture_and_scales_it(algorithm):
    policy = untrained(WhereIsIt, algorithm)._trained.policy
    (encoder, *_) = [x for x in policy.modules() if isinstance(x, PartsEncoder)]
    assert encoder.images[0].largest == 255
    assert policy.obs_size == 160
    features = encoder(torch.full((1, 151), 255.0))
    assert features.shape == (1, encoder.num_features)


class HowFarIsIt(WhereIsIt):
    """The same with a real number for an answer."""

    action_space = Box(-1, 1, (1,), np.float32)

    def step(self, action):
        return super().step(int(action[0] > 0))


@pytest.mark.parametrize("algorithm", ["sac", "td3", "ddpg", "tqc"])
@pytest.mark.parametrize("hidden_sizes", [(), (8,)])
def test_actor_critics_have_one_encoder_for_all_critics(algorithm, hidden_sizes):
    config = make_config({
        "env": register_own(HowFarIsIt), "algorithm": algorithm,
        "policy": {"hidden_sizes": hidden_sizes},
    })  # fmt: skip
    with closing(make_experiment(config)) as experiment:
        critics = experiment.algorithm.critics
    assert [type(encoder) for encoder in critics.encoders] == [PartsEncoder]
    obs, actions = torch.zeros(3, 160, dtype=torch.uint8), torch.zeros(3, 1)
    assert critics(obs, actions).shape[:2] == (algorithm == "ddpg" or 2, 3)


def test_one_encoder_for_a_whole_dictionary_is_refused():
    with pytest.raises(ConfigError, match="observations are dictionaries or tuples; use auto"):
        make_config({"env": register_own(WhereIsIt), "policy": {"encoder": "nature"}})


def test_crossq_refuses_dictionaries_with_images():
    own = {"env": register_own(HowFarIsIt), "algorithm": "crossq"}
    with pytest.raises(ConfigError, match="crossq takes vectors"):
        make_config(own)
    with pytest.raises(ConfigError, match="dictionaries with images; use sac, or a wrapper"):
        make_config({**own, "policy": {"encoder": "mlp"}})


def test_vectors_in_a_dictionary_need_no_encoder():
    space = Dict({"a": Box(-1, 1, (3,), np.float32), "b": Discrete(2)})
    assert all(part.encoder == "mlp" for part in spec_of(space).obs_parts)


def test_normalisation_is_refused_for_pictures():
    with pytest.raises(operant.UsageError, match=r"normalization.obs = true: observations have im"):
        operant.train(WhereIsIt, total_env_steps=256, **SMALL, **{"normalization.obs": True})


class Drawn(WhereIsIt):
    """Draws itself, and says that only the right is legal."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def render(self):
        return np.zeros((4, 4, 3), np.uint8)

    def action_masks(self):
        return [False, True]

    def step(self, action):
        assert action == 1
        return super().step(action)


def test_masks_lie_behind_pictures_in_training_evaluation_play_and_onnx(monkeypatch, tmp_path):
    registered = EnvSpec("Drawn-v0", entry_point=Drawn)
    monkeypatch.setitem(gymnasium.registry, "Drawn-v0", registered)
    run = operant.train("Drawn-v0", total_env_steps=256, **SMALL)
    assert operant.evaluate(run, 3).returns.shape == (3,)
    policy = operant.load(run)
    episodes = GymnasiumEpisodes(policy._trained)
    with closing(episodes):
        episodes.begin(1, 0)
        while not episodes.step():
            pass
    write_onnx(policy._trained.policy, 151, tmp_path / "policy.onnx", "a test")
    session = onnxruntime.InferenceSession(tmp_path / "policy.onnx")
    masks = np.array([[0, 1], [1, 0]], np.float32)
    zeros = np.zeros((2, 151), np.float32)
    assert session.run(None, {"observation": zeros, "action_mask": masks})[0].tolist() == [1, 0]
    obs = sampled(batch_space(WhereIsIt.observation_space, 2))
    assert policy.act(obs, action_masks=masks).tolist() == [1, 0]


def test_a_policy_with_memory_sees_pictures_in_dictionaries():
    policy = untrained(WhereIsIt, policy={"memory": {"kind": "lstm", "size": 8}})
    obs = sampled(WhereIsIt.observation_space)
    action, state = policy.predict(obs)
    assert action in (0, 1)
    assert state.shape == policy.initial_state().shape
