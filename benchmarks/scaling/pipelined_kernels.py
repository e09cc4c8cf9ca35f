"""Kernels with pipelined loops, of any size along one axis."""

from __future__ import annotations

from .texts import function, module, repeat

# --- Pipelined loops --------------------------------------------------------------


def gemm_loop() -> str:
    return (
        "%as = tile.alloc_shared : !s\n%bs = tile.alloc_shared : !s\n"
        "%r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !a {\n"
        "tile.copy %A[%k, 0] to %as : !G to !s\n"
        "tile.copy %B[%k, 0] to %bs : !G to !s\n"
        "%d = tile.gemm %as, %bs, %c : !s, !s -> !a\n"
        "scf.yield %d : !a\n} {tile.num_stages = 2 : i32}\n"
        "tile.store %r to %C : !a to memref<64x64xf32>"
    )


def pipelines(size: int) -> str:
    """Pipelined loops in sequence, which share their buffers."""
    loops = repeat(
        size,
        lambda i: (
            f"%r{i} = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !a {{\n"
            "tile.copy %A[%k, 0] to %as : !G to !s\n"
            "tile.copy %B[%k, 0] to %bs : !G to !s\n"
            "%d = tile.gemm %as, %bs, %c : !s, !s -> !a\n"
            "scf.yield %d : !a\n} {tile.num_stages = 2 : i32}\n"
            f"tile.store %r{i} to %C : !a to memref<64x64xf32>"
        ),
    )
    shared = "%as = tile.alloc_shared : !s\n%bs = tile.alloc_shared : !s"
    return module(function(f"{shared}\n{loops}"))


def pipeline_depth(size: int) -> str:
    """Nested loops around a pipelined one."""
    opened = repeat(size, lambda i: f"scf.for %i{i} = %c0 to %n step %c1 {{")
    return module(function(f"{opened}\n{gemm_loop()}\n{'}' * size}"))


def doubled(size: int) -> str:
    """A pipelined loop that carries an index, doubled n times in each iteration."""
    chain = repeat(size, lambda i: f"%j{i + 1} = arith.addi %j{i}, %j{i} : index")
    return module(
        function(
            "%as = tile.alloc_shared : !s\n%bs = tile.alloc_shared : !s\n"
            "%r:2 = scf.for %k = %c0 to %n step %c64 "
            "iter_args(%c = %zero, %j0 = %c1) -> (!a, index) {\n"
            f"{chain}\n"
            f"tile.copy %A[%j{size}, 0] to %as : !G to !s\n"
            f"tile.copy %B[%j{size // 2}, 0] to %bs : !G to !s\n"
            "%d = tile.gemm %as, %bs, %c : !s, !s -> !a\n"
            f"scf.yield %d, %j{size} : !a, index\n"
            "} {tile.num_stages = 2 : i32}\n"
            "tile.store %r#0 to %C : !a to memref<64x64xf32>"
        )
    )


def matmuls(size: int) -> str:
    """Matmuls in one pipelined loop, each of the result of the one before."""
    chain = repeat(
        size, lambda i: f"%d{i + 1} = tile.gemm %as, %bs, %d{i} : !s, !s -> !a"
    )
    return module(
        function(
            "%as = tile.alloc_shared : !s\n%bs = tile.alloc_shared : !s\n"
            "%r = scf.for %k = %c0 to %n step %c64 iter_args(%d0 = %zero) -> !a {\n"
            "tile.copy %A[%k, 0] to %as : !G to !s\n"
            "tile.copy %B[%k, 0] to %bs : !G to !s\n"
            f"{chain}\nscf.yield %d{size} : !a\n"
            "} {tile.num_stages = 2 : i32}\n"
            "tile.store %r to %C : !a to memref<64x64xf32>"
        )
    )


def channels(size: int) -> str:
    """Buffers in one pipelined loop, each with a channel and a reader of its own."""
    shared = repeat(size, lambda i: f"%s{i} = tile.alloc_shared : !v")
    body = repeat(
        size,
        lambda i: (
            f"tile.copy %X[%k] to %s{i} : !V to !v\n"
            f"%l{i} = tile.load %s{i} : !v -> !t\n"
            f"%x{i + 1} = arith.addf %x{i}, %l{i} : !t"
        ),
    )
    return module(
        function(
            f"{shared}\n%z = arith.constant dense<0.0> : !t\n"
            "%r = scf.for %k = %c0 to %n step %c64 iter_args(%x0 = %z) -> !t {\n"
            f"{body}\nscf.yield %x{size} : !t\n}} {{tile.num_stages = 2 : i32}}\n"
            "tile.store %r to %Y : !t to memref<64xf16>"
        )
    )


def guards(size: int) -> str:
    """Guards in sequence in one pipelined loop."""
    body = repeat(
        size,
        lambda i: (
            f"%k{i} = arith.constant {i} : index\n"
            f"%g{i} = arith.cmpi slt, %k{i}, %k : index\n"
            f"%x{i + 1} = scf.if %g{i} -> !t {{\n"
            f"%y{i} = arith.addf %x{i}, %l : !t\nscf.yield %y{i} : !t\n"
            f"}} else {{\nscf.yield %x{i} : !t\n}}"
        ),
    )
    return module(
        function(
            "%s = tile.alloc_shared : !v\n%z = arith.constant dense<0.0> : !t\n"
            "%r = scf.for %k = %c0 to %n step %c64 iter_args(%x0 = %z) -> !t {\n"
            "tile.copy %X[%k] to %s : !V to !v\n%l = tile.load %s : !v -> !t\n"
            f"{body}\nscf.yield %x{size} : !t\n}} {{tile.num_stages = 2 : i32}}\n"
            "tile.store %r to %Y : !t to memref<64xf16>"
        )
    )
