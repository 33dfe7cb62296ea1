"""Machine code is made of a compiled function only when Python needs it.

Numba optimises every function and makes machine code of it before it links the function into those
that call it. There it is optimised and made into machine code again. A loop that consists of forty
functions is thus compiled many times over, which took more than half of the time of a first start.
Here a function that is only linked into others stays LLVM's intermediate code. What Python calls,
what is saved to disk and what Numba finalises by itself is made into machine code as before.

This changes Numba's code generator for the whole process. It relies on methods of Numba that are
not public; `pyproject.toml` says for which versions.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary, JITCPUCodegen

# The functions that a parallel loop makes of its body. Numba asks for their address, and uses none.
PARALLEL_BODY = "__numba_parfor_gufunc_"

_set_env: Any = JITCPUCodegen.set_env
_waiting_envs: dict[str, Any] = {}  # for functions of which no machine code is made yet


class LateLibrary(JITCodeLibrary):
    """The code of a function and its callees, which may be linked before machine code is made."""

    _is_made = True  # whether machine code was made or is being made

    def _ensure_finalized(self) -> None:
        if not self._finalized:
            self._is_made = False
            self.finalize()
            self._finalized = True

    def get_pointer_to_function(self, name: str) -> Any:
        """The address of a function, for which machine code is made; 0 if it is not in here."""
        self._ensure_finalized()
        if not self._is_made:
            defined = {function.name for function in self.get_defined_functions()}
            if name not in defined or PARALLEL_BODY in self.name:
                return 0
            self._make()
        return super().get_pointer_to_function(name)

    def serialize_using_object_code(self) -> Any:
        """The object code for a file on disk."""
        self._ensure_finalized()
        self._make()
        return super().serialize_using_object_code()

    def _make(self) -> None:
        if self._is_made:
            return
        self._is_made = True
        self._optimize_final_module()
        self._final_module.verify()
        self._finalize_final_module()
        for variable in self._final_module.global_variables:
            if variable.name in _waiting_envs and not variable.is_declaration:
                _set_env(self._codegen, variable.name, _waiting_envs.pop(variable.name))

    def _optimize_final_module(self) -> None:
        if self._is_made:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        if self._is_made:
            super()._finalize_final_module()
        else:
            self._finalize_dynamic_globals()


def set_env(codegen: Any, name: str, env: Any) -> None:
    """Give a function the globals that its errors need, once its machine code is made."""
    if codegen._engine.is_symbol_defined(name):
        _set_env(codegen, name, env)
    else:
        _waiting_envs[name] = env


def install() -> None:
    """Have Numba make machine code late, in this process."""
    codegen: Any = JITCPUCodegen
    codegen._library_class, codegen.set_env = LateLibrary, set_env
