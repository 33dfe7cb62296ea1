"""PPO for policies that remember: minibatches are whole rows of steps, each with the state that it
began with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..config import TrainConfig
from ..envs.spec import Spaces
from ..networks.recurrent_actor_critic import RecurrentActorCritic
from ..rollout import MOST_AT_ONCE, Rollout
from .accumulating import SHARED_SAMPLES
from .contrastive import Contrast, Contrastive
from .ppo import PPO
from .ppo_loss import Batch


class Rows(NamedTuple):
    """R rows of L steps each, a piece of one environment's rollout: `samples` are [L, R, ...].

    `states` [R, S] are those before the first step; they are forgotten after the steps `resets`
    [L, R]. Nothing is learned from what is not `valid` [L, R], where that is told. With the
    contrastive loss `contrast` says what is compared with what.
    """

    samples: Batch
    states: Tensor
    resets: Tensor
    valid: Tensor | None
    contrast: Contrast | None = None

    @property
    def num_parts(self) -> int:
        """What minibatches are drawn from: rows."""
        return len(self.states)

    def at(self, index: Tensor | slice) -> Rows:
        samples = self.samples.each(lambda x: x[:, index])
        valid = None if self.valid is None else self.valid[:, index]
        contrast = None if self.contrast is None else self.contrast.at(index)
        return Rows(samples, self.states[index], self.resets[:, index], valid, contrast)

    def valid_of(self, x: Tensor) -> Tensor:
        """The samples of x [L, R, ...] that count, as [B, ...]."""
        return x.flatten(0, 1) if self.valid is None else x[self.valid]

    @property
    def num_samples(self) -> int:
        """Those that count; waits for the device where some do not."""
        return self.resets.numel() if self.valid is None else int(self.valid.sum())

    @property
    def advantages(self) -> Tensor:
        return self.samples.advantages

    def counted_advantages(self, index: Tensor) -> Tensor:
        """Those of the samples of these rows that count."""
        advantages = self.advantages[:, index]
        return advantages.flatten() if self.valid is None else advantages[self.valid[:, index]]

    @property
    def policy_weights(self) -> Tensor | None:
        return self.samples.policy_weights

    @property
    def part_advantages(self) -> Tensor:
        """How large the advantages of each row are together [R]."""
        large = self.advantages.abs()
        return (large if self.valid is None else large.masked_fill(~self.valid, 0.0)).sum(0)

    def spread(self, weights: Tensor) -> Tensor:
        """What belongs to each sample [L, R], from weights [R] of the rows."""
        return weights.expand_as(self.advantages)

    def with_advantages(self, advantages: Tensor) -> Rows:
        return self._replace(samples=self.samples._replace(advantages=advantages))

    def with_obs(self, obs: Tensor) -> Rows:
        return self._replace(samples=self.samples._replace(obs=obs))

    def places_at(self, index: Tensor | slice) -> Tensor:
        """Where the observations of these rows are [L, size], of those in main memory."""
        return self.samples.obs[:, index]


class RecurrentPPO(PPO):
    """As `PPO`, from rows: the same losses, of outputs and values that a row's state led to."""

    policy: RecurrentActorCritic

    @staticmethod
    def make_policy(config: TrainConfig, spec: Spaces, seed: int) -> RecurrentActorCritic:
        contrastive = config.table("contrastive")
        embedding_size = contrastive.embedding_size if contrastive.coef else 0
        normalizes = config.normalization.obs
        return RecurrentActorCritic(spec, config.policy, normalizes, seed, embedding_size)

    def __init__(self, config: TrainConfig, policy: Any, *arguments: Any, **options: Any) -> None:
        """The rest is `PPO`'s."""
        super().__init__(config, policy, *arguments, **options)
        if config.compile:
            from ..torch_compiling import left_as_it_is  # seldom wanted

            # Unrolled, its loop over a row's steps takes minutes to compile; it is no faster then.
            left_as_it_is(self.policy.layer)
        self.contrastive: Contrastive | None = None
        section = config.table("contrastive")
        if not section.coef:
            return
        row_steps = self.part_steps(config)
        num_rows = config.rollout_size // row_steps // self.section.num_minibatches
        self.contrastive = Contrastive(
            section, self.policy.embed, (row_steps, num_rows), self.seed,
            policy.flat_parameters.device, self.is_inline,
        )  # fmt: skip
        self.loss_names += ("loss/contrastive",)

    @staticmethod
    def part_steps(config: TrainConfig) -> int:
        """Env steps of a row."""
        return config.policy.memory.horizon or config.rollout_steps

    @torch.no_grad()
    def evaluate(self, rollout: Rollout) -> None:
        """Fill in the values of all states. Those that a step led to are seen by what was known
        after it: also the one that a time limit cut an episode short in, and the last.
        """
        policy, parts = self.policy, self._lived(rollout)
        rollout.values.copy_(in_order(policy.values(parts[0]), rollout))
        known = in_order(torch.cat(parts, -1), rollout)

        def value_of(obs: Tensor, states: Tensor) -> Tensor:
            return policy.values(policy.step(obs, states)[0])

        last = value_of(rollout.on_device(rollout.obs[-1]), known[-1]).unsqueeze(0)
        next_values = torch.cat([rollout.values[1:], last])
        rollout.next_values.copy_(rollout.with_final_values(next_values, value_of, known))

    def _can_be_shared(self) -> bool:
        """Contrasts are with all others of a minibatch, of which pieces are told at the cost of one
        more pass.
        """
        return super()._can_be_shared() and not self.config.table("contrastive").coef

    def _lived(self, rollout: Rollout) -> tuple[Tensor, ...]:
        """The state's parts [L, K N, size] after every step of the rows, features first."""
        rows = rows_of(rollout)
        pieces = self._pieces_of(rows)
        each = self._each if self.is_shared else map
        found: list[tuple[Tensor, ...]] = list(
            each(lambda some: self._lived_of(rows, rollout, some), pieces)
        )
        if len(found) == 1:
            return found[0]
        return tuple(torch.cat(parts, 1) for parts in zip(*found, strict=True))

    def _lived_of(self, rows: Rows, rollout: Rollout, some: slice) -> tuple[Tensor, ...]:
        obs = rollout.obs_at(rows.samples.obs[:, some])
        parts: tuple[Tensor, ...] = self.policy.over_rows(
            obs, rows.states[some], rows.resets[:, some]
        )
        return parts

    def _pieces_of(self, rows: Rows) -> list[slice]:
        """Rows that are gone through at once."""
        most = SHARED_SAMPLES if self.is_shared else MOST_AT_ONCE
        at_once = max(1, most // len(rows.resets))
        return [slice(i, i + at_once) for i in range(0, rows.num_parts, at_once)]

    def log_probs(self, rollout: Rollout) -> Tensor:
        rows, features = rows_of(rollout), self._lived(rollout)[0]
        outputs, actions = (x.flatten(0, 1) for x in (features, rows.samples.actions))
        found, _ = self.policy.distribution.log_prob_and_entropy(
            self.policy.outputs(outputs), actions
        )
        return in_order(found.view_as(rows.resets), rollout)

    def batch_of(self, rollout: Rollout, advantages: Tensor, returns: Tensor) -> Rows:
        if self.section.normalize_advantages == "rollout":
            valid = rollout.valid_of(advantages)
            advantages = self.ranks.normalized(advantages, valid)
        weights = self.policy_weights(rollout)
        seen = self._places(rollout) if self.is_shared else None
        rows = rows_of(rollout, advantages, returns, self._told, weights, seen)
        if rows.valid is None:
            return rows
        # A row with nothing to learn from is none: a minibatch of such would have no samples.
        return rows.at(rows.valid.any(0).nonzero().squeeze(1))

    def features_of(self, minibatch: Rows) -> Tensor:
        """What is remembered after each step [L, R, H]."""
        obs = minibatch.samples.obs
        return self.policy.over_rows(obs, minibatch.states, minibatch.resets)[0]

    def judged(self, minibatch: Rows, features: Tensor) -> tuple[Tensor, Tensor, Batch]:
        features = minibatch.valid_of(features)
        samples = minibatch.samples.each(minibatch.valid_of)
        return self.policy.outputs(features), self.policy.values(features), samples

    def prepared(self, minibatch: Rows, weights: Tensor | None) -> Rows:
        """Advantages and, with the contrastive loss, positives."""
        minibatch = super().prepared(minibatch, weights)
        if self.contrastive is None:
            return minibatch
        drawn = self.contrastive.drawn(minibatch.resets, minibatch.num_samples)
        return minibatch._replace(contrast=drawn)

    def losses_besides(
        self, piece: Rows, features: Tensor, judged: tuple[Tensor, Tensor, Batch]
    ) -> Iterator[tuple[Any, Tensor]]:
        yield from super().losses_besides(piece, features, judged)
        if self.contrastive and piece.contrast:
            yield self.contrastive.coef, self.contrastive.loss_sum(features, piece.contrast)

    @torch.no_grad()
    def in_pieces(self, minibatch: Rows, pieces: Sequence[slice]) -> Rows:
        """Negatives are all other rows of the minibatch, in whatever piece they are: one more pass
        forward over it tells each piece of the others.
        """
        if self.contrastive is None or minibatch.contrast is None:
            return minibatch
        features = torch.cat([self.features_of(minibatch.at(index)) for index in pieces], 1)
        return minibatch._replace(contrast=self.contrastive.among_all(features, minibatch.contrast))

    def state_dict(self) -> dict[str, Any]:
        contrastive = self.contrastive.state_dict() if self.contrastive else {}
        return {**super().state_dict(), **contrastive}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        if self.contrastive:
            self.contrastive.load_state_dict(state)


def rows_of(
    rollout: Rollout,
    advantages: Tensor | None = None,
    returns: Tensor | None = None,
    told: Tensor | None = None,
    policy_weights: Tensor | None = None,
    places: Tensor | None = None,
) -> Rows:
    """A rollout [T, N] cut into rows [L, K N] where it kept states; the first N are of its first
    piece. Where `places` [T, N] of observations are told these stand for them.
    """
    assert rollout.states is not None
    num_pieces = len(rollout.states)

    def cut(x: Tensor) -> Tensor:
        return x.view(num_pieces, -1, *x.shape[1:]).transpose(0, 1).flatten(1, 2)

    values, seen = rollout.values, rollout.obs_or_places if places is None else places
    samples = Batch(
        cut(seen), cut(rollout.actions), cut(rollout.log_probs),
        cut(values if advantages is None else advantages),
        cut(values if returns is None else returns), cut(values),
        *(None if x is None else cut(x) for x in (told, policy_weights)),
    )  # fmt: skip
    valid = None if rollout.valid is None else cut(rollout.valid)
    return Rows(samples, rollout.states.flatten(0, 1), cut(rollout.resets()), valid)


def in_order(x: Tensor, rollout: Rollout) -> Tensor:
    """x [L, K N, ...] of rows as [T, N, ...] of the rollout that they were cut from."""
    num_rows = rollout.rewards.shape[1]
    return x.view(len(x), -1, num_rows, *x.shape[2:]).transpose(0, 1).flatten(0, 1)
