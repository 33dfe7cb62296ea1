"""The interface of engines, and checks of their numbers against the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from ..architecture import ArchitectureError
from ..constants import CONTEXT_STEPS, STATE_SIZE
from ..tokens import Tokenizer, sampled_tokens

NUM_PROBES = 256
NUM_CHECKS = 8
DEVICE_BATCH = 8192  # episodes of one call on a GPU at most
LARGEST_DIFFERENCE = 1e-2  # of a logit, in float32: more is another architecture, not rounding


class Engine(Protocol):
    """Runs a model on one device."""

    name: str
    device: torch.device

    def logits(self, states: Tensor, tokens: Tensor) -> Tensor:
        """Logits of the last position [b, 1024], float32: states [b, 20, 4], tokens [b, 20]."""

    def next_tokens(self, states: Tensor, tokens: Tensor, uniforms: Tensor) -> Tensor:
        """Tokens [b] int64 drawn from the logits with `uniforms` [b]."""


@dataclass(frozen=True)
class Agreement:
    """The agreement of an engine with the model in float32 on the processor."""

    num_probes: int
    same_tokens_fraction: float
    largest_logit_difference: float

    def __str__(self) -> str:
        return (
            f"{100 * self.same_tokens_fraction:.2f} % of {self.num_probes} tokens as the float32 "
            f"reference, logits within {self.largest_logit_difference:.1e}"
        )


def probe_inputs(num_probes: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """States [b, 20, 4] and tokens [b, 20] similar to those of driving: slow random curves."""
    random = np.random.default_rng(seed)
    steps = np.arange(CONTEXT_STEPS) / CONTEXT_STEPS
    phase, size = (
        random.uniform(0, 6.3, (2, num_probes, 1)),
        random.uniform(0, 1.5, (num_probes, 1)),
    )
    lataccels = size * np.sin(phase[0] + 3 * steps) + random.normal(0, 0.02, (num_probes, 20))
    states = np.empty((num_probes, CONTEXT_STEPS, STATE_SIZE))
    states[:, :, 0] = 0.4 * lataccels + random.normal(0, 0.05, (num_probes, 20))
    states[:, :, 1] = 0.3 * np.sin(phase[1] + steps)
    states[:, :, 2] = random.uniform(5, 35, (num_probes, 1))
    states[:, :, 3] = 0.5 * np.cos(phase[1] + 2 * steps)
    tokens = Tokenizer(torch.device("cpu")).encode(torch.from_numpy(lataccels))
    return torch.from_numpy(states.astype(np.float32)), tokens


def reference_logits(model: Any, states: Tensor, tokens: Tensor) -> Tensor:
    """Logits of the last position [b, 1024] by the whole model in float32 on the processor.

    ONNX Runtime computes them, or the slow evaluator of the ONNX package if it is not installed.
    """
    inputs = {"states": states.numpy(), "tokens": tokens.numpy()}
    try:
        import onnxruntime
    except ImportError:
        from onnx.reference import ReferenceEvaluator

        output = ReferenceEvaluator(model).run(None, inputs)[0]
    else:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        output = session.run(None, inputs)[0]
    return torch.from_numpy(output[:, -1])


def check_rebuilt(model: Any, logits_of: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Raises ArchitectureError unless the logits of the rebuilt model are those of the model."""
    states, tokens = probe_inputs(NUM_CHECKS)
    rebuilt = logits_of(states, tokens)
    difference = float((rebuilt - reference_logits(model, states, tokens)).abs().max())
    if not difference <= LARGEST_DIFFERENCE:
        raise ArchitectureError(f"rebuilt, its logits differ by {difference:.1e}")


def agreement(engine: Engine, model: Any, num_probes: int = NUM_PROBES) -> Agreement:
    """Compare an engine with the model on fixed probes."""
    states, tokens = probe_inputs(num_probes)
    reference = reference_logits(model, states, tokens)
    uniforms = np.random.default_rng(1).random(num_probes)
    expected = sampled_tokens(reference.numpy(), uniforms)
    inputs = (states.to(engine.device), tokens.to(engine.device))
    drawn = engine.next_tokens(*inputs, torch.from_numpy(uniforms).to(engine.device)).cpu().numpy()
    difference = (engine.logits(*inputs).float().cpu() - reference).abs().max()
    return Agreement(num_probes, float((drawn == expected).mean()), float(difference))
