"""`operant eval`: how good a trained policy is."""

from __future__ import annotations

import click


@click.command("eval")
@click.argument("run")
@click.option("--episodes", default=100, show_default=True, type=click.IntRange(1, 100_000))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(run: str, episodes: int, as_json: bool) -> None:
    """Play greedy episodes with the newest checkpoint of RUN.

    RUN is a run's id or any part of it that no other run has.
    """
    from ..shared.run_folder import find_run

    chosen = find_run(run)

    from ..trainer.envs import env_spec_of
    from ..trainer.evaluation import cut_off_message, evaluate
    from ..trainer.trained_policy import load_trained
    from .output import print_json, print_line, warn

    trained = load_trained(chosen, warn)
    config = trained.config
    limit = config.evaluation.max_episode_steps
    evaluation = evaluate(trained.policy, env_spec_of(config), episodes, config.seed, limit)
    returns = evaluation.returns
    if evaluation.num_cut_off:
        click.echo(cut_off_message(evaluation, limit), err=True)
    if as_json:
        print_json(
            {
                "run": chosen.id,
                "episodes": episodes,
                "mean_return": float(returns.mean()),
                "std_return": float(returns.std()),
                "min_return": float(returns.min()),
                "max_return": float(returns.max()),
            }
        )
        return
    print_line(
        f"{chosen.id}, iteration {trained.iteration}: return {returns.mean():.1f} "
        f"± {returns.std():.1f} ({returns.min():.1f} to {returns.max():.1f}) "
        f"over {episodes} greedy episodes"
    )
