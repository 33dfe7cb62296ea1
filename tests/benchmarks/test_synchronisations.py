"""Waits for a GPU are counted from a profile, and only those of the loop itself."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from synchronisations import calls_within, waits_counted


def event(name, start, end):
    return SimpleNamespace(name=name, time_range=SimpleNamespace(start=start, end=end))


def test_calls_that_wait_are_counted_by_name_between_the_ends_of_the_span():
    events = [
        event("cudaStreamSynchronize", 5, 6),  # before
        event("counted", 10, 20),
        event("cudaLaunchKernel", 11, 12),
        event("cudaMemcpyAsync", 12, 13),
        event("cudaStreamSynchronize", 13, 15),
        event("cudaStreamSynchronize", 16, 17),
        event("cudaMemcpy", 18, 19),
        event("cudaEventSynchronize", 20, 22),  # begun within
        event("cudaDeviceSynchronize", 30, 31),  # the profiler's own, at its end
    ]
    assert calls_within(events) == {
        "cudaStreamSynchronize": 2, "cudaMemcpy": 1, "cudaEventSynchronize": 1,
    }  # fmt: skip


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_waits_made_on_purpose_are_seen():
    device = torch.device("cuda")
    answer = waits_counted(lambda: torch.ones(1, device=device).sum().item(), device)
    assert answer["warned"] == 1
    assert answer["seen_of_them"]["warned"] == 3
    assert sum(answer["seen_of_them"]["calls"].values()) >= 3
