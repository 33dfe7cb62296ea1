"""Policies to take away: observation in, action out, as an ONNX file.

What is exported is the greedy policy of evaluation, its normaliser included, in float32. One that
remembers has its state as a second input and output: zeros before the first step of an episode,
then what the step before gave. One with action masks has the mask as a second input.
"""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path

import onnx
import torch
from torch import Tensor, nn

from ..policies.mlp import in_float32
from ..policies.policy import Policy

INPUT, OUTPUT = "observation", "action"
STATE, NEXT_STATE = "state", "next_state"
MASK = "action_mask"  # 1 for what is legal


class Greedy(nn.Module):
    """Observations [B, obs_size] to the actions of evaluation."""

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self.policy = policy

    def forward(self, obs: Tensor) -> Tensor:
        return self.policy.greedy_step(obs, obs[:, :0])[0]


class RecurrentGreedy(Greedy):
    """Observations and states [B, state_size] to those actions and the next states."""

    def forward(self, obs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        return self.policy.greedy_step(obs, state)


class MaskedGreedy(Greedy):
    """Observations, and masks [B, mask_size], to those actions."""

    def forward(self, obs: Tensor, mask: Tensor) -> Tensor:  # type: ignore[override]
        rows = torch.cat([obs, mask], -1)
        return self.policy.greedy_step(rows, rows[:, :0])[0]


def write_onnx(policy: Policy, num_numbers: int, path: Path, about: str) -> None:
    """Write `policy` to `path`; `about` says where it comes from. An observation is so many numbers
    without its mask, and any number of them at a time may go in. Raises OSError when the file
    cannot be written.
    """
    policy.load_state_dict(policy.state_dict())  # weights of their own, not views of one tensor
    remembers = policy.state_size > 0
    num_choices = getattr(policy, "mask_size", 0)
    kind = RecurrentGreedy if remembers else MaskedGreedy if num_choices else Greedy
    greedy = kind(policy).eval()
    sizes = [size for size in (num_numbers, policy.state_size or num_choices) if size]
    names = [INPUT, MASK if num_choices else STATE]
    with _quiet(), torch.no_grad(), in_float32(greedy):
        program = torch.onnx.export(
            greedy,
            tuple(torch.ones(2, size) if num_choices else torch.zeros(2, size) for size in sizes),
            input_names=names[: len(sizes)],
            output_names=[OUTPUT, NEXT_STATE] if remembers else [OUTPUT],
            dynamic_shapes=tuple({0: torch.export.Dim("batch", min=1)} for _ in sizes),
            dynamo=True,
            verbose=False,
        )
    assert program
    model = program.model_proto
    model.doc_string = about
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """The exporter speaks of its own steps, and warns of what is right here."""
    former = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(former)
