"""Films as pixels: GIF by Pillow, MP4 by the ffmpeg that is installed."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...shared.episodes.scene import Frame, Points, Scene, Shape
from ...shared.errors import UsageError
from ...shared.text.harmless import harmless, one_line
from .dots import paths_of
from .film import HEAD, Film, Write
from .looks import look_of
from .projection import Projection

FINENESS = 2  # pixels are drawn so many times as fine, and then made smaller
LINE_WIDTH, TEXT_SIZE = 1.5, 13
END_MS = 1000  # that the last frame of a GIF stays


def gif_writer() -> Write:
    """Raises UsageError where Pillow is not installed."""
    import_pillow()
    return write_gif


def mp4_writer() -> Write:
    """Raises UsageError where Pillow or ffmpeg is not installed."""
    import_pillow()
    if not shutil.which("ffmpeg"):
        raise UsageError(
            "--to FILE.mp4 needs ffmpeg, which is not on PATH; --to FILE.gif works without it"
        )
    return write_mp4


def import_pillow() -> Any:
    """The modules Image, ImageDraw and ImageFont. Raises UsageError."""
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ModuleNotFoundError:
        raise UsageError(
            "Pillow is not installed: pip install 'operant-rl[play]'; .svg works without it"
        ) from None
    return Image, ImageDraw, ImageFont


def write_gif(path: Path, film: Film) -> None:
    """Raises OSError."""
    timed = _timed(pictures(film), film.fps)
    next(timed).save(path, "GIF", save_all=True, append_images=timed, loop=0)


def _timed(drawn: Iterator[Any], fps: float) -> Iterator[Any]:
    """Pictures with how long each stays, as Pillow reads it. GIF counts in hundredths of a second:
    what one frame loses by that, a later one gains.
    """
    before, begun = next(drawn), 0
    for number, picture in enumerate(drawn, 1):
        ends = round(100 * number / fps)
        before.info["duration"] = max(20, (ends - begun) * 10)  # less is more in most browsers
        yield before
        before, begun = picture, ends
    before.info["duration"] = END_MS
    yield before


def write_mp4(path: Path, film: Film) -> None:
    """Raises UsageError with what ffmpeg says, or OSError."""
    drawn = pictures(film)
    first = next(drawn)
    command = [
        "ffmpeg", "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24",
        "-s", f"{first.width}x{first.height}", "-r", f"{film.fps:g}", "-i", "-",
        # Both sides even, as most encoders want them.
        "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p", "-movflags", "+faststart",
        str(path.absolute()),
    ]  # fmt: skip
    with tempfile.TemporaryFile() as errors:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=errors) as ffmpeg:
            assert ffmpeg.stdin
            try:
                for picture in (first, *drawn):
                    ffmpeg.stdin.write(picture.convert("RGB").tobytes())
                ffmpeg.stdin.close()
            except BrokenPipeError:
                pass  # it says why itself
        errors.seek(0)
        reason = one_line(errors.read().decode("utf-8", "replace"), 200)
    if ffmpeg.returncode or not path.exists():
        raise UsageError(f"ffmpeg ended with code {ffmpeg.returncode}: {reason or 'no message'}")


def pictures(film: Film) -> Iterator[Any]:
    """Every moment with its caption as a picture of Pillow's."""
    image, _, _ = import_pillow()
    for view, caption in film.shots:
        body = image.fromarray(view.pixels) if isinstance(view, Frame) else _drawn(view, film)
        width, height = film.size
        whole = image.new("RGB", (width, height + HEAD), film.background)
        whole.paste(body, (0, HEAD))
        _write(whole, (10, 5), harmless(caption), film.colors["text"], 1)
        yield whole


def _drawn(scene: Scene, film: Film) -> Any:
    image, draw_on, _ = import_pillow()
    width, height = film.size
    fine = image.new("RGB", (width * FINENESS, height * FINENESS), film.background)
    drawing, projection = draw_on.Draw(fine), film.projection(scene)
    for shape in sorted(scene.shapes, key=lambda shape: shape.kind == "text"):
        color = film.colors.get(look_of(shape).style, film.colors["text"])
        if shape.kind == "text":
            x, y = projection.places(shape.points)[0] * FINENESS
            _write(fine, (x, y - TEXT_SIZE * FINENESS), harmless(shape.text), color, FINENESS)
        else:
            _draw(drawing, shape, projection, color)
    return fine.resize((width, height), image.Resampling.BOX)


def _draw(drawing: Any, shape: Shape, projection: Projection, color: str) -> None:
    line_width = round(LINE_WIDTH * FINENESS)
    is_full = shape.kind in ("area", "disc")
    for path in strokes(paths_of(shape, projection)):
        places = [tuple(place) for place in (path * FINENESS).tolist()]
        if is_full:
            drawing.polygon(places, fill=color)
        elif look_of(shape).is_hint and len(places) > 2:
            for begin, end in zip(places[::2], places[1::2], strict=False):
                drawing.line([begin, end], fill=color, width=line_width)
        elif len(places) > 1:
            drawing.line(places, fill=color, width=line_width, joint="curve")


def strokes(paths: list[Points]) -> Iterator[Points]:
    """`paths` in pieces, where a row of NaN lifts the pen."""
    for path in paths:
        lifts = np.isnan(path).any(1)
        for piece in np.split(path, np.flatnonzero(lifts)):
            yield piece[~np.isnan(piece).any(1)]


def _write(picture: Any, place: tuple[float, float], words: str, color: str, scale: int) -> None:
    _, draw_on, fonts = import_pillow()
    font = fonts.load_default(TEXT_SIZE * scale)
    draw_on.Draw(picture).text(place, words, fill=color, font=font)
