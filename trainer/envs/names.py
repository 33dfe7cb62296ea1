"""The names of environments, and the prefixes of those of other libraries."""

from __future__ import annotations

import re

ENV_NAMES = ("acrobot", "cart_pole", "mountain_car", "mountain_car_continuous", "pendulum")
PARTIAL_ENV_NAMES = ("cart_pole_no_velocity", "image_recall")  # which do not show all their state
MINATAR_PREFIX = "minatar_"
MINATAR_ENV_NAMES = (  # which share the table [minatar]
    "minatar_asterix",
    "minatar_breakout",
    "minatar_freeway",
    "minatar_seaquest",
    "minatar_space_invaders",
)
CONFIGURED_ENV_NAMES = ("grid", "marine_nav")  # each with a table of its name
GYMNASIUM_PREFIX = "gymnasium:"
PETTINGZOO_PREFIX = "pettingzoo:"
NATIVE_PREFIX = "native:"
ENVPOOL_PREFIX = "envpool:"
# All values of `env` without a prefix.
ALL_ENV_NAMES = (
    *ENV_NAMES,
    *PARTIAL_ENV_NAMES,
    *MINATAR_ENV_NAMES,
    *CONFIGURED_ENV_NAMES,
    "tinyphysics",
    "mettagrid",
)


def own_version(env: str) -> str:
    """`cart_pole` for `CartPole-v1` or `gymnasium:CartPole-v1`: operant's own environment after the
    one of that id; empty if there is none.
    """
    name = re.sub(r"-v\d+$", "", env.removeprefix(GYMNASIUM_PREFIX))
    own = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
    return own if own in ENV_NAMES else ""
