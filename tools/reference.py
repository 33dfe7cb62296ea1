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
from operant.trainer.config.from_values import Setting, fields_with_defaults, values_in_words
from operant.trainer.config.train_config import (
    TrainConfig,
    algorithm_sections,
    owners_of_sections,
)

DOCS = Path(__file__).parents[1] / "docs"
WRITTEN = "<!-- written by `make reference` from the code -->"

COMMANDS_HEAD = f"""\
# Commands

{WRITTEN}

`operant --help` lists the commands, and `--help` behind a command its options, as below.

- **ENV** is an environment, as in `operant train LunarLander-v3`. It gets the preset that is tuned for it and the
  algorithm, or else the algorithm's [neutral defaults](environments.md#defaults).
- **CONFIG** is an ENV, a [preset](configuration.md#presets) or a TOML file, whose keys are the same as if they were
  [typed](configuration.md#layers) behind the environment.
- **RUN** is a run's id, its name, any part of either that no other run has, or the word `latest`. HOST:RUN is a run on another
  machine for `monitor` and `status`; zoo:ENV is a trained policy that comes with operant, for `eval`, `play`, `push` and
  `export -o FILE.onnx`. Without RUN, commands that only read take the latest run.
- The ending of the name behind `-o` is the format.
- `--json` prints one JSON value and nothing else.
- **Exit codes**: 0 success; 1 the run failed; 2 wrong input; 129, 130 and 143: stopped by a closed terminal, Ctrl-C or
  SIGTERM.
- **Files**: runs are in `$OPERANT_HOME/runs`, or in `~/.local/state/operant/runs` on Linux. The shared memory is in
  `/dev/shm/operant-<uid>`, or in `$OPERANT_PAGES`.
"""
CONFIGURATION_HEAD = f"""\
# Configuration

{WRITTEN}

A run has about a hundred settings. The table below has the ones that people change, with their neutral defaults, and
[the rest](#all-other-settings) follows, each key once. `operant train --keys ppo` prints the keys that begin with `ppo`.

```
operant train cart_pole --set ppo.learning_rate=1e-3 --set total_env_steps=2M      # change keys
operant train mine.toml                                                            # or write them into a file
operant train mine.toml --dry-run                                                  # what would run, and why
```

```toml title="mine.toml"
env = "cart_pole"
total_env_steps = 2_000_000

[ppo]
learning_rate = 1e-3
```

## Layers

A file is the same as its keys typed behind the environment and `--algorithm`. Each layer goes on top of the one before:

1. The [preset](#presets) that is tuned for the environment and the algorithm. If there is none, the neutral defaults of the
   algorithm. `extends = "cart_pole_ppo_smoke"` in a file names another preset, or another file (`"../base.toml"`) with all that it
   is made of.
2. The file's own keys.
3. `--with NAME`: an overlay for [many agents](grid.md#settings-on-top) (`fast`) or sizes for hardware (`gpu_small`). It may be
   repeated.
4. `--set KEY=VALUE`. `none` clears a key that may have no value, shown as `(none)` below.

A run says [where each of its settings comes from](runs.md#where-settings-come-from), and `--dry-run` shows it without training.
`--dry-run --output FILE.toml` writes a file with every setting, which trains the same run.
"""
ESSENTIAL_HEAD = """\
## The settings that people change

Settings of an algorithm are in the table that has its name: write `ppo.learning_rate`. The defaults are for environments of other
libraries whose observations are vectors and whose actions are choices. [Environments](environments.md#defaults) says what is
different for images, for real-valued actions and for operant's own environments. Evaluations, checkpoints, warm-up and the size of
the replay follow `total_env_steps`.
"""
# As people write them, without the tables of algorithms.
ESSENTIAL = (
    "total_env_steps", "num_envs", "rollout_steps",
    "policy.hidden_sizes", "policy.activation", "policy.memory.kind",
    "normalization.obs", "normalization.reward",
    "learning_rate", "learning_rate_schedule", "gamma",
    "gae_lambda", "num_epochs", "num_minibatches", "clip_coef", "entropy_coef",
    "batch_size", "updates_per_env_step", "warmup_env_steps", "target_tau", "replay.capacity",
    "epsilon_end", "epsilon_fraction",
    "evaluation.every_env_steps", "checkpoint.every_env_steps",
)  # fmt: skip
OF_ALGORITHMS = "In the table of the algorithm"
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
    """(`operant tinyphysics eval`, the command, its help) of all commands that help lists."""
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
    settings = _settings()
    parts = (CONFIGURATION_HEAD, ESSENTIAL_HEAD, *_essential(settings), "", PRESETS_HEAD, *rows)
    return "\n".join([*parts, *_others(settings), ""])


def _settings() -> dict[str, Setting]:
    """All settings by key; those of algorithms without their table, and each once for all of them."""
    settings: dict[str, Setting] = {}
    for setting in fields_with_defaults():
        table, _, name = setting.key.partition(".")
        key = name if table in algorithm_sections() else setting.key
        known = settings.setdefault(key, Setting(key, {}, setting.description))
        known.defaults.update(setting.defaults)
    return settings


def _essential(settings: dict[str, Setting]) -> Iterator[str]:
    """The lines of a table with a column for algorithms with the same defaults."""
    columns: dict[tuple[str, ...], list[str]] = {}
    for algorithm in algorithm_sections():
        values = tuple(settings[key].defaults.get(algorithm, "") for key in ESSENTIAL)
        columns.setdefault(values, []).append(algorithm)
    yield f"| key | {' | '.join(map(', '.join, columns.values()))} | |"
    yield f"|---|{'---|' * len(columns)}---|"
    for key, *values in zip(ESSENTIAL, *columns, strict=True):
        cells = (f"`{_cell(value)}`" if value else "" for value in values)
        yield f"| `{key}` | {' | '.join(cells)} | {_cell(settings[key].description)} |"


def _others(settings: dict[str, Setting]) -> Iterator[str]:
    """The lines of the tables of all other settings."""
    owners = owners_of_sections()
    yield "\n## All other settings"
    tables: dict[str, list[str]] = {}
    for key in (key for key in settings if key not in ESSENTIAL):
        _, defaults, description = settings[key]
        table, dot, _ = key.partition(".")
        is_of_algorithm = not dot and key not in TrainConfig.model_fields
        title = OF_ALGORITHMS if is_of_algorithm else f"`[{table}]`" if dot else "Top of the file"
        setting, owner = owners.get(table, ("", ""))
        values = "; ".join(map(_value, values_in_words(defaults)))
        used = f" {', '.join(defaults)} |" if is_of_algorithm else ""
        lines = tables.setdefault(title, [])
        if not lines:
            users = f"For runs with `{setting}`: {_code(owner)}.\n\n" if setting else ""
            head = "| key | for | default | |\n|---|" if used else "| key | default | |\n"
            lines.append(f"\n### {title}\n\n{users}{head}|---|---|---|")
        lines.append(f"| `{key}` |{used} {values} | {_cell(description)} |")
    for lines in tables.values():
        yield from lines


def _value(words: str) -> str:
    """`5 for ppo`: the value as code."""
    value, separator, names = words.partition(" for ")
    return f"`{_cell(value)}`{separator}{names}"


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
