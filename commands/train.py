"""`operant train`: start a run, here or in a process of its own."""

from __future__ import annotations

import os
import re
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..shared.errors import UsageError, nearest
from .command import Command
from .helpers.candidates import algorithms, configs, overlays, run_ids, settings
from .helpers.choosing_a_run import run_here, trust_code_option
from .helpers.following_rank import ended_at_once, following_rank
from .helpers.terminal import has_terminal, say_starting

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..trainer.config.files import Resolved
    from ..trainer.config.train_config import TrainConfig
    from ..trainer.distributed.place import Place
    from .helpers.launching import Train
    from .ranks.launch import Launch


class _TrainCommand(Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does; if an unknown option is a setting, the error shows how to set it."""
        settings = [each for each in args if re.fullmatch(r"[\w.]+=.+", each)]
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            options = [name for each in self.get_params(ctx) for name in each.opts]
            hint = _option_or_setting(error.option_name, options)
            raise UsageError(f"no such option '{error.option_name}'{hint}") from None
        except click.UsageError as error:
            hint = f"; write --set {settings[0]} to change a setting" if settings else ""
            raise UsageError(f"{error.format_message()}{hint}") from None


def _option_or_setting(option: str, options: list[str]) -> str:
    """`; did you mean ...?` with the nearest option or setting: for `--lr`, the learning rate.
    Empty if none is near.
    """
    from ..trainer.config.files import load_config
    from ..trainer.config.flat_keys import flat_keys
    from ..trainer.config.known_elsewhere import known_elsewhere
    from ..trainer.config.train_config import DEFAULT_ALGORITHM

    keys = flat_keys(load_config().model_dump(mode="json"))
    name = option.lstrip("-").replace("-", "_")
    meant = {f"--{key}": f"--set {key}=VALUE" for key in keys} | {each: each for each in options}
    hint = known_elsewhere(name, DEFAULT_ALGORITHM, keys) or nearest(f"--{name}", meant)
    word = hint.partition("'")[2].partition("'")[0]
    return f"; did you mean '{meant.get(word) or meant[f'--{word}']}'?" if word else ""


@click.command("train", cls=_TrainCommand)
@click.argument("config", required=False, metavar="[CONFIG]", shell_complete=configs)
@click.option(
    "--algorithm",
    metavar="NAME",
    shell_complete=algorithms,
    help="The algorithm, as ppo, sac or dqn. Default: the preset's, or ppo for an environment.",
)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=settings,
    help="Change one key, as in --set ppo.learning_rate=3e-4; may be repeated. The value none "
    "clears an optional key, as in --set ppo.target_kl=none.",
)
@click.option(
    "--with",
    "overlays",
    multiple=True,
    metavar="NAME",
    shell_complete=overlays,
    help="Add an overlay: sizes for hardware (cpu, gpu_small, gpu_large), or settings for many "
    "agents, as fast; may be repeated.",
)
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), help="Where to train.")
@click.option("--seed", type=int, help="The seed of all random numbers.")
@click.option("--name", help="The middle part of the run's id. Default: environment and algorithm.")
@click.option("--detach", is_flag=True, help="Train in the background; return after the start.")
@click.option("--monitor", is_flag=True, help="Train in the background and open the monitor.")
@click.option(
    "--resume",
    metavar="RUN",
    shell_complete=run_ids,
    help="Continue a run from its newest checkpoint.",
)
@trust_code_option
@click.option("--processes", metavar="N", help="Train with N processes on each machine as one run.")
@click.option(
    "--nodes", metavar="HERE,HOST,...", help="Train on these machines as one run, over ssh."
)
@click.option("--split", default="", metavar="1.4:1", help="With several ranks: their shares.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
@click.option(
    "--dry-run", is_flag=True, help="Print what would run, and where its settings come from."
)
@click.option(
    "--output",
    "-o",
    type=Path,
    metavar="FILE",
    help="With --dry-run: write a TOML file that trains the same run.",
)
@click.option(
    "--keys",
    is_flag=False,
    flag_value="",
    metavar="[PREFIX]",
    help="Print the configuration keys that begin with PREFIX, as ppo or replay., and exit. "
    "Without PREFIX: all keys and presets.",
)
def command(
    config: str | None,
    algorithm: str | None,
    overrides: tuple[str, ...],
    overlays: tuple[str, ...],
    device: str | None,
    seed: int | None,
    name: str | None,
    detach: bool,
    monitor: bool,
    resume: str | None,
    processes: str | None,
    nodes: str | None,
    split: str,
    as_json: bool,
    dry_run: bool,
    output: Path | None,
    keys: str | None,
) -> int:
    """Train a policy.

    CONFIG is an environment, a preset or a TOML file. Default: cart_pole. For an environment, as in
    `operant train LunarLander-v3 --algorithm dqn`, operant takes the preset that is tuned for it
    and the algorithm, or else the algorithm's neutral defaults, and prints which. The keys of a
    file go on top of the same, or of the preset or file that its key `extends` names.
    Ctrl-C finishes the iteration and saves a checkpoint; --resume continues from it.
    """
    if keys is not None:
        if as_json:
            raise UsageError("--keys and --json exclude each other: the keys are a text")
        return print_keys(keys)
    if dry_run and resume:
        raise UsageError("--dry-run and --resume exclude each other: a run keeps its settings")
    if output and not dry_run:
        raise UsageError(f"--output {output}: write it with --dry-run, which trains nothing")
    if as_json and monitor:
        raise UsageError("--json and --monitor exclude each other: the monitor needs the terminal")
    if monitor:
        say_starting()

    from ..trainer.config.files import load_config, resolve
    from ..trainer.experiment.plan import check_ranks
    from ..trainer.running.process import Prepared
    from .helpers.began_elsewhere import told_where_it_began
    from .helpers.launching import detached_training, foreground_training, prepared_run
    from .ranks.launch import launch_of

    named = {"algorithm": algorithm, "device": device, "seed": seed}
    overrides += tuple(f"{key}={value}" for key, value in named.items() if value is not None)
    launch = launch_of(processes, nodes, split)
    place = own_place(split, launch, is_foreground=not (detach or monitor))

    def check(config: TrainConfig) -> None:
        if place:
            check_ranks(config, split, place.world_size)
        if launch:
            launch.check(config)

    if dry_run:
        return show_run(resolve(config, overrides, overlays), check, output, as_json)
    if place and place.rank:
        config_of_all = None if resume else load_config(config, overrides, overlays)
        return ended_at_once(following_rank(place, config_of_all, split))

    def prepare(lock_byte: int) -> Prepared:
        return prepared_run(config, overrides, name, resume, lock_byte, check, overlays=overlays)

    with told_where_it_began(run_here(resume, "train --resume")) if resume else nullcontext():
        if detach or (monitor and has_terminal()):
            return detached_training(prepare, monitor, as_json, launch)
        if not (place or launch):
            return foreground_training(prepare, as_json)
        return ended_at_once(foreground_training(prepare, as_json, by_ranks(place, split, launch)))


def show_run(
    resolved: Resolved, check: Callable[[TrainConfig], None], output: Path | None, as_json: bool
) -> int:
    """Print what would run, and write it into the file `output` if that is given."""
    from .helpers.config_file import write_config
    from .helpers.dry_run import facts_of_run, print_dry_run
    from .helpers.machine import check_machine
    from .helpers.output import print_json

    config = resolved.config
    check_machine(config)
    check(config)
    facts = facts_of_run(resolved)
    if output:
        write_config(output, config, f"{config.algorithm} on {config.env}, as --dry-run has it")
    if as_json:
        print_json(facts)
    else:
        print_dry_run(facts)
    return 0


def by_ranks(place: Place | None, split: str, launch: Launch | None) -> Train:
    """Trains as rank 0: at the `place` where it was started, or with the ranks of `launch`."""
    from ..trainer.running.process import FirstRank
    from .helpers.launching import train_here
    from .ranks.launched import train_with_ranks

    if launch:
        return partial(train_with_ranks, launch)
    assert place
    return partial(train_here, ranks=FirstRank(place, split))


def own_place(split: str, launch: Launch | None, is_foreground: bool) -> Place | None:
    """Which of several ranks this process is; None where nobody has started several, though it may
    be about to `launch` some. Raises UsageError.
    """
    from ..trainer.distributed.place import place_of

    place = place_of(os.environ)
    if place or launch:
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")  # one line says what is wrong
    if place and launch:
        raise UsageError(
            f"--processes and --nodes start ranks, and this is rank {place.rank} of "
            f"{place.world_size} already, as torchrun, srun or the environment says"
        )
    if place and not is_foreground:
        raise UsageError("of several ranks each trains where it is started: no --detach, --monitor")
    if split and not (place or launch):
        raise UsageError(f"--split {split}: there is one process; --processes 2 starts several")
    return place


def print_keys(prefix: str) -> int:
    """Every key that begins with `prefix`, with its neutral defaults and description. Raises
    UsageError where no key does.
    """
    from ..shared.text.harmless import harmless_lines
    from ..trainer.config.files import preset_names
    from ..trainer.config.from_values import fields_with_defaults, values_in_words
    from ..trainer.config.train_config import owners_of_sections

    fields = list(fields_with_defaults())
    matches = [field for field in fields if field[0].startswith(prefix)]
    if not matches:
        known = {key for field in fields for key in (field[0], field[0].partition(".")[0])}
        raise UsageError(f"--keys {prefix}: no key begins with it{nearest(prefix.lower(), known)}")
    if not prefix:
        click.echo(harmless_lines(f"# Presets: {', '.join(preset_names())}\n"))
    owners = owners_of_sections()
    for key, defaults, description in matches:
        setting, owner = owners.get(key.partition(".")[0], ("", ""))
        users = f" ({setting} = {owner})" if setting else ""
        first, *others = values_in_words(defaults)
        differing = f"; {'; '.join(others)}" if others else ""
        default = next(iter(defaults.values())) if others else first
        click.echo(harmless_lines(f"{key} = {default}\n    {description}{users}{differing}"))
    return 0
