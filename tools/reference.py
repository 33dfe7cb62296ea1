"""The pages of docs/ that are written from the code; `make reference` writes them.

`api.md` has the docstrings, `commands.md` the help of all commands, `configuration.md` the keys of
the configuration and the presets, `keys.md` the keys of the monitor.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import api_page
import click

from operant.cli import cli
from operant.monitor.app import MonitorApp
from operant.monitor.screens.group_screen import GroupScreen
from operant.monitor.screens.run_screen import RunScreen
from operant.monitor.screens.runs_screen import RunsScreen
from operant.monitor.screens.sweep_screen import SweepScreen
from operant.monitor.session.keys import key_rows
from operant.monitor.widgets.arranging import Arranging
from operant.monitor.widgets.chart_grid import ChartGrid
from operant.monitor.widgets.console_panel import ConsolePanel
from operant.monitor.widgets.list_table import ListTable
from operant.monitor.widgets.media_panel import MediaPanel
from operant.monitor.widgets.pane import Pane
from operant.monitor.widgets.runs_table import RunsTable
from operant.monitor.widgets.scrolling_pane import ScrollingPane
from operant.monitor.widgets.time_slider import TimeSlider
from operant.monitor.widgets.trials_table import TrialsTable
from operant.trainer.config.files import preset_names, read_source
from operant.trainer.config.from_values import fields_with_defaults
from operant.trainer.config.train_config import owners_of_sections

DOCS = Path(__file__).parents[1] / "docs"
WRITTEN = "<!-- written by `make reference` from the code -->"

COMMANDS_HEAD = f"""\
# Commands

{WRITTEN}

`operant --help` lists the commands, and `--help` behind a command its options, as below.

- **ENV** is an environment, as in `operant train LunarLander-v3`. It gets the preset that is tuned for it and the
  algorithm, or else the algorithm's [neutral defaults](environments.md#defaults).
- **CONFIG** is an ENV, a [preset](configuration.md#presets) or a TOML file. `mettagrid_ppo+fast` adds an
  [overlay](grid.md#settings-on-top) for many agents.
- **RUN** is a run's id, its name, or any part of either that no other run has. Without it, most commands take the latest run.
- `--json` prints one JSON value and nothing else.
- **Exit codes**: 0 success; 1 the run failed; 2 wrong input; 129, 130 and 143: stopped by a closed terminal, Ctrl-C or
  SIGTERM.
- **Files**: runs are in `$OPERANT_HOME/runs`, or in `~/.local/state/operant/runs` on Linux. The shared memory is in
  `/dev/shm/operant-<uid>`, or in `$OPERANT_PAGES`.
"""
CONFIGURATION_HEAD = f"""\
# Configuration

{WRITTEN}

Every setting of a run: its key, its default and what it means. `operant train --help-config ppo` prints the keys that begin
with `ppo`.

```
operant train cart_pole --set ppo.learning_rate=1e-3 --set total_env_steps=2M      # change keys
operant train mine.toml                                                            # or write them into a file
```

```toml
env = "cart_pole"
total_env_steps = 2_000_000

[ppo]
learning_rate = 1e-3
```

A default of `(none)` is a key without a value; `--set KEY=none` removes one that a preset has. Presets and the
[neutral defaults](environments.md#defaults) of an algorithm replace the defaults below, and a run says
[where each of its settings comes from](runs.md#where-settings-come-from).
"""
PRESETS_HEAD = """\
## Presets

`operant train ENV` takes the preset of the environment and the algorithm automatically. Presets that end in `_smoke` are short
runs for a first look.

| environment | presets |
|---|---|"""
KEYS_HEAD = f"""\
# Keys of the monitor

{WRITTEN}

`?` shows the keys of the screen that you are on; type there to search them. `ctrl+p` shows all actions. `operant play` has
[keys of its own](play.md).

With the mouse:

- Click a chart to select it and to put the cursor there. Click an event to put the cursor of all charts at its step.
- Drag to zoom to the shaded part. In a zoomed chart, drag to move the part that is shown, or drag with ctrl to zoom further.
- Turn the wheel to scroll. On an enlarged chart it zooms at the mouse, and on the others with ctrl.
- Double-click a zoomed chart to show all of it again, and any other to enlarge it.
- Click a key in the last row to press it. Drag the slider of a replay.
"""
KEYS_OF = {
    "Everywhere": (MonitorApp,),
    "A run": (RunScreen, Pane),
    "Charts": (ChartGrid, Arranging),
    "Events, console and configuration": (ScrollingPane,),
    "Console": (ConsolePanel,),
    "Media": (MediaPanel,),
    "Replay": (TimeSlider,),
    "The lists of runs and groups": (ListTable, RunsTable, RunsScreen),
    "A group": (GroupScreen,),
    "A sweep": (ListTable, SweepScreen, TrialsTable),
}


def commands_page() -> str:
    context = click.Context(cli, info_name="operant", **cli.context_settings)
    commands = list(_commands(cli, context))
    rows = [
        f"| [`{path}`](#{path.replace(' ', '-')}) | {_cell(command.get_short_help_str(200))} |"
        for path, command, _ in commands
    ]
    texts = [f"\n## {path}\n\n```text\n{help_}\n```" for path, _, help_ in commands]
    return "\n".join([COMMANDS_HEAD, "| command | |", "|---|---|", *rows, *texts, ""])


def _commands(
    group: click.Group, context: click.Context
) -> Iterator[tuple[str, click.Command, str]]:
    """(`operant sweep status`, the command, its help) of all commands that help lists."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        own = click.Context(command, context, name, terminal_width=88)
        yield own.command_path, command, command.get_help(own)
        if isinstance(command, click.Group):
            yield from _commands(command, own)


def configuration_page() -> str:
    presets: dict[str, list[str]] = {}
    for name in preset_names():
        presets.setdefault(read_source(name).values["env"], []).append(f"`{name}`")
    rows = [f"| `{env}` | {', '.join(names)} |" for env, names in sorted(presets.items())]
    owners = owners_of_sections()
    tables: dict[str, list[str]] = {}
    for key, default, description in fields_with_defaults():
        name = key.partition(".")[0] if "." in key else ""
        if name not in tables:
            setting, value = owners.get(name, ("", ""))
            used = f"For runs with `{setting}`: {_code(value)}.\n\n" if setting else ""
            title = f"`[{name}]`" if name else "Top of the file"
            tables[name] = [f"\n## {title}\n\n{used}| key | default | |\n|---|---|---|"]
        words = description.removesuffix(" ({} = {})".format(*owners.get(name, ("", ""))))
        tables[name].append(f"| `{key}` | `{_cell(default)}` | {_cell(words)} |")
    lines = [line for table in tables.values() for line in table]
    return "\n".join([CONFIGURATION_HEAD, PRESETS_HEAD, *rows, *lines, ""])


def _code(values: str) -> str:
    return ", ".join(f"`{value}`" for value in values.split(", "))


def _cell(text: str) -> str:
    """Text that stands in a cell of a table as it is."""
    for mark in "|<*":
        text = text.replace(mark, {"<": "&lt;"}.get(mark, f"\\{mark}"))
    return " ".join(text.split())


def keys_page() -> str:
    parts = [KEYS_HEAD]
    for title, owners in KEYS_OF.items():
        rows = key_rows(binding for owner in owners for binding in vars(owner)["BINDINGS"])
        parts.append(f"## {title}\n\n| key | |\n|---|---|")
        parts += [f"| {_keys(keys)} | {what} |" for keys, what in rows]
        parts.append("")
    return "\n".join(parts)


def _keys(keys: str) -> str:
    return " ".join(f"`{key}`" for key in keys.split())


PAGES = {
    "api.md": api_page.page,
    "commands.md": commands_page,
    "configuration.md": configuration_page,
    "keys.md": keys_page,
}

if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS
    for name, page in PAGES.items():
        (folder / name).write_text(page())
        sys.stdout.write(f"{folder / name}\n")
