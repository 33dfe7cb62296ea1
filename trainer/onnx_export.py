"""Policies to take away: observation in, action out, as an ONNX file.

What is exported is the greedy policy of evaluation, its normaliser included, in float32.
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

from .networks.policy import Policy
from .networks.precision import in_float32

INPUT, OUTPUT = "observation", "action"


class Greedy(nn.Module):
    """Observations [B, obs_size] to the actions of evaluation."""

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self.policy = policy

    def forward(self, obs: Tensor) -> Tensor:
        return self.policy.greedy(obs)


def write_onnx(policy: Policy, obs_size: int, path: Path, about: str) -> None:
    """Write `policy` to `path`; `about` says where it comes from. Any number of observations at a
    time may go in. Raises OSError when the file cannot be written.
    """
    policy.load_state_dict(policy.state_dict())  # weights of their own, not views of one tensor
    greedy = Greedy(policy).eval()
    with _quiet(), torch.no_grad(), in_float32(greedy):
        program = torch.onnx.export(
            greedy,
            (torch.zeros(2, obs_size),),
            input_names=[INPUT],
            output_names=[OUTPUT],
            dynamic_shapes=({0: torch.export.Dim("batch", min=1)},),
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
