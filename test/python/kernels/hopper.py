# ruff: noqa: E501 - operations are on one line each
"""Matmuls for Hopper as hand-written schedules (phase 3).

They have the forms of schedules that the passes make and the lowering has to support.
"""

import dataclasses
from collections.abc import Callable

from tilews import compiler, passmanager

# The passes after scheduling; the kernels state what the earlier passes choose.
LOWER = (
    "builtin.module(gpu.module(tile-infer-layouts,tile-plan-shared-memory,"
    "tile-insert-barriers,tile-lower-channels,convert-tile-to-nvvm,cse,tile-expand-math,tile-expand-affine,"
    "tile-expand-control-flow,convert-tile-threads-to-llvm,reconcile-unrealized-casts,"
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


@dataclasses.dataclass(frozen=True)
class _Carried:
    """The values that a loop carries: their names in it, the values of the first
    iteration, those that an iteration yields, and their types."""

    names: list[str]
    first: list[str]
    yielded: list[str]
    types: list[str]

    @property
    def iter_args(self) -> str:
        return ", ".join(
            f"{name} = {first}"
            for name, first in zip(self.names, self.first, strict=True)
        )


@dataclasses.dataclass(frozen=True)
class _Gemm:
    """Builds the text of :func:`gemm`, whose arguments are the fields."""

    tile_m: int = 128
    tile_n: int = 256
    tile_k: int = 64
    stages: int = 4
    warps: int = 8
    dtype: str = "f16"
    deferred: bool = True
    registers: tuple[int, int] | None = None
    store: str = "simt"
    masked: bool = False
    persistent: bool = False

    # --- Types ---

    @property
    def cursor(self) -> str:
        return f"!tile.cursor<{self.stages}>"

    @property
    def channel(self) -> str:
        return f"!tile.channel<{self.stages}>"

    @property
    def acc(self) -> str:
        return f"tensor<{self.tile_m}x{self.tile_n}xf32>"

    @property
    def slots(self) -> tuple[str, str]:
        """The types of a slot of each operand."""
        return tuple(
            f"memref<{rows}x{self.tile_k}x{self.dtype}, {WG}>"
            for rows in (self.tile_m, self.tile_n)
        )

    @property
    def buffers(self) -> tuple[str, str]:
        """The types of both operands' buffers, with all their slots."""
        return tuple(slot.replace("<", f"<{self.stages}x", 1) for slot in self.slots)

    @property
    def staged(self) -> str:
        """The type of the buffer that TMA stores from."""
        return f"memref<{self.tile_m}x{self.tile_n}x{self.dtype}, {WG}>"

    @property
    def out(self) -> str:
        """The element type of the result."""
        return self.dtype if self.store == "tma" else "f32"

    # --- Roles ---

    def _views(self, cursor: str) -> str:
        (a, b), (As, Bs) = self.slots, self.buffers
        return f"""%a = tile.slot %As[{cursor}] : {As} -> {a}
            %b = tile.slot %Bs[{cursor}] : {Bs} -> {b}"""

    def _math_step(self) -> str:
        is_async = "async, " if self.deferred else ""
        a, b = self.slots
        release = f"tile.release %ch[%q] : {self.channel}"
        if self.deferred:
            release = f"""
            tile.gemm_wait {{pending = 1 : i64}}
            scf.if %late {{ tile.release %ch[%l] : {self.channel} }}"""
        return f"""
            tile.wait %ch[%q] : {self.channel}
            {self._views("%q")}
            %d = tile.gemm %a, %b, %c {{{is_async}transpose_rhs, tile.inst = #tile.inst<wgmma>}} : {a}, {b} -> {self.acc}
            {release}
            %qn = tile.advance %q : {self.cursor}"""

    def _load_step(self) -> str:
        a, b = self.slots
        return f"""
            tile.acquire %ch[%p] : {self.channel}
            {self._views("%p")}
            tile.copy %A[%m, %ko] to %a {{tile.inst = #tile.inst<tma>}} : memref<?x?x{self.dtype}> to {a}
            tile.copy %B[%n, %ko] to %b {{tile.inst = #tile.inst<tma>}} : memref<?x?x{self.dtype}> to {b}
            tile.commit %ch[%p] : {self.channel}
            %pn = tile.advance %p : {self.cursor}
            """

    def _guard(self, carried: _Carried, step: str) -> str:
        """The body of a loop: the step, under the mask's flag if there is a mask."""
        types, following = ", ".join(carried.types), ", ".join(carried.yielded)
        if not self.masked:
            return f"{step}\nscf.yield {following} : {types}"
        count = len(carried.types)
        kept = ", ".join(f"%s#{i}" for i in range(count))
        return f"""
          %flag = memref.load %mask[%k] : memref<?xi8>
          %on = arith.cmpi ne, %flag, %zero8 : i8
          %s:{count} = scf.if %on -> ({types}) {{
            {step}
            scf.yield {following} : {types}
          }} else {{
            scf.yield {", ".join(carried.names)} : {types}
          }}
          scf.yield {kept} : {types}"""

    def _epilogue(self) -> str:
        """Stores the tile after the loop, and releases the slot that is still held."""
        finish, result = "", "%r#0"
        if self.deferred:
            finish = f"""
          %done = tile.gemm_wait %r#0 : {self.acc}
          scf.if %r#3 {{ tile.release %ch[%r#2] : {self.channel} }}"""
            result = "%done"
        if self.store != "tma":
            to = f"memref<?x?x{self.out}>"
            return f"{finish}\ntile.store {result} to %C[%m, %n] : {self.acc} to {to}"
        narrow = f"tensor<{self.tile_m}x{self.tile_n}x{self.dtype}>"
        return f"""{finish}
          %h = arith.truncf {result} : {self.acc} to {narrow}
          tile.store %h to %Cs : {narrow} to {self.staged}
          tile.copy %Cs to %C[%m, %n] {{tile.inst = #tile.inst<tma>}} : {self.staged} to memref<?x?x{self.dtype}>"""

    def _math(self, cursor: str) -> str:
        names, first = ["%c", "%q"], ["%zero", cursor]
        yielded, types = ["%d", "%qn"], [self.acc, self.cursor]
        if self.deferred:  # Also the cursor to release, and whether there is one.
            names, first = [*names, "%l", "%late"], [*first, cursor, "%false"]
            yielded, types = [*yielded, "%q", "%true"], [*types, self.cursor, "i1"]
        carried = _Carried(names, first, yielded, types)
        return f"""
          %r:{len(types)} = scf.for %k = %c0 to %trips step %c1 iter_args({carried.iter_args}) -> ({", ".join(types)}) {{
            {self._guard(carried, self._math_step())}
          }}
          {self._epilogue()}"""

    def _load(self, cursor: str) -> str:
        carried = _Carried(["%p"], [cursor], ["%pn"], [self.cursor])
        return f"""
          %r:1 = scf.for %k = %c0 to %trips step %c1 iter_args({carried.iter_args}) -> ({self.cursor}) {{
            %ko = arith.muli %k, %cK : index
            {self._guard(carried, self._load_step())}
          }}"""

    def _tiles(self, start: str, body: Callable[[str], str], end: str) -> str:
        """The body for the block's tile, or in a loop for all of its tiles; it takes
        the cursor `start` and leaves the cursor `end`."""
        if not self.persistent:
            return f"""
          %m = arith.muli %by, %cM : index
          %n = arith.muli %bx, %cN : index
          {body(start)}"""
        return f"""
          %all = scf.for %tile = %bx to %tiles step %blocks iter_args(%state = {start}) -> ({self.cursor}) {{
            %row = arith.divui %tile, %columns : index
            %column = arith.remui %tile, %columns : index
            %m = arith.muli %row, %cM : index
            %n = arith.muli %column, %cN : index
            {body("%state")}
            scf.yield {end} : {self.cursor}
          }}"""

    def _roles(self) -> str:
        math, load = self.registers or ("", "")
        if self.registers:
            math, load = f" registers({math})", f" registers({load})"
        return f"""tile.specialize {{
      tile.role @math warps({self.warps}){math} {{
        %q0 = tile.cursor : {self.cursor}
        %zero = arith.constant dense<0.0> : {self.acc}
        {self._tiles("%q0", self._math, "%r#1")}
      }}
      tile.role @load warps({self.load_warps}){load} {{
        %p0 = tile.cursor : {self.cursor}
        {self._tiles("%p0", self._load, "%r#0")}
      }}
    }}"""

    # --- The kernel ---

    @property
    def load_warps(self) -> int:
        return 4 if self.registers else 1

    def _signature(self) -> str:
        grid = f"(s5 ceildiv {self.tile_n}, s4 ceildiv {self.tile_m}, 1)"
        if self.persistent:
            grid = "(7, 1, 1)"
        symbols = ", ".join(f"s{i}" for i in range(7 if self.masked else 6))
        arguments = [
            f"%{name}: memref<?x?x{dtype}> "
            f'{{tile.name = "{name}", tile.divisible = array<i64: 1, 8>}}'
            for name, dtype in (("A", self.dtype), ("B", self.dtype), ("C", self.out))
        ]
        arguments += ["%mask: memref<?xi8>"] * self.masked
        threads = (self.warps + self.load_warps) * 32
        return f"""gpu.func @gemm({", ".join(arguments)}) kernel
      attributes {{tile.threads = {threads} : i32, tile.grid = affine_map<()[{symbols}] -> {grid}>}}"""

    def module(self) -> str:
        As, Bs = self.buffers
        staged = f"%Cs = tile.alloc_shared : {self.staged}"
        return f"""
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {{
  {self._signature()} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %cM = arith.constant {self.tile_m} : index
    %cN = arith.constant {self.tile_n} : index
    %cK = arith.constant {self.tile_k} : index
    %true = arith.constant true
    %false = arith.constant false
    %zero8 = arith.constant 0 : i8
    %bx = gpu.block_id x
    %by = gpu.block_id y
    %blocks = gpu.grid_dim x
    %M = memref.dim %C, %c0 : memref<?x?x{self.out}>
    %N = memref.dim %C, %c1 : memref<?x?x{self.out}>
    %K = memref.dim %A, %c1 : memref<?x?x{self.dtype}>
    %trips = arith.ceildivui %K, %cK : index
    %rows = arith.ceildivui %M, %cM : index
    %columns = arith.ceildivui %N, %cN : index
    %tiles = arith.muli %rows, %columns : index
    %As = tile.alloc_shared : {As}
    %Bs = tile.alloc_shared : {Bs}
    {staged if self.store == "tma" else ""}
    %ch = tile.channel(%As, %Bs) {{producer = #tile.producer<tma>}} : {As}, {Bs} -> {self.channel}
    {self._roles()}
    gpu.return
  }}
}}
"""


def gemm(**options) -> str:
    """The module of C = A @ B^T with A (M, K) and B (N, K).

    Args:
        tile_m, tile_n, tile_k: the extents of a tile.
        stages: the slots of the channel.
        warps: of the math role.
        dtype: the element type of A and B.
        deferred: whether the wgmma of one iteration runs on while the next one starts;
            a slot is then released one iteration late.
        registers: of a thread of the math and of the load role, which then fills a
            warpgroup.
        store: ``simt`` stores f32; ``tma`` stores `dtype` through shared memory.
        masked: whether iterations whose flag, in an argument, is 0 are skipped.
        persistent: whether a block computes every tile whose number is its own modulo
            the grid.
    """
    return _Gemm(**options).module()


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
