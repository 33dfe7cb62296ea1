"""The pictures of the documents; `make pictures` writes them. It needs Chromium.

Trains three runs on CartPole, a few seconds each, in a home of its own, and shows them as the
monitor does. `play.gif` is a policy that comes with operant. The policies of `grid.gif` and
`marine-nav.gif` train for much longer: their commands are on their pages.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from browser import BROWSER
from PIL import Image

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
RUNS = {"first": "2.5e-3", "careful": "1e-3", "timid": "3e-4"}  # and their learning rates
# Columns and rows, theme, keys that are pressed, and runs beside the first.
SNAPSHOTS: dict[str, tuple[tuple[int, int], str | None, Sequence[str], Sequence[str]]] = {
    "monitor.svg": ((120, 40), None, (), ()),
    "monitor-chart.svg": ((100, 28), None, ("enter", "s", "comma", "comma", "comma"), ()),
    "monitor-panes.svg": ((120, 32), None, ("1",), ()),
    "monitor-light.svg": ((100, 30), "light", (), ()),
    "monitor-runs.svg": ((120, 34), None, ("escape", "p", "enter"), ("careful", "timid")),
}
MOVING, SIZE, NUM_FRAMES, FRAME_S, LAST_S = "monitor.gif", (96, 28), 32, 0.25, 3.0
WIDTH = 1056  # pixels of the moving picture


def operant(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "operant", *arguments], check=True)


async def replayed(name: str) -> list[str]:
    """SVG files of the monitor while it replays a run."""
    from operant.monitor.app import MonitorApp
    from operant.monitor.screens.run_screen import RunScreen
    from operant.monitor.session.settings import Settings
    from operant.monitor.widgets.time_slider import TimeSlider
    from operant.shared.runs.find_runs import find_run

    app = MonitorApp(find_run(name), settings=Settings(), is_readonly=True)
    frames = []
    async with app.run_test(size=SIZE) as pilot:
        while not (isinstance(app.screen, RunScreen) and app.screen.has_all_rows):
            await pilot.pause(0.02)
        slider = app.screen.query_one(TimeSlider)
        for number in range(1, NUM_FRAMES + 1):
            slider.share = (number / NUM_FRAMES) ** 2  # most happens at the start
            await pilot.pause(0.1)
            frames.append(app.export_screenshot(title="operant monitor"))
    return frames


def rastered(svg: str, folder: Path) -> Image.Image:
    """The picture that Chromium makes of `svg`."""
    assert BROWSER
    file, picture = folder / "frame.svg", folder / "frame.png"
    file.write_text(svg, "utf-8")
    size = re.search(r'viewBox="0 0 (\S+) ([^"]+)"', svg)
    assert size
    height = round(WIDTH * float(size[2]) / float(size[1]))
    subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                    f"--user-data-dir={folder / 'profile'}", f"--window-size={WIDTH},{height}",
                    f"--screenshot={picture}", file.as_uri()],
                   check=True, stderr=subprocess.DEVNULL)  # fmt: skip
    return Image.open(picture).convert("RGB")


def write_gif(path: Path, images: list[Image.Image]) -> None:
    palette = images[-1].quantize(48)
    first, *others = [each.quantize(palette=palette, dither=Image.Dither.NONE) for each in images]
    durations = [FRAME_S * 1000] * len(others) + [LAST_S * 1000]
    first.save(path, save_all=True, append_images=others, duration=durations, loop=0, optimize=True)


def main() -> None:
    from operant.monitor.picture import picture
    from operant.shared.runs.find_runs import find_run

    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"OPERANT_HOME": home, "XDG_CONFIG_HOME": home}
        operant("play", "zoo:acrobot", "-o", str(PICTURES / "play.gif"))
        for name, rate in RUNS.items():
            operant("train", "cart_pole_ppo", "--name", name, "--set", "total_env_steps=600_000",
                    "--set", f"ppo.learning_rate={rate}")  # fmt: skip
        for name, (size, theme, keys, beside) in SNAPSHOTS.items():
            svg = picture(find_run("first"), size, theme, keys, [find_run(run) for run in beside])
            (PICTURES / name).write_text(svg, "utf-8")
        frames = asyncio.run(replayed("first"))
        write_gif(PICTURES / MOVING, [rastered(frame, Path(home)) for frame in frames])


if __name__ == "__main__":
    main()
