"""Matmuls of groups of rows, each with a matrix of its own: mixtures of experts."""

import math
from typing import Any

import tilews
import tilews.language as tl

from ...runtime.arrays import is_on_host
from ..host import check_array, check_number, fail, result
from ..operation import operation
from ..rows.gated import find_activation
from .dense import OPERANDS, is_direct, result_type
from .tiling import Tiling, choose

#: The most groups: a block looks for its own among all of them.
_MOST_GROUPS = 4096


@tilews.func
def find_group(Starts: Any, tile: Any, BM: Any, GROUPS: Any) -> Any:
    """The group of a tile of BM rows, and the tiles of the groups before it.

    Groups have whole tiles: one of 130 rows has two tiles of 128. The group is the
    number of groups if there are fewer tiles."""
    groups = Starts.shape[0] - 1
    first = tl.load(Starts[0:groups], (GROUPS,))
    last = tl.load(Starts[1 : groups + 1], (GROUPS,))
    ends = tl.cumsum((last - first + (BM - 1)) // BM, axis=0)
    is_before = ends <= tile
    group = tl.sum((is_before & (tl.arange(GROUPS) < groups)).to(tl.i32), axis=0)
    return group, tl.max(tl.where(is_before, ends, 0), axis=0)


@tilews.func
def copy_right(B: Any, group: Any, n: Any, k: Any, Bs: Any, TRANSPOSE_B: Any) -> None:
    """Copies the right operand of a tile: columns from n on, at a depth."""
    ROWS, COLUMNS = Bs.shape
    if TRANSPOSE_B:
        tl.copy(B[group, n : n + ROWS, k : k + COLUMNS], Bs)
    else:
        tl.copy(B[group, k : k + ROWS, n : n + COLUMNS], Bs)


@tilews.kernel
def group_tiles(
    A: tl.Tensor["R, K", "T"],
    B: tl.Tensor["E, RB, CB", "T"],
    Starts: tl.Tensor["S", tl.i32],
    Rows: tl.Tensor["M", tl.i32] | None,
    RowScales: tl.Tensor["M", tl.f32] | None,
    C: tl.Tensor["M, N", "U"],
    scale: tl.f32,
    tiles: tl.i32,
    BM: tl.constexpr = 128,
    BN: tl.constexpr = 128,
    BK: tl.constexpr = 64,
    GROUPS: tl.constexpr = 8,
    STAGES: tl.constexpr = 3,
    TRANSPOSE_B: tl.constexpr = False,
    TF32: tl.constexpr = False,
    gate: tl.constexpr = None,
) -> None:
    """A block computes a tile of C: rows of a group, rows Starts[e] to Starts[e + 1].

    GROUPS is a power of two, and at least the number of groups. There may be fewer
    tiles than `tiles`. With the function `gate` the matrices have twice the columns of
    C: a tile is ``gate(A @ first half) * (A @ second half)``."""
    x, t = tl.grid(tl.cdiv(C.shape[1], BN), tiles)
    tl.rasterize("row", panel=8)
    group, before = find_group(Starts, tl.i32(t), BM, GROUPS)
    if group < tl.i32(B.shape[0]):
        n, end = x * BN, tl.load(Starts[group + 1])
        m = tl.load(Starts[group]) + (tl.i32(t) - before) * BM
        As = tl.alloc_shared((BM, BK), A.dtype)
        shape = (BN, BK) if TRANSPOSE_B else (BK, BN)
        Bs = tl.alloc_shared(shape, B.dtype)
        acc = tl.zeros((BM, BN), tl.f32 if A.dtype.is_float else tl.i32)
        if gate is not None:
            Vs, values = tl.alloc_shared(shape, B.dtype), tl.zeros(acc.shape, acc.dtype)
        if Rows is not None:
            rows = tl.load(Rows[m:end], (BM,), pad=-1)
        for k in tl.range(0, A.shape[1], BK, num_stages=STAGES):
            if Rows is not None:
                tl.copy(A[rows, k : k + BK], As)
            else:
                tl.copy(A[m:end, k : k + BK], As)
            copy_right(B, group, n, k, Bs, TRANSPOSE_B)
            acc = tl.gemm(As, Bs, acc, transpose_rhs=TRANSPOSE_B, allow_tf32=TF32)
            if gate is not None:
                copy_right(B, group, n + C.shape[1], k, Vs, TRANSPOSE_B)
                values = tl.gemm(
                    As, Vs, values, transpose_rhs=TRANSPOSE_B, allow_tf32=TF32
                )
        y = acc.to(tl.f32) * scale if C.dtype.is_float else acc
        if gate is not None:
            y = gate(y) * (values.to(tl.f32) * scale)
        if RowScales is not None:
            y *= tl.load(RowScales[m:end], (BM,))[:, None]
        tl.store(y.to(C.dtype), C[m:end, n : n + BN])


def tile_count(tiling: Tiling, rows: int, groups: int) -> int:
    """The most tiles that rows in groups can have: each group has a last one, which may
    be only partly used."""
    return rows // tiling.bm + min(groups, rows)


def check_groups(
    a: Any, b: Any, starts: Any, arrays: tuple[Any, Any], transpose_b: bool
) -> tl.DType:
    """Checks the arguments of :func:`grouped_matmul`; returns the type of operands.

    Raises:
        LaunchError: one does not fit.
    """
    name = "grouped_matmul"
    rows, row_scales = arrays
    dtype = check_array(name, "a", a, ("rows", "K"), OPERANDS)
    depth = a.shape[1]
    inner = ("N", depth) if transpose_b else (depth, "N")
    check_array(name, "b", b, ("groups", *inner), (dtype,))
    groups = b.shape[0]
    if not 0 < groups <= _MOST_GROUPS:
        raise fail(name, f"'b': expected 1 to {_MOST_GROUPS} groups, found {groups}")
    check_array(name, "starts", starts, (groups + 1,), (tl.i32,))
    if rows is not None:
        check_array(name, "rows", rows, ("M",), (tl.i32,))
    if row_scales is not None:
        count = a.shape[0] if rows is None else rows.shape[0]
        check_array(name, "row_scales", row_scales, (count,), (tl.f32,))
    return dtype


def find_gate(name: str, gate: str | None, dtype: tl.DType, columns: int) -> Any:
    """The activation of gates for results of a type, or None.

    Raises:
        LaunchError: there is none of that name, or the result or the number of columns,
            which are gates and values, does not fit.
    """
    if gate is None:
        return None
    function = find_activation(name, gate)
    if not dtype.is_float:
        raise fail(name, "a result of i32 has no gate; pass out_dtype=tl.f32")
    if columns % 2:
        expected = "'b': expected an even number of columns, for gates and values"
        raise fail(name, f"{expected}, found {columns}")
    return function


@operation(group_tiles)
def grouped_matmul(
    a: Any,
    b: Any,
    starts: Any,
    *,
    rows: Any = None,
    row_scales: Any = None,
    transpose_b: bool = False,
    scale: float = 1.0,
    gate: str | None = None,
    allow_tf32: bool = True,
    out_dtype: Any = None,
    out: Any = None,
    **launch: Any,
) -> Any:
    """A matmul of each group of rows with a matrix of its own.

    ``y[m] = (a[rows[m]] @ b[e]) * scale * row_scales[m]`` for the rows m of group e,
    ``starts[e]`` to ``starts[e + 1]``. In a mixture of experts a group is an expert,
    `rows` the tokens that chose it, and `row_scales` its weights for them. The sizes of
    groups are read on the GPU only. A block looks up its tile by the running sums of
    their tiles; no row is computed for a group that has no more.

    Args:
        a: (R, K) of f16, bf16, f32, fp8 or i8.
        b: (E, K, N), or (E, N, K) with `transpose_b`, of the type of a: the matrices of
            E groups, up to 4096. Transposed is the fastest order for fp8.
        starts: (E + 1) of i32: where groups start, and where the last one ends; in
            ascending order. Rows before the first group and after the last one are not
            written.
        rows: (M) of i32: the rows of `a`, in the order of groups; by default all.
        row_scales: (M) of f32: a factor for each row of the result.
        transpose_b: whether the matrices are stored transposed.
        scale: a factor.
        gate: an activation, as for :func:`gated`, or None. With it the matrices have
            columns of gates, then as many of values, and the result is
            ``gate(a @ gates * scale) * (a @ values * scale)``.
        allow_tf32: whether f32 operands may be rounded to 10 bits of fraction.
        out_dtype: f16, bf16, f32 or i32, as for :func:`matmul`.
        out: the result, allocated if not given.
        launch: `stream`, `target` and `run` of a call of the kernel.

    Returns:
        The result, (M, N).

    Raises:
        LaunchError: an argument does not fit; nothing was started.

    Example:
        tokens = np.arange(6, dtype=np.float32).reshape(3, 2)
        experts = np.stack([np.eye(2), 10 * np.eye(2)]).astype(np.float32)
        starts, rows = np.array([0, 1, 3], np.int32), np.array([2, 0, 2], np.int32)
        y = kernels.grouped_matmul(tokens, experts, starts, rows=rows)
        assert (y == [[4, 5], [0, 10], [40, 50]]).all()
    """
    name = "grouped_matmul"
    kind = check_groups(a, b, starts, (rows, row_scales), transpose_b)
    dtype = result_type(name, kind, out_dtype)
    scale = check_number(name, "scale", scale)
    if not dtype.is_float and (scale != 1 or row_scales is not None):
        raise fail(name, "a result of i32 has no scales; pass out_dtype=tl.f32")
    groups, columns = b.shape[0], b.shape[1 if transpose_b else 2]
    function = find_gate(name, gate, dtype, columns)
    n = columns if function is None else columns // 2
    m = a.shape[0] if rows is None else rows.shape[0]
    y = result(name, out, a, (m, n), dtype)
    if 0 not in y.shape:
        shape = (groups, math.ceil(m / groups), columns, a.shape[1])
        tiling = choose(
            shape,
            kind.bits // 8,
            launch.get("target"),
            is_on_host(a),
            is_direct(kind, (a.shape[1], b.shape[2]), (False, transpose_b)),
            can_split=False,
            can_persist=False,
        )
        group_tiles(
            a,
            b,
            starts,
            rows,
            row_scales,
            y,
            scale,
            tile_count(tiling, m, groups),
            BM=tiling.bm,
            BN=tiling.bn if function is None else tiling.bn // 2,
            BK=tiling.bk,
            GROUPS=2 ** (groups - 1).bit_length(),
            STAGES=tiling.stages,
            TRANSPOSE_B=transpose_b,
            TF32=allow_tf32 and kind == tl.f32,
            gate=function,
            threads=tiling.threads,
            **launch,
        )
    return y
