"""Proximal policy optimisation. Source: Schulman et al. 2017, arXiv:1707.06347."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Unpack

import torch
from torch import Tensor

from ..config.sections.ppo import PPOConfig
from ..distributed.reductions import explained_variance, normalize_advantages, sum_gradient
from ..distributed.sampler import distributed_sampler
from ..machine.values import Scalar, State
from ..memory.rollout import Rollout
from ..memory.samplers import first_parts, make_sampler
from ..policies.actor_critic import ActorCritic
from ..policies.convolutions import has_convolutions
from ..policies.distributions import Distribution
from ..policies.recurrent_actor_critic import RecurrentActorCritic
from ..returns.gae import gae
from ..spaces import Spaces
from .algorithm import LearnerSettings, Metrics, Options, scheduled
from .auxiliary import AuxiliaryLoss, embedding_size
from .minibatches import Batch, Minibatch, fill_values, rows_of, slices, steps_of
from .on_policy import OnPolicy, flat_gradient
from .optimizer import scaled_down


@dataclass
class Coefficients:
    """The scheduled coefficients of one iteration."""

    learning_rate: Scalar
    entropy_coef: Scalar

    @classmethod
    def at(cls, section: PPOConfig, progress_fraction: Scalar) -> Coefficients:
        return cls(
            scheduled(section.learning_rate, section.learning_rate_schedule, progress_fraction),
            scheduled(section.entropy_coef, section.entropy_schedule, progress_fraction),
        )


# The metrics of the fields of `LossSums`, in their order.
LOSS_METRICS = (
    "loss/policy",
    "loss/value",
    "policy/entropy",
    "policy/approx_kl",
    "policy/clip_fraction",
)


class LossSums(NamedTuple):
    """Sums over samples, as scalars: losses, and what people watch to see an update go wrong."""

    policy: Tensor
    value: Tensor
    entropy: Tensor
    kl: Tensor
    clipped: Tensor


KL = LossSums._fields.index("kl")


def ppo_loss_sums(
    distribution: Distribution,
    outputs: Tensor,
    values: Tensor,
    batch: Batch,
    clip_coef: float,
    value_clip: float | None = None,
) -> LossSums:
    """The terms of the clipped objective, summed over the samples, from the `outputs` [B, O] and
    `values` [B] that the policy now has for them.

        policy = -min(ratio * A, clip(ratio, 1 - clip_coef, 1 + clip_coef) * A)
        value  = (V - R)^2 / 2, or with `value_clip` the larger of that and of
                 (clip(V, V_old - value_clip, V_old + value_clip) - R)^2 / 2

    `kl` is the estimator (ratio - 1) - log(ratio) of KL(old, new), `clipped` the count of ratios
    outside the clip range. Source: arXiv:1707.06347, eq. 7; http://joschu.net/blog/kl-approx.html;
    Huang et al. 2022, "The 37 implementation details of PPO", detail 9.
    """
    log_probs, entropy = distribution.log_prob_and_entropy(outputs, batch.actions)
    log_ratios = log_probs - batch.log_probs
    ratios = log_ratios.exp()
    clipped_ratios = ratios.clamp(1 - clip_coef, 1 + clip_coef)
    objective = torch.minimum(ratios * batch.advantages, clipped_ratios * batch.advantages)
    squares = (values - batch.returns).square()
    if value_clip:
        moves = (values - batch.values).clamp(-value_clip, value_clip)
        squares = torch.maximum(squares, (batch.values + moves - batch.returns).square())
    with torch.no_grad():
        kl = ((ratios - 1) - log_ratios).sum()
        clipped = ((ratios - 1).abs() > clip_coef).sum(dtype=torch.float32)
    return LossSums(-objective.sum(), 0.5 * squares.sum(), entropy.sum(), kl, clipped)


class UpdateExecutor(Protocol):
    """Runs the whole update of a `PPO` outside PyTorch, such as in compiled loops."""

    def update(self, rollout: Rollout, rewards: Tensor, coefficients: Coefficients) -> Metrics: ...

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
        section = self.section
        self.auxiliary_losses = tuple(auxiliary_losses)
        self.loss_names = (*LOSS_METRICS, *(loss.metric for loss in auxiliary_losses))
        self._is_shared = self.can_share_minibatches and all(
            auxiliary.can_be_shared for auxiliary in auxiliary_losses
        )
        self._compiles = settings.compile and executor is None
        if self._compiles and isinstance(policy, RecurrentActorCritic):
            from ..jit.torch_compiling import left_as_it_is  # rarely needed

            # Unrolling the loop over a row's steps takes minutes to compile and is no faster.
            left_as_it_is(policy.layer)
        self._normalizes = section.normalize_advantages == "minibatch"
        sampler = make_sampler(
            section, self.orders, self.num_parts, self.seed, self.device, self.is_inline
        )
        self.sampler = distributed_sampler(self.ranks, sampler, section, self._normalizes)
        self._has_images = has_convolutions(self.parameters)
        self._loss_of = self.compiled(self.loss_sum) if self._compiles else self.loss_sum
        self.executor = executor(self) if executor else None

    def learn(self, rollout: Rollout, rewards: Tensor, progress_fraction: Scalar) -> Metrics:
        coefficients = Coefficients.at(self.section, progress_fraction)
        if not rollout.has_values:
            fill_values(self.policy, rollout)
        if self.executor:
            metrics = self.executor.update(rollout, rewards, coefficients)
        else:
            metrics = self._learn(rollout, rewards, coefficients, progress_fraction)
        return {**metrics, "optimizer/learning_rate": coefficients.learning_rate}

    def _learn(
        self,
        rollout: Rollout,
        rewards: Tensor,
        coefficients: Coefficients,
        progress_fraction: Scalar,
    ) -> Metrics:
        section, policy = self.section, self.policy
        advantages, returns = self.estimates(rollout, rewards)
        for auxiliary in self.auxiliary_losses:
            auxiliary.begin(rollout, progress_fraction)
        batch, totals = self.batch_of(rollout, advantages, returns), Totals(self)
        self.sampler.begin(rollout)
        for _ in range(section.num_epochs):
            epoch = self.sampler.epoch(batch, section.num_minibatches, progress_fraction)
            for index, weights in epoch:
                minibatch = self.prepared(batch.at(index), weights)
                gradient, sums, num_samples = self.gradient(minibatch, coefficients)
                # Each network by itself, where they share no layers: a large value loss would
                # otherwise shrink the actor's steps.
                parts = policy.networks_of(gradient)
                norm = torch.stack([scaled_down(part, section.max_grad_norm) for part in parts])
                norm = norm.mean()
                moves = self.moving(norm, totals.active if section.target_kl else None, rollout)
                self.optimizer.step(gradient, coefficients.learning_rate, moves)
                policy.limit_log_std()
                totals.add(sums, norm.double(), num_samples)
                self.tick()
            if section.target_kl and not totals.goes_on(section.target_kl):
                break
        returns, values = map(rollout.valid_of, (returns, rollout.values))
        return {
            **dict(zip(self.loss_names, totals.mean_losses.unbind(), strict=True)),
            "value/explained_variance": explained_variance(self.ranks, returns, values),
            "optimizer/grad_norm": totals.mean_norm,
        }

    def estimates(self, rollout: Rollout, rewards: Tensor) -> tuple[Tensor, Tensor]:
        """Advantages and returns of a rollout, each [T, N], by the values in it."""
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
        steps = steps_of(rollout, advantages, returns, extra, looks_up=self._is_shared)
        if rollout.states is None:
            return steps.map(rollout.valid_of)
        rows = rows_of(rollout, steps)
        if rows.valid is None:
            return rows
        # Leave out rows without valid steps: a minibatch of them would have no samples.
        return rows.at(rows.valid.any(0).nonzero().squeeze(1))

    def prepared(self, minibatch: Minibatch, weights: Tensor | None) -> Minibatch:
        """The minibatch with the advantages that the loss uses: normalised and weighted."""
        if self._normalizes:
            among = minibatch.valid_of(minibatch.advantages)
            normalized = self.sampler.normalized(minibatch.advantages, among)
            minibatch = minibatch.with_advantages(normalized)
        if weights is not None:
            spread = minibatch.spread(weights)
            minibatch = minibatch.with_advantages(minibatch.advantages * spread)
        for auxiliary in self.auxiliary_losses:
            minibatch = auxiliary.prepared(minibatch)
        return minibatch

    def gradient(
        self, minibatch: Minibatch, coefficients: Coefficients
    ) -> tuple[Tensor, Tensor, int]:
        """The gradient [P] of the loss's mean over the samples of all ranks, the sums of the loss's
        terms over these samples, float64, and their number.

        A minibatch that is too large for one pass, or that threads share, is divided into pieces.
        """
        entropy_coef = coefficients.entropy_coef
        if self.is_inline and self._compiles:  # another number would be compiled again
            entropy_coef = torch.as_tensor(entropy_coef, dtype=torch.float32)
        num_samples, like = minibatch.num_samples, self.policy.flat_parameters

        def gradient_of(piece: Minibatch) -> tuple[Tensor, Tensor]:
            loss, sums = self._loss_of(piece, entropy_coef)
            return flat_gradient(loss / num_samples, self.parameters), sums.double()

        local = None
        if num_samples:  # else other ranks have all of them
            pieces = self._pieces(minibatch)
            each = self._each if self._is_shared else map
            results = iter(each(gradient_of, pieces))  # a gradient at a time is in memory
            gradient, sums = next(results)
            for other_gradient, other_sums in results:
                gradient, sums = gradient.add_(other_gradient), sums + other_sums
            local = gradient, sums
        return sum_gradient(self.ranks, num_samples, local, like, len(self.loss_names))

    def _pieces(self, minibatch: Minibatch) -> list[Minibatch]:
        """The pieces of a minibatch, with what auxiliary losses need of the others."""
        most_samples = self.section.max_minibatch_size
        pieces = slices(minibatch, most_samples, self._is_shared, self._has_images)
        if len(pieces) == 1:
            return [minibatch]
        for auxiliary in self.auxiliary_losses:
            minibatch = auxiliary.in_pieces(minibatch, pieces, self.policy)
        return [minibatch.at(piece) for piece in pieces]

    def loss_sum(self, piece: Minibatch, entropy_coef: Scalar) -> tuple[Tensor, Tensor]:
        """The loss summed over all samples, and the sum of each of its terms."""
        section, policy = self.section, self.policy
        evaluation = piece.evaluate(policy)
        sums = ppo_loss_sums(
            policy.distribution,
            evaluation.outputs,
            evaluation.values,
            evaluation.samples,
            section.clip_coef,
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
        index = first_parts(batch.num_parts, self.section.num_minibatches, self.device)
        self.gradient(self.prepared(batch.at(index), None), coefficients)
        self.load_state_dict(state)  # this minibatch has advanced the random numbers

    def state_dict(self) -> State:
        state = {**super().state_dict(), **self.sampler.state_dict()}
        for auxiliary in self.auxiliary_losses:
            state |= auxiliary.state_dict()
        return state

    def load_state_dict(self, state: State) -> None:
        super().load_state_dict(state)
        self.sampler.load_state_dict(state)
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
        """Add the loss sums and the gradient norm of one step, float64."""
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
