"""Sweeps in the shape of wandb's, run in this process: each run with settings of its own."""

from __future__ import annotations

import itertools
import math
import random
import secrets
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..plain_values import text_of
from .accepted import say_accepted, say_once
from .process_end import ending_of

_sweeps: dict[str, dict[str, Any]] = {}
# What `init` adds to the configuration of the run that it begins, and the sweep's id.
current: tuple[str, dict[str, Any]] | None = None


def sweep(sweep: Any = None, *_: Any, **__: Any) -> str:
    """Take a sweep's configuration; `agent` runs it by the id that this returns."""
    config = sweep() if callable(sweep) else sweep
    sweep_id = secrets.token_hex(4)
    _sweeps[sweep_id] = dict(config) if isinstance(config, Mapping) else {}
    return sweep_id


def agent(
    sweep_id: str, function: Callable[[], Any] | None = None, *_: Any,
    count: int | None = None, **__: Any,
) -> None:  # fmt: skip
    """Call `function` once for each setting, `count` times at most. A grid ends by itself; random
    settings go on for ever without a count, as there; `bayes` draws at random. A run that fails is
    told of, and the next one begins.
    """
    global current
    config = _sweeps.get(text_of(sweep_id).rpartition("/")[2])
    if config is None or function is None:
        say_accepted("agent() of a sweep that was not begun here, or without a function")
        return
    for setting in itertools.islice(settings(config), count):
        current = (text_of(sweep_id), setting)
        error: BaseException | None = None
        try:
            function()
        except Exception as raised:
            error = raised
            traceback.print_exc(file=sys.stderr)
        finally:
            current = None
        from .wandb_shape import open_run

        if run := open_run():
            run.end(ending_of(error))


def settings(config: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The settings of a sweep, each as a run's configuration."""
    parameters = config.get("parameters", {})
    method = config.get("method", "random")
    if method == "grid":
        yield from _grid(parameters)
        return
    if method != "random":
        say_once(f"sweep {method}", f"a sweep by '{method}' draws its settings at random here")
    while True:
        yield {name: _drawn(about) for name, about in parameters.items()}


def _grid(parameters: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    choices = [list(_listed(about)) for about in parameters.values()]
    for values in itertools.product(*choices):
        yield dict(zip(parameters, values, strict=True))


def _listed(about: Mapping[str, Any]) -> Iterator[Any]:
    if "parameters" in about:
        yield from _grid(about["parameters"])
    elif "values" in about:
        yield from about["values"]
    elif "value" in about:
        yield about["value"]
    elif isinstance(about.get("min"), int) and isinstance(about.get("max"), int):
        yield from range(about["min"], about["max"] + 1)
    else:
        yield _drawn(about)


def _drawn(about: Mapping[str, Any]) -> Any:
    """One value at random, by the parameter's distribution."""
    if "parameters" in about:
        return {name: _drawn(inner) for name, inner in about["parameters"].items()}
    if "value" in about:
        return about["value"]
    if "values" in about:
        return random.choices(list(about["values"]), about.get("probabilities"))[0]
    kind = str(about.get("distribution", ""))
    if "normal" in kind:
        value = random.gauss(about.get("mu", 0.0), about.get("sigma", 1.0))
        value = math.exp(value) if "log" in kind else value
    else:
        low, high = about.get("min", 0.0), about.get("max", 1.0)
        whole = isinstance(low, int) and isinstance(high, int)
        if (whole and not kind) or kind == "int_uniform":
            return random.randint(int(low), int(high))
        value = _uniform(kind, low, high)
    return round(value / about.get("q", 1)) * about.get("q", 1) if kind.startswith("q_") else value


def _uniform(kind: str, low: float, high: float) -> float:
    if "log_uniform_values" in kind:
        return math.exp(random.uniform(math.log(low), math.log(high)))
    if "log_uniform" in kind:  # low and high are exponents
        return math.exp(random.uniform(low, high))
    return random.uniform(low, high)
