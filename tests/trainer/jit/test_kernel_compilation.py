"""All kernels become machine code for a GPU, for the arguments that they are launched with here."""

from __future__ import annotations

import re
from pathlib import Path

import kernel_table
import pytest
import replay_checks
from numba import cuda

from operant.trainer.jit.kernel import Kernel
from operant.trainer.machine.stopwatch import Stopwatch

ROOT = Path(__file__).parents[3]
# Name, registers for each capability, spilled, local and shared bytes.
ROW = re.compile(r"^\| (`\w.*?`) \| ([\d |]+) \| (\d+) \| (\d+) \| (\d+) \|$", re.MULTILINE)
COMPUTE_CAPABILITY = (9, 0)


def _why_not() -> str:
    """Why nothing can be compiled here; nothing where it can."""
    try:
        cuda.compile_ptx(lambda: None, (), cc=COMPUTE_CAPABILITY)
    except Exception as error:
        return f"NVVM does not work here ({error}); the extra 'cuda' brings it"
    return ""


pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(_why_not()), reason=_why_not())]


@pytest.fixture
def launched(monkeypatch) -> dict[Kernel, tuple[object, ...]]:
    """The kernels that were launched on the processor, and the last arguments of each."""
    arguments_of: dict[Kernel, tuple[object, ...]] = {}
    launch = Kernel.launch

    def remembered(kernel: Kernel, size: int, *arguments: object) -> None:
        arguments_of[kernel] = arguments
        launch(kernel, size, *arguments)

    monkeypatch.setattr(Kernel, "launch", remembered)
    return arguments_of


@pytest.mark.parametrize(
    "overrides",
    [
        ("rollout=steps",),
        ("rollout=fused", "env=acrobot"),
        ("rollout=steps", "env=pendulum", "policy.distribution=beta", "normalization.obs=true"),
        ("algorithm=pqn",),
    ],
    ids=" ".join,
)
def test_an_iteration(make_cuda_experiment, launched, overrides):
    list(make_cuda_experiment(*overrides).iterate(Stopwatch(), wait=True))
    assert len(launched) >= 3  # reset, act or collect, the order of samples
    for kernel, arguments in launched.items():
        check(kernel, arguments)


def test_draws_from_a_replay(launched):
    for is_prioritised in (False, True):
        replay_checks.check_same_as_processor("cpu", is_prioritised)
    assert len(launched) == 15  # all that `on_gpu.py` has
    for kernel, arguments in launched.items():
        check(kernel, arguments)


def test_the_table_has_every_kernel():
    """`make kernel-table` has NVVM and ptxas make all of these for every capability."""
    launched = kernel_table.launches_of_all()
    source = "\n".join(path.read_text() for path in (ROOT / "trainer").rglob("*.py"))
    functions = set(re.findall(r"\bKernel\(\s*(\w+_one\w*)", source))
    assert len(functions) > 20
    assert functions == {kernel._function.__name__ for kernel in launched}
    table = (ROOT / "docs/gpu.md").read_text().partition("## What each kernel needs")[2]
    rows = {cells[0].strip("`"): cells[1:] for cells in re.findall(ROW, table)}
    assert rows.keys() == {kernel._label for kernel in launched}
    for label, (_, spilled, local, _) in rows.items():
        assert spilled == "0", label
        assert local == "0" or label.startswith(kernel_table.WITH_LOCAL_ARRAYS) or local == "32"


@pytest.mark.parametrize("name", ["uniform_one_any", "key_one_any"])
def test_the_tables_figures_are_those_of_these_versions(name):
    launched = kernel_table.launches_of_all()
    (kernel,) = (x for x in launched if x._label == name)
    assert kernel_table.row(kernel, launched[kernel]) in (ROOT / "docs/gpu.md").read_text()


def check(kernel: Kernel, arguments: tuple[object, ...]) -> None:
    kernel_table.check(kernel, kernel_table.needs_of(kernel, arguments, (COMPUTE_CAPABILITY,)))
