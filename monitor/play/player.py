"""The player: chooses the episode and its speed, and takes keys; time comes in as frames."""

from __future__ import annotations

from collections.abc import Callable

from ...shared.episodes.scene import Episodes, Moment

SLOWEST, FASTEST = 1.0, 5120.0  # env steps a second
HOLD_S = 1.5  # that the end of an episode stays on the screen


class Player:
    """Plays `episodes` at `speed` env steps a second, looked at `fps` times a second.

    `title` says whose they are. An episode's end stays for a while; then the next begins. After
    `num_episodes` it `is_done`.
    """

    def __init__(
        self,
        episodes: Episodes,
        title: str = "",
        seed: int | None = None,
        speed: float = 20.0,
        fps: float = 20.0,
        num_episodes: int | None = None,
    ) -> None:
        self.episodes, self.title, self.speed, self.fps = episodes, title, speed, fps
        self.seed, self.number, self.selected = episodes.seed if seed is None else seed, 0, 0
        self.is_paused = self.is_done = False
        self._num_left = num_episodes
        self._begin()

    def frame(self) -> bool:
        """Let the time between two looks pass; returns whether anything has changed."""
        if self.is_paused or self.is_done:
            return False
        if self._is_over:
            self._hold_s -= 1 / self.fps
            is_past = self._hold_s <= 0
            if is_past:
                self._next()
            return is_past
        self._due += self.speed / self.fps
        steps = int(self._due)
        self._due -= steps
        self._play(steps)
        return steps > 0

    def moment(self) -> Moment:
        return self.episodes.moment(self.selected)

    def pause(self) -> None:
        self.is_paused = not self.is_paused

    def single_step(self) -> None:
        """Pause, and play one step; past an episode's end, begin the next."""
        self.is_paused = True
        if self._is_over:
            self.go_to(self.number + 1)
        else:
            self._play(1)

    def change_speed(self, factor: float) -> None:
        self.speed = min(max(self.speed * factor, SLOWEST), FASTEST)

    def go_to(self, number: int, seed: int | None = None) -> None:
        """Begin another episode, of the same seed unless one is given; as far as there are such."""
        self.number = max(0, number)
        if most := self.episodes.num_episodes:
            self.number, seed = min(self.number, most - 1), None
        self.seed = self.seed if seed is None else seed
        self._begin()

    def select(self, way: int) -> None:
        """The next agent, or the one before."""
        self.selected = (self.selected + way) % self.episodes.num_agents

    def _begin(self) -> None:
        self.episodes.begin(self.seed, self.number)
        self._due, self._hold_s, self._is_over = 0.0, HOLD_S, False

    def _play(self, steps: int) -> None:
        for _ in range(steps):
            if self.episodes.step():
                self._is_over = True
                break

    def _next(self) -> None:
        if self._num_left is not None:
            self._num_left -= 1
            self.is_done = self._num_left <= 0
        if not self.is_done:
            self.go_to(self.number + 1)


QUIT = ("q", "\x03")  # the last is Ctrl-C, which a raw terminal gives as a key
_ACTIONS: dict[str, Callable[[Player], None]] = {
    " ": Player.pause,
    "+": lambda player: player.change_speed(2),
    "-": lambda player: player.change_speed(1 / 2),
    "n": lambda player: player.go_to(player.number + 1),
    "p": lambda player: player.go_to(player.number - 1),
    "r": lambda player: player.go_to(player.number),
    "s": lambda player: player.go_to(0, player.seed + 1),
    ".": Player.single_step,
    "\t": lambda player: player.select(1),
    "\x1b[Z": lambda player: player.select(-1),
}
_SAME = {"=": "+", "\x1b[C": ".", "\x1b[A": "+", "\x1b[B": "-"}
HINTS = (
    ("space", "pause"), ("+ -", "speed"), ("n p", "episode"), ("s", "seed"), (".", "step"),
    ("q", "quit"),
)  # fmt: skip
AGENT_HINT = ("tab", "robot")


def press(player: Player, key: str) -> bool:
    """Do what a key stands for, if it does; returns whether to go on."""
    if key in QUIT:
        return False
    action = _ACTIONS.get(_SAME.get(key, key))
    if action:
        action(player)
    return True
