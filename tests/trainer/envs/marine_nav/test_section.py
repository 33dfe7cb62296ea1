"""The settings of MarineNav, and the refused ones."""

from __future__ import annotations

import pytest

from operant.shared.errors import ConfigError
from operant.trainer.config.files import load_config
from operant.trainer.envs.hosts import describe
from operant.trainer.spaces import Box, Discrete

PRESET = "marine_nav_ppo_smoke"


def test_the_table_says_which_sea_it_is():
    continuous = load_config(PRESET, ["marine_nav.num_robots=3"])
    assert continuous.num_agents == 3
    assert continuous.rollout_size == 64 * 64 * 3
    assert describe(continuous).actions == Box((-1.0, -1.0), (1.0, 1.0))
    discrete = load_config(PRESET, ["marine_nav.actions=discrete"])
    assert describe(discrete).actions == Discrete(25)
    assert describe(discrete).obs_size == 37  # 7 of itself, 5 x 5 of objects, and a mask of 5


@pytest.mark.parametrize(
    ("override", "words"),
    [
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


def test_observations_are_not_normalised_where_that_would_blur_the_mask():
    with pytest.raises(ConfigError, match=r"normalization.obs = true: the mask .* at false"):
        load_config("marine_nav_iqn", ["normalization.obs=true"])
