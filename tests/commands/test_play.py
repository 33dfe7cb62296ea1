"""`operant play` as people use it."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import termios

import pytest
from command_line import error_line, operant
from PIL import Image
from playing import CountedEpisodes
from terminal import operant_in_a_terminal, read_until
from trained_runs import trained_run

from operant.shared.episodes.episode_file import write_moments
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession

pytestmark = pytest.mark.slow

ANOTHER_SCREEN, FORMER_SCREEN = b"\x1b[?1049h", b"\x1b[?1049l"
CURSOR = b"\x1b[?25h"


def test_an_episode_is_played_until_somebody_leaves():
    run = trained_run("cart_pole_ppo_smoke")
    with operant_in_a_terminal("play", run.id, "--seed", "5") as (play, terminal):
        read_until(terminal, ANOTHER_SCREEN)
        settings = termios.tcgetattr(terminal)
        assert not settings[3] & termios.ECHO
        read_until(terminal, b"seed 5")
        os.write(terminal, b"s")
        read_until(terminal, b"seed 6")
        os.write(terminal, b" ")
        read_until(terminal, b"paused")
        # another size is drawn anew, also while nothing moves
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        os.kill(play, signal.SIGWINCH)
        read_until(terminal, b"\x1b[24H")
        os.write(terminal, b"q")
        read_until(terminal, CURSOR + FORMER_SCREEN)


def test_keys_pressed_while_it_gets_ready_are_not_written_on_the_screen():
    trained_run("cart_pole_ppo_smoke")
    with operant_in_a_terminal("play") as (_, terminal):
        shown = read_until(terminal, b"getting ready")
        os.write(terminal, b"xyzq")
        shown += read_until(terminal, b"episode 0")
    assert b"xyz" not in shown


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_whatever_ends_it_the_terminal_is_as_before(end):
    trained_run("cart_pole_ppo_smoke")
    with operant_in_a_terminal("play", "--theme", "plain") as (play, terminal):
        before = termios.tcgetattr(terminal)[3]
        shown = read_until(terminal, b"episode 0")
        os.kill(play, end)
        shown += read_until(terminal, FORMER_SCREEN)
        after = termios.tcgetattr(terminal)[3]
    assert b"\x1b[38;" not in shown  # no colours
    assert before == after


def test_an_episode_is_written_to_a_file_without_a_terminal(tmp_path):
    run = trained_run("cart_pole_ppo_smoke")
    path = tmp_path / "episode.gif"
    done = operant("play", run.id, "-o", str(path), "--steps", "30", "--seed", "3")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{path}: ")
    with Image.open(path) as film:
        assert film.n_frames == 31


def test_an_episode_that_was_kept_is_played_without_its_run(tmp_path):
    episodes = CountedEpisodes(3)
    episodes.begin(7, 0)
    moments = [episodes.moment(0)]
    while not episodes.step():
        moments.append(episodes.moment(0))
    kept, path = tmp_path / "kept.episode.gz", tmp_path / "episode.gif"
    with kept.open("wb") as file:
        write_moments(file, "line", 7, moments)
    done = operant("play", str(kept), "-o", str(path))
    assert done.returncode == 0, done.stderr
    with Image.open(path) as film:
        assert film.n_frames == 3
    for option in (["--seed", "3"], ["--risk", "0.5"]):
        assert "was played before" in error_line("play", str(kept), "-o", str(path), *option)
    kept.write_bytes(kept.read_bytes()[:50])
    assert "damaged" in error_line("play", str(kept), "-o", str(path))
    with operant_in_a_terminal("play", str(tmp_path / "none.episode.gz")) as (_, terminal):
        read_until(terminal, b"cannot be read: No such file")


def test_what_cannot_be_played_is_one_line(tmp_path):
    run = trained_run("cart_pole_ppo_smoke")
    assert "play needs a terminal; -o" in error_line("play", run.id)
    assert "no run is called 'none'" in error_line("play", "none", "-o", "a.gif")
    assert "no run is called 'none'" in error_line("play", "none")
    assert "No such file" in error_line("play", "none.episode.gz")
    assert "ends in .gif or .mp4" in error_line("play", run.id, "-o", "a.png")
    assert "--theme blue" in error_line("play", run.id, "--theme", "blue")
    assert "--episodes" in error_line("play", run.id, "-o", "a.gif", "--episodes", "2")
    assert "nan is not a number" in error_line("play", run.id, "-o", "a.gif", "--speed", "nan")
    assert "nan is not a number" in error_line("play", run.id, "-o", "a.gif", "--fps", "nan")
    assert "--steps 5 is for -o" in error_line("play", run.id, "--steps", "5")
    fresh, lock = create_run("fresh", {})
    RunSession(fresh, lock, publish_interval_s=1, recorder=None).close("finished", 0)
    file = str(tmp_path / "a.gif")
    assert "has no checkpoint" in error_line("play", fresh.id, "-o", file)
    foreign = trained_run("cart_pole_ppo_smoke", "env=gymnasium:CartPole-v1")
    (checkpoint,) = foreign.checkpoint_folder.iterdir()
    checkpoint.write_bytes(checkpoint.read_bytes().replace(b"CartPole-v1", b"CartHole-v1"))
    assert "CartHole" in error_line("play", foreign.id, "-o", file)
