"""Episodes of a trained policy, one env step at a time, for people to look at."""

from __future__ import annotations

from ...shared.episodes.scene import Episodes
from ...shared.errors import ConfigError
from ..envs.names import (
    CONFIGURED_ENV_NAMES,
    ENV_NAMES,
    GYMNASIUM_PREFIX,
    LEARNED_ENV_NAMES,
    MINATAR_ENV_NAMES,
    PARTIAL_ENV_NAMES,
)
from ..experiment.trained_policy import TrainedPolicy


def make_episodes(trained: TrainedPolicy) -> Episodes:
    """Those of the environment that a policy was trained on. Raises ConfigError where that cannot
    be shown.
    """
    env = trained.config.env
    if env.startswith(GYMNASIUM_PREFIX):
        from .gymnasium_episodes import GymnasiumEpisodes

        return GymnasiumEpisodes(trained)
    if env in LEARNED_ENV_NAMES:
        from .route_episodes import RouteEpisodes  # only here ONNX is needed

        return RouteEpisodes(trained)
    if env == "mettagrid":
        from .mettagrid_episodes import MettaGridEpisodes

        return MettaGridEpisodes(trained)
    if env in (*ENV_NAMES, *PARTIAL_ENV_NAMES, *MINATAR_ENV_NAMES, *CONFIGURED_ENV_NAMES):
        from .compiled_episodes import CompiledEpisodes

        return CompiledEpisodes(trained)
    raise ConfigError(f"env = '{env}': there is no drawing for it")
