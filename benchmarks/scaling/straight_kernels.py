"""Kernels whose straight-line code, guards or loops grow; none is pipelined.

Each function takes a size and returns the text of a module. Twice the size is twice the
text, so a pass of linear time takes twice as long.
"""

from __future__ import annotations

from .pipelined_kernels import gemm_loop
from .texts import ARGUMENTS, function, join, module, repeat

# --- Straight-line code -----------------------------------------------------------


def scalars(size: int) -> str:
    """A chain of scalar operations, whose end is an offset."""
    chain = repeat(
        size // 2,
        lambda i: (
            f"%m{i} = arith.muli %x{i}, %n : index\n"
            f"%x{i + 1} = arith.addi %m{i}, %x{i} : index"
        ),
    )
    return module(
        function(
            f"%x0 = gpu.block_id x\n{chain}\n"
            f"%r = tile.load %X[%x{size // 2}] : !V -> !t\n"
            "tile.store %r to %Y : !t to memref<64xf16>"
        )
    )


def affine(size: int) -> str:
    """A chain of affine maps, each of which uses its operand twice."""
    map_ = "affine_map<(d0) -> (d0 floordiv 3 + d0 mod 5)>"
    chain = repeat(size, lambda i: f"%x{i + 1} = affine.apply {map_}(%x{i})")
    return module(
        function(
            f"%x0 = gpu.block_id x\n{chain}\n"
            f"%r = tile.load %X[%x{size}] : !V -> !t\n"
            "tile.store %r to %Y : !t to memref<64xf16>"
        )
    )


def elementwise(size: int) -> str:
    """A chain of operations on a fragment."""
    chain = repeat(size, lambda i: f"%x{i + 1} = arith.addf %x{i}, %x0 : !t")
    return module(
        function(
            f"%x0 = tile.load %X : !V -> !t\n{chain}\n"
            f"tile.store %x{size} to %Y : !t to memref<64xf16>"
        )
    )


def loads(size: int) -> str:
    """Loads whose sum is stored."""
    chain = repeat(
        size,
        lambda i: (
            f"%o{i} = arith.constant {64 * i} : index\n"
            f"%l{i} = tile.load %X[%o{i}] : !V -> !t\n"
            f"%x{i + 1} = arith.addf %x{i}, %l{i} : !t"
        ),
    )
    return module(
        function(
            f"%x0 = arith.constant dense<0.0> : !t\n{chain}\n"
            f"tile.store %x{size} to %Y : !t to memref<64xf16>"
        )
    )


def copies(size: int) -> str:
    """Copies to one shared buffer, each read and stored before the next."""
    body = repeat(
        size,
        lambda i: (
            f"%o{i} = arith.constant {64 * i} : index\n"
            f"tile.copy %X[%o{i}] to %s : !V to !v\n"
            f"%l{i} = tile.load %s : !v -> !t\n"
            f"tile.store %l{i} to %X[%o{i}] : !t to !V"
        ),
    )
    return module(function(f"%s = tile.alloc_shared : !v\n{body}"))


def buffers(size: int) -> str:
    """Shared buffers that are all filled, and then all read."""
    fill = repeat(
        size,
        lambda i: (
            f"%s{i} = tile.alloc_shared : !v\n"
            f"%o{i} = arith.constant {64 * i} : index\n"
            f"tile.copy %X[%o{i}] to %s{i} : !V to !v"
        ),
    )
    read = repeat(
        size,
        lambda i: (
            f"%l{i} = tile.load %s{i} : !v -> !t\n"
            f"%x{i + 1} = arith.addf %x{i}, %l{i} : !t"
        ),
    )
    return module(
        function(
            f"%x0 = arith.constant dense<0.0> : !t\n{fill}\n{read}\n"
            f"tile.store %x{size} to %Y : !t to memref<64xf16>"
        )
    )


def arguments(size: int) -> str:
    """Buffers that are arguments, each stored to."""
    more = join(size, lambda i: f"%P{i}: memref<64xf16>")
    body = repeat(size, lambda i: f"tile.store %x to %P{i} : !t to memref<64xf16>")
    return module(
        function(
            f"%x = tile.load %X : !V -> !t\n{body}", arguments=f"{ARGUMENTS}, {more}"
        )
    )


def functions(size: int) -> str:
    """Kernels in one module."""
    return module(repeat(size, lambda i: function(gemm_loop(), f"kernel{i}")))


# --- Control flow -----------------------------------------------------------------


def depth(size: int) -> str:
    """Nested loops around a copy."""
    opened = repeat(size, lambda i: f"scf.for %i{i} = %c0 to %n step %c1 {{")
    body = (
        f"tile.copy %X[%i{size - 1}] to %s : !V to !v\n"
        "%l = tile.load %s : !v -> !t\n"
        f"tile.store %l to %X[%i{size // 2}] : !t to !V"
    )
    return module(
        function(f"%s = tile.alloc_shared : !v\n{opened}\n{body}\n{'}' * size}")
    )


def carried_depth(size: int) -> str:
    """Nested loops that carry a fragment and an index."""
    opened = repeat(
        size,
        lambda i: (
            f"%r{i}, %o{i} = scf.for %i{i} = %c0 to %n step %c1 "
            f"iter_args(%x{i + 1} = %x{i}, %p{i + 1} = %p{i}) -> (!t, index) {{"
        ),
    )
    body = (
        f"tile.copy %X[%p{size}] to %s : !V to !v\n"
        "%l = tile.load %s : !v -> !t\n"
        f"%r{size} = arith.addf %x{size}, %l : !t\n"
        f"%o{size} = arith.addi %p{size}, %i{size - 1} : index\n"
    )
    closed = repeat(
        size,
        lambda i: f"scf.yield %r{size - i}, %o{size - i} : !t, index\n}}",
    )
    return module(
        function(
            "%s = tile.alloc_shared : !v\n%x0 = arith.constant dense<0.0> : !t\n"
            f"%p0 = gpu.block_id x\n{opened}\n{body}{closed}\n"
            "tile.store %r0 to %Y : !t to memref<64xf16>"
        )
    )


def loop_buffers(size: int) -> str:
    """Nested loops, each around the copy to a buffer and the store of what it has."""
    shared = repeat(size, lambda i: f"%s{i} = tile.alloc_shared : !v")
    opened = repeat(
        size,
        lambda i: (
            f"scf.for %i{i} = %c0 to %n step %c1 {{\n"
            f"tile.copy %X[%i{i}] to %s{i} : !V to !v"
        ),
    )
    closed = repeat(
        size,
        lambda i: (
            f"%l{i} = tile.load %s{size - 1 - i} : !v -> !t\n"
            f"tile.store %l{i} to %X[%i{size - 1 - i}] : !t to !V\n}}"
        ),
    )
    return module(function(f"{shared}\n{opened}\n{closed}"))


def ifs(size: int) -> str:
    """Guards in sequence, each around a copy and the store of what was copied."""
    body = repeat(
        size,
        lambda i: (
            f"%k{i} = arith.constant {64 * i} : index\n"
            f"%on{i} = arith.cmpi slt, %k{i}, %n : index\n"
            f"scf.if %on{i} {{\n"
            f"tile.copy %X[%k{i}] to %s : !V to !v\n"
            f"%l{i} = tile.load %s : !v -> !t\n"
            f"tile.store %l{i} to %X[%k{i}] : !t to !V\n}}"
        ),
    )
    return module(function(f"%s = tile.alloc_shared : !v\n{body}"))


def if_depth(size: int) -> str:
    """Nested guards around a copy."""
    opened = repeat(
        size,
        lambda i: (
            f"%k{i} = arith.constant {i} : index\n"
            f"%on{i} = arith.cmpi ne, %k{i}, %n : index\nscf.if %on{i} {{"
        ),
    )
    body = (
        "tile.copy %X to %s : !V to !v\n%l = tile.load %s : !v -> !t\n"
        "tile.store %l to %Y : !t to memref<64xf16>"
    )
    return module(
        function(f"%s = tile.alloc_shared : !v\n{opened}\n{body}\n{'}' * size}")
    )


def iter_args(size: int) -> str:
    """A loop that carries fragments."""
    initial = join(size, lambda i: f"%x{i} = %zero1")
    types = join(size, lambda _: "!t")
    body = repeat(size, lambda i: f"%y{i} = arith.addf %x{i}, %x{(i + 1) % size} : !t")
    stores = repeat(
        size, lambda i: f"tile.store %r#{i} to %X[%c{64 * (i > 0)}] : !t to !V"
    )
    return module(
        function(
            "%zero1 = arith.constant dense<0.0> : !t\n"
            f"%r:{size} = scf.for %i = %c0 to %n step %c1 iter_args({initial}) "
            f"-> ({types}) {{\n{body}\n"
            f"scf.yield {join(size, lambda i: f'%y{i}')} : {types}\n}}\n{stores}"
        )
    )
