"""Makes MettaGrid's environments from a table of the configuration, here and in workers: the arena
of mines, generators and altars, or a game of one's own.
"""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from ....shared.errors import ConfigError
from ....shared.runs.small_file import read_small
from ....shared.text.harmless import one_line
from ....shared.text.plain_values import described_error
from ...settings.importing import check_places, imported
from ...spaces import Discrete
from ..checking import EnvError
from ..grid.kinds import ACTIONS, HEART_LIMIT, NAMES, RESOURCES, STATIONS, TOKEN_SIZE, WINDOW
from ..spec import HostedSpec
from ..workers.arrays import Counters
from .batch import MettaGridBatch
from .library import library
from .section import MettaGridConfig

MOST_BYTES = 2**24
MOST_WINDOW = 15  # cells across: tokens have four bits for each of row and column


def arena(section: MettaGridConfig) -> Any:
    """The game of a table, a `GameConfig` without a map.

    Stations have a resource of their own, `cooldown`, that using them gives and every tick takes.
    """
    mg = library()
    config, handlers = mg.config, mg.handlers
    limits = {"ore": section.ore_limit, "battery": section.battery_limit, "heart": HEART_LIMIT}
    inventory = config.InventoryConfig(
        limits={
            name: config.ResourceLimitsConfig(base=limit, resources=[name])
            for name, limit in limits.items()
        }
    )
    rewards = {"heart": mg.inventory_reward("heart")}
    for name in ("ore", "battery"):
        weight = getattr(section, f"{name}_reward")
        if weight:
            most = getattr(section, f"{name}_reward_cap")
            rewards[name] = mg.inventory_reward(name, weight=weight, max=most)

    def station(kind: int) -> Any:
        takes, gives = STATIONS[kind]
        filters = [handlers.actorHas({takes: 1})] if takes else []
        mutations = [handlers.updateActor({**({takes: -1} if takes else {}), gives: 1})]
        if section.cooldown:
            filters.append(handlers.isNot(handlers.targetHas({"cooldown": 1})))
            mutations.append(handlers.updateTarget({"cooldown": section.cooldown}))
        return config.GridObjectConfig(
            name=NAMES[kind], on_use_handler=handlers.Handler(filters=filters, mutations=mutations)
        )

    ticks = mg.events.periodic(start=1, period=1, end=section.max_steps)
    cooling = {
        f"cool_{NAMES[kind]}": mg.events.EventConfig(
            name=f"cool_{NAMES[kind]}",
            target_query=mg.query(f"type:{NAMES[kind]}"),
            timesteps=ticks,
            mutations=[handlers.updateTarget({"cooldown": -1})],
        )
        for kind in STATIONS
    }
    return config.GameConfig(
        num_agents=section.num_agents,
        max_steps=section.max_steps,
        episode_truncates=True,
        resource_names=list(RESOURCES),
        obs=config.ObsConfig(width=WINDOW, height=WINDOW, num_tokens=section.num_tokens),
        actions=config.ActionsConfig(change_vibe=config.ChangeVibeActionConfig(enabled=False)),
        agent=config.AgentConfig(inventory=inventory, rewards=rewards),
        objects={"wall": config.WallConfig(), **{NAMES[kind]: station(kind) for kind in STATIONS}},
        events=cooling if section.cooldown else {},
        protocol_details_obs=False,
    )


def game_of_ones_own(section: MettaGridConfig) -> Any:
    """The game that `config` names. Raises ConfigError."""
    mg = library()
    setting = f"mettagrid.config = {section.config}"
    try:
        if section.config.endswith(".json"):
            check_places("mettagrid.config", [section.config])  # its text names classes
            text = read_small(Path(section.config), MOST_BYTES).decode()
            found = mg.config.MettaGridConfig.model_validate_json(text)
        else:
            found = imported("mettagrid.config", section.config)()
    except ConfigError:
        raise
    except OSError as error:
        raise ConfigError(f"{setting}: {error.strerror}") from None
    except ValueError as error:  # which pydantic's are
        raise ConfigError(
            f"{setting}: {_first(error)}; mettagrid {mg.version} has others"
        ) from None
    if not isinstance(found, mg.config.MettaGridConfig):
        raise ConfigError(f"{setting}: expected a MettaGridConfig, got {type(found).__name__}")
    game = found.game
    if game.num_agents != section.num_agents:
        raise ConfigError(
            f"mettagrid.num_agents = {section.num_agents}: {section.config} has {game.num_agents}"
        )
    if max(game.obs.height, game.obs.width) > MOST_WINDOW or game.obs.token_dim != 3:
        raise ConfigError(
            f"{setting}: only windows of up to {MOST_WINDOW} x {MOST_WINDOW} cells and tokens of "
            "3 bytes can be read"
        )
    return game


def _first(error: ValueError) -> str:
    """The first error of pydantic's: where it is and what is wrong."""
    errors: list[Any] = getattr(error, "errors", list)()
    if not errors:
        return one_line(str(error), 200)
    where = ".".join(map(str, errors[0]["loc"]))
    return one_line(f"{where}: {errors[0]['msg']}", 200)


def make(spec: HostedSpec, num_envs: int, counters: Counters) -> MettaGridBatch:
    """Make `num_envs` environments, here or in a worker."""
    return MettaGridBatch(num_envs, game_of(spec.section), spec, counters)


def make_encoder(section: MettaGridConfig, seed: int) -> Any:
    """`EnvSpec.make_encoder`: that of the arena is the one of operant's own grid."""
    from .reading import embedding_for  # torch takes a second to import, and workers need none

    return embedding_for(section, game_of(section), seed)


def game_of(section: MettaGridConfig) -> Any:
    """Raises ConfigError."""
    return game_of_ones_own(section) if section.config else arena(section)


@cache
def describe(section: MettaGridConfig) -> HostedSpec:
    """Build one world and describe it. Raises ConfigError if it is missing or unknown."""
    for refusal in section.refusals():
        raise ConfigError(refusal)
    try:
        game = game_of(section)
        names = [action.name for action in game.actions.actions()]
        if not section.config and tuple(names) != ACTIONS:
            raise ConfigError(f"mettagrid {library().version} has other actions: {names}")
        spec = HostedSpec(
            "mettagrid", game.obs.num_tokens * TOKEN_SIZE, Discrete(len(names)),
            num_agents=section.num_agents, obs_type=np.uint8, agents_retire=False,
            make_encoder=partial(make_encoder, section), host="mettagrid", module=__name__,
            section=section,
        )  # fmt: skip
        make(spec, 1, Counters(np.zeros(3), np.zeros(1, np.int64))).check()
    except ConfigError:
        raise
    except EnvError as error:
        raise ConfigError(str(error)) from None
    except Exception as error:  # whatever the library raises for a game that it cannot play
        said = described_error(error)
        raise ConfigError(f"mettagrid {library().version} makes no such world: {said}") from None
    return spec
