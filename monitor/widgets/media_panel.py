"""What a run has beside numbers: pictures, first frames of videos, tables, and episodes."""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from textual import events
from textual.actions import SkipAction
from textual.app import App
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.message import Message

from ..render.canvas import Canvas
from ..render.formatting import counted, format_count
from ..render.half_blocks import Pixels, draw_frame
from ..render.lines import Line, boxed, fit, fit_middle
from ..render.table import Table, draw_table, order_of
from ..runs.reading.media import MediaFile, caption_of, content_of
from ..runs.reading.run_view import RunView
from .pane import Pane
from .time_slider import share_at, slider_line

if TYPE_CHECKING:  # loaded once there is an episode: not before the first frame
    from ..play.player import Player
    from ..runs.reading.media import Content

FRAMES_PER_S = 10  # of an episode
MAX_RETURNS = 4  # of its agents, that have room


class MediaPanel(Pane):
    """One file at a time: the newest of a name, until somebody goes back to an earlier one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(-1)", "an earlier, a later step"),
        Binding("right", "step(1)", "an earlier, a later step"),
        Binding("home", "step(-100000)", "the first, the newest step"),
        Binding("end", "step(100000)", "the first, the newest step"),
        Binding("left_square_bracket", "next_name(-1)", "the picture or table before, after"),
        Binding("right_square_bracket", "next_name(1)", "the picture or table before, after"),
        Binding("up", "scroll(-1)", "rows of a table"),
        Binding("down", "scroll(1)", "rows of a table"),
        Binding("pageup", "scroll(-10)", "ten rows up, down"),
        Binding("pagedown", "scroll(10)", "ten rows up, down"),
        Binding("s", "sort", "sort a table: by a column, reversed, by the next"),
        Binding("space", "pause", "pause an episode, and go on"),
    ]
    KEYS = (("←→", "step"), ("[]", "next"), ("s", "sort"))

    class Loaded(Message):
        """A file was read."""

        def __init__(self, file: MediaFile, content: Content, caption: str) -> None:
            super().__init__()
            self.file, self.content, self.caption = file, content, caption

    def __init__(self) -> None:
        super().__init__(id="media")
        self._files: tuple[MediaFile, ...] = ()
        self._num_elsewhere = 0
        self._selected: tuple[str, str] | None = None  # kind and name
        self._chosen: MediaFile | None = None  # an earlier step
        self._loading: MediaFile | None = None
        self._loaded: MediaFile | None = None
        self._content: Content = ""
        self._caption = ""
        self._player: Player | None = None  # of an episode
        self._sorted_by: tuple[int, bool] | None = None  # a column, and whether it falls
        self._order: list[int] = []  # of a table's rows
        self._top = 0  # the first of them that is shown

    @property
    def has_files(self) -> bool:
        return bool(self._files or self._num_elsewhere)

    @property
    def file(self) -> MediaFile | None:
        """The one to show."""
        files = self._of_name()
        return self._chosen if self._chosen in files else files[-1] if files else None

    @property
    def is_reading(self) -> bool:
        """Whether it shows another file than it will."""
        return self.display and self.file != self._loaded

    def show(self, view: RunView) -> None:
        """Draw what `view` has, if anything was logged since the last time."""
        if view.media != self._files or view.num_media_elsewhere != self._num_elsewhere:
            self._files, self._num_elsewhere = view.media, view.num_media_elsewhere
            self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        file = self.file
        if file is None:
            words = "nothing was logged by then"
            if self._num_elsewhere:
                words = f"{counted(self._num_elsewhere, 'file')}, shown on the run's machine only"
            body: list[Line] = [[(fit(words, width - 4), "dim")]]
            return boxed([("media", "text")], body, width, height, self.border)
        self._load(file)
        rows = height - 2
        has_slider = rows >= 3
        body = self._body(file, width - 4, rows - has_slider)
        if has_slider:
            files = self._of_name()
            share = files.index(file) / max(1, len(files) - 1)
            label, value = self._around_slider(file)
            body = [*body, *([] for _ in range(rows - 1 - len(body)))]
            body.append(slider_line(label, share, value, width - 4, self.has_focus))
        return boxed(self._title(file, width - 6), body, width, height, self.border)

    def action_step(self, steps: int) -> None:
        """Go that many files on; the newest follows what comes."""
        file, files = self.file, self._of_name()
        if file:
            self._go_to(min(max(files.index(file) + steps, 0), len(files) - 1))

    def action_next_name(self, steps: int) -> None:
        file, names = self.file, self._names()
        if file:
            self._selected = names[(names.index((file.kind, file.name)) + steps) % len(names)]
            self._chosen = self._sorted_by = None
            self.redraw()

    def action_scroll(self, rows: int) -> None:
        self._top = max(0, min(self._top + rows, len(self._order) - 1))
        self.redraw()

    def action_sort(self) -> None:
        """By the same column the other way round, then by the next column."""
        if isinstance(self._content, Table):
            column, is_reversed = self._sorted_by or (-1, True)
            column = (column + is_reversed) % len(self._content.columns)
            self._sorted_by = column, not is_reversed
            self._sort()
            self.redraw()

    def action_pause(self) -> None:
        if self._player is None:
            raise SkipAction  # the key is the screen's
        self._player.pause()

    def on_mount(self) -> None:
        self._timer = self.set_interval(1 / FRAMES_PER_S, self._play, pause=True)

    def on_media_panel_loaded(self, message: Loaded) -> None:
        if self._loaded is None or self._loaded[:2] != message.file[:2]:  # another kind or name
            self._top = 0
        self._loading, self._loaded, self._content = None, message.file, message.content
        self._caption = message.caption
        self._sort()
        self._show_graphics()
        self._player = None
        self._timer.pause()
        if not isinstance(message.content, np.ndarray | Table | str):
            from ..play.player import Player

            self._player = Player(message.content, fps=FRAMES_PER_S)
            self._timer.resume()
        self.redraw()

    def watch_is_enlarged(self) -> None:
        super().watch_is_enlarged()
        self._show_graphics()

    def on_click(self, event: events.Click) -> None:
        """On the slider, go to the step there."""
        file, files = self.file, self._of_name()
        if file and event.y == self.size.height - 2:
            share = share_at(event.x - 2, *self._around_slider(file), self.size.width - 4)
            self._go_to(round(share * (len(files) - 1)))

    def on_mouse_scroll_up(self) -> None:
        self.action_scroll(-1)

    def on_mouse_scroll_down(self) -> None:
        self.action_scroll(1)

    def _title(self, file: MediaFile, width: int) -> Line:
        names = self._names()
        counts = ""
        if len(names) > 1:
            counts = f"  {names.index((file.kind, file.name)) + 1} of {len(names)}"
        if isinstance(self._content, Table):
            first = "" if self._content.is_whole else "the first "
            counts += f"  {first}{counted(len(self._order), 'row')}"
        name = fit_middle(f"{file.kind}/{file.name}", width - len("media  ") - len(counts))
        return [("media  ", "text"), (name, "strong"), (counts, "dim")]

    def _body(self, file: MediaFile, width: int, rows: int) -> list[Line]:
        """What is known of `file`: while it is read, the step before."""
        if self._loaded is None or self._loaded[:2] != file[:2]:  # another kind or name
            return [[(fit("reading the file", width), "dim")]]
        if isinstance(self._content, str):
            return [[(fit(self._content, width), "dim")]]
        if isinstance(self._content, Table):
            self._top = max(0, min(self._top, len(self._order) - rows + 1))
            shown = self._order[self._top : self._top + rows]
            return draw_table(self._content, shown, self._sorted_by, width)[:rows]
        if self._player:
            return self._episode(self._player, width, rows)
        assert isinstance(self._content, np.ndarray)
        if not self._caption or rows < 2:
            return self._picture(self._content, width, rows)
        below: Line = [(fit(self._caption, width), "text")]
        return [*self._picture(self._content, width, rows - 1), below]

    def _episode(self, player: Player, width: int, rows: int) -> list[Line]:
        from ...shared.episodes.scene import Frame
        from ..play.dots import draw_scene

        moment = player.moment()
        returns = ", ".join(f"{return_:.1f}" for return_ in moment.returns[:MAX_RETURNS])
        words = f"env step {moment.step}  return {returns}  {moment.endings[0]}"
        head: Line = [(fit(words, width), "dim")]
        if isinstance(moment.view, Frame):
            return [head, *self._picture(moment.view.pixels, width, rows - 1)]
        canvas = Canvas(width, max(1, rows - 1))
        draw_scene(canvas, moment.view)
        return [head, *canvas.lines()]

    def _picture(self, pixels: Pixels, width: int, rows: int) -> list[Line]:
        is_plain = self.session.palette_name == "plain"
        colors = None if is_plain else self.app.console.color_system
        return draw_frame(pixels, width, rows, colors, self.session.is_ascii)

    def _play(self) -> None:
        """Let the time between two frames pass, where somebody sees it."""
        if self.display and self._player and self._player.frame():
            self.redraw()

    def _show_graphics(self) -> None:
        """Put an enlarged picture over its half blocks, in pixels where the terminal can."""
        for child in self.query(Container):
            child.children[0].image = None  # type: ignore[attr-defined]  # frees the terminal's copy
            child.remove()
        if self.is_enlarged and isinstance(self._content, np.ndarray):
            graphics = None if self.session.is_ascii else graphics_of(self.app)
            if graphics:
                from PIL import Image

                room = Container(graphics(Image.fromarray(self._content)))
                room.set_class(bool(self._caption), "-above-caption")
                self.mount(room)

    def _around_slider(self, file: MediaFile) -> tuple[str, str]:
        files = self._of_name()
        step = "iteration" if file.is_episode else "step"
        return f"{step} {format_count(file.step)} ", f" {files.index(file) + 1} of {len(files)}"

    def _load(self, file: MediaFile) -> None:
        """Read `file` in a thread, one at a time: large ones take a while. The frame that is being
        drawn comes first.
        """

        def read() -> None:
            self.post_message(self.Loaded(file, content_of(file), caption_of(file)))

        if file != self._loaded and self._loading is None:
            self._loading = file
            self.call_after_refresh(self.run_worker, read, thread=True)

    def _sort(self) -> None:
        if isinstance(self._content, Table):
            self._order = order_of(self._content, self._sorted_by)
        else:
            self._order = []

    def _go_to(self, place: int) -> None:
        files = self._of_name()
        self._chosen = files[place] if place < len(files) - 1 else None
        self.redraw()

    def _names(self) -> list[tuple[str, str]]:
        """All kinds and names, those that are drawn first."""
        is_drawn_by_name = {(file.kind, file.name): file.is_drawn for file in self._files}
        return sorted(is_drawn_by_name, key=lambda name: not is_drawn_by_name[name])

    def _of_name(self) -> list[MediaFile]:
        """The files of the selected name; of the first where that has none."""
        names = self._names()
        name = self._selected if self._selected in names else names[0] if names else None
        return [file for file in self._files if (file.kind, file.name) == name]


def graphics_of(app: App[Any]) -> Any:
    """The widget of textual-image that draws in this terminal's pixels, by kitty's protocol or
    sixel; None where there is none. That package asks the terminal when it is imported, so Textual
    must not read the answer.
    """
    if app.console.color_system != "truecolor" or not importlib.util.find_spec("textual_image"):
        return None
    try:
        if "textual_image.widget" not in sys.modules:
            with app.suspend():
                importlib.import_module("textual_image.widget")
        from textual_image.renderable import Image, SixelImage, TGPImage
        from textual_image.widget import Image as Graphics
    except Exception:  # whatever the terminal answers; in a browser it cannot be asked
        return None
    return Graphics if Image in (SixelImage, TGPImage) else None
