"""Embeddings of the tokens of a game."""

from __future__ import annotations

from typing import Any

from ....shared.errors import ConfigError
from ...policies.tokens import Feature, TokenEmbedding, Tokens
from ..grid import kinds, reading
from .library import library
from .section import MettaGridConfig

# The features whose numbers operant's own grid takes from MettaGrid.
SHARED = {
    "episode_completion_pct": kinds.COMPLETION,
    "last_action": kinds.LAST_ACTION,
    "tag": kinds.TAG,
    "agent_id": kinds.AGENT_ID,
    "inv:ore": kinds.ORE_HELD,
    "inv:battery": kinds.BATTERY_HELD,
    "inv:heart": kinds.HEARTS_HELD,
    "inv:cooldown": kinds.COOLDOWN_LEFT,
}


def embedding_for(section: MettaGridConfig, game: Any, seed: int) -> TokenEmbedding:
    """The embedding of a game's tokens. Raises ConfigError if the library numbers features anew."""
    names = game.id_map()
    if section.config:
        return TokenEmbedding(tokens_of(game), section.embedding_size, seed)
    found = {name: names.feature_id(name) for name in SHARED}
    if found != SHARED or tuple(names.tag_names()) != kinds.TAGS:
        raise ConfigError(f"mettagrid {library().version} numbers what is seen in another way")
    return reading.make_embedding(section.embedding_size, seed)


def tokens_of(game: Any) -> Tokens:
    """Tokens of any game: tags and the last action are categories, inventories amounts."""
    names = game.id_map()
    categories = {"tag": len(names.tag_names()), "last_action": len(game.actions.actions())}
    features = tuple(
        (
            feature.id,
            Feature(
                categories.get(feature.name, 0),
                1 / feature.normalization,
                feature.name.startswith("inv:"),
            ),
        )
        for feature in names.features()
    )
    return Tokens(game.obs.height, game.obs.width, features)
