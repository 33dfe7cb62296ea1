"""All kernels become machine code for a GPU, for the arguments that they are launched with here."""

from __future__ import annotations

import re
from types import SimpleNamespace

import kernel_checks
import numba
import pytest
import replay_checks
from numba import cuda

from operant.trainer.cuda.kernel import Kernel, as_arrays
from operant.trainer.envs import ENV_NAMES
from operant.trainer.run.stopwatch import Stopwatch

COMPUTE_CAPABILITY = (9, 0)  # for which all kernels are assembled, and some for the others
OTHER_CAPABILITIES = ((8, 0), (8, 6), (8, 9), (12, 0))


def _why_not() -> str:
    """Why nothing can be compiled here; nothing where it can."""
    try:
        cuda.compile_ptx(lambda: None, (), cc=COMPUTE_CAPABILITY)
    except Exception as error:
        return f"NVVM does not work here ({error}); the extra 'cuda' brings it"
    return ""


pytestmark = pytest.mark.skipif(bool(_why_not()), reason=_why_not())


@pytest.fixture
def launched(monkeypatch) -> dict[Kernel, tuple[object, ...]]:
    """The kernels that were launched on the processor, and the last arguments of each."""
    arguments_of: dict[Kernel, tuple[object, ...]] = {}
    launch = Kernel.launch

    def remembered(kernel: Kernel, size: int, *arguments: object) -> None:
        arguments_of[kernel] = arguments
        launch(kernel, size, *arguments)

    monkeypatch.setattr(Kernel, "launch", remembered)
    # Functions that kernels call are compiled for the GPU at hand.
    gpu = SimpleNamespace(compute_capability=COMPUTE_CAPABILITY)
    monkeypatch.setattr("numba.cuda.dispatcher.get_current_device", lambda: gpu)
    return arguments_of


@pytest.mark.parametrize(
    "overrides",
    [
        ("rollout=steps",),
        ("rollout=fused",),
        ("rollout=fused", "env=acrobot"),
        ("rollout=fused", "env=mountain_car_continuous"),
        ("rollout=fused", "env=pendulum", "policy.distribution=squashed_gaussian"),
        ("rollout=steps", "env=pendulum", "policy.distribution=beta", "normalization.obs=true"),
        ("algorithm=pqn",),
    ],
    ids=" ".join,
)
def test_an_iteration(make_cuda_experiment, launched, overrides):
    list(make_cuda_experiment(*overrides).iterate(Stopwatch(), wait=True))
    assert len(launched) >= 3  # reset, act or collect, the order of samples
    for kernel, arguments in launched.items():
        assert spilled_bytes(kernel, arguments) == 0


@pytest.mark.parametrize("name", ENV_NAMES)
def test_steps_of_every_environment(launched, name):
    kernel_checks.check_many_steps(name, "cpu")
    assert len(launched) >= 3  # reset, step, many steps
    for kernel, arguments in launched.items():
        assert spilled_bytes(kernel, arguments) == 0


def test_draws_from_a_replay(launched):
    for is_prioritised in (False, True):
        replay_checks.check_same_as_processor("cpu", is_prioritised)
    assert len(launched) == 15  # all that `on_gpu.py` has
    for kernel, arguments in launched.items():
        assert spilled_bytes(kernel, arguments) == 0


@pytest.mark.parametrize("rollout", ["steps", "fused"])
def test_an_iteration_for_other_gpus(make_cuda_experiment, launched, rollout):
    list(make_cuda_experiment(f"rollout={rollout}").iterate(Stopwatch(), wait=True))
    # Policy, environment and shared memory are in these.
    kernels = [kernel for kernel in launched if re.match("act_and_step|collect", kernel._label)]
    assert len(kernels) == 1
    for capability in OTHER_CAPABILITIES:
        assert spilled_bytes(kernels[0], launched[kernels[0]], capability) == 0


def spilled_bytes(
    kernel: Kernel,
    arguments: tuple[object, ...],
    capability: tuple[int, int] = COMPUTE_CAPABILITY,
) -> int:
    """Compile and assemble a kernel; what did not find room in the registers.

    Raises whatever NVVM or ptxas do not take.
    """
    types = (numba.int64, numba.typeof(as_arrays(arguments)))
    ptx, _ = cuda.compile_ptx(kernel.thread_function(), types, cc=capability)
    log = assembled(ptx, capability)
    assert re.search(r"Used \d+ registers", log)
    return sum(map(int, re.findall(r"(\d+) bytes spill", log)))


def assembled(ptx: str, capability: tuple[int, int]) -> str:
    """What ptxas says of a kernel. Raises nvJitLinkError."""
    from cuda.bindings import nvjitlink

    arch = "".join(map(str, capability))
    link = nvjitlink.create(2, [f"-arch=sm_{arch}", "-Xptxas=-v"])
    data = ptx.encode()
    nvjitlink.add_data(link, nvjitlink.InputType.PTX, data, len(data), "kernel")
    nvjitlink.complete(link)
    log = bytearray(nvjitlink.get_info_log_size(link))
    nvjitlink.get_info_log(link, log)
    nvjitlink.destroy(link)
    return log.decode()
