"""Optuna's side of a sweep: its study in a journal or a database, which value ranges over what, and
which parameters matter.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances
from optuna.pruners import BasePruner, MedianPruner, NopPruner
from optuna.samplers import TPESampler
from optuna.storages import BaseStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, Trial, TrialState

from ...shared.errors import RunFolderError, UsageError
from ...shared.runs.sweep_folder import Sweep
from ...shared.text.harmless import one_line
from .definition import Definition
from .parameters import Parameter, Value

STUDY, SEARCHED = "sweep", "searched"  # its name, and an attribute of a study that machines share
DRIVERS = {"psycopg": "'psycopg[binary]'", "MySQLdb": "mysqlclient"}  # packages of modules
MIN_FINISHED = 5  # trials before anything is said about what matters
WARM_UP_MARKS = 1  # in which no trial is pruned
LOCK_GRACE_S = 30  # after which a journal is taken from a process that was killed while it wrote


def _storage(sweep: Sweep, shared: str) -> BaseStorage | str:
    """The sweep's journal, or the storage that `--storage` names."""
    if "://" in shared:
        return shared
    path = Path(shared) / f"{sweep.name}.log" if shared else sweep.journal_path
    lock = JournalFileOpenLock(str(path), LOCK_GRACE_S)
    if path.exists():
        lock.acquire()
        try:
            _drop_half_line(path)
        finally:
            lock.release()
    return JournalStorage(JournalFileBackend(str(path), lock_obj=lock))


def _drop_half_line(journal: Path) -> None:
    """Cut off a last line without an end, such as a full disk leaves: Optuna cannot read a journal
    with another line behind it.
    """
    written = journal.read_bytes()
    end = written.rfind(b"\n") + 1
    if end < len(written):
        os.truncate(journal, end)


def open_study(sweep: Sweep, definition: Definition) -> optuna.Study:
    """The study of a sweep, created if it does not exist. Raises RunFolderError, and UsageErrors
    where its storage has another search under this name.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    shared = definition.storage
    directions = [
        StudyDirection.MAXIMIZE if objective.is_maximized else StudyDirection.MINIMIZE
        for objective in definition.objectives
    ]
    try:
        study = optuna.create_study(
            storage=_storage(sweep, shared),
            study_name=sweep.name if shared else STUDY,
            directions=directions,
            pruner=_pruner(definition),
            load_if_exists=True,
        )
    except ImportError as error:
        module = getattr(error.__cause__, "name", None) or str(error)
        package = DRIVERS.get(module, module)
        raise UsageError(f"--storage {shared.partition(':')[0]}: pip install {package}") from None
    # Optuna looks into the lines of a damaged journal with whatever errors these lead to.
    except Exception as error:
        says_why = shared or isinstance(error, OSError | ValueError)
        what = str(error) if says_why else type(error).__name__
        path = "its storage" if shared else sweep.journal_path
        raise RunFolderError(f"{path} cannot be used: {one_line(what, 200)}") from None
    if shared:
        searched = definition.as_searched()
        if study.user_attrs.get(SEARCHED, searched) != searched:
            raise UsageError(f"--name {sweep.name}: the storage has another search of this name")
        study.set_user_attr(SEARCHED, searched)
    # Another seed each time, or a sweep that goes on would draw again what it began with.
    seed = None if shared else definition.first_seed + len(study.get_trials(deepcopy=False))
    study.sampler = TPESampler(seed=seed, constant_liar=True)
    return study


def ask(study: optuna.Study, parameters: tuple[Parameter, ...]) -> Trial:
    """A trial with values for all parameters; those that somebody wants tried come first."""
    return study.ask({parameter.key: distribution_of(parameter) for parameter in parameters})


def asked_before(
    study: optuna.Study, trial: FrozenTrial, parameters: tuple[Parameter, ...]
) -> Trial:
    """A trial that another process began, with values for what it had not yet drawn."""
    again = Trial(study, trial._trial_id)
    for parameter in parameters:
        again._suggest(parameter.key, distribution_of(parameter))  # as `Study.ask` does
    return again


def distribution_of(parameter: Parameter) -> BaseDistribution:
    if parameter.choices:
        return CategoricalDistribution(parameter.choices)
    if parameter.is_whole:
        return IntDistribution(int(parameter.low), int(parameter.high), log=parameter.is_log)
    return FloatDistribution(parameter.low, parameter.high, log=parameter.is_log)


def importances(study: optuna.Study, definition: Definition) -> dict[str, dict[str, float]]:
    """The share of each objective that every parameter explains, by PED-ANOVA (Watanabe et al.
    2023, arXiv:2304.10255): how far the values of the best tenth differ from all that were tried.
    Empty while few trials have finished.
    """
    finished = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    if len(finished) < MIN_FINISHED:
        return {}
    found = {}
    for place, objective in enumerate(definition.objectives):
        sign = -1.0 if objective.is_maximized else 1.0  # there, less is better

        def target(trial: FrozenTrial, place: int = place, sign: float = sign) -> float:
            return sign * float(trial.values[place])

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                shares = get_param_importances(
                    study, evaluator=PedAnovaImportanceEvaluator(), target=target
                )
            except (ValueError, RuntimeError, ZeroDivisionError):
                continue  # a figure less in the table, and no reason to end a sweep
        found[objective.metric] = {key: float(share) for key, share in shares.items()}
    return found


def enqueue(study: optuna.Study, values: Mapping[str, Value]) -> None:
    study.enqueue_trial(dict(values))


def _pruner(definition: Definition) -> BasePruner:
    if not definition.is_pruned:
        return NopPruner()
    return MedianPruner(
        n_startup_trials=definition.prune_after,
        n_warmup_steps=WARM_UP_MARKS * definition.mark_env_steps + 1,
    )
