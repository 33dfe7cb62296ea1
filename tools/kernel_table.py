"""What every kernel needs on GPUs of several compute capabilities, without a GPU.

    python tools/kernel_table.py

NVVM and ptxas compile each kernel for the arguments that operant launches it with.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

import numba
import replay_checks
import torch
from numba import cuda
from numba.cuda.codegen import CUDACodeLibrary

from operant.commands.bench.sides import random_actions
from operant.trainer.config.from_values import make_config
from operant.trainer.envs.hosts import load_spec
from operant.trainer.envs.names import ENV_NAMES
from operant.trainer.envs.vector_on_gpu import CudaVectorEnv, Steps
from operant.trainer.experiment.build import device_experiment
from operant.trainer.jit.kernel import Kernel, as_arrays
from operant.trainer.machine.stopwatch import Stopwatch
from operant.trainer.policies.draws_on_gpu import CountedDraws

CAPABILITIES = ((8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0))
# Kernels whose source asks for memory of each thread: state and activations of the environment.
WITH_LOCAL_ARRAYS = ("step_one_many_times", "collect_one")

Launched = dict[Kernel, tuple[Any, ...]]  # the last arguments of each kernel


@dataclass(frozen=True)
class Needs:
    """What one kernel needs on one kind of GPU, in bytes but for registers."""

    registers: int
    spilled: int
    stack: int
    shared: int
    has_local_memory: bool  # in PTX


def needs_of(
    kernel: Kernel, arguments: tuple[Any, ...], capabilities: Sequence[tuple[int, int]]
) -> list[Needs]:
    """Compile a kernel, and have NVVM and ptxas make code of it for each capability.

    Raises whatever NVVM or ptxas do not take.
    """
    libraries: list[CUDACodeLibrary] = []
    get_asm_strs = CUDACodeLibrary.get_asm_strs

    def remembered(library: CUDACodeLibrary, cc: Any = None) -> Any:
        libraries.append(library)
        return get_asm_strs(library, cc)

    gpu = SimpleNamespace(compute_capability=capabilities[0])
    types = (numba.int64, numba.typeof(as_arrays(arguments)))
    with (
        # Functions that kernels call are compiled for the GPU at hand.
        mock.patch("numba.cuda.dispatcher.get_current_device", return_value=gpu),
        mock.patch.object(CUDACodeLibrary, "get_asm_strs", remembered),
    ):
        cuda.compile_ptx(kernel.thread_function(), types, cc=capabilities[0])
    return [_needs_on(libraries[-1].get_asm_str(cc=x), x) for x in capabilities]


def _needs_on(ptx: str, capability: tuple[int, int]) -> Needs:
    log = assembled(ptx, capability)

    def number(pattern: str) -> int:
        return sum(map(int, re.findall(pattern, log)))

    assert "registers" in log
    return Needs(
        number(r"Used (\d+) registers"), number(r"(\d+) bytes spill"),
        number(r"(\d+) bytes stack frame"),
        sum(map(int, re.findall(r"\.shared .*\.b8 \w+\[(\d+)\]", ptx))),
        bool(re.search(r"\.local\b", ptx)),
    )  # fmt: skip


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


def launches_of_all() -> Launched:
    """Every kernel that operant has, with arguments: nothing is compiled or run for that."""
    launched: Launched = {}

    def launch(kernel: Kernel, size: int, *arguments: Any) -> None:
        launched[kernel] = arguments

    with mock.patch.object(Kernel, "launch", launch):
        for name in (*ENV_NAMES, "cart_pole_no_velocity", "grid", "marine_nav"):
            _launch_steps(name)
        for overrides in ACTORS:
            _launch_actor(*overrides)
        _launch_replay()
        _launch_draws()
    return launched


# A setting for each kernel that draws an actor's actions, and for noise and orders.
ACTORS = (
    *(
        (f"env={name}", f"rollout={rollout}")
        for name in ENV_NAMES for rollout in ("steps", "fused")
    ),
    *(
        ("env=pendulum", f"policy.distribution={name}", f"rollout={rollout}")
        for name in ("squashed_gaussian", "beta") for rollout in ("steps", "fused")
    ),
    ("env=grid",), ("algorithm=pqn",),
    ("env=cart_pole_no_velocity",), ("env=cart_pole_no_velocity", "rollout=fused"),
)  # fmt: skip


def _launch_steps(name: str) -> None:
    spec = load_spec(name)
    envs = CudaVectorEnv(spec, 4, 1, device="cpu")
    out = envs.empty_transitions()
    envs.reset(out.obs)
    actions = _actions(spec, envs.num_rows)
    envs.step(actions, out)
    if spec.num_agents == 1:
        envs.step_many(_actions(spec, envs.num_rows)[None], Steps.empty(spec, 1, 4, envs.device))


def _actions(spec: Any, num_rows: int) -> Any:
    return torch.from_numpy(random_actions(spec, 1, num_rows))[0]


def _launch_actor(*overrides: str) -> None:
    values = {"num_envs": 4, "rollout_steps": 4, "ppo": {"num_minibatches": 2}}
    if "algorithm=pqn" in overrides:
        values = {"num_envs": 4, "rollout_steps": 4, "pqn": {"num_minibatches": 2}}
    run = device_experiment(make_config(values, overrides), torch.device("cpu"))
    run.collector.collect()
    list(run.iterate(Stopwatch(), wait=True))


def _launch_replay() -> None:
    for priorities in (None, replay_checks.Priorities()):
        replay = replay_checks.make_replay(
            60, 3, n_step=3, priorities=priorities, with_kernels=True
        )
        replay.write(replay_checks.in_order(replay_checks.Stream(3).rollout(7)))
        replay.end_episodes()
        batch = replay.make_batch(8)
        replay.sample(batch, 0.5)
        replay.update_priorities(batch.index, batch.returns)


def _launch_draws() -> None:
    CountedDraws("normal", (8,), 1, torch.device("cpu")).next()


def print_table(launched: Launched) -> None:
    """A row for each kernel: registers for each capability, and the rest of them all. Raises
    AssertionError where a kernel spills, or has memory of its own that its source does not ask for.
    """
    titles = [f"{major}.{minor}" for major, minor in CAPABILITIES]
    print(f"| kernel | {' | '.join(titles)} | spilled | local | shared |")
    print("|---" * (len(titles) + 4) + "|")
    by_label = {kernel._label: kernel for kernel in launched}
    for _, kernel in sorted(by_label.items()):
        print(row(kernel, launched[kernel]), flush=True)


def row(kernel: Kernel, arguments: tuple[Any, ...]) -> str:
    needs = needs_of(kernel, arguments, CAPABILITIES)
    check(kernel, needs)
    registers = " | ".join(str(x.registers) for x in needs)
    rest = " | ".join(
        _range(getattr(x, field) for x in needs) for field in ("spilled", "stack", "shared")
    )
    return f"| `{kernel._label}` | {registers} | {rest} |"


def check(kernel: Kernel, needs: Iterable[Needs]) -> None:
    """No register is spilled, and threads have memory of their own only where the source asks."""
    for each in needs:
        assert each.spilled == 0, kernel._label
        if not kernel._label.startswith(WITH_LOCAL_ARRAYS):
            assert each.stack <= most_stack_bytes(kernel), kernel._label
            assert each.has_local_memory == (most_stack_bytes(kernel) > 0), kernel._label


def most_stack_bytes(kernel: Kernel) -> int:
    """Normal numbers need a cosine. NVIDIA's has 28 bytes for angles above 105,615, which no draw
    has, and ptxas rounds them up.
    """
    return 32 if re.search("gaussian|beta", kernel._label) else 0


def _range(numbers: Iterable[int]) -> str:
    lowest, *others = sorted(set(numbers))
    return f"{lowest}" if not others else f"{lowest} to {others[-1]}"


if __name__ == "__main__":
    print_table(launches_of_all())
