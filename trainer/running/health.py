"""Watches whether a run learns: skipped updates, endless episodes, weights that are not finite."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ...shared.errors import OperantError
from ..algorithms.optimizer import origin_in_rollout
from ..experiment.experiment import Experiment
from ..experiment.intervals import Due
from .step import Step
from .telemetry import NUM_UPDATES, Telemetry

NUM_SKIPPED = "updates/skipped"
NUM_EPISODES = "episode/count"
# Env steps of each environment without an end of an episode: nearly all episodes are shorter.
ENDLESS, ENDLESS_AT_END = 5_000, 1_000  # a run may have fewer


class NothingLearnedError(OperantError):
    """No update moved anything at the end of a run."""


class Health(Step):
    """Passes on the notices of an experiment, warns where little is learned, and ends a run whose
    weights are not finite.
    """

    def __init__(self, experiment: Experiment, telemetry: Telemetry) -> None:
        self._experiment, self._telemetry = experiment, telemetry
        algorithm, num_rows = experiment.algorithm, experiment.config.num_rows
        num_skipped = int(algorithm.finite_updates.num_skipped)
        self._skipped = SkippedUpdates(
            algorithm.updates_per_iteration, int(algorithm.num_updates), num_skipped
        )
        self._endless = EndlessEpisodes(num_rows, experiment.env_steps)
        self._notify()

    def after(self, row: dict[str, float], due: Due) -> None:
        experiment = self._experiment
        self._warn(self._skipped.warning(row, experiment.iteration))
        self._warn(self._endless.warning(row, experiment.env_steps))
        check_weights(experiment, row)
        self._notify()

    def end(self) -> None:
        self._warn(self._skipped.last_warning())
        self._warn(self._endless.warning({}, self._experiment.env_steps, ENDLESS_AT_END))

    def check_end(self) -> None:
        """Raises NothingLearnedError if the last updates of a complete run moved nothing."""
        if self._experiment.is_complete:
            self._skipped.check_end()

    def _warn(self, text: str) -> None:
        if text:
            self._telemetry.event("warning", text)

    def _notify(self) -> None:
        for notice in self._experiment.take_notices():
            self._telemetry.event("info", notice)


class SkippedUpdates:
    """Counts the updates of each iteration, and those of them that were skipped."""

    def __init__(
        self, updates_per_iteration: int, num_updates: float = 0, num_skipped: float = 0
    ) -> None:
        """`updates_per_iteration` is for algorithms that publish no number of updates; the other
        two are the metrics' values before the first iteration.
        """
        self._per_iteration = updates_per_iteration
        self._before = num_updates, num_skipped
        self.num_updates = self.num_skipped = self.num_iterations = 0
        self._moved_in = 0  # of those iterations, the last with an update that was not skipped
        self._made_since = 0
        self._has_warned = False

    def warning(self, values: Mapping[str, float], iteration: int) -> str:
        """The warning after `iteration`, whose metrics are `values`; empty except for the first
        iteration whose updates were all skipped.
        """
        if NUM_SKIPPED not in values:
            return ""
        num_updates, num_skipped = self._before
        now = values.get(NUM_UPDATES, num_updates + self._per_iteration), values[NUM_SKIPPED]
        made, skipped = int(now[0] - num_updates), int(now[1] - num_skipped)
        self._before = now
        self.num_updates += made
        self.num_skipped += skipped
        self.num_iterations += 1
        self._made_since += made
        if skipped < made:
            self._moved_in, self._made_since = self.num_iterations, 0
        if self._has_warned or not 0 < made <= skipped:
            return ""
        self._has_warned = True
        return f"iteration {iteration} learned nothing: {made} of its {made} updates were skipped"

    def last_warning(self) -> str:
        """The warning at the end of training; empty unless most updates were skipped."""
        if 2 * self.num_skipped <= self.num_updates:
            return ""
        return (
            f"{self.num_skipped} of the {self.num_updates} updates of these {self.num_iterations} "
            "iterations were skipped, so little was learned: look for NaN and infinity in "
            "observations and rewards"
        )

    def check_end(self) -> None:
        """Raises NothingLearnedError where the last tenth of the iterations made updates and
        skipped all of them.
        """
        num_still = self.num_iterations - self._moved_in
        if self._made_since and 10 * num_still >= self.num_iterations:
            raise NothingLearnedError(
                f"nothing was learned in the last {num_still} of {self.num_iterations} iterations: "
                f"all {self._made_since} updates were skipped; look for NaN, infinity and very "
                "large numbers in observations and rewards"
            )


class EndlessEpisodes:
    """Looks for the first episode that ends in this process."""

    def __init__(self, num_rows: int = 1, env_steps: int = 0) -> None:
        """`num_rows` episodes are played at a time; `env_steps` were before."""
        self._num_rows, self._before = num_rows, env_steps
        self._is_over = False  # an episode has ended, or the warning was given

    def warning(self, values: Mapping[str, float], env_steps: int, many: int = ENDLESS) -> str:
        """The warning after an iteration with these metrics; empty except once."""
        self._is_over |= values.get(NUM_EPISODES, 0.0) > 0
        num_steps = env_steps - self._before
        if self._is_over or num_steps < many * self._num_rows:
            return ""
        self._is_over = True
        return (
            f"no episode has ended after {num_steps:,} env steps: there are no returns until one "
            "does; if none ever does, set a time limit, as preprocessing.time_limit"
        )


class DivergedError(OperantError):
    """Weights of a run are NaN or infinite; the text says where that comes from."""


def check_weights(experiment: Experiment, values: Mapping[str, float]) -> None:
    """Look at all that updates move, and at the policy's statistics, where an iteration's `values`
    have a loss that is not finite, as an update that was skipped has too. Raises DivergedError.
    """
    losses = {name: value for name, value in values.items() if name.startswith("loss/")}
    if all(map(math.isfinite, losses.values())):
        return
    policy = experiment.policy
    if not policy.flat_parameters.isfinite().all():
        what = "the policy's weights are"
    elif not all(x.isfinite().all() for x in experiment.algorithm.weights):
        what = "weights of critics, targets or alpha are"
    elif not all(x.isfinite().all() for x in policy.state_dict().values()):
        what = "the policy's statistics of observations are"
    else:
        return
    origin = origin_in_rollout(experiment.collector.rollout) or (
        "all observations and rewards are finite, so the updates themselves went too far; "
        "a smaller learning rate may help"
    )
    raise DivergedError(
        f"{what} no longer numbers since iteration {experiment.iteration}: {origin}"
    )
