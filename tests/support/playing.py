"""Episodes that nothing plays: for what shows them."""

from __future__ import annotations

from operant.shared.episodes.scene import Moment, Scene, disc, line


class CountedEpisodes:
    """Episodes of `length` steps; a dot moves to the right by a unit in each."""

    num_episodes: int | None = None

    env, seed = "line", 7

    def __init__(self, length: int = 5, num_agents: int = 1) -> None:
        self.length, self.num_agents = length, num_agents
        self.begun: list[tuple[int, int]] = []
        self.is_closed = False

    def begin(self, seed: int, number: int) -> None:
        self.begun.append((seed, number))
        self.elapsed = 0

    def step(self) -> bool:
        self.elapsed = min(self.elapsed + 1, self.length)
        return self.elapsed == self.length

    def moment(self, selected: int) -> Moment:
        is_over = self.elapsed == self.length
        track = line([(0, 0), (self.length, 0)], "ground")
        shapes = (track, disc((self.elapsed, 0), 0.4, "body", selected))
        scene = Scene((-1, -1), (self.length + 1, 1), shapes)
        endings = ("time limit" if is_over else "",) * self.num_agents
        return Moment(
            scene, self.elapsed, (1.0 * self.elapsed,) * self.num_agents, endings, is_over
        )

    def close(self) -> None:
        self.is_closed = True
