"""The pane with what a loop logged beside numbers."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from screens import screen_text, shows, until
from terminal import operant_in_a_terminal, read_until
from views import StillRun, StillRuns, all_states, make_view

from operant.monitor.app import MonitorApp
from operant.monitor.picture import picture
from operant.monitor.runs.reading.media import RecordedMedia
from operant.monitor.runs.reading.replay import view_at
from operant.monitor.session.settings import Settings
from operant.monitor.widgets.media_panel import MediaPanel
from operant.shared.episodes.episode_file import write_moments
from operant.shared.episodes.scene import Moment, Scene, line
from operant.shared.integrations.media_folder import MediaFolder
from operant.shared.integrations.pictures import picture_bytes
from operant.shared.runs.run_folder import Run

SIZE = (120, 40)
SCORES = b"name,score\n" + b"".join(b"p%d,%d\n" % (n, 7 * n % 100) for n in range(50))


class LoggingRun(StillRun):
    """A run of which the media are read at every look."""

    def __init__(self, folder: Path) -> None:
        super().__init__(make_view())
        folder.mkdir(mode=0o700)
        self.folder = MediaFolder(folder / "media")
        self.recorded = RecordedMedia(Run(folder))

    def log(self, step: int, name: str = "shot", level: int = 0) -> None:
        self.folder.write(
            "images", name, step, ".png", picture_bytes(np.full((8, 8), level, np.uint8))
        )

    def poll(self):
        return replace(self.view, media=self.recorded.read())


@pytest.fixture
def run(tmp_path: Path) -> LoggingRun:
    return LoggingRun(tmp_path / "run")


def app_of(source: StillRun, *panes: str) -> MonitorApp:
    settings = Settings(panes=panes or ("charts", "media"), refresh_s=0.1)
    runs = StillRuns(all_states())
    return MonitorApp(source.run, run_source=lambda _: source, runs_source=runs, settings=settings)


async def focus(pilot) -> MediaPanel:
    panel = pilot.app.screen.query_one(MediaPanel)
    panel.focus()
    await pilot.pause()
    return panel


def colours(panel: MediaPanel) -> set[str]:
    """The colours of the picture in the pane."""
    return {style for line in panel._lines for _, style in line if " on " in style}


async def test_the_newest_picture_is_shown_and_earlier_ones_on_request(run):
    async with app_of(run).run_test(size=SIZE) as pilot:
        await until(pilot, shows(pilot, "episode/return"))
        panel = pilot.app.screen.query_one(MediaPanel)
        assert not panel.display  # until there is a file
        run.folder.write("images", "shot", 0, ".png", b"\x89PNG\x1b[2J broken")
        await until(pilot, shows(pilot, "cannot be drawn"))
        for step in (10, 20, 30):
            run.log(step, level=step)
        await until(pilot, shows(pilot, "images/shot", "step 30", "4 of 4"))
        await focus(pilot)
        await until(pilot, lambda: colours(panel) == {"#1c1c1c on #1c1c1c"})  # 30, in steps of 8
        await pilot.press("left")
        await until(pilot, shows(pilot, "step 20", "3 of 4"))
        await until(pilot, lambda: colours(panel) == {"#141414 on #141414"})
        run.log(40)  # which does not take away what somebody looks at
        await until(pilot, shows(pilot, "step 20", "3 of 5"))
        await pilot.press("end")
        await until(pilot, shows(pilot, "step 40", "5 of 5"))
        await pilot.click(panel, offset=(panel.size.width // 2, panel.size.height - 2))
        await until(pilot, shows(pilot, "step 20 ", "3 of 5"))
        await pilot.press("home", "left")
        await until(pilot, shows(pilot, "1 of 5"))


async def test_a_caption_is_below_its_picture(run):
    run.folder.write("images", "shot", 10, ".png", picture_bytes(np.zeros((8, 8))), "a dark room")
    run.log(20)
    async with app_of(run).run_test(size=SIZE) as pilot:
        await until(pilot, shows(pilot, "step 20"))
        await focus(pilot)
        await pilot.press("left")
        await until(pilot, shows(pilot, "step 10", "a dark room"))
        await pilot.press("right")
        await until(pilot, lambda: "a dark room" not in screen_text(pilot.app))


async def test_every_name_has_its_turn_and_a_table_is_sorted_and_scrolled(run):
    run.folder.write("audio", "voice", 1, ".wav", b"x")
    run.folder.write("tables", "scores", 1, ".csv", SCORES)
    run.log(1)
    async with app_of(run, "media").run_test(size=SIZE) as pilot:
        await until(pilot, shows(pilot, "images/shot", "1 of 3"))  # what is drawn comes first
        await focus(pilot)
        await pilot.press("right_square_bracket")
        await until(pilot, shows(pilot, "tables/scores", "2 of 3", "50 rows"))
        await pilot.press("right_square_bracket")
        await until(pilot, shows(pilot, "audio/voice", ".wav files are not drawn"))
        await pilot.press("right_square_bracket", "left_square_bracket", "left_square_bracket")
        await until(pilot, shows(pilot, "tables/scores", "p0 "))

        def first_row() -> list[str]:
            lines = screen_text(pilot.app).splitlines()
            head = next(y for y, line in enumerate(lines) if "name" in line and "score" in line)
            return lines[head + 1].split()[1:3]

        for words in ("name↑", "name↓", "score↑", "score↓"):
            await pilot.press("s")
            await until(pilot, shows(pilot, words))
        assert first_row() == ["p14", "98"]  # 7 * 14
        await pilot.press("down")
        assert first_row() == ["p28", "96"]  # 7 * 28 = 196
        await pilot.press("pagedown", "pagedown", "pagedown", "pagedown", "pagedown")
        assert "p0 " in screen_text(pilot.app)  # which has the lowest, and is the last


async def test_files_of_another_machine_are_counted(run):
    run.poll = lambda: replace(run.view, num_media_elsewhere=17)
    async with app_of(run, "media").run_test(size=SIZE) as pilot:
        await until(pilot, shows(pilot, "17 files, shown on the run's machine only"))
        await focus(pilot)
        await pilot.press("left", "right_square_bracket", "s", "down", "home")
        assert "17 files" in screen_text(pilot.app)


async def test_without_colours_pictures_have_shades(run):
    pixels = np.repeat(np.array([[0, 255]], np.uint8), 4, axis=1)
    run.folder.write("images", "shot", 1, ".png", picture_bytes(np.repeat(pixels, 8, axis=0)))
    app = app_of(run, "media")
    app.session.theme = "plain"
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, shows(pilot, "████"))


def record(folder: Path, iteration: int) -> None:
    """An episode of a stick that turns, as a run records it."""
    moments = []
    for step in range(6):
        stick = line([(0, 0), (np.cos(step), np.sin(step))], "part")
        view = Scene((-1, -1), (1, 1), (stick,))
        ending = "ended" if step == 5 else ""
        moments.append(Moment(view, step, (float(step),), (ending,), step == 5))
    with open(folder / f"iteration-{iteration:09d}.episode.gz", "wb") as file:
        write_moments(file, "stick", 1, moments)


async def test_an_episode_plays_beside_the_charts_and_can_be_paused(run, tmp_path):
    (tmp_path / "run" / "episodes").mkdir(mode=0o700)
    record(tmp_path / "run" / "episodes", 7)
    async with app_of(run).run_test(size=SIZE) as pilot:
        await until(
            pilot, shows(pilot, "episode/return", "iteration 7", "env step 5  return 5.0  ended")
        )
        await until(pilot, shows(pilot, "env step 2"))  # from its start again
        panel = await focus(pilot)
        await pilot.press("space")
        assert panel._player.is_paused
        assert not pilot.app.screen.is_paused
        run.log(1)  # a picture is no episode: then the key is that of the screen
        await until(pilot, shows(pilot, "1 of 2"))
        await pilot.press("right_square_bracket")
        await until(pilot, shows(pilot, "images/shot"))
        await until(pilot, lambda: bool(colours(panel)))
        await pilot.press("space")
        assert pilot.app.screen.is_paused


def test_in_the_past_there_are_only_files_of_then(run, tmp_path):
    for step in (2048, 4096, 200 * 2048):
        run.log(step)
    (tmp_path / "run" / "episodes").mkdir(mode=0o700)
    for iteration in (1, 3):
        record(tmp_path / "run" / "episodes", iteration)
    view = view_at(run.poll(), 1)  # two iterations of 2048 env steps
    assert [(file.kind, file.step) for file in view.media] == [
        ("episodes", 1),
        ("images", 2048),
        ("images", 4096),
    ]


def test_a_picture_of_the_screen_waits_for_the_file(make_session):
    session = make_session()
    session.metrics.publish({"loss": 1.0}, 1, 1)
    folder = MediaFolder(session.run.folder / "media")
    folder.write(
        "images", "shot", 1, ".png", picture_bytes(np.full((8, 8, 3), (200, 16, 16), np.uint8))
    )
    assert "#cc1414" in picture(session.run, SIZE).lower()  # 200 and 16, in steps of 8


# What the monitor asks a terminal when a picture is enlarged, and what terminals answer.
SIXEL = {b"\x1b[c": b"\x1b[?62;4c"}
KITTY = {b"\x1b[c": b"\x1b[?62c", b"a=q": b"\x1b_Gi=1;OK\x1b\\"}
NEITHER = {b"\x1b[c": b"\x1b[?62c"}


@pytest.mark.parametrize(
    ("answers", "drawn"),
    [(SIXEL, b"\x1bP0;0;0q"), (KITTY, b"U=1"), (NEITHER, "▀".encode())],
    ids=["sixel", "kitty", "neither"],
)
def test_an_enlarged_picture_has_the_pixels_of_the_terminal(answers, drawn, make_session):
    session = make_session()
    session.metrics.publish({"loss": 1.0}, 1, 1)
    folder = MediaFolder(session.run.folder / "media")
    pixels = np.full((40, 40, 3), (200, 16, 16), np.uint8)
    folder.write("images", "shot", 1, ".png", picture_bytes(pixels))
    with operant_in_a_terminal("monitor", session.run.id) as (_, terminal):
        read_until(terminal, "▀".encode())
        os.write(terminal, b"\x1b[Z")  # to the last pane
        os.write(terminal, b"\r")
        for question, answer in answers.items():
            read_until(terminal, question)
            os.write(terminal, answer)
        read_until(terminal, drawn)
        os.write(terminal, b"\r")
        read_until(terminal, "▀".encode())
        os.write(terminal, b"q")
        read_until(terminal, b"\x1b[?1049l")  # it leaves the screen
