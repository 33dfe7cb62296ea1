"""What a replay asks of whatever works on its arrays."""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor

from .ring import Steps
from .sampling import Samples


class Engine(Protocol):
    """What works on a replay's arrays, where they are."""

    @property
    def loops(self) -> tuple[Any, ...]:
        """Compiled ones that are called, in the order of their first calls."""

    def arrays_of(self, tensors: Samples | Steps) -> Any:
        """What `sample` and `write` take, for tensors."""

    def write(self, steps: Any) -> None: ...

    def end_episodes(self) -> None: ...

    def sample(self, samples: Any, beta: float | Tensor) -> None: ...

    def update(self, index: Tensor, errors: Tensor, alpha: float, eps: float) -> None: ...

    def sum_all(self) -> None: ...
