"""The decorators ``@tilews.kernel`` and ``@tilews.func``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from .dispatch import Kernel
from .frontend.inline import InlineFunction

__all__ = ["InlineFunction", "Kernel", "func", "kernel"]


@overload
def kernel(
    function: Callable[..., Any],
    *,
    threads: int | None = None,
    cluster: tuple[int, int, int] | None = None,
    source: str | None = None,
    specialize: Sequence[Mapping[str, Any]] = (),
) -> Kernel: ...


@overload
def kernel(
    function: None = None,
    *,
    threads: int | None = None,
    cluster: tuple[int, int, int] | None = None,
    source: str | None = None,
    specialize: Sequence[Mapping[str, Any]] = (),
) -> Callable[[Callable[..., Any]], Kernel]: ...


def kernel(
    function: Callable[..., Any] | None = None,
    *,
    threads: int | None = None,
    cluster: tuple[int, int, int] | None = None,
    source: str | None = None,
    specialize: Sequence[Mapping[str, Any]] = (),
) -> Kernel | Callable[[Callable[..., Any]], Kernel]:
    """Makes a kernel of a Python function.

    Args:
        function: its parameters are annotated with ``tl.Tensor[...]``, with an
            element type for a scalar, or with ``tl.constexpr``.
        threads: threads of a block, a multiple of 32; by default those of the
            kernel's roles, see :func:`tl.role`, or 128. ``compile(threads=...)``
            overrides it.
        cluster: blocks in a cluster (NVIDIA sm_90 and later).
        source: the text that holds the kernel, for kernels that are made by ``exec``,
            whose text Python does not keep: all of the executed text, or the lines of
            the function with its decorators. Functions in the text that the kernel
            calls are found in it, too.
        specialize: what ``tilews bundle`` compiles: dictionaries with the arguments of
            :meth:`Kernel.compile_for`, in which an :class:`tilews.ArraySpec` stands
            for an array.

    Raises:
        KernelError: a parameter's annotation is missing or unfit.
        TypeError: `function` is no Python function, `source` is no text, or
            `specialize` is no list of dictionaries.

    Example:
        @tilews.kernel(threads=256)
        def scale(X: tl.Tensor["N", tl.f32], factor: tl.f32):
            i = tl.grid(tl.cdiv(X.shape[0], 1024)) * 1024
            X[i] = factor * tl.load(X[i], (1024,))

        x = np.ones(3000, np.float32)
        scale(x, 2.0)
        assert (x == 2).all()

        text = '''
        @tilews.kernel(source=text)
        def negate(X: tl.Tensor["8", tl.f32]):
            X[0] = -tl.load(X)
        '''
        scope = {"tilews": tilews, "tl": tl, "text": text}
        exec(text, scope)
        scope["negate"](x[:8])
        assert (x[:8] == -2).all()
    """
    if function is None:
        return functools.partial(
            Kernel,
            threads=threads,
            cluster=cluster,
            source=source,
            specialize=specialize,
        )
    return Kernel(function, threads, cluster, source, specialize)


def func(function: Callable[..., Any]) -> InlineFunction:
    """Makes a function that kernels call; it is inlined.

    Functions that get a scalar, fragment or buffer are inlined without this, too.

    Args:
        function: a Python function. Its arguments may be Python values as well.

    Raises:
        TypeError: `function` is no Python function.

    Example:
        @tilews.func
        def row_tile(buffer, size):
            return buffer[tl.block_id() * size, 0]

        @tilews.kernel
        def negate(X: tl.Tensor["M, 64", tl.f32]):
            tl.grid(tl.cdiv(X.shape[0], 16))
            tl.store(-tl.load(row_tile(X, 16), (16, 64)), row_tile(X, 16))

        x = np.ones((40, 64), np.float32)
        negate(x)
        assert (x == -1).all()
    """
    return InlineFunction(function)
