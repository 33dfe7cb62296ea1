"""Functions of which machine code is made late do what they did, and only when it is needed."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from numba import cfunc, njit, prange, types

from operant.trainer.jit.compiling import compiled, specialised, specialised_part

X = np.arange(1.0, 9.0)


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))


def is_made(function):
    (result,) = function.overloads.values()
    return result.library._is_made


def inverse(x):
    if x == 0.0:
        raise ValueError("no inverse")
    return 1.0 / x


def total(x):
    result = 0.0
    for i in range(len(x)):
        result += inverse(x[i])
    return result


def shared_total(x):
    result = np.zeros(len(x))
    for i in prange(len(x)):
        result[i] = inverse(x[i])
    return result.sum()


def test_a_part_is_made_into_machine_code_with_its_loop_alone():
    part = compiled(inverse)
    loop = specialised(total, "late", inverse=part)
    assert loop(X) == total(X)
    assert (is_made(part), is_made(loop)) == (False, True)


@pytest.mark.parametrize("parallel", [False, True])
def test_python_can_call_a_part(parallel):
    part = specialised_part(shared_total, "late", parallel, inverse=compiled(inverse))
    assert part(X) == pytest.approx(total(X))
    with pytest.raises(ValueError, match="no inverse"):
        compiled(inverse)(0.0)


def test_a_parallel_loop_may_be_called_by_another_loop():
    part = specialised_part(shared_total, "late", True, inverse=compiled(inverse))
    assert njit(lambda x: part(x) + 1.0)(X) == pytest.approx(total(X) + 1.0)


def test_an_inner_function_can_be_called_once_it_was_linked():
    inner = njit(inverse)
    outer = njit(lambda x: inner(x) + inner(x + 1.0))
    assert outer(1.0) == 1.5
    assert inner(4.0) == 0.25
    assert outer(3.0) == 1 / 3 + 0.25


def test_errors_come_from_code_on_disk():
    for is_kept in (0, 1):
        loop = specialised(total, "late", inverse=compiled(inverse))
        with pytest.raises(ValueError, match="no inverse"):
            loop(np.zeros(3))
        assert sum(loop.stats.cache_hits.values()) == is_kept


def test_functions_may_call_themselves_and_each_other():
    @njit
    def fibonacci(n):
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    @njit
    def is_even(n):
        return True if n == 0 else is_odd(n - 1)

    @njit
    def is_odd(n):
        return False if n == 0 else is_even(n - 1)

    assert fibonacci(12) == 144
    assert (is_even(10), is_odd(10)) == (True, False)


def test_c_can_call_a_function_that_calls_another():
    inner = njit(inverse)
    address = cfunc(types.float64(types.float64))(lambda x: inner(x) + 1.0).address
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(address)(4.0) == 1.25
