"""Small arrays on the stack of a compiled loop.

Their shapes are constants and nothing else can point into them. Both is what the compiler needs to
know before it makes vectors of a loop; of an argument it knows neither.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import from_dtype, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

ALIGNMENT_BYTES = 64


def stack_array(shape: tuple[int, ...], dtype: Any) -> Callable[[], Any]:
    """A function that gives compiled code an uninitialised array, valid until that code returns."""
    item = from_dtype(np.dtype(dtype))
    array = types.Array(item, len(shape), "C")

    @intrinsic
    def make(typing_context):
        def codegen(context, builder, signature, arguments):
            item_type = context.get_data_type(item)
            memory = cgutils.alloca_once(builder, ir.ArrayType(item_type, math.prod(shape)))
            memory.align = ALIGNMENT_BYTES
            item_bytes = context.get_abi_sizeof(item_type)
            strides = [item_bytes * math.prod(shape[axis + 1 :]) for axis in range(len(shape))]

            def constants(numbers):
                return cgutils.pack_array(
                    builder, [context.get_constant(types.intp, number) for number in numbers]
                )

            made = make_array(array)(context, builder)
            populate_array(
                made,
                data=builder.bitcast(memory, item_type.as_pointer()),
                shape=constants(shape),
                strides=constants(strides),
                itemsize=context.get_constant(types.intp, item_bytes),
                meminfo=None,
            )
            return made._getvalue()

        return array(), codegen

    return cast(Callable[[], Any], make)
