"""Episodes of a trained policy, one env step at a time, for people to look at."""

from __future__ import annotations

from importlib import import_module

from ...shared.episodes.scene import Episodes
from ...shared.errors import ConfigError
from ..envs.hosts import host_of
from ..experiment.trained_policy import TrainedPolicy

# The class for the environments of each host, imported when it is needed: some import ONNX.
EPISODES = {
    "operant": ("compiled_episodes", "CompiledEpisodes"),
    "tinyphysics": ("route_episodes", "RouteEpisodes"),
    "gymnasium": ("gymnasium_episodes", "GymnasiumEpisodes"),
    "mettagrid": ("mettagrid_episodes", "MettaGridEpisodes"),
}


def make_episodes(trained: TrainedPolicy) -> Episodes:
    """Episodes in the environment that a policy was trained on. Raises ConfigError where that
    cannot be shown.
    """
    env = trained.config.env
    name = host_of(env).name
    if name not in EPISODES:
        raise ConfigError(f"env = '{env}': there is no drawing for it")
    module, class_name = EPISODES[name]
    episodes: Episodes = getattr(import_module(f".{module}", __name__), class_name)(trained)
    return episodes
