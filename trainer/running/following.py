"""What ranks do besides rank 0, which alone saves, evaluates and publishes what is learned."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from ..distributed.place import Place
from ..distributed.process_group import ProcessGroup
from ..distributed.states import broadcast_state
from ..experiment.build import make_experiment
from ..experiment.restoring import restoring
from ..machine.main_memory import keep_freed_memory
from ..machine.stopwatch import Stopwatch
from .divergence import check_weights
from .joining import joined
from .rank_pages import PAUSE, PHASES, Pages
from .rank_timing import OwnShare

if TYPE_CHECKING:
    from ..config import TrainConfig


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
        assert met.pages
        met.is_complete = _train(met.config, met.ranks, met.pages, should_stop)


def _train(
    config: TrainConfig, ranks: ProcessGroup, pages: Pages, should_stop: Callable[[], bool]
) -> bool:
    """The same iterations as `loop.train`; a state is asked for where rank 0 saves it. Returns
    whether the run is complete.
    """
    pages.phase("compiling")
    compiling = partial(pages.phase, "compiling")
    with closing(make_experiment(config, compiling, ranks)) as experiment:
        checkpoint = broadcast_state(ranks, None)
        if checkpoint:
            with restoring(checkpoint["state"], experiment.state_dict):
                experiment.load_state_dict(checkpoint["state"], checkpoint["iteration"])
        stopwatch = stopwatch_of(pages)
        share = OwnShare(experiment, stopwatch)
        experiment.on_tick(pages.beat)
        while not experiment.is_complete:
            with stopwatch.phase(PAUSE):
                next_is = experiment.agreed(should_stop(), False)
            if next_is.stop:
                break
            for values in experiment.iterate(stopwatch, wait=True):
                check_weights(experiment, values)
                numbers = {**stopwatch.take(), **share.of_iteration()}
                with stopwatch.phase("publish"):
                    pages.publish(numbers, experiment.iteration, experiment.env_steps)
            if next_is.checkpoint:
                experiment.state_dict()
        if experiment.agreed(False, False).checkpoint:
            experiment.state_dict()
        return experiment.is_complete


def stopwatch_of(pages: Pages) -> Stopwatch:
    """Between iterations this rank has nothing to do, whatever rank 0 does."""
    return Stopwatch(say=pages.phase, phases=PHASES, pauses=(PAUSE,))
