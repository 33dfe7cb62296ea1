"""Films as pixels: GIF by Pillow, MP4 by imageio."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np
from imageio import v2 as imageio
from PIL import Image, ImageDraw, ImageFont

from ...shared.episodes.scene import Frame, Points, Scene, Shape
from ...shared.text.harmless import harmless
from .dots import paths_of
from .looks import look_of
from .projection import HEAD, Film, Projection

FINENESS = 2  # pixels are drawn so many times as fine, and then made smaller
LINE_WIDTH, TEXT_SIZE = 1.5, 13
END_MS = 1000  # that the last frame of a GIF stays


def write_gif(path: Path, film: Film) -> None:
    """Raises OSError."""
    timed = _timed(pictures(film), film.fps)
    next(timed).save(path, "GIF", save_all=True, append_images=timed, loop=0)


def _timed(drawn: Iterator[Image.Image], fps: float) -> Iterator[Image.Image]:
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
    """Raises OSError, also if ffmpeg could not finish the file; ffmpeg prints why."""
    writer: Any = imageio.get_writer(
        path, fps=film.fps, macro_block_size=2, ffmpeg_log_level="error"
    )
    num_written = 0
    with writer:
        for picture in pictures(film):
            writer.append_data(np.asarray(picture))
            num_written += 1
    try:
        num_frames, _ = imageio_ffmpeg.count_frames_and_secs(str(path))
    except RuntimeError:
        num_frames = 0
    if num_frames != num_written:
        raise OSError(f"ffmpeg wrote {num_frames} of {num_written} frames")


def pictures(film: Film) -> Iterator[Image.Image]:
    """Every moment with its caption. Width and height are even, as MP4 needs them."""
    width, height = film.size
    size = width + width % 2, height + HEAD + height % 2
    for view, caption in film.shots:
        body = Image.fromarray(view.pixels) if isinstance(view, Frame) else _drawn(view, film)
        whole = Image.new("RGB", size, film.background)
        whole.paste(body, (0, HEAD))
        _write(whole, (10, 5), harmless(caption), film.colors["text"], 1)
        yield whole


def _drawn(scene: Scene, film: Film) -> Image.Image:
    width, height = film.size
    fine = Image.new("RGB", (width * FINENESS, height * FINENESS), film.background)
    drawing, projection = ImageDraw.Draw(fine), film.projection(scene)
    for shape in sorted(scene.shapes, key=lambda shape: shape.kind == "text"):
        color = film.colors.get(look_of(shape).style, film.colors["text"])
        if shape.kind == "text":
            x, y = projection.places(shape.points)[0] * FINENESS
            _write(fine, (x, y - TEXT_SIZE * FINENESS), harmless(shape.text), color, FINENESS)
        else:
            _draw(drawing, shape, projection, color)
    return fine.resize((width, height), Image.Resampling.BOX)


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


def _write(
    picture: Image.Image, place: tuple[float, float], words: str, color: str, scale: int
) -> None:
    font = ImageFont.load_default(TEXT_SIZE * scale)
    ImageDraw.Draw(picture).text(place, words, fill=color, font=font)
