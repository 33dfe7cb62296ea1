"""What environments are called, and where each comes from."""

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
IMAGE_ENV_NAMES = (*MINATAR_ENV_NAMES, "image_recall")
LEARNED_ENV_NAMES = ("tinyphysics",)  # whose steps are calls of a model
GYMNASIUM_PREFIX = "gymnasium:"
PETTINGZOO_PREFIX = "pettingzoo:"
NATIVE_PREFIX = "native:"
ENVPOOL_PREFIX = "envpool:"
# Of other libraries.
HOSTED_PREFIXES = (GYMNASIUM_PREFIX, PETTINGZOO_PREFIX, NATIVE_PREFIX, ENVPOOL_PREFIX)
CONFIGURED_ENV_NAMES = ("grid", "marine_nav")  # which are made as a table of the configuration says
FOREIGN_ENV_NAMES = ("mettagrid",)  # likewise, of another library each
# All that `env` can be but for what begins with one of `HOSTED_PREFIXES`.
ALL_ENV_NAMES = (
    *ENV_NAMES,
    *PARTIAL_ENV_NAMES,
    *MINATAR_ENV_NAMES,
    *CONFIGURED_ENV_NAMES,
    *LEARNED_ENV_NAMES,
    *FOREIGN_ENV_NAMES,
)


def own_version(env: str) -> str:
    """`cart_pole` for `CartPole-v1` or `gymnasium:CartPole-v1`: operant's own environment after the
    one of that id; empty if there is none.
    """
    name = re.sub(r"-v\d+$", "", env.removeprefix(GYMNASIUM_PREFIX))
    own = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
    return own if own in ENV_NAMES else ""


def is_hosted(env: str) -> bool:
    """Whether an environment comes from another library, and so lives on the processor."""
    return env.startswith(HOSTED_PREFIXES) or env in FOREIGN_ENV_NAMES
