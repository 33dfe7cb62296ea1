"""A template is compiled only when all that it leaves open is bound."""

from __future__ import annotations

import pytest

pytest.importorskip("numba.cuda", reason="needs numba-cuda")

from operant.trainer.jit.compiling import compiled, specialised
from operant.trainer.jit.kernel import Kernel
from operant.trainer.jit.templates import UnboundError, declared, unbound

factor: int = unbound("what is multiplied by")


@declared
def shifted(x):
    """x, and something more."""


def template(x):
    return shifted(x) * factor


def kernel_body(i, arguments):
    arguments[0][i] = template(arguments[0][i])


@compiled
def one_more(x):
    return x + 1


def test_a_bound_template_computes_with_what_it_was_given():
    loop = specialised(template, "test", shifted=one_more, factor=3)
    assert loop(4) == 15  # (4 + 1) * 3
    other = specialised(template, "test_of_another", shifted=one_more, factor=2)
    assert (other(4), loop(4)) == (10, 15)


def test_a_template_is_refused_while_a_name_is_open():
    with pytest.raises(UnboundError, match=r"^template: bound by nothing: shifted, factor$"):
        specialised(template, "test")


def test_a_kernel_is_refused_while_a_name_is_open_in_what_it_calls():
    with pytest.raises(UnboundError, match=r"^template: bound by nothing: factor$"):
        _ = Kernel(kernel_body, "test", shifted=one_more).on_processor


def test_what_is_only_declared_cannot_be_called():
    with pytest.raises(UnboundError, match="bound by nothing: shifted"):
        template(1)
    with pytest.raises(UnboundError, match="bound by nothing: what is multiplied by"):
        factor()
