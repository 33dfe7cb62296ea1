"""What all tables of the configuration are made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from ...shared import Metric
from ..spaces import ActionSpec
from .facts import Facts

Fraction = Annotated[float, Field(ge=0, le=1)]
Schedule = Literal["constant", "linear", "cosine"]


class Section(BaseModel):
    """A table of the configuration: unknown keys are refused, and nothing changes after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    # Inherited fields that never have an effect, with the reasons: not listed as settings.
    unused_fields: ClassVar[dict[str, str]] = {}

    @field_validator("*", mode="before")
    @classmethod
    def _is_no_truth(cls, value: Any, info: ValidationInfo) -> Any:
        """Raises ValueError for true and false in place of a number, which Python takes for 1 and
        0.
        """
        parts = value if isinstance(value, list | tuple) else [value]
        annotation = cls.model_fields[str(info.field_name)].annotation
        takes_truth = bool in (annotation, *get_args(annotation))
        if not takes_truth and any(isinstance(part, bool) for part in parts):
            raise ValueError(f"expected a number, got {str(value).lower()}")
        return value


class CheckedSection(Section):
    """A table that is checked against the rest of the run."""

    def check(self, facts: Facts) -> None:
        """Raises ValueError where this section and the rest of the run do not fit together."""

    def ignored_keys(self, facts: Facts) -> Iterator[tuple[str, str]]:
        """Whole keys that this run would ignore, each with the reason."""
        return iter(())


class IgnoredSettingError(ValueError):
    """A run would ignore the value of `key`, a whole key; it must keep its default."""

    def __init__(self, key: str, value: object, reason: str) -> None:
        super().__init__(f"{key} = {value}: {reason}")
        self.key = key


class AlgorithmSection(CheckedSection):
    """The settings of every algorithm; each has a model of its own in `config/sections/`."""

    # What updates publish.
    metrics: ClassVar[tuple[Metric, ...]] = ()
    # Kinds of actions that the algorithm can choose, as the classes of `envs.spec` are called.
    action_kinds: ClassVar[tuple[str, ...]] = ("Discrete", "MultiDiscrete", "Box")
    # Keys of other tables that the algorithm has no use for: they must keep their defaults.
    unused_keys: ClassVar[tuple[str, ...]] = ("checkpoint.replay",)
    # Further tables that it shares with similar algorithms, by name.
    tables: ClassVar[dict[str, type[Section]]] = {}

    learning_rate: float = Field(3e-4, gt=0, le=1, description="initial learning rate of Adam")
    learning_rate_schedule: Schedule = Field(
        "constant", description="how it changes over the run; linear and cosine end at 0"
    )
    gamma: Fraction = Field(0.99, description="discount factor per env step; 0 to 1")

    def ignored_keys(self, facts: Facts) -> Iterator[tuple[str, str]]:
        for key in self.unused_keys:
            yield key, f"{facts.algorithm} has no use for it"
        for field, reason in self.unused_fields.items():
            yield f"{facts.algorithm_table}.{field}", reason

    def warnings(self, facts: Facts) -> tuple[str, ...]:
        """What can be run, and is hardly what was meant."""
        return ()

    def can_act(self, actions: ActionSpec) -> bool:
        """Whether the algorithm chooses among such actions."""
        return type(actions).__name__ in self.action_kinds


class EnvSection(CheckedSection):
    """The settings of one environment; the model is next to its code.

    `num_agents` says how many agents each environment has, where that is not 1.
    """

    # Whether an agent's task may end before its environment's episode.
    agents_retire: ClassVar[bool] = True

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Metrics that runs with this environment add."""
        return ()
