"""The lines of the whole screen: a heading, the scene or frame, and the keys."""

from __future__ import annotations

import textwrap

from ...shared.episodes.scene import Frame, Moment
from ..render.canvas import Canvas
from ..render.half_blocks import draw_frame
from ..render.lines import Line, fit_line, line_width, spread
from .dots import draw_scene
from .looks import agent_style
from .player import AGENT_HINT, HINTS, Player

SMALLEST = (40, 12)  # columns and rows


def too_small(width: int, height: int) -> str:
    """Why nothing can be seen in a terminal of that size; empty where something can."""
    if width >= SMALLEST[0] and height >= SMALLEST[1]:
        return ""
    return f"the terminal has {width}x{height} cells, and play needs {SMALLEST[0]}x{SMALLEST[1]}"


def screen_lines(
    player: Player, width: int, height: int, color_system: str | None, is_ascii: bool
) -> list[Line]:
    """The lines of the screen, one per row."""
    reason = too_small(width, height)
    if reason:
        lines = textwrap.wrap(reason, max(1, width))[:height]
        return [[(line, "text")] for line in lines] + [[]] * (height - len(lines))
    moment = player.moment()
    top = [head(player, moment, width)]
    if player.episodes.num_agents > 1:
        top.append(agents_line(moment, player.selected, width))
    rows = height - len(top) - 1
    if isinstance(moment.view, Frame):
        body = draw_frame(moment.view.pixels, width, rows, color_system, is_ascii)
    else:
        canvas = Canvas(width, rows)
        draw_scene(canvas, moment.view)
        body = canvas.lines()
    body = [*body, *([] for _ in range(rows - len(body)))]
    return [*top, *body, key_line(player.episodes.num_agents, width)]


def head(player: Player, moment: Moment, width: int) -> Line:
    """The heading: episode, step, return and speed. In a narrow terminal the least important parts
    are left out first.
    """
    env: Line = [(f" {player.episodes.env} ", "bar_strong")]
    which: Line = [(f" episode {player.number}  seed {player.seed} ", "bar_dim")]
    step: Line = [(" step ", "bar_dim"), (f"{moment.step} ", "bar_text")]
    result: Line = [(" over ", "bar_strong")] if moment.is_over else []
    if len(moment.returns) == 1:
        ending = f" {moment.endings[0]} " if moment.endings[0] else ""
        result = [(" return ", "bar_dim"), (f"{moment.returns[0]:.1f} ", "bar_text")]
        result += [(ending, "bar_strong")]
    speed = f"{player.speed:g} steps/s "
    right: Line = [(f" paused, {speed}" if player.is_paused else f" {speed}", "bar_dim")]
    title: Line = [(f" {player.title} ", "bar_dim")]
    choices = (
        (env + which + step + result, title + right),
        (env + which + step + result, right),
        (env + step + result, right),
        (step + result, [(" paused ", "bar_dim")] if player.is_paused else right),
    )
    for left, at_right in choices:
        if line_width(left) + line_width(at_right) <= width:
            break
    return fit_line(spread(left, at_right, width, "bar_text"), width, "bar_text")


def agents_line(moment: Moment, selected: int, width: int) -> Line:
    """Each agent's number, return and how its episode ended."""
    line: Line = []
    for agent, (return_, ending) in enumerate(zip(moment.returns, moment.endings, strict=True)):
        mark = ">" if agent == selected else " "
        suffix = f" {ending}" if ending else ""
        number = agent_style(agent) if not ending else "dim"
        line += [(f"{mark}{agent + 1}", "strong" if agent == selected else number)]
        line += [(f" {return_:.1f}{suffix} ", "dim" if ending else "text")]
    return fit_line(line, width, "text")


def key_line(num_agents: int, width: int) -> Line:
    """The keys that fit into the line; the key to leave is always among them."""
    *others, leave = (*HINTS[:-1], AGENT_HINT, HINTS[-1]) if num_agents > 1 else HINTS
    left = width - 1 - sum(map(len, leave)) - 3
    shown = []
    for key, meaning in others:
        left -= len(key) + len(meaning) + 3
        if left < 0:
            break
        shown.append((key, meaning))
    line: Line = [(" ", "bar_dim")]
    for key, meaning in (*shown, leave):
        line += [(key, "bar_strong"), (f" {meaning}  ", "bar_dim")]
    return fit_line(line, width, "bar_dim")
