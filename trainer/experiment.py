"""The parts of a run that change by learning, and their state as a whole."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .config import TrainConfig
from .envs import LEARNED_ENV_NAMES, load_any_spec, make_envs
from .envs.streams import TRAINING
from .envs.vector import VectorEnv
from .evaluation import Evaluation, Progress, evaluate
from .iterations import Iterations
from .kernels.collecting import CompiledCollector
from .kernels.learning import CompiledPPO
from .kernels.normalizing import discount
from .normalizers import RewardNormalizer
from .policy import ActorCritic
from .ppo import PPO
from .precompiling import Precompiling
from .rollout import Collector, Rollout
from .stopwatch import Stopwatch
from .thread_choice import ThreadChoice
from .threads import Threads, available_cores, fastest_num_threads, numbers_to_try

PARTS = ("policy", "learner", "collector")


class Experiment(Iterations):
    """Environments, policy and learner of one configuration, from their first state on."""

    def __init__(self, config: TrainConfig, threads: Threads) -> None:
        self.config = config
        self.spec = load_any_spec(config.env, config.gymnasium.vectorization)
        self.policy = make_policy(config)
        self.envs = make_envs(self.spec, config.num_envs, config.seed, TRAINING)
        self.why_pytorch = why_pytorch(config)
        compiled = None if self.why_pytorch else self.spec
        self._precompiling = Precompiling.of(config, compiled, self.policy)
        self.collector: Collector | CompiledCollector
        self.learner: PPO | CompiledPPO
        seed = part_seed(config, "learner")
        if isinstance(self.envs, VectorEnv) and not self.why_pytorch:
            steps = config.rollout_steps
            self.collector = CompiledCollector(self.envs, self.policy, steps, threads)
        else:
            self.collector = Collector(
                self.envs, self.policy, config.rollout_steps, part_seed(config, "collector"),
                tick=lambda: threads.tick(),
            )  # fmt: skip
        if self.why_pytorch:
            self.learner = PPO(self.policy, config.ppo, seed, tick=lambda: threads.tick())
        else:
            self.learner = CompiledPPO(self.policy, config.ppo, threads, seed)
        self.reward_normalizer = (
            RewardNormalizer(config.num_envs, config.ppo.gamma)
            if config.normalization.reward
            else None
        )
        self.iteration = 0
        chooses = not (config.num_threads or self.why_pytorch)
        self._thread_choice = ThreadChoice(threads, numbers_to_try()) if chooses else None
        self._notices: list[str] = []
        self.dead_env_steps = 0  # in which an environment did nothing but begin its next episode
        self.threads = threads

    @property
    def loops(self) -> tuple[Any, ...]:
        """The compiled loops that an iteration calls, in the order of their first calls."""
        collector = self.collector.loops if isinstance(self.collector, CompiledCollector) else ()
        normalizer = (discount,) if self.reward_normalizer else ()
        learner = self.learner.loops if isinstance(self.learner, CompiledPPO) else ()
        return (*collector, *normalizer, *learner)

    @property
    def env_steps(self) -> int:
        """Env steps of all finished iterations."""
        return self.iteration * self.config.rollout_size - self.dead_env_steps

    @property
    def unplanned_env_steps(self) -> int:
        """Env steps beyond those of all rollouts; dead ones lack."""
        return -self.dead_env_steps

    @property
    def env_steps_so_far(self) -> int:
        """Env steps with those of the collection under way."""
        return self.env_steps + self.collector.env_steps_under_way

    @property
    def mark(self) -> object:
        """Something that changes whenever work is done."""
        return self.env_steps_so_far, self.learner.num_steps

    def iterate(self, stopwatch: Stopwatch, wait: bool) -> Iterator[dict[str, float]]:
        start_s = time.perf_counter()
        values = super().iterate(stopwatch, wait)
        if self._thread_choice:
            notice = self._thread_choice.iteration(time.perf_counter() - start_s)
            self._notices += [notice] if notice else []
        return values

    def take_notices(self) -> list[str]:
        taken, self._notices = self._notices, []
        return taken

    def learn(self, rollout: Rollout) -> dict[str, float]:
        """One iteration's update; returns its metrics."""
        self._precompiling.wait(self.threads.tick)
        rewards = rollout.rewards
        if self.reward_normalizer:
            rewards = self.reward_normalizer.normalized(rewards, rollout.dones, rollout.valid)
        progress_fraction = self.iteration / self.config.num_iterations
        metrics = self.learner.update(rollout, rewards, progress_fraction)
        # After the update: all of an iteration sees observations through the same statistics.
        self.policy.observe(rollout.valid_of(rollout.obs[:-1]))
        self.iteration += 1
        self.dead_env_steps += rollout.rewards.numel() - rollout.num_valid
        count, return_, length = self.envs.take_episode_totals()
        metrics["episode/count"] = count
        if count:
            metrics |= {"episode/return": return_ / count, "episode/length": length / count}
        return metrics

    def evaluate(self, num_episodes: int, progress: Progress = lambda *_: None) -> Evaluation:
        limit = self.config.evaluation.max_episode_steps
        arguments = (self.policy, self.spec, num_episodes, self.config.seed, limit, progress)
        evaluation: Evaluation = self.threads.run(evaluate, *arguments)
        return evaluation

    def close(self) -> None:
        self._precompiling.close()
        self.envs.close()
        super().close()

    def state_dict(self) -> dict[str, Any]:
        """Tensors and plain values only."""
        state = {
            "policy": self.policy.state_dict(),
            "collector": self.collector.state_dict(),
            "learner": self.learner.state_dict(),
            "dead_env_steps": self.dead_env_steps,
        }
        if self.reward_normalizer:
            state["reward_normalizer"] = self.reward_normalizer.state_dict()
        return state

    def load_state_dict(self, state: Mapping[str, Any], iteration: int) -> None:
        self.policy.load_state_dict(state["policy"])
        self.collector.load_state_dict(state["collector"])
        self.learner.load_state_dict(state["learner"])
        if self.reward_normalizer:
            self.reward_normalizer.load_state_dict(state["reward_normalizer"])
            if not self.envs.resumes_exactly:  # the episodes of those sums are no more
                self.reward_normalizer.returns.zero_()
        self.dead_env_steps = state.get("dead_env_steps", 0)
        self.iteration = iteration


def make_policy(config: TrainConfig) -> ActorCritic:
    """The policy of a configuration, its weights drawn from the seed."""
    return ActorCritic(
        load_any_spec(config.env, config.gymnasium.vectorization),
        config.policy,
        config.normalization.obs,
        part_seed(config, "policy"),
    )


def why_pytorch(config: TrainConfig) -> str:
    """What the compiled loops cannot do; empty when they can do all that is asked for."""
    if config.policy.precision != "float32":
        return f"policy.precision = {config.policy.precision}"
    return ""


def part_seed(config: TrainConfig, part: str) -> int:
    """A seed for each part that draws random numbers, so that none repeats another's."""
    return len(PARTS) * config.seed + PARTS.index(part)


def choose_num_threads(config: TrainConfig, progress: Progress = lambda *_: None) -> int:
    """As configured, or the count with which an iteration runs fastest here and now.

    The first of these iterations compiles; `progress` is told how many loops are ready.
    """
    if config.num_threads:
        return config.num_threads
    if config.env in LEARNED_ENV_NAMES:
        return available_cores()  # an iteration is too long to try, and the model's calls scale

    def iterate(threads: Threads) -> None:
        if threads not in experiments:
            experiments[threads] = Experiment(config, threads)
        experiment = experiments[threads]
        threads.tick = lambda: tell_num_compiled(experiment.loops, progress)
        threads.tick()
        experiment.learn(experiment.collector.collect())
        threads.tick()

    experiments: dict[Threads, Experiment] = {}
    try:
        return fastest_num_threads(iterate)
    finally:
        for experiment in experiments.values():
            experiment.close()


def tell_num_compiled(loops: Sequence[Any], progress: Progress) -> None:
    """How many of these loops have machine code by now, just compiled or from the disk."""
    if loops:
        progress(sum(bool(loop.signatures) for loop in loops), len(loops), "loops")
