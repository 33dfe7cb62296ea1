"""One episode as a film in a file: which of its moments, and which kind of file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from ...shared.episodes.scene import Episodes, Frame, Moment
from ...shared.errors import UsageError
from ...shared.install_command import install_command
from ...shared.runs.small_file import replacing
from ..render.palette import THEMES, make_styles
from .projection import MARGIN, Film, Shot

WIDTH = 640  # pixels
LOWEST, HIGHEST = 240, 640


def write_episode(
    path: Path,
    episodes: Episodes,
    seed: int | None,
    speed: float,
    fps: float,
    most_steps: int,
    theme: str | None,
) -> int:
    """Play the first episode of a seed, `most_steps` at most, and write it as its file's ending
    says; returns how many frames there are. Raises UsageError.
    """
    write = writer_for(path)
    seed = episodes.seed if seed is None else seed
    episodes.begin(seed, 0)
    num_written = 0

    def shots() -> Iterator[Shot]:
        nonlocal num_written
        for moment in moments_of(episodes, speed / fps, most_steps):
            yield Shot(moment.view, caption(moment, episodes.env, seed))
            num_written += 1

    rate = min(fps, speed)  # a frame shows one step at least
    film = Film(shots(), rate, size_of(episodes.moment(0)), colors_of(theme))
    try:
        with replacing(path) as building:
            write(building, film)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None
    return num_written


def writer_for(path: Path) -> Callable[[Path, Film], None]:
    """The function that writes files with the ending of `path`. Raises UsageError, also if a
    package that it needs is not installed.
    """
    ending = path.suffix.lower()
    if not path.absolute().parent.is_dir():
        raise UsageError(f"-o {path}: there is no folder {path.absolute().parent}")
    if path.is_dir():
        raise UsageError(f"-o {path}: that is a folder")
    if ending not in (".gif", ".mp4"):
        raise UsageError(f"-o {path}: expected a name that ends in .gif or .mp4")
    try:
        from .rastering import write_gif, write_mp4
    except ModuleNotFoundError as error:
        raise UsageError(
            f"GIF and MP4 need {error.name}, which is not installed: {install_command('media')}"
        ) from None
    return write_gif if ending == ".gif" else write_mp4


def moments_of(episodes: Episodes, steps_a_frame: float, most_steps: int) -> Iterator[Moment]:
    """The first moment, then one after every so many steps, and the last."""
    yield episodes.moment(0)
    due = steps_a_frame
    for step in range(1, most_steps + 1):
        is_over = episodes.step()
        if step >= due or is_over or step == most_steps:
            due += steps_a_frame
            yield episodes.moment(0)
        if is_over:
            break


def caption(moment: Moment, env: str, seed: int) -> str:
    """`cart_pole, seed 1: step 20, return 20.0`."""
    returns = " ".join(f"{return_:.1f}" for return_ in moment.returns)
    endings = [ending for ending in dict.fromkeys(moment.endings) if ending]
    suffix = f", {' and '.join(endings)}" if moment.is_over and endings else ""
    return f"{env}, seed {seed}: step {moment.step}, return {returns}{suffix}"


def size_of(moment: Moment) -> tuple[int, int]:
    """Pixels of a view: of a frame its own, else as its world is shaped."""
    if isinstance(moment.view, Frame):
        height, width, _ = moment.view.pixels.shape
        return width, height
    (x0, y0), (x1, y1) = moment.view.low, moment.view.high
    if moment.view.is_stretched:
        return WIDTH, HIGHEST * 5 // 8
    inner = (WIDTH - 2 * MARGIN) * (y1 - y0) / (x1 - x0)
    return WIDTH, round(min(max(inner + 2 * MARGIN, LOWEST), HIGHEST))


def colors_of(theme: str | None) -> dict[str, str]:
    """The colour of every style of a theme; files have colours on every terminal."""
    styles = make_styles(THEMES[theme or "dark"])
    named = {name: style.color for name, style in styles.items()}
    return {name: color.name for name, color in named.items() if color}
