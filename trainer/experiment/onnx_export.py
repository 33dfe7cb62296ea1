"""Policies to take away: observation in, action out, as an ONNX file.

What is exported is the greedy policy of evaluation, its normaliser included, in float32. One with
action masks has the mask as its second input. One that remembers has its state as its last input
and output: zeros before the first step of an episode, then what the step before gave.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import onnx
import torch
from torch import Tensor, nn

from ...shared.errors import UsageError
from ..envs.hosts import AnySpec
from ..envs.spaces import import_gymnasium, named_leaves
from ..policies.mlp import in_float32
from ..policies.policy import Policy
from ..spaces import num_numbers, obs_shape
from .trained_policy import TrainedPolicy

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


class MaskedGreedy(Greedy):
    """Observations, and masks [B, mask_size], to those actions."""

    def forward(self, obs: Tensor, mask: Tensor) -> Tensor:  # type: ignore[override]
        return super().forward(torch.cat([obs, mask], -1))


class RecurrentGreedy(Greedy):
    """Observations and states [B, state_size] to those actions and the next states."""

    def forward(self, obs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        return self.policy.greedy_step(obs, state)


class MaskedRecurrentGreedy(RecurrentGreedy):
    """Observations, masks and states to those actions and the next states."""

    def forward(  # type: ignore[override]
        self, obs: Tensor, mask: Tensor, state: Tensor
    ) -> tuple[Tensor, Tensor]:
        return super().forward(torch.cat([obs, mask], -1), state)


def write_trained(trained: TrainedPolicy, run_id: str, path: Path) -> None:
    """Write the policy of a run to `path`. Raises UsageError if that is not possible."""
    config = trained.config
    about = f"{run_id}, iteration {trained.iteration}: {config.algorithm} on {config.env}"
    try:
        write_onnx(
            trained.policy,
            num_numbers(trained.spec),
            path,
            about,
            metadata_of(config.env, trained.spec),
        )
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def metadata_of(env: str, spec: AnySpec) -> dict[str, str]:
    """Notes for those who use the file: the environment, the shape of its observations, the
    order of the parts of dictionaries and tuples in a row, and the preprocessing.
    """
    metadata = {"env": env, "observation_shape": json.dumps(obs_shape(spec))}
    for key, space in (
        ("observation_parts", spec.obs_space),
        ("action_parts", spec.action_space),
    ):
        if hasattr(space, "spaces"):
            metadata[key] = json.dumps(_parts(space, is_flattened=key == "observation_parts"))
    if (preprocessing := spec.preprocessing.for_evaluation()).is_on:
        metadata["preprocessing"] = json.dumps(asdict(preprocessing))
    return metadata


def _parts(space: Any, *, is_flattened: bool) -> list[dict[str, Any]]:
    """The parts in the order of a row's numbers, each with its name, first column and size. A
    choice of n is n numbers where it is flattened, else one.
    """
    parts: list[dict[str, Any]] = []
    start = 0
    for name, leaf in named_leaves(space):
        size = import_gymnasium().spaces.flatdim(leaf) if is_flattened else math.prod(leaf.shape)
        parts.append({"name": name, "start": start, "size": size})
        start += size
    return parts


def write_onnx(
    policy: Policy,
    num_numbers: int,
    path: Path,
    about: str,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write `policy` to `path`; `about` says where it comes from, and `metadata` what those who use
    it need to know. An observation is so many numbers without its mask, and any number of them at
    a time may go in. Raises OSError when the file cannot be written.
    """
    policy.load_state_dict(policy.state_dict())  # weights of their own, not views of one tensor
    remembers = policy.state_size > 0
    num_choices = getattr(policy, "mask_size", 0)
    kinds = (Greedy, MaskedGreedy), (RecurrentGreedy, MaskedRecurrentGreedy)
    greedy = kinds[remembers][num_choices > 0](policy).eval()
    inputs = {INPUT: torch.zeros(2, num_numbers)}
    if num_choices:
        inputs[MASK] = torch.ones(2, num_choices)
    if remembers:
        inputs[STATE] = torch.zeros(2, policy.state_size)
    with _quiet(), torch.no_grad(), in_float32(greedy):
        program = torch.onnx.export(
            greedy,
            tuple(inputs.values()),
            input_names=list(inputs),
            output_names=[OUTPUT, NEXT_STATE] if remembers else [OUTPUT],
            dynamic_shapes=tuple({0: torch.export.Dim("batch", min=1)} for _ in inputs),
            dynamo=True,
            verbose=False,
        )
    assert program
    model = program.model_proto
    model.doc_string = about
    onnx.helper.set_model_props(model, dict(metadata or {}))
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
