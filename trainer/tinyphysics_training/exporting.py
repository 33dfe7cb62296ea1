"""A policy as one Python file that the challenge's own programs load."""

from __future__ import annotations

import base64

import numpy as np
from torch import nn

from ..policies.actor_critic import ActorCritic
from . import exported_controller

MARKER = "WEIGHTS: list[tuple[tuple[int, ...], str]] = []\n"
LINE = 96


def controller_source(policy: ActorCritic, name: str) -> str:
    """The text of a controller file: `exported_controller.py` with the actor's weights in it."""
    with open(exported_controller.__file__) as file:
        template = file.read()
    arrays = []
    for layer in policy.actor:
        if isinstance(layer, nn.Linear):
            arrays += [layer.weight.detach().numpy(), layer.bias.detach().numpy()]
    entries = "".join(_entry(array.astype("<f4")) for array in arrays)
    head, _, tail = template.partition(MARKER)
    head = head.replace("A policy for the challenge", f"The policy of {name} for the challenge", 1)
    return f"{head}WEIGHTS = [\n{entries}]\n{tail}"


def _entry(array: np.ndarray) -> str:
    text = base64.b64encode(array.tobytes()).decode()
    lines = "".join(f'            "{text[i : i + LINE]}"\n' for i in range(0, len(text), LINE))
    return f"    (\n        {array.shape},\n        (\n{lines}        ),\n    ),\n"
