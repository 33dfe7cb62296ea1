"""The machine's pane says what matters first, fits every width, and has rows for what is known."""

from __future__ import annotations

from dataclasses import replace

import pytest
from views import GPU, SAMPLES, texts

from operant.monitor.render.formatting import format_bytes
from operant.monitor.runs.machine.machine import DiskSample, GpuProcess, MachineSample
from operant.monitor.widgets.machine_panel import draw_machine

OTHERS = (
    GpuProcess(4711, "anna", "python3", 3 << 30),
    GpuProcess(99, "kim", "Xorg", 40 << 20),
    GpuProcess(5),
)


def having(**fields) -> list[MachineSample]:
    return [replace(sample, **fields) for sample in SAMPLES]


def with_gpu(**fields) -> list[MachineSample]:
    return [replace(s, gpus=(replace(s.gpus[0], **fields),)) for s in SAMPLES]


def drawn(samples, width: int, height: int) -> str:
    return "\n".join(texts(draw_machine(samples, width, height)))


EVERYTHING = [
    replace(sample, gpus=(replace(GPU, others=OTHERS, throttled=("too hot",)),), disk=disk)
    for sample, disk in zip(
        SAMPLES, [DiskSample(1 << 30, 80 << 30, 1e12, 1e12, True)] * 4, strict=True
    )
]


@pytest.mark.parametrize("width", [5, 20, 34, 80, 196])
@pytest.mark.parametrize(
    "samples",
    [
        SAMPLES,
        EVERYTHING,
        having(gpus=()),
        having(gpus=tuple(replace(GPU, index=i) for i in range(8))),
        having(core_loads=(1.0,) * 256),
        having(gpus=(replace(GPU, utilization_fraction=None, total_memory_bytes=0),)),
    ],
)
def test_the_lines_fit(samples, width):
    for height in (0, 1, 3, 6, 40):
        lines = texts(draw_machine(samples, width, height))
        assert len(lines) <= height
        assert all(len(line) <= max(width, 22) for line in lines)


def test_the_memory_of_a_run_that_has_ended_is_not_known():
    text = drawn(having(memory_bytes=0), 80, 40)
    (ram,) = [line for line in text.splitlines() if line.startswith("ram")]
    assert ram.split()[1] == "-"
    assert "0 B" not in ram


def test_low_panes_say_what_matters_most():
    for height, words in [
        (4, ["82.0% 61°C", "5.0 of 16.0 GiB", "1.5 cores of 8", "2.0 GiB"]),
        (7, ["210 of 300 W", "2520 of 3105 MHz", "cores ▇▃▂"]),
        (11, ["412 GiB of 1.0 TiB free", "11.0 of 64.0 GiB", "1 process, 9 threads; load 2.4"]),
    ]:
        shown = drawn(SAMPLES, 56, height)
        for word in words:
            assert word in shown


def test_rates_of_the_disk_stand_beside_its_space_or_below():
    assert "free, reads 0 B/s, writes 1.2 MiB/s" in drawn(SAMPLES, 80, 20)
    assert "free   \n      r 0 B/s w 1.2 MiB/s" in drawn(SAMPLES, 32, 20)
    assert "the run reads" in drawn(EVERYTHING, 80, 20)


def test_what_is_wrong_stands_first():
    assert "▲" not in drawn(SAMPLES, 80, 40)
    for samples, words in [
        (with_gpu(throttled=("too hot",)), "gpu throttled: too hot at 61°C"),
        (having(used_memory_bytes=63 << 30), "memory 98.4% full"),
        (having(disk=DiskSample(1 << 30, 80 << 30)), "disk: 1.0 GiB left"),
    ]:
        assert texts(draw_machine(samples, 60, 4))[0].startswith(f"▲ {words}")


def test_a_power_cap_is_said_at_the_clock_and_is_no_alarm():
    shown = drawn(with_gpu(throttled=("power cap",)), 60, 20)
    assert "clock 2520 of 3105 MHz, power cap" in shown
    assert "▲" not in shown


def test_who_else_is_on_the_gpu_is_named_and_strangers_stand_out():
    lines = draw_machine(with_gpu(others=OTHERS), 60, 4)
    assert ("anna python3 3.0 GiB +2".ljust(54), "warning") in lines[2]
    (own,) = (
        line for line in draw_machine(with_gpu(others=OTHERS[1:2]), 60, 4) if "Xorg" in line[1][0]
    )
    assert own[1][1] == "strong"
    table = drawn(with_gpu(others=OTHERS), 60, 20)
    assert "anna             4711   3.0 GiB python3" in table
    assert "?                   5         - -" in table
    assert "also" not in drawn(with_gpu(others=None), 60, 20)


def test_several_gpus_have_a_row_each_and_a_low_pane_tells_of_all_together():
    many = having(gpus=tuple(replace(GPU, index=i) for i in range(8)))
    wide = drawn(many, 110, 40)
    assert "gpu7  82.0% 61°C  5.0 of 16.0 GiB  210 of 300 W  2520 of 3105 MHz" in wide
    low = texts(draw_machine(many, 40, 5))
    assert low[0].startswith("gpus  82.0% of 8")
    assert low[1].startswith("vram  40.0 of 128 GiB")
    assert low[2].startswith("cpu")


def test_the_only_gpu_of_a_run_has_its_number_where_it_is_not_the_first():
    assert drawn(with_gpu(index=3), 60, 3).startswith("gpu3")
    assert drawn(with_gpu(index=0), 60, 3).startswith("gpu ")


def test_a_gpu_that_does_not_tell_how_busy_it_is_still_tells_the_rest():
    shown = drawn(with_gpu(utilization_fraction=None), 60, 6)
    assert "gpu   - 61°C" in shown
    assert "5.0 of 16.0 GiB" in shown


def test_every_core_has_a_bar_where_there_is_room_and_a_cell_where_there_is_little():
    large = drawn(SAMPLES, 100, 40)
    assert "   0 ━━━━━━━━━─  90%" in large
    assert "cores" not in large.replace("1.5 cores of 8", "")
    many = having(core_loads=(0.0,) * 255 + (1.0,))
    lines = texts(draw_machine(many, 70, 9))
    (place,) = (i for i, line in enumerate(lines) if line.startswith("cores"))
    # 256 cores in 2 rows of 64 cells: each stands for two, and the busy one is not lost
    assert lines[place + 1] == "      " + 63 * "▁" + "█"


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1536, "1.5 KiB"), (5 << 20, "5.0 MiB"), (512 << 20, "512 MiB"),
     (1229 << 20, "1.2 GiB"), (141 << 30, "141 GiB"), (3 << 50, "3072 TiB")],
)  # fmt: skip
def test_bytes_have_a_unit_that_suits_them(count, text):
    assert format_bytes(count) == text


def test_without_a_sample_it_says_so():
    assert "not on this machine" in drawn([], 60, 5)
