"""Proximal policy optimisation. Source: Schulman et al. 2017, arXiv:1707.06347."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Unpack

import torch
from torch import Tensor

from ..config.sections.ppo import PPOConfig
from ..distributed.reductions import explained_variance, normalize_advantages
from ..machine.values import Scalar, State
from ..memory.rollout import Rollout
from ..memory.samplers import make_sampler
from ..policies.actor_critic import ActorCritic
from ..policies.recurrent_actor_critic import RecurrentActorCritic
from ..returns.gae import gae
from ..spaces import Spaces
from .algorithm import Metrics, Options, scheduled
from .auxiliary import AuxiliaryLoss, embedding_size
from .gradient import Gradient
from .minibatches import Minibatch, Minibatches, StepEvaluator
from .on_policy import OnPolicy
from .optimizer import scaled_down
from .ppo_loss import KL, LOSS_METRICS, ppo_loss_sums
from .rows import RowEvaluator
from .settings import LearnerSettings


@dataclass
class Coefficients:
    """The scheduled coefficients of one iteration."""

    learning_rate: Scalar
    clip_coef: Scalar
    entropy_coef: Scalar

    @classmethod
    def at(cls, section: PPOConfig, progress_fraction: Scalar) -> Coefficients:
        return cls(
            scheduled(section.learning_rate, section.learning_rate_schedule, progress_fraction),
            scheduled(section.clip_coef, section.clip_schedule, progress_fraction),
            scheduled(section.entropy_coef, section.entropy_schedule, progress_fraction),
        )


class Means(NamedTuple):
    """The results of an update: mean loss terms by metric, the mean gradient norm, and the fraction
    of the returns' variance that the values explain.
    """

    losses: Mapping[str, Scalar]
    grad_norm: Scalar
    explained_variance: Tensor


class UpdateExecutor(Protocol):
    """Runs the whole update of a `PPO` outside PyTorch, such as in compiled loops."""

    def update(self, rollout: Rollout, rewards: Tensor, coefficients: Coefficients) -> Means: ...

    @property
    def loops(self) -> tuple[Any, ...]:
        """The compiled functions that it calls, in the order of their first calls."""

    @property
    def work_done(self) -> int:
        """Optimizer steps since the start, including those of the current update."""


class PPO(OnPolicy):
    """Several epochs of minibatches over one rollout, with an optimizer step for each minibatch.

    An update has four independent parts: drawing minibatches, the loss, auxiliary losses, and the
    gradient.

    If `target_kl` ends an update early, the remaining steps still run but move nothing, so that
    every update is the same sequence of work. An inline update skips them.
    """

    section: PPOConfig
    policy: ActorCritic | RecurrentActorCritic

    @staticmethod
    def make_policy(
        settings: LearnerSettings, spec: Spaces, seed: int
    ) -> ActorCritic | RecurrentActorCritic:
        normalizes = settings.normalization.obs
        if not settings.policy.memory.is_on:
            return ActorCritic(spec, settings.policy, normalizes, seed)
        return RecurrentActorCritic(
            spec, settings.policy, normalizes, seed, embedding_size(settings)
        )

    def __init__(
        self,
        settings: LearnerSettings,
        policy: ActorCritic | RecurrentActorCritic,
        *,
        auxiliary_losses: Sequence[AuxiliaryLoss] = (),
        executor: Callable[[PPO], UpdateExecutor] | None = None,
        **options: Unpack[Options],
    ) -> None:
        """`auxiliary_losses` are added to the loss of PPO. Without an `executor`, PyTorch runs the
        updates.
        """
        super().__init__(settings, policy, **options)
        self.auxiliary_losses = tuple(auxiliary_losses)
        self.loss_names = (*LOSS_METRICS, *(loss.metric for loss in auxiliary_losses))
        is_shared = self.can_share_minibatches and all(x.can_be_shared for x in auxiliary_losses)
        self._compiles = settings.compile and executor is None
        self.evaluator: StepEvaluator | RowEvaluator
        if isinstance(policy, RecurrentActorCritic):
            self.evaluator = RowEvaluator(policy, is_shared, self._each, self._compiles)
        else:
            self.evaluator = StepEvaluator(policy, is_shared)
        self._normalizes = self.section.normalize_advantages == "minibatch"
        sampler = make_sampler(
            self.section, self.orders, self.num_parts, self.seed, self.device, self.is_inline
        )
        self.minibatches = Minibatches(sampler, self.section, self.ranks, self._normalizes)
        self.gradient = Gradient(
            policy, self.section.max_minibatch_size, self._each, is_shared, self.ranks
        )
        self._loss_of = self.compiled(self.loss_sum) if self._compiles else self.loss_sum
        self.executor = executor(self) if executor else None

    def update(self, rollout: Rollout, progress_fraction: Scalar) -> Metrics:
        if not rollout.has_values:
            self.evaluator.fill_values(rollout)
        return super().update(rollout, progress_fraction)

    def learn(self, rollout: Rollout, rewards: Tensor, progress_fraction: Scalar) -> Metrics:
        coefficients = Coefficients.at(self.section, progress_fraction)
        if self.executor:
            means = self.executor.update(rollout, rewards, coefficients)
        else:
            means = self._update(rollout, rewards, coefficients, progress_fraction)
        return {
            **means.losses,
            "value/explained_variance": means.explained_variance,
            "optimizer/grad_norm": means.grad_norm,
            "optimizer/learning_rate": coefficients.learning_rate,
        }

    def _update(
        self,
        rollout: Rollout,
        rewards: Tensor,
        coefficients: Coefficients,
        progress_fraction: Scalar,
    ) -> Means:
        advantages, returns = self.estimates(rollout, rewards)
        for auxiliary in self.auxiliary_losses:
            auxiliary.begin(rollout, progress_fraction)

        batch, totals = self.batch_of(rollout, advantages, returns), Totals(self)
        for minibatches in self.minibatches.epochs(rollout, batch, progress_fraction):
            for minibatch, weights in minibatches:
                totals.add(*self._learn(rollout, minibatch, weights, coefficients, totals.active))
                self.tick()
            if self.section.target_kl and not totals.goes_on(self.section.target_kl):
                break
        returns, values = map(rollout.valid_of, (returns, rollout.values))
        explained = explained_variance(self.ranks, returns, values)
        losses = dict(zip(self.loss_names, totals.mean_losses.unbind(), strict=True))
        return Means(losses, totals.mean_norm, explained)

    def estimates(self, rollout: Rollout, rewards: Tensor) -> tuple[Tensor, Tensor]:
        """Advantages and returns of a rollout, each [T, N], by its stored values."""
        return gae(
            rewards,
            rollout.values,
            rollout.next_values,
            rollout.terminated,
            rollout.truncated,
            self.section.gamma,
            self.section.gae_lambda,
        )

    def batch_of(self, rollout: Rollout, advantages: Tensor, returns: Tensor) -> Minibatch:
        """The batch that minibatches are drawn from."""
        extra = {x.name: x.data for x in self.auxiliary_losses if x.data is not None}
        if self.section.normalize_advantages == "rollout":
            among = rollout.valid_of(advantages)
            advantages = normalize_advantages(self.ranks, advantages, among)
        return self.evaluator.batch(rollout, advantages, returns, extra)

    def prepared(self, minibatch: Minibatch, weights: Tensor | None) -> Minibatch:
        """The minibatch with the advantages that the loss uses: normalised and weighted."""
        if self._normalizes:
            among = minibatch.valid_of(minibatch.advantages)
            normalized = self.minibatches.normalized(minibatch.advantages, among)
            minibatch = minibatch.with_advantages(normalized)
        if weights is not None:
            spread = minibatch.spread(weights)
            minibatch = minibatch.with_advantages(minibatch.advantages * spread)
        for auxiliary in self.auxiliary_losses:
            minibatch = auxiliary.prepared(minibatch)
        return minibatch

    def _learn(
        self,
        rollout: Rollout,
        minibatch: Minibatch,
        weights: Tensor | None,
        coefficients: Coefficients,
        active: Tensor,
    ) -> tuple[Tensor, Tensor, int]:
        """One optimizer step; returns loss sums and the mean gradient norm, float64, and the number
        of samples.
        """
        section = self.section
        minibatch = self.prepared(minibatch, weights)
        gradient, sums, num_samples = self._gradient(minibatch, coefficients)
        # Each network by itself, where they share no layers: a large value loss would otherwise
        # shrink the actor's steps.
        parts = self.policy.networks_of(gradient)
        norms = [scaled_down(part, section.max_grad_norm) for part in parts]
        norm = torch.stack(norms).mean()
        moves = self.moving(norm, active if section.target_kl else None, rollout)
        self.optimizer.step(gradient, coefficients.learning_rate, moves)
        self.policy.limit_log_std()
        return sums, norm.double(), num_samples

    def _gradient(
        self, minibatch: Minibatch, coefficients: Coefficients
    ) -> tuple[Tensor, Tensor, int]:
        """The gradient, loss sums and number of samples, as `Gradient.of` returns them."""
        scheduled: tuple[Scalar, Scalar] = (coefficients.clip_coef, coefficients.entropy_coef)
        if self.is_inline and self._compiles:  # another number would be compiled again
            clip_coef, entropy_coef = (torch.as_tensor(x, dtype=torch.float32) for x in scheduled)
            scheduled = clip_coef, entropy_coef
        return self.gradient.of(
            minibatch,
            lambda piece: self._loss_of(piece, *scheduled),
            len(self.loss_names),
            self._in_pieces,
        )

    def _in_pieces(self, minibatch: Minibatch, pieces: Sequence[slice]) -> Minibatch:
        """The minibatch with what each piece needs from the others; `pieces` are their index
        ranges.
        """
        for auxiliary in self.auxiliary_losses:
            minibatch = auxiliary.in_pieces(minibatch, pieces, self.evaluator.features)
        return minibatch

    def loss_sum(
        self, piece: Minibatch, clip_coef: Scalar, entropy_coef: Scalar
    ) -> tuple[Tensor, Tensor]:
        """The loss summed over all samples, and the sum of each of its terms."""
        section = self.section
        evaluation = self.evaluator.evaluate_actions(piece)
        sums = ppo_loss_sums(
            self.policy.distribution,
            evaluation.outputs,
            evaluation.values,
            evaluation.samples,
            clip_coef,
            section.value_clip,
        )
        loss = sums.policy + section.value_coef * sums.value - entropy_coef * sums.entropy
        terms = [*sums]
        for auxiliary in self.auxiliary_losses:
            term = auxiliary.loss_sum(piece, evaluation)
            loss = loss + auxiliary.weight * term
            terms.append(term)
        return loss, torch.stack(terms).detach()

    @property
    def loops(self) -> tuple[Any, ...]:
        if self.executor:
            return (*self.rewards.loops, *self.executor.loops)
        return (self._loss_of,) if self._compiles else ()

    @property
    def work_done(self) -> int:
        return self.executor.work_done if self.executor else super().work_done

    def warm_up(self, rollout: Rollout) -> None:
        if not self._compiles:
            return
        state = self.state_dict()
        coefficients = Coefficients.at(self.section, 0.0)
        for auxiliary in self.auxiliary_losses:
            auxiliary.begin(rollout, 0.0)
        batch = self.batch_of(rollout, rollout.rewards, rollout.rewards)
        minibatch = self.prepared(self.minibatches.first(rollout, batch), None)
        self._gradient(minibatch, coefficients)
        self.load_state_dict(state)  # this minibatch has advanced the random numbers

    def state_dict(self) -> State:
        state = {**super().state_dict(), **self.minibatches.state_dict()}
        for auxiliary in self.auxiliary_losses:
            state |= auxiliary.state_dict()
        return state

    def load_state_dict(self, state: State) -> None:
        super().load_state_dict(state)
        self.minibatches.load_state_dict(state)
        for auxiliary in self.auxiliary_losses:
            auxiliary.load_state_dict(state)

    def forget_episodes(self) -> None:
        super().forget_episodes()
        for auxiliary in self.auxiliary_losses:
            auxiliary.forget_episodes()


class Totals:
    """Sums over the steps of an update. `active` [] is 1, or 0 once the policy has moved too far,
    which ends the update.
    """

    def __init__(self, ppo: PPO) -> None:
        self._is_inline = ppo.is_inline
        self.active = torch.ones((), dtype=torch.float64, device=ppo.device)
        self._sums = self.active.new_zeros(len(ppo.loss_names))
        self._norms, self._num_samples, self._num_steps = self.active.new_zeros(3).unbind()
        self._begin_epoch()

    def _begin_epoch(self) -> None:
        self._epoch_kl, self._epoch_size = self.active.new_zeros(()), 0

    def add(self, sums: Tensor, norm: Tensor, num_samples: int) -> None:
        """Add the results of `PPO._learn` for one step."""
        self._sums += sums * self.active
        self._epoch_kl += sums[KL]
        self._epoch_size += num_samples
        self._norms += norm * self.active
        self._num_samples += self.active * num_samples
        self._num_steps += self.active

    def goes_on(self, target_kl: float) -> bool:
        """Whether the update continues after an epoch. It always does if the remaining steps run
        anyway and move nothing.
        """
        # A KL that is not finite does not count: its steps moved nothing.
        self.active = self.active * ~(self._epoch_kl > target_kl * self._epoch_size)
        self._begin_epoch()
        return not self._is_inline or bool(self.active)

    @property
    def mean_losses(self) -> Tensor:
        """Mean loss terms, in the order of `PPO.loss_names`."""
        return self._sums / self._num_samples

    @property
    def mean_norm(self) -> Tensor:
        return self._norms / self._num_steps
