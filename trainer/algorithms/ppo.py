"""Proximal policy optimisation. Source: Schulman et al. 2017, arXiv:1707.06347."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..config import TrainConfig
from ..envs.spec import Spaces
from ..networks.actor_critic import ActorCritic
from ..rollout import ALL, Rollout
from .accumulating import Accumulation
from .acting_teachers import Teacher
from .algorithm import Metrics, scaled_down
from .estimating import Estimating
from .ppo_loss import KL, LOSS_METRICS, Batch, ppo_loss_sums
from .samplers import make_sampler
from .schedules import scheduled


@dataclass
class Coefficients:
    """What the schedules give for one iteration: numbers, or scalar tensors."""

    learning_rate: Any
    clip_coef: Any
    entropy_coef: Any

    @classmethod
    def at(cls, section: Any, progress_fraction: Any) -> Coefficients:
        return cls(
            scheduled(section.learning_rate, section.learning_rate_schedule, progress_fraction),
            scheduled(section.clip_coef, section.clip_schedule, progress_fraction),
            scheduled(section.entropy_coef, section.entropy_schedule, progress_fraction),
        )


class PPO(Estimating):
    """Epochs of minibatches over one rollout, and an optimizer step for each.

    Where `target_kl` ends an update early, the steps that remain are taken with nothing moved, so
    that every update is the same sequence of work; an inline one leaves them out.
    """

    @staticmethod
    def make_policy(config: TrainConfig, spec: Spaces, seed: int) -> Any:
        return ActorCritic(spec, config.policy, config.normalization.obs, seed)

    def __init__(
        self, config: TrainConfig, policy: Any, teachers: Sequence[Teacher] = (), **options: Any
    ) -> None:
        """As `Estimating`."""
        super().__init__(config, policy, teachers, **options)
        self._told: Tensor | None = None  # by teachers, of the rollout
        self._kickstart_factor: Any = 0.0
        besides = ("loss/kickstart",) if teachers else ()
        self.loss_names: tuple[str, ...] = (*LOSS_METRICS, *besides)
        sampler = make_sampler(
            self.section, self.orders, config.rollout_size // self.part_steps(config), self.seed,
            policy.flat_parameters.device, self.is_inline,
        )  # fmt: skip
        self.is_shared = self._can_be_shared()
        normalizes = self.section.normalize_advantages == "minibatch"
        self.sampler = self.ranks.sharing(sampler, self.section, normalizes)
        self._accumulation = Accumulation(
            self.section.max_minibatch_size, self._each, self.is_shared
        )
        self._obs = torch.empty(0)  # of the rollout, where minibatches have their places
        self._loss_of = self.compiled(self.loss_sum)

    def _can_be_shared(self) -> bool:
        """Whether minibatches come in pieces that threads share: on the processor, and not what
        torch.compile makes, which is compiled for whole ones, nor with cpu_offload, for which it
        changes nothing.
        """
        is_on_processor = self.policy.flat_parameters.device.type == "cpu"
        is_plain = not (self.config.compile or self.config.cpu_offload)
        has_threads = self._each is not map
        return self.is_inline and is_on_processor and is_plain and has_threads

    def learn(self, rollout: Rollout, rewards: Tensor, progress_fraction: Any) -> Metrics:
        coefficients = Coefficients.at(self.section, progress_fraction)
        if self.others_acted:
            advantages, returns = self.corrected(rollout, rewards, rollout.log_probs)
        elif self.config.overlap and self.section.recompute_advantages != "never":
            # Who acted lacks an update already, as it does by the second epoch else.
            advantages, returns = self.fresh_estimates(rollout, rewards)
        else:
            advantages, returns = self.estimates(rollout, rewards)
        if self.kickstart:
            self._kickstart_factor = self.kickstart.factor(progress_fraction)
            # What is captured or compiled asks them to the end; else they cost nothing once they do
            # not count.
            is_fixed = not self.is_inline or self._compiles
            counts = is_fixed or bool(self._kickstart_factor)
            self._told = self.kickstart.told(rollout) if counts else None

        def batch_now() -> Any:
            """Of advantages as the policy is now."""
            fresh, fresh_returns = self.fresh_estimates(rollout, rewards)
            targets = fresh_returns if self.section.recompute_returns else returns
            return self.batch_of(rollout, fresh, targets)

        self.sampler.begin(rollout)
        batch = self.batch_of(rollout, advantages, returns)
        losses, grad_norm = self._epochs(rollout, batch, batch_now, coefficients, progress_fraction)
        values, returns = map(rollout.valid_of, (rollout.values, returns))
        named = dict(zip(self.loss_names, losses.unbind(), strict=True))
        if self.acting_teachers:
            named["policy/teacher_act_prob"] = self.acting_teachers.prob
        explained = self.ranks.explained_variance(returns, values)
        return update_metrics(named, grad_norm, explained, coefficients)

    def batch_of(self, rollout: Rollout, advantages: Tensor, returns: Tensor) -> Any:
        """What minibatches are drawn from."""
        seen = self._places(rollout) if self.is_shared else rollout.obs_or_places
        tensors = (
            seen, rollout.actions, rollout.log_probs, advantages, returns,
            rollout.values,
        )  # fmt: skip
        besides = (self._told, self.policy_weights(rollout))
        told, weights = (None if x is None else rollout.valid_of(x) for x in besides)
        batch = Batch(*map(rollout.valid_of, tensors))
        batch = batch._replace(told=told, policy_weights=weights)
        if self.section.normalize_advantages == "rollout":
            batch = batch._replace(advantages=self.ranks.normalized(batch.advantages))
        return batch

    def _places(self, rollout: Rollout) -> Tensor:
        """Where observations are [T, N]: whoever learns from a piece looks them up."""
        self._obs = rollout.obs.flatten(0, 1)
        shape = rollout.rewards.shape
        return torch.arange(shape.numel(), dtype=torch.int32).view(shape)

    def features_of(self, minibatch: Any) -> Tensor:
        """What outputs and values are computed from: observations, or what is remembered."""
        obs: Tensor = minibatch.obs
        return obs

    def judged(self, minibatch: Any, features: Tensor) -> tuple[Tensor, Tensor, Batch]:
        """The outputs [B, O] and values [B] of the policy as it is, and the samples they are of."""
        return self.policy.outputs(features), self.policy.values(features), minibatch

    def losses_besides(
        self, piece: Any, features: Tensor, judged: tuple[Tensor, Tensor, Batch]
    ) -> Iterator[tuple[Any, Tensor]]:
        """Weights and sums over samples of losses besides PPO's, in the order of `loss_names`."""
        if self.kickstart:
            outputs, values, samples = judged
            distribution = self.policy.distribution
            told = self.kickstart.loss_sum(distribution, outputs, values, samples.told)
            yield self._kickstart_factor, told

    def in_pieces(self, minibatch: Any, pieces: Sequence[slice]) -> Any:
        """The minibatch with what a piece has to know of the others; `pieces` are their parts."""
        return minibatch

    def _epochs(
        self,
        rollout: Rollout,
        batch: Any,
        batch_now: Callable[[], Any],
        coefficients: Coefficients,
        progress_fraction: Any,
    ) -> tuple[Tensor, Tensor]:
        """Returns mean loss terms, as `loss_names` has them, and the mean gradient norm of all
        steps taken, float64.
        """
        section = self.section
        device = self.policy.flat_parameters.device
        active = torch.ones((), dtype=torch.float64, device=device)
        sums = active.new_zeros(len(self.loss_names))
        norms, num_samples = active.new_zeros(()), active.new_zeros(())
        num_steps = active.new_zeros(())
        for epoch in range(section.num_epochs):
            if epoch and section.recompute_advantages == "epoch":
                batch = batch_now()
            epoch_kl, epoch_size = active.new_zeros(()), 0
            if not epoch or section.recompute_advantages != "never":
                self.draw_from_now(rollout)
            drawn = self.sampler.epoch(batch, section.num_minibatches, progress_fraction)
            fetched = self.with_obs(rollout, drawn, batch.places_at)
            for number, (index, weights, obs) in enumerate(fetched):
                if (epoch or number) and section.recompute_advantages == "minibatch":
                    batch = batch_now()
                minibatch = batch.at(index)
                if obs is not None:
                    minibatch = minibatch.with_obs(obs)
                minibatch = self.prepared(minibatch, weights)
                minibatch_sums, norm, size = self._learn(rollout, minibatch, coefficients, active)
                sums += minibatch_sums * active
                epoch_kl += minibatch_sums[KL]
                epoch_size += size
                norms += norm * active
                num_samples += active * size
                num_steps += active
                self.tick()
            if section.target_kl:
                # One that is not finite says nothing: its steps moved nothing.
                active = active * ~(epoch_kl > section.target_kl * epoch_size)
                if self.is_inline and not active:
                    break
        return sums / num_samples, norms / num_steps

    def prepared(self, minibatch: Any, weights: Tensor | None) -> Any:
        """What losses take, by statistics of the whole minibatch: advantages."""
        if self.section.normalize_advantages == "minibatch":
            among = minibatch.valid_of(minibatch.advantages)
            found = self.sampler.normalized(minibatch.advantages, among)
            minibatch = minibatch.with_advantages(found)
        if minibatch.policy_weights is not None:
            weighted = minibatch.advantages * minibatch.policy_weights
            minibatch = minibatch.with_advantages(weighted)
        if weights is not None:
            spread = minibatch.spread(weights)
            minibatch = minibatch.with_advantages(minibatch.advantages * spread)
        return minibatch

    def _learn(
        self, rollout: Rollout, minibatch: Any, coefficients: Coefficients, active: Tensor
    ) -> tuple[Tensor, Tensor, int]:
        """One optimizer step; returns loss sums and the mean gradient norm, float64, and of how
        many samples they are.
        """
        section = self.section
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

    def _gradient(self, minibatch: Any, coefficients: Coefficients) -> tuple[Tensor, Tensor, int]:
        """The gradient [P] of the mean of a minibatch, added up of its pieces, loss sums, and the
        number of samples: those of all ranks.
        """
        num_samples = minibatch.num_samples

        def work() -> tuple[Tensor, Tensor]:
            return self._accumulation.of(
                minibatch, lambda piece: self._gradient_of(piece, num_samples, coefficients),
                self.in_pieces,
            )  # fmt: skip

        like, num_losses = self.policy.flat_parameters, len(self.loss_names)
        gradient, sums, size = self.ranks.sum_of(num_samples, work, like, num_losses)
        return gradient, sums, size

    def _gradient_of(
        self, piece: Any, num_samples: int, coefficients: Coefficients
    ) -> tuple[Tensor, Tensor]:
        """Its part of the gradient [P] of a mean over `num_samples`, and loss sums, float64."""
        if self.is_shared:
            piece = piece.with_obs(self._obs[piece.places_at(ALL)])
        scheduled: tuple[Any, ...] = (coefficients.clip_coef, coefficients.entropy_coef)
        if self.is_inline and self._compiles:  # for another number it would be compiled anew
            scheduled = tuple(torch.as_tensor(x, dtype=torch.float32) for x in scheduled)
        loss, sums = self._loss_of(piece, *scheduled)
        return self.flat_gradient(loss / num_samples), sums.double()

    def loss_sum(self, piece: Any, clip_coef: Any, entropy_coef: Any) -> tuple[Tensor, Tensor]:
        """The loss of all samples, summed, and of what it is made of."""
        features = self.features_of(piece)
        judged = self.judged(piece, features)
        sums = ppo_loss_sums(self.policy.distribution, *judged, clip_coef, self.section.value_clip)
        loss = (
            sums.policy + self.section.value_coef * sums.value - entropy_coef * sums.entropy
        )  # fmt: skip
        every = [*sums]
        for weight, loss_sum in self.losses_besides(piece, features, judged):
            loss = loss + weight * loss_sum
            every.append(loss_sum)
        return loss, torch.stack(every).detach()

    @property
    def loops(self) -> tuple[Any, ...]:
        return (self._loss_of,) if self._compiles else ()

    @property
    def _compiles(self) -> bool:
        return self._loss_of != self.loss_sum

    def warm_up(self, rollout: Rollout) -> None:
        if not self._compiles:
            return
        state = self.state_dict()
        self.explore(0.0)
        coefficients = Coefficients.at(self.section, 0.0)
        if self.kickstart:
            self._kickstart_factor = self.kickstart.factor(0.0)
            self._told = self.kickstart.told(rollout)
        batch = self.batch_of(rollout, rollout.rewards, rollout.rewards)
        size = batch.num_parts // min(self.section.num_minibatches, batch.num_parts)
        index = torch.arange(size, device=rollout.rewards.device)
        obs = rollout.obs_at(batch.places_at(index))
        minibatch = self.prepared(batch.at(index).with_obs(obs), None)
        self._gradient(minibatch, coefficients)
        self.load_state_dict(state)  # what draws for minibatches has drawn for this one

    def take_notices(self) -> list[str]:
        return super().take_notices() + self._accumulation.take_notices()

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), **self.sampler.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.sampler.load_state_dict(state)


def update_metrics(
    mean_losses: Mapping[str, Any],
    grad_norm: Any,
    explained_variance: Tensor,
    coefficients: Coefficients,
) -> Metrics:
    """What is published of an update, from the mean loss terms by name."""
    return {
        **mean_losses,
        "value/explained_variance": explained_variance,
        "optimizer/grad_norm": grad_norm,
        "optimizer/learning_rate": coefficients.learning_rate,
    }
