"""Changes to an environment's frames, actions, rewards and episodes; and protocols by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Preprocessing:
    """The settings, in the order in which they apply. None leaves the environment as it is."""

    full_action_space: bool | None = None
    sticky_actions: float | None = None
    noop_starts: int | None = None
    frame_skip: int | None = None
    time_limit: int | None = None
    life_loss: bool | None = None
    reward_sign: bool | None = None
    greyscale: bool | None = None
    resize: tuple[int, int] | None = None
    frame_stack: int | None = None

    @property
    def is_on(self) -> bool:
        return self != AS_IT_IS

    @property
    def splits_games(self) -> bool:
        """Whether episodes or rewards differ from those of the game."""
        return bool(self.life_loss or self.reward_sign)

    @property
    def repeats_actions(self) -> str:
        """The first setting by which frames get an action that was not chosen in them, with its
        value; empty if there is none.
        """
        unchanged = {"sticky_actions": 0.0, "noop_starts": 0, "frame_skip": 1}
        given = [(name, getattr(self, name) or 0, least) for name, least in unchanged.items()]
        return next((f"{name} = {value}" for name, value, least in given if value > least), "")

    def for_evaluation(self) -> Preprocessing:
        """The same with whole games and the game's own rewards."""
        return replace(
            self,
            life_loss=None if self.life_loss is None else False,
            reward_sign=None if self.reward_sign is None else False,
        )

    def in_words(self) -> str:
        """`frame_skip = 4, greyscale = true`: what is set."""
        return ", ".join(f"{name} = {_toml(value)}" for name, value in self._set())

    def _set(self) -> Iterator[tuple[str, Any]]:
        for name in self.__dataclass_fields__:
            if (value := getattr(self, name)) is not None:
                yield name, value


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(list(value)) if isinstance(value, tuple) else str(value)


AS_IT_IS = Preprocessing()
# What both protocols do: Mnih et al. 2015, doi:10.1038/nature14236.
_FRAMES = Preprocessing(
    frame_skip=4, reward_sign=True, greyscale=True, resize=(84, 84), frame_stack=4
)
PROTOCOLS = {
    "none": AS_IT_IS,
    # Mnih et al. 2015: random no-ops are the only chance, and a lost life ends an episode.
    "deepmind": replace(
        _FRAMES, full_action_space=False, sticky_actions=0.0, noop_starts=30, life_loss=True
    ),
    # Machado et al. 2018, arXiv:1709.06009: sticky actions, all 18 actions, whole games.
    "machado": replace(
        _FRAMES, full_action_space=True, sticky_actions=0.25, noop_starts=0, life_loss=False
    ),
}
