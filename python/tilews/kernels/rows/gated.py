"""Gated activations: SwiGLU and its relatives."""

import math
from collections.abc import Callable
from typing import Any

import tilews
import tilews.language as tl

from ..host import FLOATS, as_rows, check_array, fail, result
from ..operation import operation


@tilews.func
def silu(x: Any) -> Any:
    """``x * sigmoid(x)``."""
    return x / (1.0 + tl.exp(-x))


@tilews.func
def gelu(x: Any) -> Any:
    """``x * Phi(x)`` with the normal distribution ``Phi``."""
    return 0.5 * x * (1.0 + tl.erf(x * math.sqrt(0.5)))


@tilews.func
def gelu_tanh(x: Any) -> Any:
    """The approximation of the GELU by a hyperbolic tangent."""
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
    # 0.5 * (1 + tanh(y)) is the sigmoid of 2y.
    return x / (1.0 + tl.exp(-2.0 * inner))


@tilews.func
def relu(x: Any) -> Any:
    """``max(x, 0)``."""
    return tl.maximum(x, 0.0)


#: Functions of a fragment, by the names that operations take.
ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "silu": silu,
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "relu": relu,
}


def find_activation(function: str, name: str) -> Callable[[Any], Any]:
    """The activation of a name.

    Raises:
        LaunchError: there is none.
    """
    if name not in ACTIVATIONS:
        known = ", ".join(map(repr, ACTIVATIONS))
        raise fail(function, f"'activation': expected one of {known}, found {name!r}")
    return ACTIVATIONS[name]


@tilews.kernel(threads=128)
def gated_rows(
    X: tl.Tensor["M, N", "T"],
    Y: tl.Tensor["M, D", "T"],
    activation: tl.constexpr = silu,
    ROWS: tl.constexpr = 1,
    COLUMNS: tl.constexpr = 2048,
) -> None:
    """A block computes a tile of Y. N is 2 * D."""
    M, D = Y.shape
    x, y = tl.grid(tl.cdiv(D, COLUMNS), tl.cdiv(M, ROWS))
    row, column = y * ROWS, x * COLUMNS
    gate = tl.load(X[row, column], (ROWS, COLUMNS)).to(tl.f32)
    up = tl.load(X[row, column + D], (ROWS, COLUMNS)).to(tl.f32)
    Y[row, column] = (activation(gate) * up).to(Y.dtype)


@operation(gated_rows)
def gated(x: Any, *, activation: str = "silu", out: Any = None, **launch: Any) -> Any:
    """A gated linear unit: ``activation(x[..., :D]) * x[..., D:]``.

    Shazeer: GLU Variants Improve Transformer, 2020.

    Args:
        x: (..., 2 * D) of f16, bf16 or f32: the gates, then the values.
        activation: 'silu' (SwiGLU), 'gelu' (GEGLU), 'gelu_tanh' or 'relu'.
        out: the result, allocated if not given.
        launch: `stream`, `target` and `run` of a call of the kernel.

    Returns:
        An array (..., D) of the type of x; computed in f32.

    Raises:
        LaunchError: an argument does not fit; nothing was started.

    Example:
        x = np.array([[-1, 2, 10, 20]], np.float32)
        assert (kernels.gated(x, activation="relu") == [[0, 40]]).all()
    """
    dtype = check_array("gated", "x", x, ("...", "2 * D"), FLOATS)
    *outer, columns = x.shape
    if columns % 2:
        raise fail("gated", f"'x': expected an even number of columns, found {columns}")
    function = find_activation("gated", activation)
    y = result("gated", out, x, (*outer, columns // 2), dtype)
    if 0 in y.shape:
        return y
    # 16 elements of both halves for a thread.
    width = min(2048, max(32, 1 << (columns // 2 - 1).bit_length()))
    gated_rows(
        as_rows(x),
        as_rows(y),
        activation=function,
        ROWS=2048 // width,
        COLUMNS=width,
        **launch,
    )
    return y


@operation(gated_rows)
def silu_and_mul(x: Any, *, out: Any = None, **launch: Any) -> Any:
    """SwiGLU: ``silu(x[..., :D]) * x[..., D:]``; see :func:`gated`.

    Args:
        x: (..., 2 * D) of f16, bf16 or f32.
        out: the result, allocated if not given.
        launch: `stream`, `target` and `run` of a call of the kernel.

    Returns:
        An array (..., D) of the type of x.

    Raises:
        LaunchError: an argument does not fit; nothing was started.

    Example:
        x = np.array([[0, 50, 7, 2]], np.float32)
        assert np.allclose(kernels.silu_and_mul(x), [[0, 100]])
    """
    return gated(x, activation="silu", out=out, **launch)


@operation(gated_rows)
def gelu_and_mul(
    x: Any, *, approximate: bool = False, out: Any = None, **launch: Any
) -> Any:
    """GEGLU: ``gelu(x[..., :D]) * x[..., D:]``; see :func:`gated`.

    Args:
        x: (..., 2 * D) of f16, bf16 or f32.
        approximate: whether the GELU is that of a hyperbolic tangent.
        out: the result, allocated if not given.
        launch: `stream`, `target` and `run` of a call of the kernel.

    Returns:
        An array (..., D) of the type of x.

    Raises:
        LaunchError: an argument does not fit; nothing was started.

    Example:
        x = np.array([[0, 50, 7, 2]], np.float32)
        assert np.allclose(kernels.gelu_and_mul(x), [[0, 100]])
    """
    activation = "gelu_tanh" if approximate else "gelu"
    return gated(x, activation=activation, out=out, **launch)
