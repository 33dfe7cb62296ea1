"""Which changes compile a loop anew, and what of it is shared out over threads."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import namedtuple

import numpy as np
import pytest
from numba import prange

from operant.trainer.jit.compiling import specialised
from operant.trainer.jit.machine_code import code_digest

SOURCE = '''
"""A module with a loop."""
from collections import namedtuple
import numpy as np
from operant.trainer.jit.compiling import compiled

STEP = 2.0
TABLE = np.arange(3.0)
UNUSED = 1
LIMITS = namedtuple("Limits", "low high")(0.0, 0.0)

@compiled
def doubled(x, by=STEP):
    """Twice as much."""
    return x * by + TABLE[1]

def total(x):
    """The sum."""
    result = 0.0
    for i in range(len(x)):
        if i in {3, 5}:
            result += doubled(x[i]) + LIMITS.low
    return result

def unused(x):
    return x
'''


@pytest.fixture
def digest_of(tmp_path):
    """Gives the digest of the loop `total` in a module with a source."""
    path = tmp_path / "a_users_module.py"

    def digest(source: str, name: str = "a_users_module") -> str:
        path.write_text(source)
        module = {"__name__": name}
        exec(compile(source, path, "exec"), module)
        return code_digest(specialised(module["total"], "test"))

    return digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("STEP = 2.0", "STEP = 3.0"),
        ("np.arange(3.0)", "np.arange(4.0)"),
        ("by=STEP", "by=1.0"),
        ("{3, 5}", "{3, 6}"),
        (
            "@compiled",
            "from operant.trainer.jit.compiling import compiled_in_order\n@compiled_in_order",
        ),
    ],
)
def test_what_a_loop_reaches_is_compiled_anew_where_it_changes(digest_of, old, new):
    assert old in SOURCE
    assert digest_of(SOURCE.replace(old, new, 1)) != digest_of(SOURCE)


def test_a_loop_that_moved_to_another_module_is_compiled_anew(digest_of):
    """Machine code imports the module that its globals are in, and the former one may be gone."""
    assert digest_of(SOURCE, "another_module") != digest_of(SOURCE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The sum.", "Another text, of\n    two lines."),
        ("UNUSED = 1", "UNUSED = 2\n\n"),
        ("return x\n", "return 2 * x\n"),
    ],
)
def test_what_it_does_not_reach_compiles_nothing_anew(digest_of, old, new):
    assert old in SOURCE
    assert digest_of(SOURCE.replace(old, new, 1)) == digest_of(SOURCE)


def test_loops_that_call_each_other_have_a_digest(digest_of):
    source = SOURCE.replace("return x * by", "return x if x < 0 else doubled(x - 1)")
    assert digest_of(source) == digest_of(source) != digest_of(SOURCE)


def test_every_process_gives_operants_own_loops_the_same_digest():
    code = (
        "from operant.trainer.policies.compiled.heads import head_of\n"
        "from operant.trainer.algorithms.compiled_ppo.learning import compile_learn\n"
        "from operant.trainer.policies.distributions.gaussian import Gaussian\n"
        "from operant.trainer.envs.spec import Box\n"
        "from operant.trainer.jit.machine_code import code_digest\n"
        "print(code_digest(compile_learn(head_of(Gaussian(Box((-1.0,), (1.0,)))))))"
    )
    digests = {
        subprocess.check_output(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}
        )
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_fields_in_another_order_are_another_file(tmp_path, monkeypatch):
    """Their types say no names: the code of one would read the field of the other."""
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    results = []
    for fields in ("low high", "high low"):
        globals()["Bounds"] = namedtuple("Bounds", fields)
        loop = specialised(width, "test")
        results.append(loop(Bounds(low=1.0, high=3.0)))
    assert results == [2.0, 2.0]


Bounds = namedtuple("Bounds", "low high")


def width(bounds):
    return bounds.high - bounds.low


def rows_sum(x, y):
    for i in prange(len(y)):
        y[i] = x[i] + 1
    return (x * 2).sum() + x.mean()


def test_only_what_says_prange_is_shared_out_whatever_was_compiled_before(tmp_path, monkeypatch):
    """Sums that are shared out would depend on the number of threads."""
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    for label in ("first", "second"):
        loop = specialised(rows_sum, label, parallel=True)
        for dtype in (np.float64, np.float32):
            loop(np.ones(4, dtype), np.ones(4, dtype))
        for made in loop.overloads.values():
            assert made.metadata["parfor_diagnostics"].count_parfors() == 1
