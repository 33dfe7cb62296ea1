"""Values of illegal actions, which no target may have."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
import torch
from learning import iterate

from operant.trainer.config.from_values import make_config
from operant.trainer.envs.own_envs import register_own
from operant.trainer.experiment.build import processor_experiment
from operant.trainer.machine.threads import Threads

NUM_ACTIONS, ILLEGAL = 3, 1


class NeverOne(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(NUM_ACTIONS)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.given()

    def given(self):
        obs = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        return obs, {"action_mask": np.array([1, 0, 1], np.int8)}

    def step(self, action):
        assert action != ILLEGAL
        obs, info = self.given()
        return obs, 1.0, False, False, info


@pytest.mark.parametrize(
    ("algorithm", "section"),
    [
        ("dqn", {"double": False}),
        ("dqn", {"double": True}),
        ("c51", {"double": False}),
        ("qr_dqn", {"double": False}),
        ("iqn", {"double": False}),
        ("iqn", {"double": True}),
        ("iqn", {"double": False, "best_by": "quantile"}),
    ],
)
def test_targets_do_not_depend_on_values_of_illegal_actions(algorithm, section):
    config = make_config(
        {
            "env": register_own(NeverOne), "algorithm": algorithm, "num_envs": 2,
            "rollout_steps": 8, "num_threads": 1, "total_env_steps": 64,
            "replay": {"capacity": 64}, "policy": {"hidden_sizes": [8]},
            algorithm: {"warmup_env_steps": 16, "batch_size": 16, **section},
        }
    )  # fmt: skip
    threads = Threads(1)
    experiment = processor_experiment(config, threads)
    iterate(experiment, 3)
    learner = experiment.algorithm
    batch = learner.drawn_batch = learner.replay.sample(learner.batch, 1.0)

    @torch.no_grad()
    def losses():
        return learner.losses(batch, outputs, batch.next_obs).loss

    with torch.no_grad():
        outputs, _ = learner.network.taped(*learner.inputs(batch.obs))
        before = losses()
        for network in (learner.network, learner.target):
            biases = [x for x in network.layers.parameters() if x.dim() == 1][-1]
            biases.view(NUM_ACTIONS, -1)[ILLEGAL, -1] += 1000
    assert torch.equal(losses(), before)
    experiment.close()
    threads.close()


class Unmasked(NeverOne):
    def given(self):
        return super().given()[0], {}


@pytest.mark.parametrize("algorithm", ["dqn", "rainbow", "iqn", "c51", "ppo", "pqn"])
def test_a_mask_changes_no_layer(algorithm):
    own = {"dqn": {"dueling": True}}.get(algorithm, {})
    shapes = []
    for env in Unmasked, NeverOne:
        given = {"env": register_own(env), "algorithm": algorithm, algorithm: own}
        policy = processor_experiment(make_config(given), Threads(1)).policy
        shapes.append(sorted(tuple(x.shape) for x in policy.parameters()))
    assert shapes[0] == shapes[1]
