"""The emulated GPU does what a GPU does wherever tests of operant rely on it."""

from __future__ import annotations

import gpu_runs
import numpy as np
import pytest
import replay_checks
import torch

from operant.trainer.jit.kernel import Kernel


def captured(work):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = work()
    return graph, result


def test_a_capture_changes_nothing_and_a_replay_sees_what_is_there_then():
    counts, step_size = torch.zeros(3, device="cuda"), torch.ones((), device="cuda")
    frozen = 2.0  # numbers of Python are as they were at the capture

    def work():
        counts.add_(step_size)
        return counts * frozen

    graph, doubled = captured(work)
    assert counts.tolist() == [0, 0, 0]
    assert doubled.isnan().all()
    frozen = 100.0
    step_size.fill_(5)
    graph.replay()
    graph.replay()
    assert counts.tolist() == [10, 10, 10]
    assert doubled.tolist() == [20, 20, 20]


HOST_READS = {
    "item": lambda x: x.sum().item(),
    "copy to pinned": lambda x: torch.zeros(5, pin_memory=True).copy_(x),
    "bool": lambda x: bool(x.sum() > 0),
    "nonzero": lambda x: x.nonzero(),
    "mask": lambda x: x[x > 0],
    "unique": lambda x: x.unique(),
    "synchronize": lambda x: torch.cuda.synchronize(),
}


@pytest.mark.parametrize("read", HOST_READS)
def test_the_host_must_not_wait_in_a_capture(read):
    x = torch.ones(5, device="cuda")
    with pytest.raises(RuntimeError, match="not permitted when stream is capturing"):
        captured(lambda: HOST_READS[read](x))


def test_a_kernel_that_is_not_replaced_is_an_error_that_is_said_once():
    with pytest.raises(RuntimeError, match="a kernel was launched that the emulation does not"):
        torch.cuda._sleep(10)
    assert gpu_runs.take_launches() == 1
    torch.cuda.synchronize()


def add_to(i, arguments):
    counts, step = arguments
    counts[i] += step


def launch_add(counts):
    Kernel(add_to, "test").launch(len(counts), counts, np.float32(2))


def test_a_kernel_of_operant_runs_on_the_stream_that_is_current():
    from emulated_gpu.races import races  # importing it makes the emulation

    stream = torch.cuda.Stream()
    with races() as sanitizer:
        counts = torch.ones(3, device="cuda")
        with torch.cuda.stream(stream):
            launch_add(counts)  # nobody has waited for the ones
    assert counts.tolist() == [3, 3, 3]
    (race,) = sanitizer.found
    assert f"on stream {stream.cuda_stream:#x} writes what aten::ones on stream 0x0 wrote" in race


def test_new_memory_is_poisoned_and_so_is_memory_that_is_given_out_again():
    for _ in range(2):
        x = torch.empty(1000, device="cuda")
        assert x.isnan().all()
        x.zero_()
        del x


def test_a_stream_that_was_not_waited_for_spoils_a_capture():
    main, side = torch.cuda.Stream(), torch.cuda.Stream()
    x = torch.zeros(3, device="cuda")

    def work(joins):
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            x.add_(1)
        if joins:
            torch.cuda.current_stream().wait_stream(side)

    with torch.cuda.stream(main):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=main):
            work(True)
        graph.replay()
        assert x.tolist() == [1, 1, 1]
        with (
            pytest.raises(RuntimeError, match="not joined"),
            torch.cuda.graph(torch.cuda.CUDAGraph(), stream=main),
        ):
            work(False)


def test_pinned_observations_take_the_memory_that_is_counted():
    before = torch.cuda.host_memory_stats().get("allocated_bytes.current", 0)
    replay = replay_checks.make_replay(3000, 3, device="cuda", pinned=True, with_kernels=True)
    after = torch.cuda.host_memory_stats().get("allocated_bytes.current", 0)
    assert after - before == replay.layout.pinned_obs_bytes > replay.layout.obs_bytes
