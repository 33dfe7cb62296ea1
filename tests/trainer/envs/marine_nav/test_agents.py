"""MarineNav's agents have the networks of their authors, and learn from every robot's steps."""

from __future__ import annotations

import pytest
import torch
from learning import iterate
from torch.nn.functional import relu

from operant.trainer.config.from_values import make_config
from operant.trainer.envs.marine_nav.encoder import ObjectEncoder
from operant.trainer.envs.marine_nav.layout import MASK, OBS_SIZE, SELF_SIZE
from operant.trainer.experiment.build import processor_experiment
from operant.trainer.machine.threads import Threads

pytestmark = pytest.mark.slow

DISCRETE = ("iqn", "dqn", "rainbow")
# Weights and biases of the authors' networks, by the sizes of their layers.
ENCODER = (7 + 1) * 56 + (5 + 1) * 40
TRUNK = (256 + 1) * 128 + (128 + 1) * 128
COSINES = (64 + 1) * 256
JOINED_CRITIC = ENCODER + TRUNK + (2 + 1) * 128 + (128 + 1)
PARAMETERS = {
    "ac_iqn": (50_354, JOINED_CRITIC + COSINES), "ddpg": (50_354, JOINED_CRITIC),
    "sac": (50_612, 2 * JOINED_CRITIC), "iqn": (ENCODER + COSINES + TRUNK + (128 + 1) * 25,),
    "dqn": (53_321,), "rainbow": (540_428,),
}  # fmt: skip


@pytest.fixture
def make():
    all_threads = []

    def make_one(algorithm, *overrides, **section):
        all_threads.append(Threads(1))
        values = {
            "env": "marine_nav", "algorithm": algorithm, "num_envs": 4, "rollout_steps": 8,
            "num_threads": 1, "total_env_steps": 160 * 8,
            "marine_nav": {"actions": "discrete" if algorithm in DISCRETE else "continuous"},
            "policy": {"hidden_sizes": [128, 128], "activation": "relu"},
            "replay": {"capacity": 4_000},
            algorithm: {
                "warmup_env_steps": 100, "batch_size": 32, "updates_per_env_step": 0.1, **section
            },
        }  # fmt: skip
        return processor_experiment(make_config(values, overrides), all_threads[-1])

    yield make_one
    for threads in all_threads:
        threads.close()


@pytest.mark.parametrize("algorithm", PARAMETERS)
def test_networks_have_the_authors_layers(make, algorithm):
    experiment = make(algorithm)
    networks = [experiment.policy.flat_parameters]
    if critics := getattr(experiment.algorithm, "critics", None):
        networks.append(critics.flat_parameters)
    assert tuple(map(len, networks)) == PARAMETERS[algorithm]
    before = [network.clone() for network in networks]
    assert iterate(experiment, 3)["updates/count"] > 0
    for was, now in zip(before, networks, strict=True):
        assert now.isfinite().all()
        assert not torch.equal(was, now)


def test_the_encoder_shares_its_layers_among_objects_and_masks_those_that_are_not_there():
    encoder = ObjectEncoder(seed=1)
    obs = torch.randn(3, OBS_SIZE, generator=torch.Generator().manual_seed(1))
    obs[:, MASK:] = torch.tensor([1.0, 1, 1, 0, 0])
    features = encoder(obs)
    assert features.shape == (3, 256)
    assert torch.equal(features[:, :56], relu(encoder.itself(obs[:, :SELF_SIZE])))
    for slot in range(3):
        row = obs[:, SELF_SIZE + 5 * slot :][:, :5]
        torch.testing.assert_close(features[:, 56 + 40 * slot :][:, :40], relu(encoder.object(row)))
    assert not features[:, 56 + 120 :].any()
    # What stands where the mask is 0 changes nothing, nor what is learned.
    other = obs.clone()
    other[:, SELF_SIZE + 15 : MASK] = 9.0
    assert torch.equal(encoder(other), features)
    assert not torch.equal(ObjectEncoder(seed=2).itself.weight, encoder.itself.weight)


def test_every_transition_is_worth_as_many_updates_however_many_robots_there_are(make):
    curriculum = (
        "marine_nav.curriculum=[{until_env_steps=100000, num_robots=2, min_goal_distance_m=30}]"
    )
    experiment = make("dqn", curriculum)
    counts = [iterate(experiment) for _ in range(6)]
    # Two robots of five, in four seas for eight steps: 64 transitions an iteration that has 160
    # rows, and none retires so soon. Warm after the second of them; 6.4 updates each from then on.
    assert [int(values["updates/count"]) for values in counts] == [0, 6, 12, 19, 25, 32]
    assert counts[-1]["updates/per_env_step"] == pytest.approx(7 / 64)
    assert experiment.env_steps == 6 * 64
