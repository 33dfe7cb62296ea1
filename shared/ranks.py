"""A run of several processes as one: each rank writes a page, readers put them together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from .harmless import one_line
from .run_folder import Run
from .status import ENV_STEPS_PER_S, RunState, RunStatus, read_rank_status

# What a run is when its ranks differ: the first of these that any of them is.
_WORST_FIRST: tuple[RunState, ...] = (
    "failed",
    "crashed",
    "stalled",
    "running",
    "stopped",
    "finished",
)


class Spread(NamedTuple):
    """One number over the ranks; `lowest_rank` is the one that has the lowest."""

    total: float
    mean: float
    low: float
    high: float
    lowest_rank: int


def read_status(run: Run) -> RunStatus:
    """Look once at every rank of a run."""
    return combined_status(run, [read_rank_status(run, rank) for rank in run.ranks()])


def status_in_list(run: Run) -> RunStatus:
    """As `read_status`, for one of many: raises nothing, and says what is odd about the run's
    folder. It may have been copied from anywhere.
    """
    try:
        status = read_status(run)
    # One broken run must not hide the others, whatever its folder and its pages hold.
    except Exception as error:
        status = RunStatus(run.id, "crashed", message=str(error) or type(error).__name__)
        return replace(status, message=f"unreadable: {one_line(status.message, 200)}")
    oddity = run.oddity()
    if oddity:
        reasons = [f"unreadable: {oddity}", *filter(None, [status.message])]
        return replace(status, message="; ".join(reasons))
    return status


def combined_status(run: Run, ranks: Sequence[RunStatus]) -> RunStatus:
    """The status of a run from those of its ranks, in their order.

    Env steps and their speed are sums, other metrics means; progress is that of the last rank, as
    are age and time left: a run is as far as its slowest process. The phase is that of the rank
    which the state is about.
    """
    if len(ranks) == 1:
        return ranks[0]
    state = next(state for state in _WORST_FIRST if any(rank.state == state for rank in ranks))
    about = next(i for i, rank in enumerate(ranks) if rank.state == state)
    message = ranks[about].message
    env_steps_per_s = _over(ranks, sum, "env_steps_per_s")
    env_steps = _over(ranks, sum, "env_steps")
    iteration = _over(ranks, min, "iteration")
    metrics = {name: spread(ranks, name).mean for name in _names(ranks)}
    if env_steps_per_s is not None:
        metrics[ENV_STEPS_PER_S] = env_steps_per_s
    return RunStatus(
        run=run.id,
        state=state,
        age_s=_over(ranks, max, "age_s"),
        iteration=None if iteration is None else int(iteration),
        env_steps=None if env_steps is None else int(env_steps),
        env_steps_per_s=env_steps_per_s,
        progress_fraction=_over(ranks, min, "progress_fraction"),
        eta_s=_over(ranks, max, "eta_s"),
        metrics=metrics,
        message=f"rank {about}: {message}" if message else "",
        phase=ranks[about].phase,
        phase_s=ranks[about].phase_s,
        phase_done=ranks[about].phase_done,
        phase_total=ranks[about].phase_total,
        phase_unit=ranks[about].phase_unit,
        ranks=tuple(ranks),
    )


def spread(ranks: Sequence[RunStatus], name: str) -> Spread:
    """Metric `name` over the ranks that have written it; NaN when none has."""
    values = {i: rank.metrics.get(name, math.nan) for i, rank in enumerate(ranks)}
    written = {i: value for i, value in values.items() if not math.isnan(value)}
    if not written:
        return Spread(math.nan, math.nan, math.nan, math.nan, lowest_rank=0)
    lowest_rank = min(written, key=lambda i: written[i])
    total = sum(written.values())
    low, high = written[lowest_rank], max(written.values())
    return Spread(total, total / len(written), low, high, lowest_rank)


def _over(
    ranks: Sequence[RunStatus], how: Callable[[Iterable[float]], float], field: str
) -> float | None:
    """`how` of a field over the ranks where it is known."""
    known = [value for rank in ranks if (value := getattr(rank, field)) is not None]
    return how(known) if known else None


def _names(ranks: Sequence[RunStatus]) -> list[str]:
    """All metrics of all ranks, each once, in the order of their first appearance."""
    return list(dict.fromkeys(name for rank in ranks for name in rank.metrics))
