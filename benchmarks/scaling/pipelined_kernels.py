"""Kernels with pipelined loops, of any size along one axis."""

from __future__ import annotations

from .texts import ARGUMENTS, TYPES, function, module, repeat

# --- Pipelined loops --------------------------------------------------------------


def gemm_loop(stages: int = 2) -> str:
    return (
        "%as = tile.alloc_shared : !s\n%bs = tile.alloc_shared : !s\n"
        "%r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !a {\n"
        "tile.copy %A[%k, 0] to %as : !G to !s\n"
        "tile.copy %B[%k, 0] to %bs : !G to !s\n"
        "%d = tile.gemm %as, %bs, %c : !s, !s -> !a\n"
        f"scf.yield %d : !a\n}} {{tile.num_stages = {stages} : i32}}\n"
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


def while_depth(size: int) -> str:
    """Nested `scf.while` loops around a pipelined loop."""
    opened = repeat(
        size,
        lambda i: (
            f"%r{i} = scf.while (%a{i} = %c0) : (index) -> index {{\n"
            f"%w{i} = arith.cmpi slt, %a{i}, %n : index\n"
            f"scf.condition(%w{i}) %a{i} : index\n}} do {{\n^bb0(%i{i}: index):"
        ),
    )
    closed = repeat(
        size,
        lambda i: (
            f"%b{i} = arith.addi %i{size - 1 - i}, %c1 : index\n"
            f"scf.yield %b{i} : index\n}}"
        ),
    )
    return module(function(f"{opened}\n{gemm_loop()}\n{closed}"))


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


def operations(size: int) -> str:
    """Operations on one fragment in a pipelined loop."""
    chain = repeat(size, lambda i: f"%x{i + 1} = arith.addf %x{i}, %l : !t")
    return module(
        function(
            "%s = tile.alloc_shared : !v\n%z = arith.constant dense<0.0> : !t\n"
            "%r = scf.for %k = %c0 to %n step %c64 iter_args(%x0 = %z) -> !t {\n"
            "tile.copy %X[%k] to %s : !V to !v\n%l = tile.load %s : !v -> !t\n"
            f"{chain}\nscf.yield %x{size} : !t\n}} {{tile.num_stages = 2 : i32}}\n"
            "tile.store %r to %Y : !t to memref<64xf16>"
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


def clusters(size: int) -> str:
    """Multicast copies in one pipelined loop, each to a channel of its own."""
    types = f"{TYPES}!h = memref<16x64xf16, #wg>\n!f = tensor<16x64xf16>\n"
    shared = repeat(size, lambda i: f"%s{i} = tile.alloc_shared : !h")
    body = repeat(
        size,
        lambda i: (
            f"tile.copy %A[%k, 0] to %s{i} : !G to !h\n"
            f"%l{i} = tile.load %s{i} : !h -> !f\n"
            f"%x{i + 1} = arith.addf %x{i}, %l{i} : !f"
        ),
    )
    return module(
        function(
            f"{shared}\n%z = arith.constant dense<0.0> : !f\n"
            "%r = scf.for %k = %c0 to %n step %c64 iter_args(%x0 = %z) -> !f {\n"
            f"{body}\nscf.yield %x{size} : !f\n}} {{tile.num_stages = 2 : i32}}\n"
            "tile.store %r to %B : !f to !G",
            attributes=", tile.cluster = array<i32: 2, 1, 1>",
        ),
        types,
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


def guard_depth(size: int) -> str:
    """Nested guards around the copy of a pipelined loop."""
    opened = repeat(
        size,
        lambda i: (
            f"%k{i} = arith.constant {i} : index\n"
            f"%g{i} = arith.cmpi ne, %k{i}, %k : index\n"
            f"%x{i} = scf.if %g{i} -> !t {{"
        ),
    )
    closed = repeat(
        size,
        lambda i: f"scf.yield %x{size - i} : !t\n}} else {{\nscf.yield %x : !t\n}}",
    )
    return module(
        function(
            "%s = tile.alloc_shared : !v\n%z = arith.constant dense<0.0> : !t\n"
            "%r = scf.for %k = %c0 to %n step %c64 iter_args(%x = %z) -> !t {\n"
            f"{opened}\n"
            "tile.copy %X[%k] to %s : !V to !v\n%l = tile.load %s : !v -> !t\n"
            f"%x{size} = arith.addf %x, %l : !t\n{closed}\n"
            "scf.yield %x0 : !t\n} {tile.num_stages = 2 : i32}\n"
            "tile.store %r to %Y : !t to memref<64xf16>"
        )
    )


# --- Loops over tiles -------------------------------------------------------------

#: So many that one block fits on a multiprocessor: each store then has room.
STAGES = 8


def persistent(size: int) -> str:
    """Persistent loops in sequence, each with a sum that two blocks share."""
    loops = repeat(
        size,
        lambda i: (
            "tile.persistent (%x, %y) in (%n, %n) {\n"
            f"%r{i} = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !a {{\n"
            "tile.copy %A[%k, 0] to %as : !G to !s\n"
            "tile.copy %B[%k, 0] to %bs : !G to !s\n"
            "%d = tile.gemm %as, %bs, %c : !s, !s -> !a\n"
            "scf.yield %d : !a\n"
            "} {tile.num_stages = 2 : i32, tile.split_k = 2 : i32}\n"
            f"tile.atomic_rmw <add> %r{i} to %C : !a to memref<64x64xf32>\n}}"
        ),
    )
    shared = "%as = tile.alloc_shared : !s\n%bs = tile.alloc_shared : !s"
    return module(function(f"{shared}\n{loops}"))


def staged(size: int) -> str:
    """Stores at the end of a tile, each through a shared buffer of its own."""
    stores = repeat(
        size,
        lambda i: (
            f"%o{i} = arith.constant {16 * i} : index\n"
            f"tile.store %small to %D[%row, %o{i}] : tensor<16x16xf32> to !D"
        ),
    )
    arguments = f"{ARGUMENTS}, %D: !D {{tile.divisible = array<i64: 16, 16>}}, %f: f32"
    body = (
        "%small = tensor.splat %f : tensor<16x16xf32>\n"
        "tile.persistent (%x) in (%n) {\n"
        "%row = arith.muli %x, %c64 : index\n"
        f"{gemm_loop(STAGES)}\n{stores}\n}}"
    )
    return module(function(body, arguments=arguments), f"{TYPES}!D = memref<?x?xf32>\n")
