"""Configurations drawn from the models: keys at legal values, at their bounds and beyond them."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args, get_origin

import annotated_types
from pydantic.fields import FieldInfo

from operant.shared.errors import ConfigError
from operant.trainer.config.files import config_path, preset_names
from operant.trainer.config.from_values import model_for
from operant.trainer.config.toml_file import read_toml
from operant.trainer.config.train_config import algorithm_sections
from operant.trainer.envs.names import (
    CONFIGURED_ENV_NAMES,
    ENV_NAMES,
    MINATAR_ENV_NAMES,
    PARTIAL_ENV_NAMES,
)
from operant.trainer.experiment.plan import load_runnable
from operant.trainer.settings.interval import UNITS
from operant.trainer.settings.section import Section

# Nothing of an iteration takes long with these, unless another value takes the place of one.
SMALL = {
    "num_envs": 4, "rollout_steps": 8, "num_threads": 1, "policy.hidden_sizes": [8],
    "policy.memory.size": 8, "policy.memory.horizon": 0, "evaluation.num_episodes": 2,
    "evaluation.max_episode_steps": 20,
    "num_minibatches": 2, "num_epochs": 2, "batch_size": 16, "warmup_env_steps": 32,
    "replay.capacity": 512, "updates_per_env_step": 0.25, "num_quantiles": 4, "num_atoms": 5,
    "grid.num_agents": 2, "grid.height": 9, "grid.width": 9, "grid.num_walls": 4,
    "grid.num_mines": 2, "grid.num_generators": 2, "grid.num_altars": 2, "grid.num_tokens": 16,
    "grid.embedding_size": 8, "grid.max_steps": 12, "mettagrid.num_agents": 2,
    "mettagrid.height": 9, "mettagrid.width": 9, "mettagrid.num_walls": 4,
    "mettagrid.num_mines": 2, "mettagrid.num_generators": 2, "mettagrid.num_altars": 2,
    "mettagrid.num_tokens": 64, "mettagrid.embedding_size": 8, "mettagrid.max_steps": 12,
    "workers.num_workers": 0, "cloning.num_epochs": 1, "cloning.copies": 1,
    "tinyphysics.rollouts_per_route": 2, "tinyphysics.held_out_routes": 1,
    "tinyphysics.critic_epochs": 1,
}  # fmt: skip
# The most that is drawn of what would take long or much memory, where it is legal.
MOST = {
    "num_envs": 12, "rollout_steps": 24, "num_threads": 3, "num_episodes": 3,
    "max_episode_steps": 60, "size": 16, "horizon": 24, "num_epochs": 3, "num_minibatches": 12,
    "max_minibatch_size": 64, "batch_size": 64, "warmup_env_steps": 128, "capacity": 1024,
    "updates_per_env_step": 2, "n_step": 9, "num_quantiles": 9, "num_atoms": 33, "policy_delay": 4,
    "target_every": 9, "num_robots": 6, "num_agents": 4, "height": 14, "width": 14,
    "num_walls": 9, "num_mines": 4, "num_generators": 4, "num_altars": 4, "max_steps": 40,
    "num_tokens": 40, "embedding_size": 16, "num_maps": 5,
    "copies": 3, "critic_epochs": 2, "rollouts_per_route": 4, "num_routes": 4,
    "held_out_routes": 3, "total_env_steps": 200, "async_factor": 2,
}  # fmt: skip
MOST_DRAWN = 1e15
OFTEN = {"every_iterations": 2, "every_env_steps": 100, "every_s": 0.1}
EPISODE_STEPS = 400  # of tinyphysics, which takes no others

OTHER_ENVS = (
    "gymnasium:CartPole-v1", "gymnasium:Pendulum-v1", "gymnasium:hosted_envs:Count",
    "pettingzoo:parallel_envs", "native:native_envs:make", "native:native_envs:make_restartable",
)  # fmt: skip
CONTINUOUS = (
    "marine_nav", "mountain_car_continuous", "pendulum", "tinyphysics", "gymnasium:Pendulum-v1",
)  # fmt: skip
OF_TOKENS = ("grid", "mettagrid")
# Of any key: no such value holds for all of them, and for many none does.
WRONG = (
    '"text"', '""', "true", "[]", "{}", "[1, 2]", "1.5", "-1", "0", "nan", "inf", "-inf", "1e400",
    "1" + 30 * "0", "-1e300", '"1"', "1979-05-27", "[[]]", "{a = 1}", "1e-320", '"\\u0000"',
    '"a\\nb"', "2", "none", "a=b", "[nan]", "-0.0",
)  # fmt: skip
TEXTS = {
    "recorder.alerts": ("loss/value > 1e3", "[]", "episode/return < 1 after 1M", "loss/vale > 1",
                        '"episode/return falls 20%"', "x", "nan > nan", "loss/policy == 1"),
    "recorder.to": ("[]", "tensorboard", "prometheus", "tensorboard,tensorboard", "excel"),
    "recorder.prometheus_address": ("127.0.0.1", "nowhere.invalid", "::1"),
    "kickstart.teachers": ("[]", "['no-such-run']", "['/dev/null.pt']", "['']"),
    "policy.encoder": ("auto", "mlp", "nature", "minatar", "environment", "nowhere:Net", "own/Net"),
    "grid.map": ('""', "/nowhere/map.txt", "/dev/null", "/"),
    "mettagrid.map": ('""', "/nowhere/map.txt"),
    "mettagrid.config": ('""', "/nowhere/game.json", "nowhere:make", "math:pi"),
    "tinyphysics.model": ("/nowhere/model.onnx", "/dev/null"),
    "tinyphysics.routes": ("/nowhere", "/dev"),
    "marine_nav.curriculum": (
        "[]", "[{until_env_steps = 40, num_robots = 2, min_goal_distance_m = 20}]",
        "[{until_env_steps = 40, num_robots = 2, min_goal_distance_m = 20},"
        " {until_env_steps = 80, num_robots = 3, num_obstacles = 1, min_goal_distance_m = 30}]",
        "[{}]", "[{until_env_steps = 40, num_robots = 99, min_goal_distance_m = 20}]", "[1]",
    ),
    **{f"{name}.alpha": ("auto", "0.2", "1000", "1e-9") for name in ("sac", "tqc", "crossq")},
    "workers.num_workers": ("0", "1", "2", "auto", "64", "3"),
    "workers.async_factor": ("1", "2", "auto"),
}  # fmt: skip


@dataclass(frozen=True)
class Key:
    """One key of a configuration: `ppo.gamma`."""

    name: str
    field: FieldInfo

    @property
    def word(self) -> str:
        return self.name.rpartition(".")[2]


class Case(NamedTuple):
    """Arguments of `operant train`: a file's table, or the name of a preset, and `--set`."""

    number: int
    source: str | dict[str, Any]
    overrides: tuple[str, ...]
    kind: str

    @property
    def in_words(self) -> str:
        options = " ".join(f"--set {json.dumps(each)}" for each in self.overrides)
        source = self.source if isinstance(self.source, str) else json.dumps(self.source)
        return f"{source} {options}"


def keys_of(model: type[Section], prefix: str = "") -> Iterator[Key]:
    for name, field in model.model_fields.items():
        if isinstance(field.default, Section):
            yield from keys_of(type(field.default), f"{prefix}{name}.")
        else:
            yield Key(prefix + name, field)


def bounds(field: FieldInfo) -> tuple[float, float]:
    """The least and the most that are legal; a number of the open side for one."""
    low, high = -math.inf, math.inf
    for rule in field.metadata:
        if isinstance(rule, annotated_types.Ge):
            low = rule.ge
        elif isinstance(rule, annotated_types.Gt):
            low = math.nextafter(rule.gt, math.inf)
        elif isinstance(rule, annotated_types.Le):
            high = rule.le
        elif isinstance(rule, annotated_types.Lt):
            high = rule.lt - 1 if field.annotation is int else math.nextafter(rule.lt, -math.inf)
    return low, high


def is_number(field: FieldInfo) -> bool:
    return (
        field.annotation is int or field.annotation is float or float in get_args(field.annotation)
    )


def legal(key: Key, choose: random.Random) -> str:
    """A value that the key's own rule allows, at its bounds as often as between them."""
    field = key.field
    if key.name in TEXTS:
        return choose.choice(TEXTS[key.name])
    if get_origin(field.annotation) is Literal:
        return str(choose.choice(get_args(field.annotation)))
    if field.annotation is bool:
        return choose.choice(("true", "false"))
    if key.name == "policy.hidden_sizes":
        depth = choose.choice((0, 1, 1, 2, 3, 8))
        return str([choose.choice((1, 2, 7, 8, 16, 33)) for _ in range(depth)])
    if not is_number(field):
        return choose.choice(WRONG)
    low, high = bounds(field)
    high = min(high, MOST.get(key.word, MOST_DRAWN))
    if key.word in UNITS and choose.random() < 0.7:
        high = OFTEN[key.word]
    low = max(low, -MOST_DRAWN)
    drawn: float = choose.choice(
        (low, high, _between(low, high, choose), _between(low, high, choose))
    )
    return str(int(drawn)) if field.annotation is int else repr(float(drawn))


def _between(low: float, high: float, choose: random.Random) -> float:
    """A random number: uniform in a small range, log-uniform in a large one."""
    if high - low < 100 or low < 0:
        return choose.uniform(low, high)
    return min(high, max(low, 10 ** choose.uniform(-3, math.log10(high))))


def wrong(key: Key, choose: random.Random) -> str:
    """A value that is most likely none for the key: of another type, or beyond its bounds."""
    if not is_number(key.field) or choose.random() < 0.5:
        return choose.choice(WRONG)
    low, high = bounds(key.field)
    beyond = [low - 1, -low - 1, high + 1, high * 2, math.nextafter(low, -math.inf), math.nan]
    drawn = choose.choice([value for value in beyond if not math.isinf(value)] or [math.inf])
    if math.isfinite(drawn) and key.field.annotation is int:
        return str(int(drawn))
    return repr(float(drawn))


def unknown(key: Key, choose: random.Random) -> str:
    """A key that there is not, near one that there is."""
    name = key.name
    place = choose.randrange(len(name))
    mistyped: Callable[[], str] = choose.choice((
        lambda: name[:place] + name[place + 1:], lambda: f"{name}.{name}", lambda: name + "s",
        lambda: key.word, lambda: f"extra.{name}", lambda: name.upper(), lambda: f".{name}",
        lambda: f"{name}.",
    ))  # fmt: skip
    return f"{mistyped()}={legal(key, choose)}"


def envs() -> tuple[str, ...]:
    return (*ENV_NAMES, *PARTIAL_ENV_NAMES, *MINATAR_ENV_NAMES, *CONFIGURED_ENV_NAMES,
            "tinyphysics", "mettagrid", *OTHER_ENVS)  # fmt: skip


def small_values(keys: list[Key], algorithm: str) -> dict[str, Any]:
    """The values of SMALL for a configuration with these keys."""
    names = {key.name for key in keys}
    return {
        name: value for key, value in SMALL.items()
        if (name := key if key in names else f"{algorithm}.{key}") in names
    }  # fmt: skip


def draw(number: int, seed: int, files: dict[str, str]) -> Case:
    """Case `number` of a seed. `files` has the overrides that an environment cannot do without."""
    choose = random.Random(f"{seed}-{number}")
    kind = choose.choices(("legal", "one wrong", "unknown", "mixed"), (70, 12, 8, 10))[0]
    source: str | dict[str, Any]
    if choose.random() < 0.5:
        source = choose.choice([name for name in preset_names() if "gymnasium" not in name])
        values = read_toml(config_path(source))
    else:
        env = choose.choice(envs())
        source = values = {"env": env, "algorithm": choose.choice(("ppo", *_suiting(env, kind)))}
    algorithm, env = values["algorithm"], values["env"]
    keys = [key for key in keys_of(model_for(values)) if key.name not in ("env", "algorithm")]
    settings: dict[str, str] = {
        name: json.dumps(value) for name, value in small_values(keys, algorithm).items()
    }
    if env == "tinyphysics":
        del settings["evaluation.max_episode_steps"]
        settings |= {"rollout_steps": str(EPISODE_STEPS), "policy.distribution": "beta", **files}
    if env == "marine_nav" and isinstance(source, dict) and choose.random() < 0.5:
        settings["marine_nav.actions"] = "discrete"
    if algorithm == "ppo" and env != "tinyphysics" and choose.random() < 0.25:
        settings["policy.memory.kind"] = choose.choice(("lstm", "gru"))
    elif not values.get("policy", {}).get("memory"):
        settings.pop("policy.memory.size", None)
        settings.pop("policy.memory.horizon", None)
    for key in choose.sample(keys, choose.choice((1, 2, 4, 8, 16))):
        before = dict(settings)
        settings[key.name] = (wrong if kind == "mixed" else legal)(key, choose)
        if kind != "mixed" and choose.random() < 0.98 and not _is_taken(source, settings):
            settings = before
    if kind == "one wrong":
        key = choose.choice(keys)
        settings[key.name] = wrong(key, choose)
    overrides = [f"{name}={value}" for name, value in settings.items()]
    if kind == "unknown":
        overrides.append(unknown(choose.choice(keys), choose))
    return Case(number, source, tuple(overrides), kind)


def _suiting(env: str, kind: str) -> list[str]:
    """Algorithms that can act there; any where not all has to be right."""
    actions = "Box" if env in CONTINUOUS else "Discrete"
    return [
        name for name, section in algorithm_sections().items()
        if kind == "mixed" or (actions in section.action_kinds and env not in OF_TOKENS)
    ]  # fmt: skip


def _is_taken(source: str | dict[str, Any], settings: dict[str, str]) -> bool:
    """Whether these keys go together, as `load_runnable` sees it."""
    overrides = [f"{name}={value}" for name, value in settings.items()]
    if not isinstance(source, str):
        overrides += [f"{name}={value}" for name, value in source.items()]
        source = None
    try:
        load_runnable(source, overrides)
    except ConfigError:
        return False
    return True
