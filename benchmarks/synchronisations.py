"""How often a loop waits for the GPU, counted from outside in two ways.

PyTorch's synchronisation debug mode sees its own operations that wait (`item`, copies to the host);
its profiler sees the calls of CUDA's runtime, whoever makes them from PyTorch or a library of its
own. What goes to the driver past the runtime, as Numba's own calls do, neither of them sees. Each
way is tried on waits made on purpose, so that a count of 0 can be told from one that sees nothing.
"""

from __future__ import annotations

import contextlib
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

SPAN = "counted"
WARNING = "synchronizing CUDA operation"
MADE_ON_PURPOSE = 3


def waits_counted(work: Callable[[], object], device: torch.device) -> dict[str, Any]:
    """Waits for the GPU in `work`, and how many of `MADE_ON_PURPOSE` each way of counting saw."""

    def wait_on_purpose() -> None:
        for _ in range(MADE_ON_PURPOSE):
            torch.ones(1, device=device).sum().item()

    if device.type != "cuda":
        work()
        return {"absent": "no GPU to wait for"}
    control, counted = counts(wait_on_purpose, device), counts(work, device)
    return {**counted, "made_on_purpose": MADE_ON_PURPOSE, "seen_of_them": control}


def counts(work: Callable[[], object], device: torch.device) -> dict[str, Any]:
    activities = [torch.profiler.ProfilerActivity.CPU]
    if device.type == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
        torch.cuda.synchronize(device)
    profiling, span = torch.profiler.profile(activities=activities), torch.profiler.record_function
    with profiling as profile, warned(device) as said, span(SPAN):
        work()
    return {"warned": len(said), "calls": calls_within(profile.events())}


@contextlib.contextmanager
def warned(device: torch.device) -> Iterator[list[str]]:
    """Collects what PyTorch's debug mode says of operations that wait; nothing without a GPU."""
    found: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if device.type == "cuda":
            torch.cuda.set_sync_debug_mode("warn")
        try:
            yield found
        finally:
            if device.type == "cuda":
                torch.cuda.set_sync_debug_mode("default")
            found += [str(one.message) for one in caught if WARNING in str(one.message)]


def calls_within(events: Iterable[Any]) -> dict[str, int]:
    """Calls that wait, by name, begun within the profiler's span `SPAN`: what comes after it is the
    profiler's own. `cudaMemcpy` waits, `cudaMemcpyAsync` need not.
    """
    events = list(events)
    (span,) = (event.time_range for event in events if event.name == SPAN)
    names = Counter(
        event.name
        for event in events
        if span.start <= event.time_range.start <= span.end and is_wait(event.name)
    )
    return dict(names)


def is_wait(name: str) -> bool:
    return name.startswith("cu") and (name.endswith("Synchronize") or name == "cudaMemcpy")
