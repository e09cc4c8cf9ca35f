# ruff: noqa: E501 - operations are on one line each
"""Kernels for Hopper as schedules (phase 3), written by hand: what the passes make
of a loop, in the forms that the lowering has to get right."""

from tilews import compiler, passmanager

# From a schedule on; the passes before choose what the kernels here say.
LOWER = (
    "builtin.module(gpu.module(tile-infer-layouts,tile-plan-shared-memory,"
    "tile-insert-barriers,tile-lower-channels,convert-tile-to-nvvm,cse,tile-expand-math,lower-affine,"
    "convert-scf-to-cf,convert-tile-threads-to-llvm,reconcile-unrealized-casts,"
    "canonicalize,cse,convert-nvvm-to-llvm))"
)


def lower(module):
    """Lowers a schedule to the LLVM dialect, in place."""
    passmanager.PassManager.parse(LOWER).run(module.operation)


def compile_schedule(module):
    """Lowers a schedule, which is changed, and compiles it."""
    lower(module)
    return compiler.compile_module(module)


WG = "#gpu.address_space<workgroup>"


def gemm(
    tile_m=128,
    tile_n=256,
    tile_k=64,
    stages=4,
    warps=8,
    dtype="f16",
    deferred=True,
    registers=None,
    store="simt",
    masked=False,
    persistent=False,
):
    """C = A @ B^T with A (M, K), B (N, K) of ``dtype`` and C (M, N).

    Args:
        deferred: wgmma of one step runs on while the next one starts; a slot is
            released one step late.
        registers: of a thread of the math and of the load role, which then fills a
            warpgroup.
        store: ``simt`` stores f32; ``tma`` stores ``dtype`` through shared memory.
        masked: skips the steps whose flag, in an argument, is 0.
        persistent: a block computes every tile whose number is its own modulo the
            grid.
    """
    load_warps = 4 if registers else 1
    math_regs, load_regs = (
        (f" registers({registers[0]})", f" registers({registers[1]})")
        if registers
        else ("", "")
    )
    acc = f"tensor<{tile_m}x{tile_n}xf32>"
    cursor = f"!tile.cursor<{stages}>"
    channel = f"!tile.channel<{stages}>"
    As = f"memref<{stages}x{tile_m}x{tile_k}x{dtype}, {WG}>"
    Bs = f"memref<{stages}x{tile_n}x{tile_k}x{dtype}, {WG}>"
    a = f"memref<{tile_m}x{tile_k}x{dtype}, {WG}>"
    b = f"memref<{tile_n}x{tile_k}x{dtype}, {WG}>"
    out = dtype if store == "tma" else "f32"
    Cs = f"memref<{tile_m}x{tile_n}x{dtype}, {WG}>"
    is_async = "async, " if deferred else ""

    math_step = f"""
            tile.wait %ch[%q] : {channel}
            %a = tile.slot %As[%q] : {As} -> {a}
            %b = tile.slot %Bs[%q] : {Bs} -> {b}
            %d = tile.gemm %a, %b, %c {{{is_async}transpose_rhs, tile.inst = #tile.inst<wgmma>}} : {a}, {b} -> {acc}
            """
    if deferred:
        math_step += f"""
            tile.gemm_wait {{pending = 1 : i64}}
            scf.if %late {{ tile.release %ch[%l] : {channel} }}
            """
        state = f"{acc}, {cursor}, {cursor}, i1"
        names, inits = "%c, %q, %l, %late", "%zero, {q}, {q}, %false"
        following = "%d, %qn, %q, %true"
    else:
        math_step += f"tile.release %ch[%q] : {channel}\n"
        state = f"{acc}, {cursor}"
        names, inits = "%c, %q", "%zero, {q}"
        following = "%d, %qn"
    math_step += f"%qn = tile.advance %q : {cursor}\n"
    count = state.count(",") + 1

    load_step = f"""
            tile.acquire %ch[%p] : {channel}
            %a = tile.slot %As[%p] : {As} -> {a}
            %b = tile.slot %Bs[%p] : {Bs} -> {b}
            tile.copy %A[%m, %ko] to %a {{tile.inst = #tile.inst<tma>}} : memref<?x?x{dtype}> to {a}
            tile.copy %B[%n, %ko] to %b {{tile.inst = #tile.inst<tma>}} : memref<?x?x{dtype}> to {b}
            tile.commit %ch[%p] : {channel}
            %pn = tile.advance %p : {cursor}
            """

    def step(state, names, body, following):
        if not masked:
            return f"{body}\nscf.yield {following} : {state}"
        total = state.count(",") + 1
        kept = ", ".join(f"%s#{i}" for i in range(total))
        return f"""
          %flag = memref.load %mask[%k] : memref<?xi8>
          %on = arith.cmpi ne, %flag, %zero8 : i8
          %s:{total} = scf.if %on -> ({state}) {{
            {body}
            scf.yield {following} : {state}
          }} else {{
            scf.yield {names} : {state}
          }}
          scf.yield {kept} : {state}"""

    def assign(names, inits):
        return ", ".join(
            f"{n} = {i}"
            for n, i in zip(names.split(", "), inits.split(", "), strict=True)
        )

    finish = ""
    result = "%r#0"
    if deferred:
        finish = f"""
          %done = tile.gemm_wait %r#0 : {acc}
          scf.if %r#3 {{ tile.release %ch[%r#2] : {channel} }}"""
        result = "%done"
    if store == "tma":
        epilogue = f"""
          %h = arith.truncf {result} : {acc} to tensor<{tile_m}x{tile_n}x{dtype}>
          tile.store %h to %Cs : tensor<{tile_m}x{tile_n}x{dtype}> to {Cs}
          tile.copy %Cs to %C[%m, %n] {{tile.inst = #tile.inst<tma>}} : {Cs} to memref<?x?x{dtype}>"""
    else:
        epilogue = f"tile.store {result} to %C[%m, %n] : {acc} to memref<?x?xf32>"

    def math(q):
        return f"""
          %r:{count} = scf.for %k = %c0 to %trips step %c1 iter_args({assign(names, inits.format(q=q))}) -> ({state}) {{
            {step(state, names, math_step, following)}
          }}
          {finish}
          {epilogue}"""

    def load(p):
        return f"""
          %r:1 = scf.for %k = %c0 to %trips step %c1 iter_args(%p = {p}) -> ({cursor}) {{
            %ko = arith.muli %k, %cK : index
            {step(cursor, "%p", load_step, "%pn")}
          }}"""

    def role(start, body, end):
        if not persistent:
            return f"""
          %m = arith.muli %by, %cM : index
          %n = arith.muli %bx, %cN : index
          {body(start)}"""
        return f"""
          %all = scf.for %tile = %bx to %tiles step %blocks iter_args(%state = {start}) -> ({cursor}) {{
            %row = arith.divui %tile, %columns : index
            %column = arith.remui %tile, %columns : index
            %m = arith.muli %row, %cM : index
            %n = arith.muli %column, %cN : index
            {body("%state")}
            scf.yield {end} : {cursor}
          }}"""

    grid = f"(s5 ceildiv {tile_n}, s4 ceildiv {tile_m}, 1)"
    if persistent:
        grid = "(7, 1, 1)"
    symbols = ", ".join(f"s{i}" for i in range(7 if masked else 6))
    return f"""
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {{
  gpu.func @gemm(%A: memref<?x?x{dtype}> {{tile.name = "A", tile.divisible = array<i64: 1, 8>}}, %B: memref<?x?x{dtype}> {{tile.name = "B", tile.divisible = array<i64: 1, 8>}}, %C: memref<?x?x{out}> {{tile.name = "C", tile.divisible = array<i64: 1, 8>}}{", %mask: memref<?xi8>" if masked else ""}) kernel
      attributes {{tile.threads = {(warps + load_warps) * 32} : i32, tile.grid = affine_map<()[{symbols}] -> {grid}>}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %cM = arith.constant {tile_m} : index
    %cN = arith.constant {tile_n} : index
    %cK = arith.constant {tile_k} : index
    %true = arith.constant true
    %false = arith.constant false
    %zero8 = arith.constant 0 : i8
    %bx = gpu.block_id x
    %by = gpu.block_id y
    %blocks = gpu.grid_dim x
    %M = memref.dim %C, %c0 : memref<?x?x{out}>
    %N = memref.dim %C, %c1 : memref<?x?x{out}>
    %K = memref.dim %A, %c1 : memref<?x?x{dtype}>
    %trips = arith.ceildivui %K, %cK : index
    %rows = arith.ceildivui %M, %cM : index
    %columns = arith.ceildivui %N, %cN : index
    %tiles = arith.muli %rows, %columns : index
    %As = tile.alloc_shared : {As}
    %Bs = tile.alloc_shared : {Bs}
    {f"%Cs = tile.alloc_shared : {Cs}" if store == "tma" else ""}
    %ch = tile.channel(%As, %Bs) {{producer = #tile.producer<tma>}} : {As}, {Bs} -> {channel}
    tile.specialize {{
      tile.role @math warps({warps}){math_regs} {{
        %q0 = tile.cursor : {cursor}
        %zero = arith.constant dense<0.0> : {acc}
        {role("%q0", math, "%r#1")}
      }}
      tile.role @load warps({load_warps}){load_regs} {{
        %p0 = tile.cursor : {cursor}
        {role("%p0", load, "%r#0")}
      }}
    }}
    gpu.return
  }}
}}
"""


#: Arguments of :func:`gemm` by the name of the variant.
VARIANTS = {
    "plain": {},
    "eager": {"deferred": False},
    "registers": {"registers": (232, 40)},
    "masked": {"masked": True},
    "persistent": {"persistent": True, "stages": 3},
    "store": {"store": "tma", "stages": 3},
    "everything": {
        "store": "tma",
        "stages": 3,
        "persistent": True,
        "masked": True,
        "dtype": "bf16",
    },
    "one-group": {"tile_m": 64, "warps": 4},
    "wide-k": {"tile_n": 128, "warps": 4, "stages": 3, "tile_k": 128},
}
