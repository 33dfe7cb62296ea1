"""MarineNav's evaluation is that of its authors: the same scenarios, until the first collision."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from marine_nav_settings import EPISODES_EACH, SETTINGS, generated, rounded

from operant.trainer.envs.marine_nav.compiled_world import World
from operant.trainer.envs.marine_nav.evaluating import in_turn, setting_of
from operant.trainer.envs.marine_nav.scenario import Scenario, all_scenarios, six_settings
from operant.trainer.envs.marine_nav.section import MarineNavConfig
from operant.trainer.envs.marine_nav.world import make_spec
from operant.trainer.experiment.evaluation import evaluate, scenarios_of
from operant.trainer.policies.policy import Memoryless

pytestmark = pytest.mark.slow

SPEC = make_spec()
AHEAD, STILL = [1.0, 1.0], [0.0, 0.0]


class Told(Memoryless):
    """A policy that does what it is told, whatever it sees; `asked` are the rows of each step."""

    def __init__(self, action):
        self.action, self.asked = action, []

    def greedy(self, obs):
        self.asked.append(len(obs))
        return torch.tensor([self.action]).repeat(len(obs), 1)


def scenario(*robots, obstacles=()):
    """Robots that head along x: rows of their x and y, and how far ahead their goal is."""
    starts = np.array([[x, y] for x, y, _ in robots])
    goals = starts + [[distance, 0.0] for _, _, distance in robots]
    return Scenario(
        starts, goals, np.zeros(len(robots)), np.array(obstacles).reshape(-1, 3), np.zeros((0, 4))
    )


def played(*scenarios, action=AHEAD, num_episodes=100, gamma=0.5, **options):
    policy = Told(action)
    limit = options.pop("max_episode_steps", 27_000)
    evaluation = evaluate(
        policy, SPEC, num_episodes, 1, limit, gamma=gamma, scenarios=scenarios, **options
    )
    return policy, evaluation


def test_an_episode_goes_on_until_all_have_arrived():
    # Full ahead a vessel has gone 0.28, 1.27, 2.76 and 4.39 m after so many decisions.
    policy, evaluation = played(scenario((5, 5, 3.0), (5, 30, 6.0)))
    assert policy.asked == [2, 2, 1, 1]  # 1.73 m left after two decisions, and 1.61 after four
    assert evaluation.lengths.tolist() == [2, 4]
    assert evaluation.details["evaluation/success"] == 1
    assert evaluation.details["evaluation/strict_success"] == 1
    assert evaluation.details["evaluation/time_s"] == 0.5 * (2 + 4) / 2
    # Both thrusts are 500 N after one decision and 1000 N from then on, for half a second each.
    energy = 0.5 * 1000 + 0.5 * 2000, 0.5 * 1000 + 3 * 0.5 * 2000
    assert evaluation.details["evaluation/energy_n_s"] == sum(energy) / 2
    # -0.1 a decision, the way, and 10 at the goal.
    progress = np.array([1.26689, 4.38638])
    assert evaluation.returns == pytest.approx(progress - [0.2, 0.4] + 10, abs=1e-3)


def test_what_is_discounted_is_the_authors_way_and_for_values_by_the_runs_gamma():
    _, evaluation = played(scenario((5, 5, 3.0)))
    rewards = [0.27767 - 0.1, 1.26689 - 0.27767 - 0.1 + 10]
    found = evaluation.details["evaluation/discounted_return"]
    assert found == pytest.approx(rewards[0] + 0.99 * rewards[1], abs=1e-3)
    assert evaluation.from_start.returns == pytest.approx(rewards[0] + 0.5 * rewards[1], abs=1e-3)
    assert evaluation.from_start.left_discounts.tolist() == [0]
    assert evaluation.from_start.obs.shape == (1, SPEC.obs_size)
    assert evaluation.from_start.obs[0, 0] == pytest.approx(3.0 / 20)


def test_an_episode_ends_at_the_first_collision_for_all():
    obstacle = (5 + 3.795 + 0.2, 5, 1.0)  # which the first decision brings within reach
    policy, evaluation = played(scenario((5, 5, 30.0), (5, 30, 3.0), obstacles=[obstacle]))
    assert policy.asked == [2]
    assert evaluation.details["evaluation/success"] == 0
    assert "evaluation/time_s" not in evaluation.details  # of successes, and there are none
    (setting,) = evaluation.settings
    assert setting["time_s"] is None
    # The second one's value is of what would have followed.
    assert evaluation.from_start.left_discounts.tolist() == [0, 0.5]


def test_who_collides_at_the_goal_has_success_but_not_the_strict_one():
    obstacle = (5 + 3.795 + 0.2, 5, 1.0)
    _, evaluation = played(scenario((5, 5, 2.2), obstacles=[obstacle]))
    assert evaluation.details["evaluation/success"] == 1
    assert evaluation.details["evaluation/strict_success"] == 0


def test_a_limit_cuts_off_what_has_no_end():
    _, evaluation = played(scenario((5, 5, 30.0)), action=STILL, max_episode_steps=7)
    assert evaluation.num_cut_off == 1
    assert evaluation.lengths.tolist() == [7]
    assert evaluation.from_start.left_discounts.tolist() == [0.5**7]
    _, evaluation = played(scenario((5, 5, 30.0)), action=STILL)
    assert evaluation.num_cut_off == 0  # the environment's own limit
    assert evaluation.lengths.tolist() == [1000]
    assert evaluation.details["evaluation/success"] == 0


def test_settings_take_turns_and_have_figures_of_their_own():
    near, far = scenario((5, 5, 1.0)), scenario((5, 5, 3.0), (5, 30, 40.0))
    chosen = in_turn([near, near, near, far, far])
    assert [setting_of(s).robots for s in chosen] == [1, 2, 1, 2, 1]
    _, evaluation = played(near, near, near, far, far, num_episodes=3, max_episode_steps=20)
    assert evaluation.num_episodes == 3
    assert [(s["robots"], s["episodes"], s["success"]) for s in evaluation.settings] == [
        (1, 2, 1.0), (2, 1, 0.0),
    ]  # fmt: skip
    assert evaluation.details["evaluation/success"] == pytest.approx(2 / 3)


def test_the_six_settings_are_what_the_generator_makes():
    assert len(all_scenarios()) == len(SETTINGS) * EPISODES_EACH
    for number, (robots, obstacles, distance) in enumerate(SETTINGS):
        of_file = all_scenarios()[number * EPISODES_EACH :][:EPISODES_EACH]
        assert {setting_of(scenario) for scenario in of_file} == {(robots, obstacles, 0)}
        for each in of_file:
            away = np.hypot(*(each.goals - each.starts).T)
            assert (away >= distance - 1e-3).all()
    for ours, theirs in zip(generated(*SETTINGS[-1]), of_file, strict=True):
        for one, other in zip(rounded(ours), theirs, strict=True):
            np.testing.assert_allclose(one, other, atol=2e-4)


def test_a_world_is_evaluated_on_the_settings_that_it_has_room_for():
    def counted(**world):
        return sorted({setting_of(s)[:2] for s in six_settings(World(**world))})

    assert counted() == [(3, 0), (4, 0), (5, 0), (5, 2), (5, 3), (5, 4)]
    assert counted(robots=5, obstacles=2) == [(3, 0), (4, 0), (5, 0), (5, 2)]
    assert counted(robots=2) == []
    assert counted(vortices=4) == []


def test_a_world_with_vortices_begins_with_scenarios_of_its_own():
    spec = make_spec(MarineNavConfig(num_robots=2, num_obstacles=0, num_vortices=1))
    assert not scenarios_of(spec)
    evaluation = evaluate(Told(STILL), spec, 3, seed=1, max_episode_steps=2)
    (setting,) = evaluation.settings
    assert (setting["robots"], setting["obstacles"], setting["vortices"]) == (2, 0, 1)
    assert setting["episodes"] == 3
