"""PPO learns from every robot of every sea, and goes on exactly after a checkpoint."""

from __future__ import annotations

import torch
from learning import iterate

from operant.trainer.collecting.compiled import CompiledCollector

CURRICULUM = (
    "marine_nav.curriculum=[{until_env_steps=700, num_robots=3, min_goal_distance_m=30}, "
    "{until_env_steps=1400, num_robots=4, min_goal_distance_m=35}]"
)


def test_robots_learn_together_resume_exactly_and_follow_the_curriculum(make_experiment):
    overrides = ("env=marine_nav", "total_env_steps=3840", CURRICULUM, "normalization.obs=true")
    straight, first, second = (make_experiment(*overrides) for _ in range(3))
    assert type(straight.collector) is CompiledCollector
    before = straight.policy.flat_parameters.clone()
    iterate(straight, 4)
    rollout = straight.collector.rollout
    assert rollout.rewards.shape == (16, 40)  # 8 seas of five robots
    # Nobody has had a new episode yet: three robots in each sea, and two that are not there.
    assert rollout.valid.reshape(16, 8, 5)[0].any(0).tolist() == [True] * 3 + [False] * 2
    assert straight.env_steps == 4 * 640 - straight.dead_env_steps
    assert straight.dead_env_steps >= 4 * 16 * 8 * 2
    assert not torch.equal(straight.policy.flat_parameters, before)
    assert straight.policy.flat_parameters.isfinite().all()

    iterate(first, 2)
    second.load_state_dict(first.state_dict(), iteration=2)
    iterate(second, 2)
    assert torch.equal(straight.policy.flat_parameters, second.policy.flat_parameters)

    # An evaluation is of the six settings, of which three scenarios are of the first three.
    straight.policy.greedy = lambda obs: torch.zeros(len(obs), 2)
    evaluation = straight.evaluate(3)
    assert len(evaluation.returns) == 3 + 4 + 5
    assert evaluation.lengths.max() == 1000
