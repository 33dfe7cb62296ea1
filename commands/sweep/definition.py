"""The definition of a sweep, checked before anything starts and kept in its folder."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...shared.errors import RunFolderError, UsageError, nearest
from ...shared.install_command import install_command
from ...shared.runs.sweep_folder import Sweep
from ...shared.runs.sweep_table import SweepObjective
from .parameters import Parameter, Value, check_parameters

if TYPE_CHECKING:
    from ...trainer.config import TrainConfig
    from ...trainer.config.files import Source

SECONDS = "seconds"  # an objective that no run publishes
EVALUATION = "evaluation/return"
NUM_MARKS = 20  # points of a run at which trials are compared
MAX_DEFINITION_BYTES = 1 << 20


def check_optuna() -> None:
    """Raises UsageError if Optuna is not installed."""
    if importlib.util.find_spec("optuna") is None:
        raise UsageError(f"`operant sweep` needs Optuna: {install_command('sweep')}")


@dataclass(frozen=True)
class Definition:
    """A sweep: where all trials begin, what differs, how they are compared and how many there are.

    `mark_env_steps` is how far apart the points are at which trials are compared. `storage` is a
    URL or folder that machines share, `machine` what this one is called among them.
    """

    source: str
    overrides: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    objectives: tuple[SweepObjective, ...]
    num_trials: int
    parallel: int
    num_seeds: int
    first_seed: int
    mark_env_steps: int
    may_prune: bool
    prune_after: int
    storage: str = ""
    machine: str = ""

    @property
    def is_pruned(self) -> bool:
        """Whether trials are compared on their way: one objective has values then."""
        is_alone = len(self.objectives) == 1
        return self.may_prune and is_alone and self.objectives[0].metric != SECONDS

    @property
    def seeds(self) -> range:
        return range(self.first_seed, self.first_seed + self.num_seeds)

    def as_searched(self) -> str:
        """All that is the same on machines that share a sweep."""
        source = Path(self.source).name  # a copy of a file lies in each machine's own folder
        return repr(replace(self, source=source, num_trials=0, parallel=0, storage="", machine=""))

    def overrides_of(self, values: dict[str, Value]) -> tuple[str, ...]:
        """The `--set` overrides of a trial with these `values`."""
        sampled = (p.override(values[p.key]) for p in self.parameters if p.key in values)
        return (*self.overrides, *sampled)


def loader_of(source: str, overrides: Sequence[str]) -> Callable[[Sequence[str]], TrainConfig]:
    from ...trainer.experiment.plan import load_runnable

    return lambda changes: load_runnable(source, (*overrides, *changes))


def checked_definition(
    source: str,
    overrides: tuple[str, ...],
    parameters: tuple[Parameter, ...],
    objectives: Sequence[str],
    may_prune: bool,
    **numbers: Any,
) -> Definition:
    """A definition that holds at every end of every range. Raises UsageError, and ConfigError."""
    from ..helpers.machine import check_machine

    load = loader_of(source, overrides)
    config = load(())
    check_machine(config)
    configs = [config, *check_parameters(load, parameters)]
    wanted = objectives_of(objectives, config)
    for one in configs:
        check_objectives(wanted, one)
    return Definition(
        source, overrides, parameters, wanted, **numbers,
        first_seed=config.seed,
        mark_env_steps=max(1, config.total_env_steps // NUM_MARKS),
        may_prune=may_prune,
    )  # fmt: skip


def objectives_of(wanted: Iterable[str], config: TrainConfig) -> tuple[SweepObjective, ...]:
    """Without a word, the return of evaluations, or of episodes where there are none. A metric is
    maximised unless it is said to be better where it is lower, or as `min:METRIC`.
    """
    from ...trainer.config.metrics import metrics_of

    lower = {metric.name for metric in metrics_of(config) if metric.better == "down"} | {SECONDS}
    objectives: list[SweepObjective] = []
    for text in wanted:
        way, colon, metric = text.partition(":")
        if not colon or way not in ("max", "min"):
            way, metric = "", text
        if any(metric == objective.metric for objective in objectives):
            raise UsageError(f"--objective {metric} is given twice")
        is_maximized = way == "max" if way else metric not in lower
        objectives.append(SweepObjective(metric, is_maximized))
    default = EVALUATION if config.evaluation.num_episodes else "episode/return"
    return tuple(objectives) or (SweepObjective(default, True),)


def check_objectives(objectives: Iterable[SweepObjective], config: TrainConfig) -> None:
    """Raises UsageError where runs have no such metric."""
    from ...trainer.config.metrics import metrics_of

    names = [*(metric.name for metric in metrics_of(config)), SECONDS]
    for objective in objectives:
        metric = objective.metric
        if metric not in names:
            hint = nearest(metric, names) or f"; there are {', '.join(names)}"
            raise UsageError(
                f"{objective.option}: {config.algorithm} does not publish this metric{hint}"
            )
        if metric.startswith("evaluation/") and not config.evaluation.num_episodes:
            raise UsageError(
                f"{objective.option}: there are no evaluations, since evaluation.num_episodes = 0"
            )


def pruning_note(definition: Definition, config: TrainConfig) -> str:
    """Why no trial is ended early though that was not forbidden; empty where some may be."""
    if not definition.may_prune:
        return ""
    if len(definition.objectives) > 1:
        return "several objectives: no trial is pruned"
    metric = definition.objectives[0].metric
    if metric == SECONDS:
        return "seconds are known at the end of a run alone: no trial is pruned"
    every = config.evaluation
    if metric.startswith("evaluation/") and not (
        every.every_iterations or every.every_env_steps or every.every_s
    ):
        return (
            f"{metric} is known at the end of a run alone, so no trial is pruned; "
            f"--set evaluation.every_env_steps={definition.mark_env_steps} has it on the way"
        )
    return ""


def write_definition(
    sweep: Sweep, definition: Definition, kept: Mapping[str, Any] | None = None
) -> Definition:
    """Into the sweep's folder, with a copy of a configuration that is a file; returns what a trial
    begins from there, whatever becomes of that file. What is `kept` stays there. Raises
    RunFolderError.
    """
    import tomli_w

    from ...shared.runs.small_file import write_whole
    from ...shared.text.harmless import harmless_toml
    from ...shared.text.plain_values import plain
    from ...trainer.config.files import read_source
    from ...trainer.config.stored_code import code_owner

    source = read_source(definition.source)
    try:
        if source.files:
            write_whole(sweep.config_path, _whole(source).encode())
            definition = replace(definition, source=str(sweep.config_path))
        fields = plain(asdict(definition))
        for parameter in fields["parameters"]:
            if parameter["choices"]:
                del parameter["low"], parameter["high"]
        former = read_table(sweep) if sweep.definition_path.exists() else {}
        owner = code_owner(sweep.folder, _stored_values(definition))
        table = {**former, "sweep": sweep.name, **plain(kept or {}), **owner, **fields}
        text = harmless_toml(tomli_w.dumps(table))
        write_whole(sweep.definition_path, text.encode())
    except OSError as error:
        raise RunFolderError(f"cannot write to {sweep.folder}: {error.strerror}") from None
    return definition


def _whole(source: Source) -> str:
    """A file without the files that it extends, as TOML: their keys are in it."""
    import tomli_w

    from ...trainer.config.from_values import changed

    *extended, path = source.files
    if not extended:
        return Path(path).read_text(encoding="utf-8")
    values: dict[str, Any] = {"extends": source.preset} if source.preset else {}
    for keys in source.files.values():
        values = changed(values, keys)
    return tomli_w.dumps(values)


def read_definition(sweep: Sweep) -> Definition:
    """The definition in the sweep's folder. Raises RunFolderError if it cannot be read, and
    UsageErrors if it names code that is not the user's own, see `stored_code`.
    """
    from pydantic import TypeAdapter

    from ...shared.text.harmless import one_line
    from ...trainer.config.files import is_env_name, preset_names
    from ...trainer.config.stored_code import check_stored_code
    from ...trainer.envs.spaces import full_name

    path = sweep.definition_path
    try:
        table = read_table(sweep)
        definition = TypeAdapter(Definition).validate_python(table)
        source = full_name(definition.source)
        is_known = is_env_name(source) or source in (*preset_names(), str(sweep.config_path))
        if not is_known:
            raise ValueError(f"source is no environment, no preset and not {sweep.config_path}")
        for values in _stored_values(definition):
            check_stored_code(values, sweep.folder, [path], lambda: table)
        return definition
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = getattr(error, "strerror", None) or one_line(str(error), 200)
        raise RunFolderError(f"{path} cannot be read: {reason}") from None


def _stored_values(definition: Definition) -> Iterator[dict[str, Any]]:
    """All that may name code in what trials are given: the configuration that they begin with, and
    that with each choice of each parameter.
    """
    from ...trainer.config.files import read_source
    from ...trainer.config.from_values import changed, parsed

    common = read_source(definition.source).values
    yield changed(common, parsed(definition.overrides))
    for parameter in definition.parameters:
        for choice in parameter.choices:
            given = (*definition.overrides, parameter.override(choice))
            yield changed(common, parsed(given))


def read_table(sweep: Sweep) -> dict[str, Any]:
    from ...shared.runs.small_file import read_toml

    return read_toml(sweep.definition_path, MAX_DEFINITION_BYTES, sweep.folder)
