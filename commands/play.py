"""`operant play`: watch episodes of a trained policy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..shared.errors import UsageError
from .command import Command
from .helpers.candidates import theme_option
from .helpers.choosing_a_run import (
    checkpoint_option,
    chosen_policy,
    run_argument,
    trust_code_option,
)
from .helpers.numbers import NumberRange
from .helpers.terminal import has_terminal, say_starting
from .monitor import known_theme

if TYPE_CHECKING:
    from ..shared.episodes.scene import Episodes
    from ..shared.runs.run_folder import Run

GETTING_READY = "getting ready; what was never played is compiled first ..."
FILMED_STEPS = 1000


@click.command("play", cls=Command)
@run_argument
@checkpoint_option
@trust_code_option
@click.option(
    "--seed", type=click.IntRange(0, 2**63 - 1), help="Seed of the episodes. Default: the run's."
)
@click.option("--episodes", type=click.IntRange(1), help="Quit after so many episodes.")
@click.option("--speed", default=20.0, show_default=True, type=NumberRange(1, 5120),
              help="Env steps per second.")  # fmt: skip
@click.option("--fps", default=20.0, show_default=True, type=NumberRange(1, 60),
              help="Frames per second at most.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE",
              help="Write one episode to FILE.gif or FILE.mp4 instead.")  # fmt: skip
@click.option("--steps", type=click.IntRange(1, 100_000),
              help=f"With -o: env steps at most. Default: {FILMED_STEPS}.")  # fmt: skip
@click.option("--risk", metavar="FRACTION", type=click.FloatRange(0, 1, min_open=True),
              help="IQN: act by this lowest fraction of returns.")  # fmt: skip
@theme_option
@click.option("--ascii", "as_ascii", is_flag=True, help="Draw with ASCII characters only.")
def command(
    run: str | None,
    checkpoint: str,
    seed: int | None,
    episodes: int | None,
    speed: float,
    fps: float,
    output: Path | None,
    steps: int | None,
    risk: float | None,
    theme: str | None,
    as_ascii: bool,
) -> None:
    """Watch greedy episodes of a policy, or write one as a video.

    Default: the latest run. zoo:ENV is the policy for ENV that comes with operant. RUN may also be
    an episode file, which runs with `episodes.every_*` write to episodes/.
    Keys: space pauses, + and - change the speed, n and p show the next and the previous episode, s
    the next seed, . plays one step, tab shows the next robot, q quits.
    """
    if output and (episodes or as_ascii):
        raise UsageError("--episodes and --ascii are for the terminal, not for -o")
    if steps and not output:
        raise UsageError(f"--steps {steps} is for -o FILE")
    if not output:
        say_starting()
    theme = known_theme(theme)
    of_runs = {
        "seed": seed,
        "risk": risk,
        "checkpoint": None if checkpoint == "newest" else checkpoint,
    }
    chosen = _run_or_episode(run, of_runs)
    if output:
        from ..monitor.play.filming import write_episode, writer_for
        from .helpers.output import print_line

        writer_for(output)  # raises errors before anything is loaded
        with closing(_episodes_of(chosen, risk, checkpoint)) as playing:
            most_steps = steps or FILMED_STEPS
            num_frames = write_episode(output, playing, seed, speed, fps, most_steps, theme)
        print_line(f"{output}: {num_frames} frames, {output.stat().st_size / 1000:.0f} kB")
        return
    if not has_terminal():
        raise UsageError("play needs a terminal; -o FILE.gif writes an episode without one")
    from ..monitor.play.player import Player
    from ..monitor.play.showing import make_terminal, show
    from ..shared.runs.run_folder import Run
    from ..trainer.config.stored_code import trusts_all_code
    from ..trainer.experiment.checkpoints import latest_checkpoint

    terminal = make_terminal(theme, as_ascii)
    if isinstance(chosen, Run) and trusts_all_code():
        # This prints what --trust-code lets in, before the screen is taken.
        latest_checkpoint(chosen.checkpoint_folder)
    title = chosen.id if isinstance(chosen, Run) else chosen.name
    # The terminal is taken first, so that keys pressed while loading are not echoed.
    with terminal.opened():
        terminal.paint([[(GETTING_READY, "text")]], terminal.size)
        with closing(_episodes_of(chosen, risk, checkpoint)) as playing:
            show(Player(playing, title, seed, speed, fps, episodes), terminal)


def _run_or_episode(run: str | None, of_runs: Mapping[str, object]) -> Run | Path:
    """A run, or the file of an episode, for which none of the options `of_runs` may be given."""
    from ..shared.runs.run_folder import EPISODE_ENDING

    if not (run and run.endswith(EPISODE_ENDING)):
        return chosen_policy(run)
    for name, value in of_runs.items():
        if value is not None:
            raise UsageError(f"--{name} {value}: {run} was played before")
    if not os.path.lexists(run):
        raise UsageError(f"{run} cannot be read: No such file or directory")
    return Path(run)


def _episodes_of(run: Run | Path, risk: float | None, checkpoint: str) -> Episodes:
    """Episodes that the policy of a run's `checkpoint` plays on one thread, or a recorded one."""
    if isinstance(run, Path):
        from ..shared.episodes.episode_file import read_episode

        return read_episode(run)
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # no greeting on the screen
    from ..trainer.experiment.trained_policy import act_with_risk, load_trained
    from ..trainer.playing import make_episodes
    from .helpers.began_elsewhere import told_where_it_began
    from .helpers.output import warn

    with told_where_it_began(run):
        trained = load_trained(run, warn, checkpoint)
        if risk is not None:
            act_with_risk(trained, risk)
        return make_episodes(trained)
