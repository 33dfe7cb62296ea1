"""The whole screen, at all sizes."""

from __future__ import annotations

import pytest
from playing import CountedEpisodes
from views import texts

from operant.monitor.play.player import Player
from operant.monitor.play.screen import screen_lines
from operant.monitor.render.lines import line_width


def shown(player: Player, width: int, height: int, color_system: str | None = None) -> list[str]:
    return texts(screen_lines(player, width, height, color_system, False))


@pytest.mark.parametrize(("width", "height"), [(40, 12), (80, 24), (120, 40), (200, 60)])
@pytest.mark.parametrize("num_agents", [1, 5])
def test_a_screen_has_its_size(width, height, num_agents):
    player = Player(CountedEpisodes(num_agents=num_agents), "20261122-070000-line-abcd")
    lines = screen_lines(player, width, height, "truecolor", False)
    assert len(lines) == height
    assert max(map(line_width, lines)) <= width


def test_the_head_says_which_episode_and_what_came_of_it():
    player = Player(CountedEpisodes(length=2), "a-run")
    for _ in range(2):
        player.frame()
    head = " ".join(shown(player, 120, 24)[0].split())
    assert head == "line episode 0 seed 7 step 2 return 2.0 time limit a-run 20 steps/s"
    assert "time limit" in shown(player, 80, 24)[0]
    player.pause()
    assert shown(player, 80, 24)[0].rstrip().endswith("paused, 20 steps/s")
    # what is left where there is little room
    for width, words in (
        (60, "line step 2 return 2.0 time limit paused, 20 steps/s"),
        (40, "step 2 return 2.0 time limit paused"),
    ):
        assert " ".join(shown(player, width, 24)[0].split()) == words


def test_each_agent_has_its_return_and_the_selected_one_a_mark():
    player = Player(CountedEpisodes(num_agents=2), "")
    player.select(1)
    player.frame()
    assert shown(player, 80, 24)[1].split() == ["1", "1.0", ">2", "1.0"]
    assert "tab robot" in shown(player, 80, 24)[-1]


def test_how_to_leave_is_among_the_keys_at_any_width():
    for num_agents in (1, 5):
        for width in (40, 80):
            keys = shown(Player(CountedEpisodes(num_agents=num_agents), ""), width, 24)[-1]
            assert "q quit" in keys


def test_too_small_a_terminal_says_so():
    lines = shown(Player(CountedEpisodes(), ""), 39, 11)
    assert " ".join(lines[:2]) == "the terminal has 39x11 cells, and play needs 40x12"
    assert len(lines) == 11
    assert shown(Player(CountedEpisodes(), ""), 20, 6)[:3] == [
        "the terminal has", "20x6 cells, and play", "needs 40x12",
    ]  # fmt: skip
