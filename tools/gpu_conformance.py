"""Which configurations are compared on both devices, how, and the table of what differs.

    make gpu-conformance        # trains all of them and writes docs/gpu-conformance.md

Every algorithm is tried with every environment that it can have on a GPU, with defaults, and every
level of a switch by itself. Then levels are tried in pairs: each comes together with each level of
every other switch, with each algorithm and with each environment, unless the configuration refuses
the two. A greedy search puts as many new pairs as it can into one configuration. An algorithm that
is another with one loss changed is in no pairs: those of the other stand for it.
"""

from __future__ import annotations

import itertools
import math
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

import gpu_runs
import pytest
from random_configs import keys_of

from operant.shared.errors import ConfigError
from operant.trainer.config.from_values import make_config, model_for
from operant.trainer.config.train_config import TrainConfig, algorithm_sections
from operant.trainer.envs.hosts import describe
from operant.trainer.experiment.checkpoints import Checkpoint, save_checkpoint
from operant.trainer.experiment.plan import plan
from operant.trainer.experiment.traits import ANY_MACHINE
from operant.trainer.experiment.untrained import make_policy

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "gpu-conformance.md"
MAP = ROOT / "tests" / "data" / "grid" / "small.txt"
TEACHER = "a-teacher"  # stands for the file of a checkpoint, which each comparison writes
BEFORE, AFTER = 6, 5  # iterations before a checkpoint and after it

# Iterations are small: every bit is compared, not how well a run learns. `own` is the table of the
# algorithm.
SIZES = (
    "num_envs=16", "rollout_steps=16", f"total_env_steps={16 * 16 * 14}", "own.learning_rate=3e-3",
    "policy.hidden_sizes=[16, 16]", "evaluation.num_episodes=3",
    "evaluation.max_episode_steps=50",
)  # fmt: skip
FROM_ROLLOUTS = ("own.num_minibatches=4", "own.num_epochs=2")
# Updates begin in the third iteration, and the replay is full in the eighth.
FROM_REPLAY = (
    f"replay.capacity={16 * 120}", "own.warmup_env_steps=600", "own.batch_size=32",
    "own.updates_per_env_step=0.03125",
)  # fmt: skip
GRID = (
    "env=grid", "num_envs=4", "grid.num_agents=2", "grid.num_tokens=16", "grid.embedding_size=8",
    "grid.max_steps=12",
)  # fmt: skip
MARINE = (
    "env=marine_nav", "num_envs=8", "marine_nav.num_robots=2", "marine_nav.min_goal_distance_m=20",
)  # fmt: skip
ENVS: dict[str, tuple[str, ...]] = {
    **{
        name: (f"env={name}",)
        for name in ("cart_pole", "pendulum", "acrobot", "mountain_car",
                     "mountain_car_continuous", "cart_pole_no_velocity")
    },
    "grid": (
        *GRID, "grid.height=9", "grid.width=10", "grid.num_walls=4", "grid.num_mines=2",
        "grid.num_generators=2", "grid.num_altars=2",
    ),
    "grid, few maps": (
        *GRID, "grid.height=9", "grid.width=9", "grid.num_walls=4", "grid.num_mines=3",
        "grid.num_generators=3", "grid.num_altars=2", "grid.num_maps=2", "grid.cooldown=2",
    ),
    "grid, a file's map": (
        *GRID, f"grid.map={MAP}", "grid.ore_limit=2", "grid.battery_limit=1",
        "grid.ore_reward=0.1", "grid.ore_reward_cap=0.15", "grid.battery_reward=0.2",
        "grid.battery_reward_cap=0.3",
    ),
    "marine_nav": (
        *MARINE, "marine_nav.num_obstacles=0",
        "marine_nav.curriculum=[{until_env_steps = 1200, num_robots = 1, "
        "min_goal_distance_m = 10}]",
    ),
    "marine_nav, by course": (
        *MARINE, "marine_nav.actions=discrete", "marine_nav.num_obstacles=1",
        "marine_nav.noise=false",
    ),
    "minatar": (
        "env=minatar_asterix", "num_envs=4", "policy.encoder=minatar", "minatar.sticky_actions=0.2",
        "minatar.ramping=false", "minatar.minimal_actions=true", "minatar.max_steps=50",
    ),
    "marine_nav, currents": (*MARINE, "marine_nav.num_obstacles=2", "marine_nav.num_vortices=2"),
}  # fmt: skip

IN_NO_PAIRS = {"tqc", "crossq"}  # SAC with other losses of its critics

# Levels by the name of the switch; each has the level `DEFAULT` as well, which changes nothing.
DEFAULT = "default"
SWITCHES: dict[str, dict[str, tuple[str, ...]]] = {
    "rollout": {"fused": ("rollout=fused",)},
    "place": {
        "overlap": ("overlap=true",),
        "replay on host": ("replay.memory=host",),
    },
    "compile": {"compile": ("compile=true",)},
    "precision": {name: (f"policy.precision={name}",) for name in ("bfloat16", "float16")},
    "memory": {
        "lstm": ("policy.memory.kind=lstm", "policy.memory.size=16", "policy.memory.horizon=8"),
        "gru": ("policy.memory.kind=gru",),
        "contrastive": (
            "policy.memory.kind=gru", "contrastive.coef=0.1", "contrastive.temperature=0.2",
            "contrastive.discount=0.5", "contrastive.embedding_size=8",
        ),
    },
    "layers": {
        "relu": ("policy.hidden_sizes=[16]", "policy.activation=relu"),
        "elu": ("policy.activation=elu",),
        "no layer": ("policy.hidden_sizes=[]",),
    },
    "distribution": {
        "beta": ("policy.distribution=beta",),
        "squashed": ("policy.distribution=squashed_gaussian",),
        "narrow": ("policy.initial_log_std=-0.5",),
    },
    "observations": {"normalised obs": ("normalization.obs=true",)},
    "rewards": {
        "normalised rewards": ("normalization.reward=true",),
        "cut rewards": ("normalization.reward_limit=0.5",),
    },
    "seed": {"seed 2": ("seed=2",)},
    "learning rate": {
        "linear": ("own.learning_rate_schedule=linear",),
        "cosine": ("own.learning_rate_schedule=cosine", f"schedule_env_steps={16 * 16 * 12}"),
    },
    "discount": {"gamma 0.9": ("own.gamma=0.9",)},
    "gradients": {"clipped": ("own.max_grad_norm=0.05",)},
    "sampler": {
        "sequential": ("own.sampler=sequential",),
        "prioritised": ("own.sampler=prioritised", "own.priority_exponent=0.7"),
    },
    "advantages": {
        "over rollouts": ("own.normalize_advantages=rollout", "own.gae_lambda=0.8"),
        "as they are": ("own.normalize_advantages=off",),
    },
    "KL": {"KL stop": ("own.target_kl=0.001",)},
    "pieces": {"pieces": ("own.max_minibatch_size=24",)},
    "clipping": {
        "less clipping": ("own.clip_coef=0.1", "own.value_clip=0.5"),
    },
    "entropy": {"entropy": ("own.entropy_coef=0.01", "own.entropy_schedule=cosine")},
    "epochs": {"one epoch": ("own.num_epochs=1", "own.num_minibatches=8")},
    "values": {"value loss": ("own.value_coef=0.25",)},
    "teachers": {
        "kickstart": (
            f"kickstart.teachers=['{TEACHER}']", "kickstart.policy_coef=0.5",
            "kickstart.value_coef=0.1", "kickstart.until_fraction=0.6",
        ),
    },
    "lambda": {"lambda": ("own.q_lambda=0.3",)},
    "random actions": {
        "epsilon": ("own.epsilon_start=0.5", "own.epsilon_end=0.1", "own.epsilon_fraction=0.3"),
    },
    "priorities": {"priorities": ("replay.priority_exponent=0.6",)},
    "steps": {"n-step": ("own.n_step=4",)},
    "targets": {
        "soft targets": ("own.target_tau=0.05",),
        "copied targets": ("own.target_tau=1", "own.target_every=4"),
    },
    "checkpoint": {"no replay kept": ("checkpoint.replay=false",)},
    "double": {"not double": ("own.double=false",), "by quantile":
               ("own.double=false", "own.best_by=quantile")},
    "dueling": {"dueling": ("own.dueling=true",), "not dueling": ("own.dueling=false",)},
    "noise": {"noisy": ("own.noisy_std=0.3",), "not noisy": ("own.noisy_std=0",)},
    "norm": {"layer norm": ("own.layer_norm=true",)},
    "loss": {name: (f"own.loss={name}",) for name in ("squared", "huber")},
    "atoms": {"atoms": ("own.lowest=-1", "own.highest=20", "own.num_atoms=11")},
    "quantiles": {"quantiles": ("own.num_quantiles=5",)},
    "dropped quantiles": {"all quantiles": ("own.dropped_quantiles=0",)},
    "risk": {"risk": ("own.risk=0.5",)},
    "actor": {"delayed": ("own.policy_delay=4",), "at once": ("own.policy_delay=1",)},
    "squash": {"arctan": ("own.squash=arctan",)},
    "exploration": {
        "by state": ("own.exploration=state_dependent", "own.exploration_std=0.2"),
        "more noise": ("own.exploration_std=0.3",),
    },
    "smoothing": {
        "smoothed": ("own.smoothing_std=0.3", "own.smoothing_clip=0.4"),
        "not smoothed": ("own.smoothing_std=0",),
    },
    "temperature": {
        "alpha stays": ("own.alpha=0.2",),
        "target entropy": ("own.target_entropy=-0.5",),
    },
}  # fmt: skip
# Runs in which the processor has compiled loops of its own.
LSTM = ("memory", "lstm")
WITH_LOOPS: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "LSTM": ("cart_pole", (LSTM,)), "tokens": ("grid", ()), "tokens and LSTM": ("grid", (LSTM,)),
}  # fmt: skip
# Keys that no comparison can turn, each with the reason.
ELSEWHERE = {
    "algorithm": "in every name",
    "env": "in every name",
    "device": "what is compared",
    "num_threads": "refused on a GPU",
    "ac_iqn.loss": "always refused",
    "total_env_steps": "a size",
    "recorder.": "of a process beside the run",
    "evaluation.": "when to evaluate; comparisons do it themselves",
    "checkpoint.every": "when to save; comparisons do it themselves",
    "checkpoint.keep": "of files",
    "checkpoint.best": "of files",
    "stop.": "of the loop, between iterations",
    "trace.": "of a command, tests/emulated_gpu/test_commands.py",
    "episodes.": "played on the processor from a checkpoint",
    "gradients.": "read by the host between iterations",
    "weights.": "read by the host between iterations",
}

TEXT = """\
# Both devices compared

<!-- written by `make gpu-conformance` -->

{summary} on the processor and on an [emulated GPU](gpu.md#rehearsal-without-a-gpu).
The processor runs the parts of an iteration as they stand; the GPU captures them as graphs and replays these. Nothing here
ran on a real GPU.

Each configuration is trained for {before} iterations on both devices, evaluated and saved; then each device goes on for
{after} iterations from the other's checkpoint. Algorithms with a replay begin to learn in the third iteration. Metrics, weights,
optimizers, environments, replay and evaluations are compared. The table names the largest difference.
PyTorch rounds the gradients of convolutions differently on some processors, with the shape of the work: where the table has
differences for PPO and PQN on MinAtar, it was written on such a processor.

Every algorithm is tried with every environment that it can have on a GPU, and every level of a switch by itself. Then every two
levels of different switches are tried together, and each with every algorithm except TQC (which is SAC with another loss of its
critics) and every environment, unless the configuration refuses them. `tools/gpu_conformance.py` has the keys behind each name. The loops below are switched off, and
torch.compile traces without making code: its compiler for GPUs needs a real one.

{table}
## Loops that only the processor has

The processor steps an LSTM and adds up tokens in compiled loops. A GPU does both by PyTorch's operations, which add in
another order: results differ in the last bit of a float32. Adam divides each gradient by its size, so a weight whose gradient is
nearly 0 can then move by up to the learning rate in another direction. The largest difference of weights after each iteration:

{loops}
Such a difference grows once it changes an action. With `grid_ppo` (16 environments, both loops in use) weights were within
2.4e-7 in the first four iterations and 4.5e-5 apart in the fifth, with the same actions in all of them. With both loops off
they are equal.
"""  # noqa: E501


class Place(NamedTuple):
    """An algorithm and an environment."""

    algorithm: str
    env: str


class Case(NamedTuple):
    """One configuration, as its switches say, each with a level that is not its default."""

    place: Place
    levels: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        return ", ".join((*self.place, *(level for _, level in self.levels)))

    def config(self, teacher: str = TEACHER, *more: str) -> TrainConfig:
        """Raises ConfigError where these do not go together."""
        return configured(self.place, self.levels, teacher, *more)


def configured(
    place: Place, levels: Iterable[tuple[str, str]], teacher: str = TEACHER, *more: str
) -> TrainConfig:
    section = algorithm_sections()[place.algorithm]
    sizes = FROM_REPLAY if "replay" in section.tables else FROM_ROLLOUTS
    settings = [*SIZES, *sizes, *ENVS[place.env]]
    for switch, level in levels:
        settings += SWITCHES[switch].get(level, ())
    own = f"{place.algorithm}."
    given = [own + x[4:] if x.startswith("own.") else x for x in (*settings, *more)]
    overrides = [x.replace(TEACHER, teacher) for x in given]
    config = make_config({"algorithm": place.algorithm}, overrides)
    plan(config, describe(config), ANY_MACHINE)  # which refuses what no machine can run
    return config


def is_taken(place: Place, levels: Iterable[tuple[str, str]] = ()) -> bool:
    """Whether a run on a GPU can be like that."""
    try:
        return gpu_runs.can_be_on_a_gpu(configured(place, levels))
    except ConfigError:
        return False


@cache
def places() -> tuple[Place, ...]:
    every = itertools.starmap(Place, itertools.product(algorithm_sections(), ENVS))
    return tuple(place for place in every if is_taken(place))


# ("algorithm", name), ("env", name), or a switch with a level.
Choice = tuple[str, str]
Pair = tuple[Choice, Choice]


@cache
def _places_of(choice: Choice) -> frozenset[Place]:
    """Where a choice can be made by itself."""
    switch, level = choice
    if switch in Place._fields:
        return frozenset(p for p in places() if getattr(p, switch) == level)
    keys = [setting.partition("=")[0] for setting in SWITCHES[switch][level]]
    return frozenset(p for p in places() if _keys(p) >= {*keys} and is_taken(p, [choice]))


@cache
def _keys(place: Place) -> set[str]:
    """All that can be set there, those of the algorithm's table with `own`."""
    names = [key.name for key in keys_of(model_for({"algorithm": place.algorithm}))]
    return {"own" + name.removeprefix(place.algorithm) if name.startswith(f"{place.algorithm}.")
            else name for name in names}  # fmt: skip


def _choices(place: Place, row: Mapping[str, str]) -> list[Choice]:
    return [("algorithm", place.algorithm), ("env", place.env), *row.items()]


def pairwise() -> Iterator[Case]:
    """Configurations in which every two levels come together that can."""
    todo = dict.fromkeys(_pairs())
    while todo:
        first = next(iter(todo))
        given = {switch: level for switch, level in first if switch in SWITCHES}
        suited = [
            place for place in places()
            if place.algorithm not in IN_NO_PAIRS
            and place in _places_of(first[0]) & _places_of(first[1])
            and is_taken(place, given.items())
        ]  # fmt: skip
        if not suited:
            del todo[first]
            continue
        place = max(suited, key=lambda p: sum(p in _places_of(x) for pair in todo for x in pair))
        row = _filled(place, given, todo)
        for pair in itertools.combinations(_choices(place, row), 2):
            todo.pop(_pair(*pair), None)
        yield Case(place, tuple((s, x) for s, x in row.items() if x != DEFAULT))


def _filled(place: Place, given: Mapping[str, str], todo: Collection[Pair]) -> dict[str, str]:
    """A level for every switch: that of the most new pairs, by default where none has any."""
    row = dict(given)
    for switch in SWITCHES:
        if switch in row:
            continue
        chosen = _choices(place, row)

        def num_new(level: str, switch: str = switch, chosen: list[Choice] = chosen) -> int:
            return sum(_pair((switch, level), other) in todo for other in chosen)

        row[switch] = next(
            level for level in sorted((DEFAULT, *SWITCHES[switch]), key=num_new, reverse=True)
            if level == DEFAULT or (
                place in _places_of((switch, level))
                and is_taken(place, [*row.items(), (switch, level)])
            )
        )  # fmt: skip
    return row


def _pair(one: Choice, other: Choice) -> Pair:
    return (one, other) if one <= other else (other, one)


def _pairs() -> Iterator[Pair]:
    """All pairs of levels of different switches, of algorithms and of environments."""
    switches = [[(switch, level) for level in levels] for switch, levels in SWITCHES.items()]
    names = dict.fromkeys(p.algorithm for p in places())
    algorithms = [("algorithm", name) for name in names if name not in IN_NO_PAIRS]
    envs = [("env", name) for name in dict.fromkeys(p.env for p in places())]
    for one, other in itertools.combinations((algorithms, envs, *switches), 2):
        yield from itertools.starmap(_pair, itertools.product(one, other))


def alone() -> Iterator[Case]:
    """Every level by itself, with the first algorithm and environment that take it."""
    for switch, levels in SWITCHES.items():
        for level in levels:
            yield Case(next(p for p in places() if p in _places_of((switch, level))),
                       ((switch, level),))  # fmt: skip


@cache
def cases() -> tuple[Case, ...]:
    """Every algorithm with every environment, levels alone, and levels in pairs."""
    return tuple(dict.fromkeys((*map(Case, places()), *alone(), *pairwise())))


def untried_keys() -> set[str]:
    """Keys that runs on a GPU can have, which are at their default in all cases."""
    keys, tried = set(), set()
    for case in cases():
        config = case.config()
        if case.place.algorithm in IN_NO_PAIRS:
            continue
        for key in keys_of(model_for(config.model_dump())):
            value: Any = config
            for part in key.name.split("."):
                value = getattr(value, part)
            keys.add(key.name)
            if value != key.field.default:
                tried.add(key.name)
    return {key for key in keys - tried if not key.startswith(tuple(ELSEWHERE))}


def compared(case: Case) -> dict[str, float]:
    """The differences between a run on the processor and a captured one on a GPU, at most:
    nothing where they are equal bit for bit. Both are trained, evaluated and saved; then each
    goes on from the other's checkpoint.
    """
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        # PyTorch's own compiler needs Triton and a real GPU: this backend runs what was traced.
        patch.setattr("operant.trainer.jit.torch_compiling.BACKEND", "eager")
        config = case.config(_save_teacher(case, Path(folder)))
        on_cpu, on_gpu = (_made(config, device) for device in ("cpu", "cuda"))
        found = _different_metrics(*(gpu_runs.iterate(run, BEFORE) for run in (on_cpu, on_gpu)))
        found |= _named("trained", gpu_runs.differences(on_cpu, on_gpu))
        if str(gpu_runs.evaluated(on_cpu, 3)) != str(gpu_runs.evaluated(on_gpu, 3)):
            found["evaluation"] = math.nan
        moved_to_gpu = gpu_runs.loaded(config, "cuda", gpu_runs.saved(on_cpu))
        moved_to_cpu = gpu_runs.loaded(config, "cpu", gpu_runs.saved(on_gpu))
        after = [gpu_runs.iterate(run, AFTER) for run in (moved_to_cpu, moved_to_gpu, on_gpu)]
        found |= _named("resumed", _different_metrics(*after[:2]))
        found |= _named("resumed", gpu_runs.differences(moved_to_cpu, moved_to_gpu))
        if config.checkpoint.replay:  # else a resumed run fills its replay again
            found |= _named("went on", _different_metrics(after[0], after[2]))
    return found


def _made(config: TrainConfig, device: str) -> Any:
    run = gpu_runs.make_run(config, device)
    run.compile(lambda: None)
    return run


def _save_teacher(case: Case, folder: Path) -> str:
    """A policy of another seed, as the file of a checkpoint."""
    if "teachers" not in dict(case.levels):
        return ""
    kept = [x for x in case.levels if x[0] == "distribution"]
    config = configured(case.place, kept, TEACHER, "seed=9")
    state = {"policy": make_policy(config).state_dict()}
    saved = Checkpoint(1, 1, 0, config.model_dump(mode="json"), state)
    return str(save_checkpoint(folder / "checkpoints", saved, keep=1))


def _named(what: str, differences: Mapping[str, float]) -> dict[str, float]:
    return {f"{what}: {name}": x for name, x in differences.items()}


def _different_metrics(
    expected: list[dict[str, float]], found: list[dict[str, float]]
) -> dict[str, float]:
    """By how much each metric differs, in the iteration where it does most."""
    worst: dict[str, float] = {}
    for one, other in zip(expected, found, strict=True):
        for name in one.keys() | other.keys():
            a, b = one.get(name, math.inf), other.get(name, math.inf)
            if a == b or (math.isnan(a) and math.isnan(b)):  # a mean of no episodes is NaN
                continue
            worst[name] = max(worst.get(name, 0.0), abs(a - b), key=_size)
    return worst


def summary(differences: Mapping[Case, Mapping[str, float]]) -> str:
    num_equal = sum(not found for found in differences.values())
    return f"{num_equal} of {len(differences)} configurations give the same bits"


def table(differences: Mapping[Case, Mapping[str, float]]) -> str:
    """The comparisons and the differences, as Markdown."""
    rows = "".join(
        f"| {case.place.algorithm} | {case.place.env} | {_in_words(case)} | {_worst(found)} |\n"
        for case, found in differences.items()
    )
    return f"| algorithm | environment | switches | difference |\n|---|---|---|---|\n{rows}"


def _in_words(case: Case) -> str:
    return ", ".join(level for _, level in case.levels)


def _size(difference: float) -> float:
    """To compare by: nothing is further apart than a number and NaN."""
    return math.inf if math.isnan(difference) else difference


def _worst(found: Mapping[str, float]) -> str:
    if not found:
        return "none"
    name = max(found, key=lambda x: _size(found[x]))
    return f"{found[name]:.1e} ({name}, one of {len(found)})"


def loop_differences() -> str:
    """How far weights are apart with the processor's own loops, after each iteration."""
    lines = []
    for name, (env, levels) in WITH_LOOPS.items():
        config = configured(Place("ppo", env), levels, TEACHER, "policy.hidden_sizes=[64]")
        on_cpu, on_gpu = (gpu_runs.make_run(config, device) for device in ("cpu", "cuda"))
        found = []
        for _ in range(BEFORE):
            for run in (on_cpu, on_gpu):
                gpu_runs.iterate(run, 1)
            found.append(weight_difference(on_cpu, on_gpu))
        lines.append(f"| {name} | {' | '.join(f'{x:.1e}' for x in found)} |\n")
    numbers = range(1, BEFORE + 1)
    head = f"| iteration | {' | '.join(map(str, numbers))} |\n|{'---|' * (BEFORE + 1)}\n"
    return head + "".join(lines)


def weight_difference(one: Any, other: Any) -> float:
    found = gpu_runs.differences(one, other)
    return max((x for name, x in found.items() if name.startswith("/policy/")), default=0.0)


def main() -> int:
    found: dict[Case, dict[str, float]] = {}
    for number, case in enumerate(cases(), 1):
        with gpu_runs.without_processor_loops():
            found[case] = compared(case)
        print(f"{number} of {len(cases())}: {case.name}: {_worst(found[case])}", flush=True)
    DOCUMENT.write_text(
        TEXT.format(
            summary=summary(found), table=table(found), loops=loop_differences(),
            before=BEFORE, after=AFTER,
        )
    )  # fmt: skip
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
