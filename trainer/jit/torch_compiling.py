"""torch.compile for the computations of an update on a minibatch.

Functions are compiled, not modules: a policy, its state and its checkpoints are the same with and
without it. Random numbers are drawn outside and passed in, so that no replay repeats them.
"""

from __future__ import annotations

import concurrent.futures
import importlib.util
import os
from collections.abc import Callable
from types import FunctionType
from typing import Any

import platformdirs
import torch

from ...shared.errors import ConfigError
from ...shared.runs.owners import make_private_folder
from ..machine.threads import TICK_S, one_torch_thread

BACKEND = "inductor"
CODE_FOLDER = "TORCHINDUCTOR_CACHE_DIR"


class Compiled:
    """`function` compiled by torch.compile, once for every new size of its arguments."""

    def __init__(self, function: Callable[..., Any], device: torch.device) -> None:
        """Raises ConfigError if there is no compiler."""
        if BACKEND == "inductor":
            keep_code_private()
        missing = why_no_compiler(device)
        if missing:
            raise ConfigError(f"compile = true: {missing}; compile = false works everywhere")
        # Sums are split by the number of threads, and round accordingly: see `one_torch_thread`.
        in_one_thread = BACKEND == "inductor" and device.type == "cpu"
        options: Any = {"cpp.threads": 1} if in_one_thread else None
        self._compiled = torch.compile(of_its_own(function), backend=BACKEND, options=options)
        self.signatures: list[str] = []  # not empty once there is machine code, as Numba's loops

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function. Raises ConfigError if it cannot be compiled."""
        if self.signatures:
            return self._compiled(*arguments)
        from torch._dynamo.exc import TorchDynamoException

        try:
            found = self._compiled(*arguments)
        except TorchDynamoException as error:
            raise ConfigError(
                f"compile = true: {first_line(error)}; compile = false works everywhere"
            ) from error
        self.signatures.append("compiled")
        return found


def keep_code_private() -> None:
    """Have PyTorch keep its machine code in a folder that only this user can write to.

    Its default is /tmp/torchinductor_<user>, which any user can make first; it loads and runs what
    lies there. A folder named in TORCHINDUCTOR_CACHE_DIR is used as it is. Raises ConfigError.
    """
    if CODE_FOLDER in os.environ:
        return
    folder = platformdirs.user_cache_path("operant") / "torchinductor"
    try:
        make_private_folder(folder)
    except OSError as error:
        raise ConfigError(
            f"compile = true: cannot use {folder}: {error.strerror}; name another folder in "
            f"{CODE_FOLDER}"
        ) from None
    os.environ[CODE_FOLDER] = str(folder)


def of_its_own(function: Callable[..., Any]) -> Callable[..., Any]:
    """A copy of a function with its own code object. PyTorch keeps compiled code by code object, in
    limited number, so that runs in one process would otherwise displace each other's.
    """
    bound_to = getattr(function, "__self__", None)
    plain: Any = getattr(function, "__func__", function)
    copied = FunctionType(
        plain.__code__.replace(),
        plain.__globals__,
        plain.__name__,
        plain.__defaults__,
        plain.__closure__,
    )
    return copied if bound_to is None else copied.__get__(bound_to)


def left_as_it_is(module: torch.nn.Module) -> None:
    """Exclude `module` from compilation: compiled functions call it as it is."""
    disable: Any = torch.compiler.disable
    module.forward = disable(module.forward)


def why_no_compiler(device: torch.device) -> str:
    """The reason why torch.compile cannot work here; empty if it can."""
    if BACKEND != "inductor":
        return ""
    if device.type == "cuda" and importlib.util.find_spec("triton") is None:
        return "Triton is not installed, which torch.compile needs on a GPU"
    from torch._inductor import exc
    from torch._inductor.cpp_builder import get_cpp_compiler

    try:
        get_cpp_compiler()
    except exc.InvalidCxxCompiler:
        return "no C++ compiler was found; install g++, or name one in CXX"
    return ""


def first_line(error: BaseException) -> str:
    """One line about the innermost cause of an error."""
    while error.__cause__ or getattr(error, "inner_exception", None):
        error = getattr(error, "inner_exception", None) or error.__cause__  # type: ignore[assignment]
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"torch.compile failed: {lines[0][:200] if lines else type(error).__name__}"


def while_ticking(work: Callable[[], None], tick: Callable[[], None]) -> None:
    """Do `work`, which takes long, in a thread, and call `tick` meanwhile."""

    def in_thread() -> None:
        one_torch_thread()
        work()

    with concurrent.futures.ThreadPoolExecutor(1, "compiling") as pool:
        future = pool.submit(in_thread)
        while concurrent.futures.wait([future], TICK_S).not_done:
            tick()
        future.result()
