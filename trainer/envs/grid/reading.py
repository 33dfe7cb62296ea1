"""The embedding of the tokens of grid worlds."""

from __future__ import annotations

from ...policies.tokens import Feature, TokenEmbedding, Tokens
from .kinds import (
    AGENT_ID,
    BATTERY_HELD,
    COMPLETION,
    COOLDOWN_LEFT,
    HEARTS_HELD,
    LAST_ACTION,
    NUM_ACTIONS,
    ORE_HELD,
    TAG,
    TAGS,
    WINDOW,
)

AMOUNT = Feature(is_logarithmic=True)
FEATURES = (
    (TAG, Feature(len(TAGS))),
    (LAST_ACTION, Feature(NUM_ACTIONS)),
    (COMPLETION, Feature(scale=1 / 255)),
    (AGENT_ID, Feature(scale=1 / 8)),
    *((held, AMOUNT) for held in (ORE_HELD, BATTERY_HELD, HEARTS_HELD, COOLDOWN_LEFT)),
)


def make_embedding(embedding_size: int, seed: int) -> TokenEmbedding:
    """`EnvSpec.make_encoder` of a world of mines, generators and altars."""
    return TokenEmbedding(Tokens(WINDOW, WINDOW, FEATURES), embedding_size, seed)
