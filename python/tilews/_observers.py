"""Functions that are called with the messages of compilations."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

_functions: list[Callable[[list[str]], None]] = []


@contextlib.contextmanager
def on_messages(function: Callable[[list[str]], None]) -> Iterator[None]:
    """Calls `function` with the warnings and remarks of each compilation.

    This shows the messages of kernels that are compiled when they are called::

        with compiler.on_messages(lambda messages: print(*messages, sep="\\n")):
            gemm(a, b, c)

    The function is called after each step that has messages, in the thread that
    compiles: when a kernel is lowered, when its device code is made, and when
    :mod:`tilews.passes` runs passes. A kernel that is found in the cache is not
    compiled, so it has no messages. An exception of the function is raised there.

    Args:
        function: takes the messages of one step, as in
            :attr:`~tilews.compiler.CompiledKernel.messages`.
    """
    _functions.append(function)
    try:
        yield
    finally:
        _functions.remove(function)


def report(messages: list[str]) -> None:
    """Calls the registered functions, unless there are no messages."""
    if messages:
        for function in tuple(_functions):
            function(list(messages))
