"""Checks for code of your own."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from typing import Any

import torch

from .api.own_names import algorithm_name
from .api.training import overrides_of
from .shared.errors import UsageError, check_argument
from .trainer.config.from_values import make_config
from .trainer.config.metrics import metrics_of
from .trainer.config.own_algorithms import section_of
from .trainer.config.train_config import TrainConfig
from .trainer.envs.hosts import describe
from .trainer.experiment.build import build
from .trainer.experiment.experiment import Experiment
from .trainer.experiment.plan import plan, this_machine
from .trainer.machine.stopwatch import Stopwatch
from .trainer.machine.threads import threads_kept

NUM_ITERATIONS = 6
SIZES = {"num_envs": 8, "rollout_steps": 16, "num_threads": 1, "evaluation.num_episodes": 2}
# Updates begin in the third iteration.
OF_REPLAY = {
    "replay.capacity": 4_096, "batch_size": 32, "warmup_env_steps": 256,
    "updates_per_env_step": 0.125,
}  # fmt: skip
OF_ROLLOUTS = {"num_minibatches": 4}


def check_algorithm(
    algorithm: Callable[..., Any] | str, env: str = "", settings: Mapping[str, Any] | None = None
) -> None:
    """Train an algorithm for a few iterations and check what operant relies on.

    It learns: weights change, and weights and metrics stay finite; its section lists each metric.
    It repeats: the same seed gives the same weights. It goes on: a run that continues from a
    checkpoint ends with the same weights as one that was not interrupted. It acts: greedy actions
    of the trained policy can be evaluated.

    `algorithm` is a class, or its name in a configuration. `env` is one of operant's environments;
    default: CartPole, or Pendulum for algorithms with continuous actions. `settings` are keys that
    replace the small sizes of the check, such as `{"dqn.batch_size": 64}`, or tables of keys.

    Raises UsageError, a line that says what does not hold; what the algorithm raises is raised as
    it is.
    """
    name = algorithm if isinstance(algorithm, str) else algorithm_name(algorithm)
    config = _config(name, env, {} if settings is None else settings)
    with threads_kept(), ExitStack() as experiments:

        def make() -> Experiment:
            return experiments.enter_context(
                closing(build(plan(config, describe(config), this_machine())))
            )

        _check(name, config, make)


def _check(name: str, config: TrainConfig, make: Callable[[], Experiment]) -> None:
    """Check the algorithm `name` in experiments that `make` returns."""
    once, again, whole = (make() for _ in range(3))
    if not once.collector.resumes_exactly:
        raise UsageError(
            f"env = {config.env}: the check continues a run, and environments of other libraries "
            "do not save their state; name one of operant's, as cart_pole or pendulum"
        )
    first = once.policy.flat_parameters.clone()
    known = {metric.name for metric in metrics_of(config)}
    for number in range(1, NUM_ITERATIONS + 1):
        for metric, value in _iterate(once, 1).items():
            if metric not in known:
                raise UsageError(
                    f"{name}: '{metric}' is not declared: its section_class needs metrics = "
                    f"(*{type(config.algorithm_section).__name__}.metrics, Metric('{metric}'))"
                )
            if not math.isfinite(value) and metric.startswith(("loss/", "optimizer/")):
                raise UsageError(f"{name}: {metric} is {value} in iteration {number}")
    trained = _numbers(once.state_dict())
    for part, numbers in trained.items():
        if not numbers.isfinite().all():
            raise UsageError(f"{name}: {part} has NaN or infinity")
    if torch.equal(first, once.policy.flat_parameters):
        raise UsageError(f"{name}: no weight of the policy changed in {NUM_ITERATIONS} iterations")
    _iterate(again, NUM_ITERATIONS)
    if different := _difference(trained, _numbers(again.state_dict())):
        raise UsageError(f"{name}: two runs with the same seed differ in {different}")
    _iterate(whole, NUM_ITERATIONS // 2)
    resumed = make()
    resumed.load_state_dict(_saved_state(name, whole), whole.iteration)
    _iterate(resumed, NUM_ITERATIONS - NUM_ITERATIONS // 2)
    if different := _difference(trained, _numbers(resumed.state_dict())):
        raise UsageError(
            f"{name}: a run that goes on from a checkpoint differs in {different}: state_dict and "
            "load_state_dict must hold all that updates change"
        )
    resumed.evaluate(2)


def _config(name: str, env: str, settings: Mapping[str, Any]) -> TrainConfig:
    check_argument("settings", settings, Mapping, "a dict of keys and values")
    section = section_of(name)
    kinds = section.action_kinds if section else ()
    env = env or ("cart_pole" if "Discrete" in kinds else "pendulum")
    asked = make_config({"env": env, "algorithm": name})
    table = asked.base_algorithm
    own = OF_REPLAY if asked.learns_from_replay else OF_ROLLOUTS
    sizes = {key if "." in key else f"{table}.{key}": value for key, value in own.items()}
    total = {"total_env_steps": 8 * 16 * NUM_ITERATIONS}
    given = overrides_of({**SIZES, **total, **sizes, **settings})
    return make_config({"env": env, "algorithm": name}, given)


def _iterate(run: Experiment, num_iterations: int) -> dict[str, float]:
    """The metrics of the last of so many iterations."""
    found: dict[str, float] = {}
    for _ in range(num_iterations):
        for values in run.iterate(Stopwatch(), wait=True):
            found = values
    return found


def _saved_state(name: str, run: Experiment) -> Any:
    """The state of `run` as a checkpoint gives it back. Raises UsageError."""
    file = io.BytesIO()
    torch.save(run.state_dict(), file)
    file.seek(0)
    try:
        return torch.load(file, weights_only=True)
    except Exception as error:
        said = str(error).partition("\n")[0][:200]
        raise UsageError(
            f"{name}: state_dict may hold tensors and plain values only: {said}"
        ) from None


def _numbers(state: Any, path: str = "") -> dict[str, torch.Tensor]:
    """All numbers of a state, by path."""
    if isinstance(state, torch.Tensor):
        return {path: state.detach().cpu().double()}
    if isinstance(state, Mapping):
        items: Any = state.items()
    elif isinstance(state, list | tuple):
        items = enumerate(state)
    elif isinstance(state, int | float):
        return {path: torch.tensor(float(state), dtype=torch.float64)}
    else:
        return {}
    found: dict[str, torch.Tensor] = {}
    for key, value in items:
        found |= _numbers(value, f"{path}/{key}" if path else str(key))
    return found


def _difference(one: Mapping[str, torch.Tensor], other: Mapping[str, torch.Tensor]) -> str:
    """The first part that two states do not have alike; empty if there is none."""
    for part in sorted(one.keys() | other.keys()):
        if part not in one or part not in other or not torch.equal(one[part], other[part]):
            return part
    return ""
