"""The sources of a run's settings: `[sources]` of run.toml lists the keys of every source.

A source is "defaults of ppo", "preset pendulum_ppo", "your file mine.toml", "overlay fast" or
"you". They are in the order in which they were applied: a key belongs to the last one that sets it.
A key that no source lists has its default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..text.harmless import one_line

YOU, YOUR_FILE, OVERLAY = "you", "your file", "overlay"
MAX_NAMED = 6  # keys in the words about a run
MAX_CHARACTERS = 200  # of a source's name or a key
Sources = dict[str, list[str]]
_DEFAULTS = "defaults"


def defaults_of(algorithm: object = "") -> str:
    """The name of the source for settings that neither you nor a file has set."""
    return f"{_DEFAULTS} of {algorithm}" if algorithm else _DEFAULTS


def is_default(source: str) -> bool:
    return source.startswith(_DEFAULTS)


def is_by_you(source: str) -> bool:
    """Whether a source is yours: the command line, Python or a file of yours."""
    return source == YOU or source.startswith(YOUR_FILE)


def sources_in(manifest: Mapping[str, Any]) -> Sources:
    """The sources that run.toml lists; empty for a loop that is not operant's."""
    listed = manifest.get("sources")
    if not isinstance(listed, Mapping):
        return {}
    return {
        one_line(str(source), MAX_CHARACTERS): [str(key) for key in keys]
        for source, keys in listed.items()
        if isinstance(keys, list)
    }


def started_in_words(algorithm: str, env: str, sources: Sources) -> str:
    """`started sac on pendulum: preset pendulum_sac, 2 settings by you: seed, num_envs`."""
    parts = [source for source in sources if source != YOU]
    yours = [key for key in sources.get(YOU, []) if key not in ("env", "algorithm")]
    if yours:
        named = ", ".join(yours[:MAX_NAMED])
        more = f" and {len(yours) - MAX_NAMED} more" if len(yours) > MAX_NAMED else ""
        parts.append(f"{len(yours)} setting{'s' if len(yours) > 1 else ''} by you: {named}{more}")
    return f"started {algorithm} on {env}: {', '.join(parts)}"
