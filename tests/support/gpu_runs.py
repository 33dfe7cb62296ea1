"""Runs on the processor and on a GPU, as tests compare them: all that these tests ask of operant.

Both are made of the same parts; the processor runs them as they stand, and a GPU captures and
replays them. The arithmetic of an emulated GPU is the processor's, so results are equal bit for
bit.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from operant.trainer.config.train_config import TrainConfig
from operant.trainer.experiment.build import device_experiment
from operant.trainer.experiment.experiment import Experiment
from operant.trainer.experiment.traits import can_be_on_gpu
from operant.trainer.machine.stopwatch import Stopwatch
from operant.trainer.policies import recurrent, tokens


def is_emulated() -> bool:
    """Whether GPUs of this process are emulated ones."""
    return "emulated_gpu.emulation" in sys.modules


def can_be_on_a_gpu(config: TrainConfig) -> bool:
    """Whether a run of this configuration with `device = "cuda"` is on the GPU as a whole."""
    return can_be_on_gpu(config.facts())


def make_run(config: TrainConfig, device: str, capture: bool | None = None) -> Experiment:
    return device_experiment(config, torch.device(device), capture)


@contextlib.contextmanager
def without_processor_loops() -> Iterator[None]:
    """The processor has compiled loops of its own for an LSTM's rows and for sums of tokens, which
    round otherwise than PyTorch's operations. Without them both devices do the same.
    """

    def features(self: Any, seen: torch.Tensor) -> torch.Tensor:
        sums = self.bias + self._sums(seen.flatten(0, -2))
        return sums.relu().view(*seen.shape[:-1], self.num_features)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recurrent, "has_loops", lambda *_: False)
        patch.setattr(recurrent, "has_loops", lambda *_: False)
        patch.setattr(tokens.TokenEmbedding, "forward", features)
        yield


def iterate(run: Experiment, num_iterations: int, wait: bool = False) -> list[dict[str, float]]:
    """The metrics of so many iterations more."""
    values = start(run, num_iterations, wait)
    values += run.finish()
    return [without_times(x) for x in values]


def start(run: Experiment, num_iterations: int, wait: bool = False) -> list[dict[str, float]]:
    """Give so many iterations to the device; the metrics that have arrived by then."""
    values = []
    for _ in range(num_iterations):
        values += run.iterate(Stopwatch(), wait=wait)
    return values


def without_times(values: dict[str, float]) -> dict[str, float]:
    return {name: x for name, x in values.items() if not name.startswith("time/")}


def saved(run: Experiment) -> tuple[bytes, int]:
    """A checkpoint, as bytes."""
    file = io.BytesIO()
    torch.save(run.state_dict(), file)
    return file.getvalue(), run.iteration


def loaded(config: TrainConfig, device: str, checkpoint: tuple[bytes, int]) -> Experiment:
    """A run that goes on from a checkpoint."""
    run = make_run(config, device)
    run.load_state_dict(torch.load(io.BytesIO(checkpoint[0]), weights_only=True), checkpoint[1])
    return run


def evaluated(run: Experiment, num_episodes: int) -> Any:
    return run.evaluate(num_episodes)


def flat_state(state: Any, name: str = "") -> dict[str, torch.Tensor]:
    """All numbers of a checkpoint, by path."""
    if isinstance(state, torch.Tensor):
        return {name: state.detach().cpu()}
    if isinstance(state, dict):
        items = state.items()
    elif isinstance(state, list | tuple):
        items = enumerate(state)
    elif isinstance(state, int | float):
        return {name: torch.tensor(state)}
    else:
        return {}
    found: dict[str, torch.Tensor] = {}
    for key, value in items:
        found |= flat_state(value, f"{name}/{key}")
    return found


def differences(one: Experiment, other: Experiment) -> dict[str, float]:
    """The entries in which two runs' states differ, and the largest difference of each."""
    first, second = (flat_state(run.state_dict()) for run in (one, other))
    found = {name: float("nan") for name in first.keys() ^ second.keys()}
    for name in first.keys() & second.keys():
        a, b = first[name], second[name]
        if a.shape != b.shape:
            found[name] = float("nan")
            continue
        a, b = a.double(), b.double()
        if not ((a == b) | (a.isnan() & b.isnan())).all():
            found[name] = (a - b).abs().max().item()
    return found


def num_operations(graph: torch.cuda.CUDAGraph) -> int:
    """How many operations a captured graph has: of PyTorch, each one node of a real graph or
    several, and operant's kernels, a node each.
    """
    from emulated_gpu.emulation import operations_of  # importing it makes the emulation

    return len(operations_of(graph))


def take_launches() -> int:
    """Kernels that were launched since the last call though the emulation does not replace them."""
    from emulated_gpu.emulation import runtime  # importing it makes the emulation

    return int(runtime.null_gpu_take_launches())
