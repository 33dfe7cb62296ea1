"""Speed, pauses and episodes, frame by frame."""

from __future__ import annotations

from playing import CountedEpisodes

from operant.monitor.play.player import FASTEST, HOLD_S, SLOWEST, Player, press


def after(num_frames: int, **options) -> tuple[Player, CountedEpisodes]:
    episodes = CountedEpisodes(length=options.pop("length", 1000))
    player = Player(episodes, "", **options)
    for _ in range(num_frames):
        player.frame()
    return player, episodes


def test_steps_are_those_of_the_time_whatever_the_frames():
    # in 2 s at 20 steps/s: 40, in 40 frames or in 10
    assert after(40, speed=20, fps=20)[1].elapsed == 40
    assert after(10, speed=20, fps=5)[1].elapsed == 40
    # at 5 steps/s and 20 frames/s every fourth frame moves
    assert after(40, speed=5, fps=20)[1].elapsed == 10


def test_the_end_of_an_episode_stays_and_then_the_next_begins():
    hold = round(HOLD_S * 20)
    player, episodes = after(5 + hold - 1, length=5)
    assert episodes.begun == [(7, 0)]
    assert episodes.elapsed == 5
    assert player.frame()  # there is something new to draw
    assert episodes.begun == [(7, 0), (7, 1)]
    assert episodes.elapsed == 0


def test_after_so_many_episodes_it_is_done():
    player, episodes = after(200, length=5, num_episodes=2)
    assert player.is_done
    assert episodes.begun == [(7, 0), (7, 1)]


def test_keys_choose_episode_and_seed():
    player, episodes = after(3, seed=1)
    for key in "nnpsnrx":
        assert press(player, key)
    assert episodes.begun == [(1, 0), (1, 1), (1, 2), (1, 1), (2, 0), (2, 1), (2, 1)]
    assert not press(player, "q")


def test_a_pause_stops_and_a_step_goes_on_by_one():
    player, episodes = after(3)
    press(player, " ")
    assert not player.frame()
    press(player, ".")
    assert (episodes.elapsed, player.is_paused) == (4, True)
    press(player, " ")
    assert player.frame()


def test_a_step_past_the_end_begins_the_next_episode():
    player, episodes = after(5, length=5)
    press(player, ".")
    assert episodes.begun[-1] == (7, 1)


def test_speed_doubles_and_halves_within_its_bounds():
    player, _ = after(0, speed=20)
    press(player, "+")
    assert player.speed == 40
    for key, bound in (("-", SLOWEST), ("+", FASTEST)):
        for _ in range(20):
            press(player, key)
        assert player.speed == bound


def test_tab_goes_round_the_agents():
    player = Player(CountedEpisodes(num_agents=3), "")
    selected = []
    for key in ("\t", "\t", "\t", "\x1b[Z"):
        press(player, key)
        selected.append(player.selected)
    assert selected == [1, 2, 0, 2]
