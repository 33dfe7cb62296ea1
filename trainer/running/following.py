"""The main loop of all ranks but rank 0, which alone saves, evaluates and publishes."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from ..distributed.place import Place
from ..distributed.process_group import ProcessGroup
from ..distributed.states import broadcast_state
from ..experiment.build import make_experiment
from ..experiment.restoring import restoring
from ..machine.main_memory import keep_freed_memory
from ..machine.stopwatch import Stopwatch
from .health import check_weights
from .joining import joined
from .rank_timing import RankTiming
from .signals import Requests

if TYPE_CHECKING:
    from ..config import TrainConfig

PAUSE = "pause"  # between iterations: rank 0 evaluates and saves


def follow(
    place: Place,
    config: TrainConfig | None,
    split: str,
    requests: Requests,
) -> None:
    """Train as one of the ranks after rank 0, until that ends; without a `config` as rank 0 has it.
    Raises OperantErrors.
    """
    keep_freed_memory()
    with joined(place, config, split, lambda: requests.stop) as (common_config, ranks):
        _train(common_config, ranks, requests)


def _train(config: TrainConfig, ranks: ProcessGroup, requests: Requests) -> None:
    """The same iterations as `loop.train`; a state is asked for where rank 0 saves it."""
    with closing(make_experiment(config, ranks)) as experiment:
        checkpoint = broadcast_state(ranks, None)
        if checkpoint:
            with restoring(checkpoint["state"], experiment.state_dict):
                experiment.load_state_dict(checkpoint["state"], checkpoint["iteration"])
        stopwatch = Stopwatch(phases=("collect", "learn", PAUSE), pauses=(PAUSE,))
        timing = RankTiming(experiment, stopwatch)
        while not experiment.is_complete:
            with stopwatch.phase(PAUSE):
                next_is = experiment.agreed(requests.stop, False)
            if next_is.stop:
                break
            for values in experiment.iterate(stopwatch, wait=True):
                check_weights(experiment, values)
                if ranks.watch:
                    ranks.watch.timing = timing.of_iteration()
            if next_is.checkpoint:
                experiment.state_dict()
        if experiment.agreed(False, False).checkpoint:
            experiment.state_dict()
