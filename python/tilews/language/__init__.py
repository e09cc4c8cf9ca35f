"""The language of tile kernels: what a ``@tilews.kernel`` function is written in.

Types are here at once, because annotations of kernels have them. Functions and the
classes of values are loaded with the first one that is asked for: to launch a kernel
that the cache on disk has, none is needed.
"""

import importlib as _importlib
import typing as _typing

from .types import (
    DType,
    bf16,
    e2m1,
    e2m3,
    e3m2,
    e4m3,
    e4m3fnuz,
    e5m2,
    e5m2fnuz,
    e8m0,
    f16,
    f32,
    f64,
    i1,
    i4,
    i8,
    i16,
    i32,
    i64,
    index,
    u4,
    u8,
    u16,
    u32,
    u64,
)

if _typing.TYPE_CHECKING:
    from .annotations import Tensor, constexpr
    from .assembly import asm
    from .bits import (
        byte_perm,
        clz,
        ctz,
        mulhi,
        popcount,
        udiv,
        umod,
        umulhi,
        ushr,
    )
    from .composed.counting import histogram
    from .composed.joining import cat, join, permute, split, stack
    from .composed.ordering import argmax, argmin, argsort, sort, topk
    from .composed.random import philox, rand, randint, randn
    from .control.debugging import device_assert, print
    from .control.grids import block_id, grid, num_blocks, rasterize, use_swizzle
    from .control.ranges import persistent, pipelined, range, static_range
    from .control.roles import Channel, channel, role, role_registers, slot, specialize
    from .layouts import with_layout
    from .math import (
        abs,
        cdiv,
        ceil,
        clamp,
        cos,
        erf,
        exp,
        exp2,
        expm1,
        floor,
        fma,
        fmax,
        fmin,
        isfinite,
        isinf,
        isnan,
        log,
        log1p,
        log2,
        log10,
        maximum,
        minimum,
        pow,
        round,
        rsqrt,
        sigmoid,
        sin,
        sqrt,
        tan,
        tanh,
        trunc,
        where,
    )
    from .matmul import gemm, gemm_sp
    from .memory.accesses import copy, load, store
    from .memory.atomics import (
        atomic_add,
        atomic_and,
        atomic_cas,
        atomic_exchange,
        atomic_load,
        atomic_max,
        atomic_min,
        atomic_or,
        atomic_store,
        atomic_xor,
        fence,
    )
    from .memory.buffers import alloc_shared, may_alias, view
    from .reductions import (
        absmax,
        absmin,
        all,
        any,
        max,
        min,
        reduce,
        reduce_and,
        reduce_or,
        reduce_xor,
        sum,
    )
    from .scans import cummax, cummin, cumsum, scan
    from .shapes import (
        arange,
        broadcast_to,
        expand_dims,
        flip,
        full,
        iota,
        reshape,
        transpose,
        zeros,
    )
    from .values import Buffer, BufferRegion, Cursor, Scalar, Tile
else:
    from .types import Tensor, constexpr

__all__ = [
    "Buffer",
    "BufferRegion",
    "Channel",
    "Cursor",
    "DType",
    "Scalar",
    "Tensor",
    "Tile",
    "abs",
    "absmax",
    "absmin",
    "all",
    "alloc_shared",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "asm",
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_exchange",
    "atomic_load",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_store",
    "atomic_xor",
    "bf16",
    "block_id",
    "broadcast_to",
    "byte_perm",
    "cat",
    "cdiv",
    "ceil",
    "channel",
    "clamp",
    "clz",
    "constexpr",
    "copy",
    "cos",
    "ctz",
    "cummax",
    "cummin",
    "cumsum",
    "device_assert",
    "e2m1",
    "e2m3",
    "e3m2",
    "e4m3",
    "e4m3fnuz",
    "e5m2",
    "e5m2fnuz",
    "e8m0",
    "erf",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "f16",
    "f32",
    "f64",
    "fence",
    "flip",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "full",
    "gemm",
    "gemm_sp",
    "grid",
    "histogram",
    "i1",
    "i4",
    "i8",
    "i16",
    "i32",
    "i64",
    "index",
    "iota",
    "isfinite",
    "isinf",
    "isnan",
    "join",
    "load",
    "log",
    "log1p",
    "log2",
    "log10",
    "max",
    "maximum",
    "may_alias",
    "min",
    "minimum",
    "mulhi",
    "num_blocks",
    "permute",
    "persistent",
    "philox",
    "pipelined",
    "popcount",
    "pow",
    "print",
    "rand",
    "randint",
    "randn",
    "range",
    "rasterize",
    "reduce",
    "reduce_and",
    "reduce_or",
    "reduce_xor",
    "reshape",
    "role",
    "role_registers",
    "round",
    "rsqrt",
    "scan",
    "sigmoid",
    "sin",
    "slot",
    "sort",
    "specialize",
    "split",
    "sqrt",
    "stack",
    "static_range",
    "store",
    "sum",
    "tan",
    "tanh",
    "topk",
    "transpose",
    "trunc",
    "u4",
    "u8",
    "u16",
    "u32",
    "u64",
    "udiv",
    "umod",
    "umulhi",
    "use_swizzle",
    "ushr",
    "view",
    "where",
    "with_layout",
    "zeros",
]

#: The modules that define the other names.
_MODULES = (
    *("values", "assembly", "bits", "layouts", "math", "matmul", "reductions"),
    *("scans", "shapes", "composed.counting", "composed.joining"),
    *("composed.ordering", "composed.random", "control.debugging"),
    *("control.grids", "control.ranges", "control.roles", "memory.accesses"),
    *("memory.atomics", "memory.buffers"),
)


def __dir__() -> list[str]:
    """The names of the language, without its modules."""
    return list(__all__)


if not _typing.TYPE_CHECKING:  # Checkers have the imports above.

    def __getattr__(name):
        """Loads the functions and classes, of which this may be one.

        Raises:
            AttributeError: the language has no such name.
        """
        if name not in __all__:  # It may be a module, which Python then imports.
            raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
        for module in _MODULES:
            found = _importlib.import_module(f"{__name__}.{module}")
            for key in __all__:
                value = vars(found).get(key)
                if getattr(value, "__module__", None) == found.__name__:
                    globals().setdefault(key, value)
        return globals()[name]
