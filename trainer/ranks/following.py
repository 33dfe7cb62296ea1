"""What ranks do besides rank 0, which alone has the run's folder and its page."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

from ..diverged import check_weights
from ..making import make_experiment
from ..run.main_memory import keep_freed_memory
from ..run.restoring import restoring
from ..run.stopwatch import Stopwatch
from .joining import joined
from .place import Place

if TYPE_CHECKING:
    from ..config import TrainConfig
    from .several import Several


def follow(
    place: Place,
    config: TrainConfig | None,
    split: str,
    should_stop: Callable[[], bool] = lambda: False,
) -> None:
    """Train as one of the ranks after rank 0, until that ends; without a `config` as rank 0 has it.
    Raises OperantErrors.
    """
    keep_freed_memory()
    with joined(place, config, split, should_stop) as met:
        _train(met.config, met.ranks, should_stop)


def _train(config: TrainConfig, ranks: Several, should_stop: Callable[[], bool]) -> None:
    """The same iterations as `loop.train`; a state is asked for where rank 0 saves it."""
    with closing(make_experiment(config, ranks=ranks)) as experiment:
        told = ranks.told_by_first(None)
        if told:
            with restoring(told["state"], experiment.state_dict):
                experiment.load_state_dict(told["state"], told["iteration"])
        stopwatch = Stopwatch()
        while not experiment.is_complete:
            next_is = experiment.agreed(should_stop(), False)
            if next_is.stop:
                break
            for values in experiment.iterate(stopwatch, wait=True):
                check_weights(experiment, values)
            if next_is.checkpoint:
                experiment.state_dict()
        if experiment.agreed(False, False).checkpoint:
            experiment.state_dict()
