"""The language of tile kernels: what a ``@tilews.kernel`` function is written in."""

# ruff: noqa: F401 (the names are imported to be used from here)

from types import ModuleType as _ModuleType

from . import values as _values  # isort: skip (the others need its classes first)

from .atomics import (
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
from .composed.joining import cat, flip, join, permute, split, stack
from .composed.ordering import argmax, argmin, argsort, sort, topk
from .composed.random import philox, rand, randint, randn
from .control import (
    block_id,
    device_assert,
    grid,
    num_blocks,
    persistent,
    pipelined,
    print,
    range,
    rasterize,
    static_range,
    use_swizzle,
)
from .layouts import with_layout
from .math import (
    abs,
    byte_perm,
    cdiv,
    ceil,
    clamp,
    clz,
    cos,
    ctz,
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
    mulhi,
    popcount,
    pow,
    round,
    rsqrt,
    sigmoid,
    sin,
    sqrt,
    tan,
    tanh,
    trunc,
    udiv,
    umod,
    umulhi,
    ushr,
    where,
)
from .matmul import gemm, gemm_sp
from .memory import (
    alloc_shared,
    copy,
    load,
    may_alias,
    store,
    view,
)
from .reductions import (
    absmax,
    absmin,
    all,
    any,
    cummax,
    cummin,
    cumsum,
    max,
    min,
    reduce,
    reduce_and,
    reduce_or,
    reduce_xor,
    scan,
    sum,
)
from .roles import Channel, channel, role, role_registers, slot, specialize
from .shapes import (
    arange,
    broadcast_to,
    expand_dims,
    full,
    iota,
    reshape,
    transpose,
    zeros,
)
from .types import (
    DType,
    Tensor,
    bf16,
    constexpr,
    e4m3,
    e4m3fnuz,
    e5m2,
    e5m2fnuz,
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
)
from .values import Buffer, BufferRegion, Cursor, Scalar, Tile


def __dir__() -> list[str]:
    """The names of the language, without its modules."""
    return sorted(
        name
        for name, value in globals().items()
        if not name.startswith("_") and not isinstance(value, _ModuleType)
    )
