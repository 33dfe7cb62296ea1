"""`operant push`: share a trained policy."""

from __future__ import annotations

import click

from .command import Command, json_option
from .eval import DEFAULT_EPISODES
from .helpers.candidates import run_ids
from .helpers.choosing_a_run import checkpoint_option, chosen_policy, trust_code_option


@click.command("push", cls=Command)
@click.argument("run", shell_complete=run_ids)
@click.argument("target", metavar="FOLDER|hf:OWNER/NAME")
@checkpoint_option
@trust_code_option
@click.option(
    "--episodes", default=DEFAULT_EPISODES, show_default=True, type=click.IntRange(1, 100_000),
    help="Greedy episodes whose return the model card shows.",
)  # fmt: skip
@click.option(
    "--with-code", is_flag=True,
    help="Add the Python files of the modules that the run's settings name, as they are.",
)  # fmt: skip
@click.option("--private", is_flag=True, help="Make a new repository private.")
@json_option
def command(
    run: str,
    target: str,
    checkpoint: str,
    episodes: int,
    with_code: bool,
    private: bool,
    as_json: bool,
) -> None:
    """Share a run's policy in a folder or on the Hugging Face Hub.

    It writes the policy, its settings and a model card with the environment, the return and how to
    use it. A folder must be new, empty, or have a policy pushed before. `operant pull` makes a run
    of it again. The Hub needs the extra `hub` and a login: `hf auth login`.
    """
    chosen = chosen_policy(run)

    from ..trainer.experiment.sharing.hub import push
    from .helpers.began_elsewhere import told_where_it_began
    from .helpers.output import print_json, print_line, warn

    with told_where_it_began(chosen):
        pushed = push(
            chosen, target, checkpoint, episodes, private=private, with_code=with_code, warn=warn
        )
    results = pushed.results
    if as_json:
        about = {"id": chosen.id, "target": target, "iteration": pushed.iteration}
        figures = {"mean": results.mean, "std": results.deviation}
        print_json({**about, "num_episodes": results.num_episodes, **figures})
        return
    print_line(
        f"{target}: the policy of {chosen.id}, iteration {pushed.iteration}, return "
        f"{results.mean:.2f} ± {results.deviation:.2f} over {results.num_episodes} greedy episodes"
    )
