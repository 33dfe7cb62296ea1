"""Films as SVG that moves by itself (SMIL), in browsers and on web pages; no script.

What stays the same from frame to frame is written once, so a file is as large as what moves.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from ...shared.episodes.png import png
from ...shared.episodes.scene import Frame, Points, Scene, Shape
from ...shared.text.harmless import harmless
from .film import HEAD, Film
from .looks import look_of
from .projection import Projection

CAPTIONS_A_FILM = 60  # a caption is written anew this often at most
END_S = 1.0  # that the last frame stays

_BACK_TO_FRONT = (
    "ground", "current", "obstacle", "range", "trail", "retired", "goal", "body", "part", "force",
    "note",
)  # fmt: skip

Key = tuple[str, str, str, int]  # kind, role and agent of a shape, and how many such are before it


def write_svg(path: Path, film: Film) -> None:
    """Raises OSError."""
    width, height = film.size
    # A frame is kept as it will be written: a film of them is large.
    shots = [(png(view.pixels) if isinstance(view, Frame) else view, words)
             for view, words in film.shots]  # fmt: skip
    views, captions = [view for view, _ in shots], [words for _, words in shots]
    duration_s = len(views) / film.fps + END_S
    pictures = [view for view in views if isinstance(view, bytes)]
    scenes = [view for view in views if isinstance(view, Scene)]
    pieces = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height + HEAD}" '
        f'width="{width}" height="{height + HEAD}" font-family="monospace" font-size="14">',
        f'<rect width="100%" height="100%" fill="{film.background}"/>',
        *_captions(captions, film.colors["text"], duration_s),
        f'<g transform="translate(0 {HEAD})">',
        *(_frames(pictures, film.size, duration_s) if pictures
          else _scenes(scenes, film, duration_s)),
        "</g></svg>\n",
    ]  # fmt: skip
    path.write_text("\n".join(pieces), "utf-8")


def _captions(captions: Sequence[str], color: str, duration_s: float) -> Iterable[str]:
    every = -(-len(captions) // CAPTIONS_A_FILM)
    shown = [captions[i // every * every] for i in range(len(captions) - 1)]
    shown.append(captions[-1])
    for words, visible in _changes(shown):
        yield (f'<text x="10" y="18" fill="{color}"{_hidden(visible)}>{escape(harmless(words))}'
               f"{_animated('visibility', visible, duration_s)}</text>")  # fmt: skip


def _frames(pictures: Sequence[bytes], size: tuple[int, int], duration_s: float) -> Iterable[str]:
    width, height = size
    for picture, visible in _changes(pictures):
        data = base64.b64encode(picture).decode()
        yield (f'<image width="{width}" height="{height}"{_hidden(visible)} '
               f'href="data:image/png;base64,{data}">'
               f"{_animated('visibility', visible, duration_s)}</image>")  # fmt: skip


def _scenes(scenes: Sequence[Scene], film: Film, duration_s: float) -> Iterable[str]:
    """An element for each shape that has the same part in all frames, texts in front."""
    projection = film.projection(scenes[0])
    named = [dict(_named(scene)) for scene in scenes]
    keys = list(dict.fromkeys(key for shapes in named for key in shapes))
    # An element has one place in the file, whatever comes and goes before it.
    keys.sort(key=lambda key: (key[0] == "text", _BACK_TO_FRONT.index(key[1])))
    for key in keys:
        yield _element(key, [shapes.get(key) for shapes in named], projection, film, duration_s)


def _named(scene: Scene) -> Iterable[tuple[Key, Shape]]:
    counts: dict[tuple[str, str, str], int] = {}
    for shape in scene.shapes:
        kind = (shape.kind, shape.role, str(shape.agent))
        counts[kind] = counts.get(kind, -1) + 1
        yield (*kind, counts[kind]), shape


def _element(
    key: Key, shapes: Sequence[Shape | None], projection: Projection, film: Film, duration_s: float
) -> str:
    first = next(shape for shape in shapes if shape)
    color = film.colors.get(look_of(first).style, film.colors["text"])
    if first.kind == "text":
        return "".join(_texts(shapes, projection, color, duration_s))
    paths = [_path(shape, projection) if shape else "" for shape in shapes]
    is_full = first.kind in ("area", "disc")
    paint = f'fill="{color}"' if is_full else f'fill="none" stroke="{color}" stroke-width="1.5"'
    if look_of(first).is_hint:
        paint += ' stroke-dasharray="3 4"'
    inner = _animated("d", paths, duration_s)
    return f'<path {paint} d="{paths[0]}">{inner}</path>'


def _texts(
    shapes: Sequence[Shape | None], projection: Projection, color: str, duration_s: float
) -> Iterable[str]:
    """One element for all places of the same words."""
    for words in dict.fromkeys(shape.text for shape in shapes if shape):
        own = [shape if shape and shape.text == words else None for shape in shapes]
        places = [projection.places(s.points)[0].round(1) if s else (-99.0, -99.0) for s in own]
        xs, ys = ([f"{place[axis]:g}" for place in places] for axis in (0, 1))
        inner = _animated("x", xs, duration_s) + _animated("y", ys, duration_s)
        shown = escape(harmless(words))
        yield f'<text fill="{color}" x="{xs[0]}" y="{ys[0]}">{shown}{inner}</text>'


def _path(shape: Shape, projection: Projection) -> str:
    places = projection.places(shape.points)
    if shape.kind in ("circle", "disc"):
        radius = f"{projection.length(shape.radius):.1f}"
        return "".join(
            f"M{x - float(radius):.1f} {y:.1f}a{radius} {radius} 0 1 0 {2 * float(radius):.1f} 0"
            f"a{radius} {radius} 0 1 0 {-2 * float(radius):.1f} 0z"
            for x, y in places
        )
    return _polyline(places) + ("z" if shape.kind == "area" else "")


def _polyline(places: Points) -> str:
    """Pen down at the first point, and at each after a row of NaN."""
    is_up, parts = True, []
    for x, y in places.round(1).tolist():
        is_known = not (math.isnan(x) or math.isnan(y))
        if is_known:
            parts.append(f"{'M' if is_up else 'L'}{x:g} {y:g}")
        is_up = not is_known
    return "".join(parts)


def _changes(values: Sequence[Any]) -> Iterable[tuple[Any, list[str]]]:
    """Each value as often as it begins anew, and in which frames it is visible."""
    starts = _starts(values)
    for start, end in zip(starts, [*starts[1:], len(values)], strict=True):
        visible = ["visible" if start <= i < end else "hidden" for i in range(len(values))]
        yield values[start], visible


def _starts(values: Sequence[Any]) -> list[int]:
    """The frames whose value is not that of the frame before."""
    return [i for i in range(len(values)) if i == 0 or values[i] != values[i - 1]]


def _hidden(visible: Sequence[str]) -> str:
    return "" if visible[0] == "visible" else ' visibility="hidden"'


def _animated(name: str, values: Sequence[str], duration_s: float) -> str:
    """What changes an attribute from frame to frame, over and over; nothing where nothing does."""
    starts = _starts(values)
    if len(starts) == 1:
        return ""
    # The last frame stays longer than the others.
    frame_s = (duration_s - END_S) / len(values)
    times = ";".join(f"{start * frame_s / duration_s:.4g}" for start in starts)
    listed = ";".join(values[start] or "M0 0" for start in starts)
    return (
        f'<animate attributeName="{name}" dur="{duration_s:g}s" calcMode="discrete" '
        f'repeatCount="indefinite" keyTimes="{times}" values={quoteattr(listed)}/>'
    )
