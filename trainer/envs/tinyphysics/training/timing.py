"""Where the time of a collection goes: the model of the car, the policy, and the rest."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ....run.staged_values import SpanTimer, event_maker
from ..engines.engine import Engine

INFERENCE, CONTROLLER = "inference", "controller"


class TimedEngine:
    """An engine whose calls are timed where it computes."""

    def __init__(self, engine: Engine, spans: SpanTimer) -> None:
        self._engine, self._spans = engine, spans

    def next_tokens(self, *inputs: Any) -> Tensor:
        with self._spans.phase(INFERENCE):
            return self._engine.next_tokens(*inputs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


class CollectionTimer:
    """Times one collection after the other."""

    def __init__(self, engine: Engine) -> None:
        self._make_event = event_maker(engine.device)
        self.spans = SpanTimer(self._make_event)
        self.engine: Any = TimedEngine(engine, self.spans)
        self._start = self._make_event()

    def begin(self) -> None:
        self.spans.take()
        self._start = self._make_event()
        self._start.record()

    def take(self, num_routes: int) -> dict[str, float]:
        """The metrics of the collection that was begun; waits for the device."""
        end = self._make_event()
        end.record()
        end.synchronize()
        seconds = {INFERENCE: 0.0, CONTROLLER: 0.0}
        for span in self.spans.take():
            seconds[span.phase] += span.start.elapsed_time(span.end) / 1000
        times = {f"time/{name}_s": value for name, value in seconds.items()}
        return {**times, "speed/route_ms": self._start.elapsed_time(end) / num_routes}
