"""Choices: one of n actions, or several such choices at once."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from ...spaces import Discrete, MultiDiscrete


class Categorical:
    """One of `n` actions, from unnormalised log-probabilities."""

    action_dtype = torch.int64
    action_shape: tuple[int, ...] = ()
    num_log_stds = 0
    is_masked = False  # whether some outputs may be those of illegal actions

    def __init__(self, actions: Discrete) -> None:
        self.num_outputs, self._start = actions.n, actions.start

    def noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        return torch.rand(shape, generator=generator, device=generator.device)

    def sample(self, outputs: Tensor, noise: Tensor) -> Tensor:
        """The inverse of the cumulative distribution at `noise` [B], uniform in [0, 1)."""
        cumulative = outputs.float().softmax(-1).cumsum(-1)
        # Rounding can leave the last sum below 1: the last action takes what remains.
        drawn = (noise.unsqueeze(-1) >= cumulative[..., :-1]).sum(-1)
        if self.is_masked:  # then the last one with any probability does
            drawn = torch.minimum(drawn, (cumulative < cumulative[..., -1:]).sum(-1))
        return drawn

    def mode(self, outputs: Tensor) -> Tensor:
        return outputs.argmax(-1)

    def env_actions(self, actions: Tensor) -> Tensor:
        return actions + self._start if self._start else actions

    def log_prob_and_entropy(self, outputs: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        log_probs = outputs.float().log_softmax(-1)
        entropy = -(log_probs.exp() * log_probs).sum(-1)
        return log_probs.gather(-1, actions.unsqueeze(-1)).squeeze(-1), entropy

    def kl(self, outputs: Tensor, others: Tensor) -> Tensor:
        log_probs, other_log_probs = outputs.float().log_softmax(-1), others.float().log_softmax(-1)
        return (log_probs.exp() * (log_probs - other_log_probs)).sum(-1)


class MultiCategorical:
    """Independent choices; choice i is one of `nvec[i]`, and its outputs follow those before."""

    action_dtype = torch.int64
    num_log_stds = 0

    def __init__(self, actions: MultiDiscrete) -> None:
        self.nvec = actions.nvec
        self.num_outputs, self._start = sum(actions.nvec), actions.start
        self.action_shape: tuple[int, ...] = (len(actions.nvec),)
        self._choices = [Categorical(Discrete(n)) for n in actions.nvec]

    @property
    def is_masked(self) -> bool:
        return self._choices[0].is_masked

    @is_masked.setter
    def is_masked(self, value: bool) -> None:
        for choice in self._choices:
            choice.is_masked = value

    def _parts(self, outputs: Tensor) -> Iterator[tuple[Categorical, Tensor]]:
        return zip(self._choices, torch.split(outputs, list(self.nvec), -1), strict=True)

    def noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        shape = (*shape, *self.action_shape)
        return torch.rand(shape, generator=generator, device=generator.device)

    def sample(self, outputs: Tensor, noise: Tensor) -> Tensor:
        """Sample each choice as `Categorical` does, with its column of `noise` [B, choices]."""
        parts = zip(self._parts(outputs), noise.unbind(-1), strict=True)
        return torch.stack([choice.sample(part, column) for (choice, part), column in parts], -1)

    def mode(self, outputs: Tensor) -> Tensor:
        return torch.stack([choice.mode(part) for choice, part in self._parts(outputs)], -1)

    def env_actions(self, actions: Tensor) -> Tensor:
        return actions + actions.new_tensor(self._start) if self._start else actions

    def log_prob_and_entropy(self, outputs: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        parts = zip(self._parts(outputs), actions.unbind(-1), strict=True)
        both = [choice.log_prob_and_entropy(part, column) for (choice, part), column in parts]
        log_probs, entropies = zip(*both, strict=True)
        return torch.stack(log_probs).sum(0), torch.stack(entropies).sum(0)

    def kl(self, outputs: Tensor, others: Tensor) -> Tensor:
        parts = zip(self._parts(outputs), self._parts(others), strict=True)
        return torch.stack([choice.kl(part, other) for (choice, part), (_, other) in parts]).sum(0)
