"""What a configuration can say of MarineNav, and what is refused."""

from __future__ import annotations

import pytest

from operant.shared.errors import ConfigError
from operant.trainer.config.files import load_config
from operant.trainer.envs import num_agents_of, spec_of
from operant.trainer.spaces import Box, Discrete

PRESET = "marine_nav_ppo_smoke"


def test_the_table_says_which_sea_it_is():
    continuous = load_config(PRESET, ["marine_nav.num_robots=3"])
    assert num_agents_of(continuous) == 3
    assert continuous.rollout_size == 64 * 64 * 3
    assert spec_of(continuous).actions == Box((-1.0, -1.0), (1.0, 1.0))
    discrete = load_config(PRESET, ["marine_nav.actions=discrete"])
    assert spec_of(discrete).actions == Discrete(25)
    assert spec_of(discrete).obs_size == 37  # 7 of itself, 5 x 5 of objects, and a mask of 5


def test_a_curriculum_is_kept_in_what_a_run_saves():
    config = load_config("marine_nav_ppo")
    saved = config.model_dump(mode="json")
    assert len(saved["marine_nav"]["curriculum"]) == 5
    assert type(config).model_validate(saved) == config


@pytest.mark.parametrize(
    ("override", "words"),
    [
        (
            "marine_nav.num_robots=17",
            "marine_nav.num_robots = 17: input should be less than or equal",
        ),
        ("marine_nav.num_robot=1", "unknown key 'marine_nav.num_robot'; did you mean"),
        (
            "marine_nav.num_robots=1",
            "marine_nav.num_robots = 1: input should be greater than or equal",
        ),
        ("marine_nav.min_goal_distance_m=55.5", "less than or equal to 55"),
        ("marine_nav.actions=both", "should be 'continuous' or 'discrete'"),
        (
            "marine_nav.curriculum=[{until_env_steps=9, num_robots=3, min_goal_distance_m=9}]",
            r"curriculum.0.num_robots = 3: the world after the curriculum has "
            r"marine_nav.num_robots = 2",
        ),
        (
            "marine_nav.curriculum=[{until_env_steps=9, num_robots=1, min_goal_distance_m=9}, "
            "{until_env_steps=9, num_robots=1, min_goal_distance_m=9}]",
            "until_env_steps = 9 comes after 9; stages go in the order of their ends",
        ),
        (
            "marine_nav.curriculum=[{until_env_steps=9, num_robots=1}]",
            "marine_nav.curriculum.0.min_goal_distance_m",
        ),
        (
            "marine_nav.curriculum=[{until_env_steps=9, robots=1, min_goal_distance_m=1}]",
            "marine_nav.curriculum.0",
        ),
        (
            # 2^24 decisions of 64 seas with two robots each.
            "marine_nav.curriculum=[{until_env_steps=2147483649, num_robots=1, "
            "min_goal_distance_m=9}]",
            "with num_envs = 64 stages end by 2147483648",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(override, words):
    with pytest.raises(ConfigError, match=words) as caught:
        load_config(PRESET, [override])
    assert "\n" not in str(caught.value)
