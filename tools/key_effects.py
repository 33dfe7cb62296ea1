"""Looks for configuration keys that a run accepts and ignores.

For every algorithm, and again with each of its switches turned off or to another word, every key is
given other values. A key whose accepted values all leave three iterations the same, bit by bit in
weights and metrics, has no effect there: it should be refused.

    python tools/key_effects.py [ALGORITHM ...] [--depth 0|1]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

from learning import iterate
from random_configs import Key, bounds, is_number, keys_of

from operant.shared.errors import ConfigError
from operant.trainer.config.from_values import make_config, model_for
from operant.trainer.config.train_config import TrainConfig, algorithm_sections
from operant.trainer.envs.hosts import describe, load_spec
from operant.trainer.experiment.build import processor_experiment
from operant.trainer.experiment.plan import plan
from operant.trainer.experiment.traits import ANY_MACHINE
from operant.trainer.machine.threads import Threads

NUM_ITERATIONS = 4
# Keys of what is written, shown and watched, of several machines, and of a GPU: training is the
# same with any value.
ELSEWHERE = (
    "env", "algorithm", "num_envs", "rollout_steps", "total_env_steps", "device", "num_threads",
    "rollout", "overlap", "compile", "evaluation.", "checkpoint.", "stop.",
    "recorder.", "gradients.", "weights.", "trace.", "episodes.",
)  # fmt: skip
# What a short run on the processor cannot show: `capacity` waits for a full replay, `memory` for a
# GPU, `max_minibatch_size` is the same sum in pieces; teachers are files.
UNSEEN = ("replay.capacity", "replay.memory", "ppo.max_minibatch_size", "kickstart.")

Values = dict[str, Any]


def small(algorithm: str) -> Values:
    """A run of four quick iterations, in which every part of the algorithm has something to do."""
    section = algorithm_sections()[algorithm]
    discrete = section().can_act(load_spec("cart_pole").actions)
    values: Values = {
        "algorithm": algorithm, "env": "cart_pole" if discrete else "pendulum", "num_envs": 8,
        "rollout_steps": 16, "total_env_steps": 128 * NUM_ITERATIONS, "num_threads": 1,
        "policy.hidden_sizes": [8, 8],
    }  # fmt: skip
    own = {
        "learning_rate": 0.03, "clip_coef": 0.01, "num_minibatches": 2, "num_epochs": 3,
        "batch_size": 16, "warmup_env_steps": 128, "updates_per_env_step": 0.0625,
        "num_quantiles": 4, "num_atoms": 5, "target_every": 2,
    }  # fmt: skip
    return values | {
        f"{algorithm}.{key}": value for key, value in own.items() if key in section.model_fields
    }


def switches(keys: list[Key], values: Values) -> Iterator[Values]:
    """The same run with one key off, or at another of its words."""
    for key in keys:
        for other in off_values(key):
            yield values | {key.name: other}
    names = {key.name for key in keys}
    yield values | {"policy.hidden_sizes": [8]}
    yield values | {"policy.hidden_sizes": []}
    if epsilons := [key.name for key in keys if key.word in ("epsilon_start", "epsilon_end")]:
        yield values | dict.fromkeys(epsilons, 0.0)
    if "contrastive.coef" in names:
        for kind in ("lstm", "gru"):
            remembers = values | {"policy.memory.kind": kind}
            yield remembers
            yield remembers | {"contrastive.coef": 0.5}
        yield values | {"ppo.entropy_coef": 0.1}
        yield values | {"ppo.target_kl": 1e-6}
    if "replay.priority_exponent" in names:
        yield values | {"replay.priority_exponent": 0.6}


def off_values(key: Key) -> Iterator[Any]:
    annotation = key.field.annotation
    if key.word == "gamma":  # with 0, all about later rewards is moot
        return
    if get_origin(annotation) is Literal:
        yield from (word for word in get_args(annotation) if word != key.field.default)
    elif annotation is bool:
        yield not key.field.default
    elif is_number(key.field):
        low, _ = bounds(key.field)
        if low in (0, 1) and key.field.default not in (low, None):
            yield int(low) if annotation is int else float(low)


def other_values(key: Key, present: Any) -> Iterator[Any]:
    """Legal values that differ from the present one, those most likely to show an effect first."""
    annotation = key.field.annotation
    if get_origin(annotation) is Literal:
        yield from (word for word in get_args(annotation) if word != present)
    elif annotation is bool:
        yield not present
    elif key.name == "policy.hidden_sizes":
        yield [4]
    elif is_number(key.field):
        low, high = bounds(key.field)
        low, high = max(low, -5.0), min(high, 1024.0 if annotation is int else 1e9)
        now = present if isinstance(present, int | float) else 1.0
        for value in (2 * now, now / 2, 1e-6, 1e-3, low, high, now + 1, now - 1, 0.3, -1.0):
            value = int(value) if annotation is int else float(value)
            if low <= value <= high and value != present:
                yield value


def outcome(config: TrainConfig) -> bytes:
    """Weights and metrics of all iterations, as bits."""
    found: list[Any] = []
    with closing(processor_experiment(config, Threads(1))) as experiment:
        for _ in range(NUM_ITERATIONS):
            metrics = iterate(experiment)
            found.append(sorted(metrics.items()))
        found += [(name, x.numpy().tobytes()) for name, x in experiment.policy.state_dict().items()]
        learner = experiment.algorithm.state_dict()
        found += [
            (name, x.tobytes() if hasattr(x, "tobytes") else 0) for name, x in learner.items()
        ]
    return repr(found).encode()


class Effects:
    """Which keys change a run; a configuration is trained once."""

    def __init__(self) -> None:
        self._known: dict[str, bytes] = {}

    def of(self, config: TrainConfig) -> bytes:
        text = config.model_dump_json()
        if text not in self._known:
            self._known[text] = outcome(config)
        return self._known[text]

    def dead_keys(self, values: Values, keys: list[Key]) -> Iterator[str]:
        """Keys that take another value in a run, none of which changes anything."""
        base = _config(values)
        if base is None:
            return
        present = {key.name: _value_of(base, key.name) for key in keys}
        for key in keys:
            tried = []
            for value in other_values(key, present[key.name]):
                config = _config(values | {key.name: value})
                if config is None:
                    continue
                tried.append(value)
                if self.of(config) != self.of(base):
                    break
            else:
                if tried:
                    yield f"{key.name} = {', '.join(map(str, tried))}"


def _config(values: Values) -> TrainConfig | None:
    tables: Values = {}
    for key, value in values.items():
        *path, name = key.split(".")
        table = tables
        for part in path:
            table = table.setdefault(part, {})
        table[name] = value
    try:
        config = make_config(tables)
        plan(config, describe(config), ANY_MACHINE)
    except ConfigError:
        return None
    return config


def _value_of(config: Any, name: str) -> Any:
    for part in name.split("."):
        config = getattr(config, part)
    return config


def tried_keys(algorithm: str) -> list[Key]:
    values = small(algorithm)
    keys = keys_of(model_for({"algorithm": algorithm, "env": values["env"]}))
    return [
        key for key in keys
        if not key.name.startswith(ELSEWHERE)
        and not any(key.name.startswith(name) or key.word == name for name in UNSEEN)
    ]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("algorithms", nargs="*", default=list(algorithm_sections()))
    parser.add_argument("--depth", type=int, default=1, choices=(0, 1))
    arguments = parser.parse_args()
    num_dead = 0
    for algorithm in arguments.algorithms or list(algorithm_sections()):
        keys, values = tried_keys(algorithm), small(algorithm)
        bases = [values, *(switches(keys, values) if arguments.depth else ())]
        usual: set[str] = set()
        for base in bases:
            effects = Effects()
            changed = {k: v for k, v in base.items() if values.get(k, None) != v}
            for dead in effects.dead_keys(base, keys):
                if base is values:
                    usual.add(dead.partition(" ")[0])
                elif dead.partition(" ")[0] in usual:
                    continue
                num_dead += 1
                print(f"{algorithm} {changed or ''}: {dead} changes nothing", flush=True)
        print(f"{algorithm}: {len(bases)} runs", flush=True)
    return 1 if num_dead else 0


if __name__ == "__main__":
    sys.exit(main())
