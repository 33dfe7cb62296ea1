"""`operant eval`: how good a trained policy is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..shared.errors import UsageError
from ..shared.text.short_numbers import short_number
from .command import Command, json_option
from .helpers.choosing_a_run import (
    checkpoint_option,
    chosen_policy,
    run_argument,
    trust_code_option,
)

if TYPE_CHECKING:
    from ..shared.runs.run_folder import Run
    from ..trainer.envs.hosts import AnySpec
    from ..trainer.experiment.trained_policy import TrainedPolicy

DEFAULT_EPISODES = 100


@click.command("eval", cls=Command)
@run_argument
@checkpoint_option
@trust_code_option
@click.option(
    "--episodes", type=click.IntRange(1, 100_000),
    help=f"Number of episodes. Default: {DEFAULT_EPISODES}, or all scenarios of the environment.",
)  # fmt: skip
@click.option(
    "--scenarios", "scenario_file", type=click.Path(path_type=Path),
    help="Play the scenarios of this file; for environments with scenario files.",
)  # fmt: skip
@click.option(
    "--risk", metavar="FRACTION", type=click.FloatRange(0, 1, min_open=True),
    help="IQN: act by this lowest fraction of returns.",
)  # fmt: skip
@json_option
def command(
    run: str | None,
    checkpoint: str,
    episodes: int | None,
    scenario_file: Path | None,
    risk: float | None,
    as_json: bool,
) -> None:
    """Evaluate a policy over greedy episodes: returns and success.

    Default: the latest run. zoo:ENV is the policy for ENV that comes with operant.
    """
    chosen = chosen_policy(run)

    from ..trainer.experiment.evaluation import cut_off_message, evaluate, scenarios_of
    from .helpers.began_elsewhere import told_where_it_began
    from .helpers.output import print_json, print_line, warn

    with told_where_it_began(chosen):
        loaded, spec = _loaded(chosen, risk, checkpoint)
    config = loaded.config
    scenarios = scenarios_of(spec, scenario_file)
    wanted = episodes or len(scenarios) or DEFAULT_EPISODES
    limit = config.evaluation.max_episode_steps
    evaluation = evaluate(
        loaded.policy, spec, wanted, config.seed, limit, gamma=config.algorithm_section.gamma,
        scenarios=scenarios,
    )  # fmt: skip
    if evaluation.num_cut_off:
        click.echo(cut_off_message(evaluation, limit), err=True)
    if scenarios and wanted > len(scenarios):
        warn(f"there are {len(scenarios)} scenarios: as many episodes were played, not {wanted}")
    if as_json:
        print_json({"id": chosen.id, **evaluation.as_dict()})
        return
    returns = evaluation.returns
    mean, deviation, lowest, highest = map(
        short_number, (evaluation.mean, evaluation.std, returns.min(), returns.max())
    )
    print_line(
        f"{chosen.id}, iteration {loaded.iteration}: return {mean} ± {deviation} "
        f"({lowest} to {highest}) over {evaluation.num_episodes} greedy episodes"
    )
    for setting in evaluation.settings:
        print_line("  " + in_words(setting))


def _loaded(run: Run, risk: float | None, checkpoint: str) -> tuple[TrainedPolicy, AnySpec]:
    """A run's policy, and what it is played in."""
    from ..trainer.experiment.trained_policy import act_with_risk, load_trained
    from .helpers.output import warn

    trained = load_trained(run, warn, checkpoint)
    if trained.config.env == "tinyphysics":
        raise UsageError(
            "its episodes are routes, which have costs; "
            f"`operant tinyphysics eval --controller {run.id}` plays them"
        )
    if risk is not None:
        act_with_risk(trained, risk)
    return trained, trained.spec


def in_words(setting: Mapping[str, float | None]) -> str:
    """The figures of one kind of episode, in a line."""
    values = {name: value for name, value in setting.items() if value is not None}
    return "  ".join(
        f"{name} {value:{'.0f' if value >= 1000 else '.4g'}}" for name, value in values.items()
    )
