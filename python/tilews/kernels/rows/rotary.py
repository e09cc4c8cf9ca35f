"""Rotary position embeddings."""

import math
from typing import Any

import tilews
import tilews.language as tl

from ..host import FLOATS, check_array, element_type, fail, result
from ..operation import operation


@tilews.kernel(threads=128)
def rope_heads(
    X: tl.Tensor["T, H, D", "E"],
    Cos: tl.Tensor["P, R", "C"],
    Sin: tl.Tensor["P, R", "C"],
    Positions: tl.Tensor["T", "I"] | None,
    Y: tl.Tensor["T, H, D", "E"],
    period: tl.i32,
    TOKENS: tl.constexpr,
    HEADS: tl.constexpr,
    HALF: tl.constexpr,
    REST: tl.constexpr = 0,
    INTERLEAVED: tl.constexpr = False,
) -> None:
    """A block rotates some heads of some tokens. R is HALF, D is 2 * HALF + REST; token
    t without a position has the position t % period."""
    tl.may_alias(X, Y)
    T, H, _D = X.shape
    x, y = tl.grid(tl.cdiv(T, TOKENS), tl.cdiv(H, HEADS))
    t, h = x * TOKENS, y * HEADS
    if Positions is not None:
        position = tl.load(Positions[t], (TOKENS,), pad=-1).to(tl.i32)
    else:
        position = (tl.arange(TOKENS) + t) % period
    cos = tl.load(Cos[position, 0:HALF]).to(tl.f32)[:, None, :]
    sin = tl.load(Sin[position, 0:HALF]).to(tl.f32)[:, None, :]
    if INTERLEAVED:
        pairs = tl.load(X[t, h, 0], (TOKENS, HEADS, 2 * HALF)).to(tl.f32)
        a, b = tl.split(pairs.reshape(TOKENS, HEADS, HALF, 2))
        pairs = tl.join(a * cos - b * sin, b * cos + a * sin)
        Y[t, h, 0] = pairs.reshape(TOKENS, HEADS, 2 * HALF).to(Y.dtype)
    else:
        a = tl.load(X[t, h, 0], (TOKENS, HEADS, HALF)).to(tl.f32)
        b = tl.load(X[t, h, HALF], (TOKENS, HEADS, HALF)).to(tl.f32)
        Y[t, h, 0] = (a * cos - b * sin).to(Y.dtype)
        Y[t, h, HALF] = (b * cos + a * sin).to(Y.dtype)
    if REST:
        Y[t, h, 2 * HALF] = tl.load(X[t, h, 2 * HALF], (TOKENS, HEADS, REST))


@operation(rope_heads)
def rope(
    x: Any,
    cos: Any,
    sin: Any,
    *,
    positions: Any = None,
    interleaved: bool = False,
    out: Any = None,
    **launch: Any,
) -> Any:
    """Rotates pairs of elements of each head by angles that grow with the position.

    With ``c = cos[p]`` and ``s = sin[p]`` for the token's position ``p``, a pair
    ``(a, b)`` becomes ``(a * c - b * s, b * c + a * s)``. Pair ``i`` is the elements
    ``i`` and ``i + R``, or ``2 * i`` and ``2 * i + 1`` if `interleaved` (Su et al.:
    RoFormer, 2021). Elements from ``2 * R`` on are copied.

    Args:
        x: (..., S, H, D) of f16, bf16 or f32: tokens, heads, elements of a head.
        cos: (P, R) of f16, bf16 or f32, with 2 * R up to D.
        sin: like cos.
        positions: (..., S) of i32 or i64, below P; by default 0 to S - 1.
        interleaved: whether the elements of a pair are neighbors.
        out: the result, allocated if not given; may be x itself.
        launch: `stream`, `target` and `run` of a call of the kernel.

    Returns:
        An array like x; computed in f32.

    Raises:
        LaunchError: an argument does not fit; nothing was started.

    Example:
        x = np.ones((2, 1, 4), np.float32)
        quarter = np.array([[0, 0], [np.pi / 2, np.pi / 2]], np.float32)
        y = kernels.rope(x, np.cos(quarter), np.sin(quarter))
        assert np.allclose(y[0], 1) and np.allclose(y[1], [-1, -1, 1, 1], atol=1e-6)
    """
    dtype = check_array("rope", "x", x, ("...", "S", "H", "D"), FLOATS)
    *_, length, heads, depth = x.shape
    check_array("rope", "cos", cos, ("P", "R"), FLOATS)
    check_array("rope", "sin", sin, cos.shape, (element_type(cos.dtype),))
    half = cos.shape[1]
    if not 0 < 2 * half <= depth:
        raise fail(
            "rope",
            f"'cos': expected 1 to {depth // 2} columns, half the elements of a head "
            f"or less, found {half}",
        )
    if positions is not None:
        check_array("rope", "positions", positions, x.shape[:-2], (tl.i32, tl.i64))
    elif cos.shape[0] < length:
        raise fail(
            "rope",
            f"'cos': expected a row for each of {length} tokens, found {cos.shape[0]}",
        )
    y = result("rope", out, x, x.shape, dtype)
    if 0 in x.shape:
        return y
    tokens = math.prod(x.shape[:-2])
    flat = (tokens, heads, depth)
    # 16 elements for a thread: all heads of a token, or as many tokens as fit.
    own = min(1 << (heads - 1).bit_length(), max(1, 2048 // depth))
    rope_heads(
        x.reshape(flat),
        cos,
        sin,
        None if positions is None else positions.reshape(tokens),
        y.reshape(flat),
        length,
        TOKENS=max(1, 2048 // (own * depth)),
        HEADS=own,
        HALF=half,
        REST=depth - 2 * half,
        INTERLEAVED=interleaved,
        **launch,
    )
    return y
