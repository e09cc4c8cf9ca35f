"""Bundles: folders with the kernels of modules, compiled before they are used.

A bundle is a cache (:mod:`tilews.disk_cache`) that holds each specialization that the
kernels of some modules declare::

    @tilews.kernel(specialize=[{"X": tilews.ArraySpec((1, 4096), tl.f16)}])
    def double(X: tl.Tensor["M, N", "T"]): ...

A service that uses it, by ``TILEWS_CACHE_DIR``, compiles nothing.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import multiprocessing
import os
import pathlib
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .._support.source_modules import load_module
from ..dispatch import Kernel
from ..errors import CompileError


@dataclasses.dataclass(frozen=True)
class BundleItem:
    """A specialization that a module declares, for one chip.

    Attributes:
        source: the module: its dotted name, or the path of a file that ends in .py.
        kernel: the kernel's name in the module.
        place: of the specialization among those of the kernel.
        target: the chip.
    """

    source: str
    kernel: str
    place: int
    target: str


@dataclasses.dataclass(frozen=True)
class BundledKernel:
    """What became of an item.

    Attributes:
        item: the item.
        seconds: that it took.
        size: of the code, in bytes; 0 if there is none.
        error: why it could not be compiled; empty if it was.
    """

    item: BundleItem
    seconds: float
    size: int = 0
    error: str = ""


def find_items(source: str, targets: Sequence[str]) -> list[BundleItem]:
    """The specializations that the kernels of a module declare, for each chip.

    Raises:
        CompileError: the module fails, or declares none.
    """
    kernels = {
        name: value
        for name, value in vars(load_module(source)).items()
        if isinstance(value, Kernel)
    }
    found = [
        BundleItem(source, name, place, target)
        for name, kernel in kernels.items()
        for place in range(len(kernel.specialize))
        for target in targets
    ]
    if not found:
        raise CompileError(
            f"{source} declares nothing to compile: it has "
            + (f"the kernels {', '.join(kernels)}" if kernels else "no kernels")
            + "; give them specialize=[...]"
        )
    return found


def compile_item(item: BundleItem, folder: pathlib.Path) -> BundledKernel:
    """Compiles an item into the cache in a folder, in this process."""
    start = time.perf_counter()
    os.environ.update(
        TILEWS_CACHE="on",
        TILEWS_CACHE_DIR=str(folder),
        TILEWS_CACHE_SIZE=str(1 << 30),  # A bundle drops nothing.
    )
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "compiled kernels are not kept")
            kernel: Kernel = getattr(load_module(item.source), item.kernel)
            given: Mapping[str, Any] = kernel.specialize[item.place]
            compiled = kernel.compile_for(**given, target=item.target)
            size = len(compiled.image)
    except (Exception, SystemExit) as error:  # A user's module may raise anything.
        known = isinstance(error, (CompileError, TypeError, RuntimeWarning))
        reason = str(error) if known else f"{type(error).__name__}: {error}"
        return BundledKernel(item, time.perf_counter() - start, error=reason)
    return BundledKernel(item, time.perf_counter() - start, size)


def make_bundle(
    items: Sequence[BundleItem], folder: pathlib.Path, jobs: int
) -> Iterator[BundledKernel]:
    """Compiles items into the cache in a folder, in several processes.

    Yields:
        What became of each item, in the order in which they are finished.

    Raises:
        CompileError: a process died.
    """
    # A process that was forked would share the threads of MLIR's contexts.
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(jobs, context) as pool:
        try:
            pending = [pool.submit(compile_item, item, folder) for item in items]
            for future in concurrent.futures.as_completed(pending):
                yield future.result()
        except concurrent.futures.BrokenExecutor:
            raise CompileError(
                "a process that compiles kernels has died: try --jobs 1"
            ) from None
        finally:
            # After Ctrl-C, what has not begun is not wanted.
            pool.shutdown(cancel_futures=True)
