"""A run of several processes as one: each rank writes a page, readers put them together.

Ranks of `operant train` learn as one: what rank 0 publishes is of all of them, the others publish
where their time goes, and each tells its share in `RANK_METRICS`. Ranks of a loop of one's own
each count their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..page.rank_place import rank_place
from ..page.schema import Metric
from ..text.harmless import one_line
from .run_folder import Run
from .status import ENV_STEPS_PER_S, RunState, RunStatus, read_rank_status

RANK_NUM_ENVS, RANK_ENV_STEPS_PER_S = "rank/num_envs", "rank/env_steps_per_s"
RANK_ITERATION_S, RANK_WAITING_FRACTION = "rank/iteration_s", "rank/waiting_fraction"
ALL_REDUCE_S = "time/all_reduce_s"

RANK_METRICS = (
    Metric(RANK_NUM_ENVS, "environments", level=1, description="that this rank steps"),
    Metric(RANK_ENV_STEPS_PER_S, "env steps/s", level=1, better="up",
           description="of this rank's environments, over 30 s of training"),
    Metric(RANK_ITERATION_S, "s", level=1, better="down",
           description="an iteration, over 30 s of training"),
    Metric(RANK_WAITING_FRACTION, level=1,
           description="of the time in sums with other ranks, over 30 s; the slowest waits least"),
    Metric(ALL_REDUCE_S, "s", "timer", level=1,
           description="sums with other ranks, of the iteration; no part of the other phases"),
)  # fmt: skip

# What a run is when its ranks differ: the first of these that any of them is.
_WORST_FIRST: tuple[RunState, ...] = (
    "failed",
    "crashed",
    "stalled",
    "running",
    "stopped",
    "ended",
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

    Where what rank 0 publishes is of all ranks, that is the run's, see `_of_whole`. Else env steps
    and their speed are sums, other metrics means; progress is that of the last rank, as are age and
    time left: a run is as far as its slowest process. The phase is that of the rank which the state
    is about.
    """
    if len(ranks) == 1:
        only = ranks[0]
        return only if only.rank is None else replace(only, host="", rank=None)
    ranks = [replace(one, rank=i) if one.rank is None else one for i, one in enumerate(ranks)]
    place = rank_place(run, 0)
    if place.get("is_whole"):
        return _of_whole(ranks, place.get("host", ""))
    about = _about(ranks)
    state, message = ranks[about].state, ranks[about].message
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
        message=f"rank {ranks[about].rank}: {message}" if message else "",
        phase=ranks[about].phase,
        phase_s=ranks[about].phase_s,
        phase_done=ranks[about].phase_done,
        phase_total=ranks[about].phase_total,
        phase_unit=ranks[about].phase_unit,
        phase_left_s=ranks[about].phase_left_s,
        ranks=tuple(ranks),
    )


def _of_whole(ranks: Sequence[RunStatus], host: str) -> RunStatus:
    """The run as rank 0 tells it: once that has ended, so has the run. Only shares are added up,
    and what several ranks measure is a mean. `host` is rank 0's, where it is elsewhere.
    """
    first = ranks[0]
    about = 0 if first.state in ("failed", "stopped", "finished", "ended") else _about(ranks)
    message = ranks[about].message
    metrics = {name: spread(ranks, name).mean for name in _names(ranks)}
    for name in (RANK_NUM_ENVS, RANK_ENV_STEPS_PER_S):
        if host:  # where not all ranks are known
            metrics.pop(name, None)
        elif name in metrics:
            metrics[name] = spread(ranks, name).total
    return replace(
        first,
        state=ranks[about].state,
        age_s=_over(ranks, max, "age_s"),
        metrics=metrics,
        message=f"rank {ranks[about].rank}: {message}" if about and message else message,
        phase=ranks[about].phase,
        phase_s=ranks[about].phase_s,
        phase_done=ranks[about].phase_done,
        phase_total=ranks[about].phase_total,
        phase_unit=ranks[about].phase_unit,
        phase_left_s=ranks[about].phase_left_s,
        ranks=tuple(_with_own_speed(rank) for rank in ranks),
        host=host,
        rank=None,
    )


def _with_own_speed(rank: RunStatus) -> RunStatus:
    speed = rank.metrics.get(RANK_ENV_STEPS_PER_S, math.nan)
    return replace(rank, env_steps_per_s=None if math.isnan(speed) else speed)


def _about(ranks: Sequence[RunStatus]) -> int:
    """The first rank that is in the worst state of all."""
    return min(range(len(ranks)), key=lambda i: _WORST_FIRST.index(ranks[i].state))


def slowest_rank(ranks: Sequence[RunStatus]) -> RunStatus | None:
    """The rank that the others wait for: the one that itself waits least, where they tell; else the
    one with the lowest speed. None where neither is known of two of them.
    """
    waiting = {i: rank.metrics.get(RANK_WAITING_FRACTION, math.nan) for i, rank in enumerate(ranks)}
    speeds = {i: rank.env_steps_per_s for i, rank in enumerate(ranks)}
    for values in (waiting, speeds):
        known = {i: value for i, value in values.items() if value is not None and value == value}
        if len(known) > 1:
            return ranks[min(known, key=lambda i: known[i])]
    return None


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
