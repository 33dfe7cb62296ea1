"""What a run can be told, with units, ranges and defaults. Reading it from files and the command
line is in `config_file.py`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from ..shared.errors import nearest
from .envs import ENV_NAMES, GYMNASIUM_PREFIX, LEARNED_ENV_NAMES, load_any_spec
from .unused_settings import refusals

Fraction = Annotated[float, Field(ge=0, le=1)]
Schedule = Literal["constant", "linear", "cosine"]
Sink = Literal["tensorboard", "prometheus", "wandb"]


class Section(BaseModel):
    """A table of the configuration: unknown keys are refused, and nothing changes after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class PolicyConfig(Section):
    """The networks: an actor and a critic of the same shape, with no layers in common."""

    hidden_sizes: tuple[Annotated[int, Field(ge=1, le=4096)], ...] = Field(
        (64, 64), max_length=8, description="units of each hidden layer; 1 to 4096"
    )
    activation: Literal["tanh", "relu", "elu"] = Field(
        "tanh", description="after each hidden layer"
    )
    distribution: Literal["auto", "gaussian", "squashed_gaussian", "beta"] = Field(
        "auto",
        description="of real-valued actions; auto: gaussian, or categorical for discrete actions",
    )
    initial_log_std: float = Field(
        0.0,
        ge=-5,
        le=2,
        description="logarithm of the gaussians' deviation at the start, in half ranges; -5 to 2",
    )
    precision: Literal["float32", "bfloat16"] = Field(
        "float32",
        description="of the networks' products; weights, probabilities and physics stay float32",
    )


class PPOConfig(Section):
    """Proximal policy optimisation, Schulman et al. 2017, arXiv:1707.06347."""

    learning_rate: float = Field(3e-4, gt=0, le=1, description="Adam's step size at the start")
    learning_rate_schedule: Schedule = Field(
        "constant", description="how it changes over the run; linear and cosine end at 0"
    )
    gamma: Fraction = Field(0.99, description="discount per env step; 0 to 1")
    gae_lambda: Fraction = Field(0.95, description="lambda of the advantage estimates; 0 to 1")
    num_epochs: int = Field(4, ge=1, le=1000, description="passes over each rollout")
    num_minibatches: int = Field(
        4, ge=1, description="parts of each pass; must divide num_envs x rollout_steps"
    )
    clip_coef: float = Field(0.2, gt=0, le=10, description="how far a ratio may leave 1")
    clip_schedule: Schedule = Field("constant", description="how clip_coef changes over the run")
    entropy_coef: float = Field(0.0, ge=0, le=10, description="weight of the entropy bonus")
    entropy_schedule: Schedule = Field(
        "constant", description="how entropy_coef changes over the run"
    )
    value_coef: float = Field(0.5, ge=0, le=100, description="weight of the value loss")
    value_clip: float | None = Field(
        None,
        gt=0,
        description="how far an update may move a value, in reward units; no limit by default",
    )
    max_grad_norm: float = Field(
        0.5, gt=0, description="gradients of a larger norm are scaled down to it"
    )
    normalize_advantages: Literal["minibatch", "rollout", "off"] = Field(
        "minibatch", description="over what advantages get mean 0 and deviation 1"
    )
    target_kl: float | None = Field(
        None, gt=0, description="ends an update once approx_kl exceeds it; none by default"
    )


class TinyPhysicsConfig(Section):
    """The learned car model of the controls challenge; for env = "tinyphysics" alone."""

    model: str = Field("", description="the ONNX file; '' is where `download` puts it")
    routes: str = Field("", description="the folder of route files; '' is where they are put")
    num_routes: int = Field(0, ge=0, le=10**6, description="the first so many; 0: all")
    held_out_routes: int = Field(
        8, ge=0, le=10**6, description="the last of these, for evaluation and not for learning"
    )
    rollouts_per_route: int = Field(
        10, ge=1, le=10**4, description="episodes along each route in an iteration"
    )
    critic_epochs: int = Field(
        3, ge=0, le=1000, description="passes of the critic alone over the first rollout"
    )
    engine: Literal["auto", "onnxruntime", "onnxruntime-cuda", "tensorrt", "torch"] = Field(
        "auto", description="what runs the model; auto: the fastest here"
    )
    precision: Literal["float32", "tf32", "half"] = Field(
        "float32", description="of the torch engine on a GPU"
    )


class CloningConfig(Section):
    """Behaviour cloning before the first update; for env = "tinyphysics" alone."""

    source: Literal["logged", "pid"] = Field(
        "logged", description="whom to imitate: the logs' steering at steps 20 to 99, or the PID"
    )
    num_epochs: int = Field(20, ge=0, le=10_000, description="passes; 0: no cloning")
    minibatch_size: int = Field(2048, ge=1, le=10**7, description="samples of an AdamW step")
    learning_rate: float = Field(0.01, gt=0, le=1, description="at the start; cosine to 0")
    max_grad_norm: float = Field(0.5, gt=0, description="larger gradients are scaled down to it")
    copies: int = Field(
        8, ge=1, le=1000, description="of each sample, all but one with a shifted history"
    )
    history_noise: float = Field(
        0.1, ge=0, le=2, description="deviation of those shifts, in units of steering"
    )


class NormalizationConfig(Section):
    """Running statistics of what the policy sees, kept in checkpoints and frozen in evaluation."""

    obs: bool = Field(False, description="observations to mean 0 and deviation 1, clipped at 10")
    reward: bool = Field(
        False,
        description="rewards divided by the deviation of the discounted return, clipped at 10",
    )


class EvaluationConfig(Section):
    """Greedy episodes in environments of their own, one episode each."""

    every_iterations: int = Field(
        0, ge=0, description="iterations between evaluations; 0: only at the end"
    )
    num_episodes: int = Field(100, ge=0, le=100_000, description="0: never evaluate")
    max_episode_steps: int = Field(
        27_000, ge=1, le=10**9, description="env steps after which an episode is cut off"
    )


class CheckpointConfig(Section):
    """When to save. The end of a run and its interruption always save."""

    every_iterations: int = Field(
        50, ge=0, description="iterations between checkpoints; 0: only at the end"
    )
    keep: int = Field(3, ge=1, le=1000, description="how many of the newest stay on disk")


class RecorderConfig(Section):
    """The process beside the run that keeps its numbers on disk; see docs/runs.md."""

    on: bool = Field(True, description="whether the run starts one")
    every_s: float = Field(
        3.0, ge=0.1, le=3600, description="seconds between two rows of metrics.csv; 0.1 to 3600"
    )
    to: tuple[Sink, ...] = Field(
        (), description='also to any of tensorboard, prometheus, wandb, as in "wandb,prometheus"'
    )
    wait_s: float = Field(
        2.0, ge=0, le=60, description="longest that a run that ends waits for it, seconds; 0 to 60"
    )
    prometheus_port: int = Field(9464, ge=1, le=65535, description="1 to 65535")
    prometheus_address: str = Field(
        "127.0.0.1", min_length=1, description="what Prometheus may reach; 0.0.0.0: everyone"
    )

    @field_validator("to", mode="before")
    @classmethod
    def _names_with_commas(cls, to: object) -> object:
        return [name.strip() for name in to.split(",") if name] if isinstance(to, str) else to


class GymnasiumConfig(Section):
    """How environments from Gymnasium are stepped."""

    vectorization: Literal["sync", "async", "own"] = Field(
        "sync",
        description="one after the other, each in a process, or as the environment itself does it",
    )


class TrainConfig(Section):
    """One experiment."""

    env: str = Field(
        "cart_pole", description="the environment, or gymnasium: and an id of Gymnasium's"
    )
    algorithm: Literal["ppo"] = Field("ppo", description="how the policy learns")
    seed: int = Field(1, ge=0, lt=2**32, description="of everything random; 0 to 4,294,967,295")
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto", description="where environments and policy live; auto: a GPU where there is one"
    )
    num_threads: int = Field(
        0, ge=0, le=1024, description="cores to use; 0: the fastest number, measured at the start"
    )
    num_envs: int = Field(
        256, ge=1, le=2**24, description="environments stepped at once; 1 to 16,777,216"
    )
    rollout_steps: int = Field(
        32, ge=1, le=65_536, description="env steps of each environment in an iteration"
    )
    rollout: Literal["steps", "fused"] = Field(
        "steps",
        description="on a GPU; fused: a whole rollout in one kernel, for small float32 networks",
    )
    total_env_steps: int = Field(
        500_000, ge=1, le=10**15, description="env steps of the run, rounded up to whole iterations"
    )
    policy: PolicyConfig = PolicyConfig()
    ppo: PPOConfig = PPOConfig()
    normalization: NormalizationConfig = NormalizationConfig()
    tinyphysics: TinyPhysicsConfig = TinyPhysicsConfig()
    cloning: CloningConfig = CloningConfig()
    gymnasium: GymnasiumConfig = GymnasiumConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    checkpoint: CheckpointConfig = CheckpointConfig()
    recorder: RecorderConfig = RecorderConfig()

    @property
    def rollout_size(self) -> int:
        """Env steps of one iteration."""
        return self.num_envs * self.rollout_steps

    @property
    def num_iterations(self) -> int:
        return -(-self.total_env_steps // self.rollout_size)

    @field_validator("env")
    @classmethod
    def _env_exists(cls, env: str) -> str:
        names = (*ENV_NAMES, *LEARNED_ENV_NAMES)
        if env not in names and not env.startswith(GYMNASIUM_PREFIX):
            raise ValueError(
                f"env = '{env}' is no environment{nearest(env, names)}; "
                f"there are {', '.join(names)}, and gymnasium:ID"
            )
        return env

    @model_validator(mode="after")
    def _gymnasium_has_the_environment(self) -> TrainConfig:
        if self.env.startswith(GYMNASIUM_PREFIX):
            if self.device == "cuda":
                raise ValueError(f"device = cuda: {self.env} lives on the processor; use cpu")
            load_any_spec(self.env, self.gymnasium.vectorization)
        return self

    @model_validator(mode="after")
    def _distribution_suits_the_actions(self) -> TrainConfig:
        log_std = self.policy.initial_log_std
        is_told = log_std != PolicyConfig().initial_log_std
        if self.policy.distribution != "auto" or is_told:
            from .distributions import make_distribution  # torch takes a second to import

            distribution = make_distribution(
                load_any_spec(self.env, self.gymnasium.vectorization).actions,
                self.policy.distribution,
            )
            if is_told and not distribution.num_log_stds:
                raise ValueError(
                    f"policy.initial_log_std = {log_std} is for gaussians, and the actions of "
                    f"{self.env} are drawn from another distribution"
                )
        return self

    @model_validator(mode="after")
    def _nothing_is_ignored(self) -> TrainConfig:
        for refusal in refusals(self):
            raise ValueError(refusal)
        return self

    @model_validator(mode="after")
    def _minibatches_divide_the_rollout(self) -> TrainConfig:
        num_minibatches = self.ppo.num_minibatches
        if self.rollout_size % num_minibatches:
            raise ValueError(
                f"ppo.num_minibatches = {num_minibatches} does not divide the rollout of "
                f"{self.num_envs} environments x {self.rollout_steps} steps = {self.rollout_size}"
            )
        return self
