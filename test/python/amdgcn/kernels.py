"""Kernels that the tests run, and their compilation."""

import subprocess
from pathlib import Path

from tilews.sim.amdgcn.machine import Simulator

_GEMM = """
#wg = #gpu.address_space<workgroup>
gpu.module @kernels [#rocdl.target<chip = "{chip}">] {{
  gpu.func @gemm(%A: memref<?x?x{lhs}>, %B: memref<?x?x{rhs}>, %C: memref<?x?x{acc}>)
      kernel attributes {{tile.threads = {threads} : i32}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bk = arith.constant {bk} : index
    %bm = arith.constant {bm} : index
    %bn = arith.constant {bn} : index
    %K = memref.dim %A, {k_dim} : memref<?x?x{lhs}>
    %bx = gpu.block_id x
    %by = gpu.block_id y
    %m = arith.muli %by, %bm : index
    %n = arith.muli %bx, %bn : index
    %zero = arith.constant dense<{zero}> : tensor<{bm}x{bn}x{acc}>
    %as = tile.alloc_shared : memref<{a_shape}x{lhs}, #wg>
    %bs = tile.alloc_shared : memref<{b_shape}x{rhs}, #wg>
    %acc = scf.for %k = %c0 to %K step %bk iter_args(%c = %zero)
        -> tensor<{bm}x{bn}x{acc}> {{
      tile.copy %A[{a_place}] to %as
        : memref<?x?x{lhs}> to memref<{a_shape}x{lhs}, #wg>
      tile.copy %B[{b_place}] to %bs
        : memref<?x?x{rhs}> to memref<{b_shape}x{rhs}, #wg>
      %d = tile.gemm %as, %bs, %c {{{transposes}}}
        : memref<{a_shape}x{lhs}, #wg>, memref<{b_shape}x{rhs}, #wg>
          -> tensor<{bm}x{bn}x{acc}>
      scf.yield %d : tensor<{bm}x{bn}x{acc}>
    }}
    tile.store %acc to %C[%m, %n] : tensor<{bm}x{bn}x{acc}> to memref<?x?x{acc}>
    gpu.return
  }}
}}
"""


def get_gemm(
    chip: str,
    lhs: str,
    rhs: str,
    acc: str,
    tile: tuple[int, int, int],
    transposes: tuple[bool, bool] = (False, False),
    threads: int = 128,
) -> str:
    """A matmul of tiles (M, N, K) with the given MLIR element types."""
    bm, bn, bk = tile
    lhs_t, rhs_t = transposes
    flags = ["transpose_lhs"] * lhs_t + ["transpose_rhs"] * rhs_t
    return _GEMM.format(
        chip=chip,
        lhs=lhs,
        rhs=rhs,
        acc=acc,
        bm=bm,
        bn=bn,
        bk=bk,
        threads=threads,
        zero="0" if acc == "i32" else "0.0",
        k_dim="%c0" if lhs_t else "%c1",
        a_shape=f"{bk}x{bm}" if lhs_t else f"{bm}x{bk}",
        b_shape=f"{bn}x{bk}" if rhs_t else f"{bk}x{bn}",
        a_place="%k, %m" if lhs_t else "%m, %k",
        b_place="%n, %k" if rhs_t else "%k, %n",
        transposes=", ".join(flags),
    )


_SOFTMAX = """
gpu.module @kernels [#rocdl.target<chip = "{chip}">] {{
  gpu.func @softmax(%A: memref<?x{n}xf32>, %C: memref<?x{n}xf32>)
      kernel attributes {{tile.threads = 128 : i32}} {{
    %rows = arith.constant {m} : index
    %b = gpu.block_id x
    %i = arith.muli %b, %rows : index
    %x = tile.load %A[%i, 0] : memref<?x{n}xf32> -> tensor<{m}x{n}xf32>
    %max = tile.reduce <max> %x {{axis = 1 : i64}}
      : tensor<{m}x{n}xf32> -> tensor<{m}xf32>
    %maxc = tile.expand_dims %max {{axis = 1 : i64}}
      : tensor<{m}xf32> -> tensor<{m}x1xf32>
    %maxb = tile.broadcast %maxc : tensor<{m}x1xf32> -> tensor<{m}x{n}xf32>
    %s = arith.subf %x, %maxb : tensor<{m}x{n}xf32>
    %p = math.exp %s : tensor<{m}x{n}xf32>
    %sum = tile.reduce <sum> %p {{axis = 1 : i64}}
      : tensor<{m}x{n}xf32> -> tensor<{m}xf32>
    %sumc = tile.expand_dims %sum {{axis = 1 : i64}}
      : tensor<{m}xf32> -> tensor<{m}x1xf32>
    %sumb = tile.broadcast %sumc : tensor<{m}x1xf32> -> tensor<{m}x{n}xf32>
    %q = arith.divf %p, %sumb : tensor<{m}x{n}xf32>
    tile.store %q to %C[%i, 0] : tensor<{m}x{n}xf32> to memref<?x{n}xf32>
    gpu.return
  }}
}}
"""


def get_softmax(chip: str, m: int, n: int) -> str:
    """Softmax of rows of `n` columns, `m` rows a block."""
    return _SOFTMAX.format(chip=chip, m=m, n=n)


_REDUCE = """
gpu.module @kernels [#rocdl.target<chip = "{chip}">] {{
  gpu.func @reduce(%A: memref<{m}x{n}x{type}>, %C: memref<{out}x{type}>)
      kernel attributes {{tile.threads = {threads} : i32}} {{
    %x = tile.load %A : memref<{m}x{n}x{type}> -> tensor<{m}x{n}x{type}>
    %r = tile.reduce <{kind}> %x {{axis = {axis} : i64}}
      : tensor<{m}x{n}x{type}> -> tensor<{out}x{type}>
    tile.store %r to %C : tensor<{out}x{type}> to memref<{out}x{type}>
    gpu.return
  }}
}}
"""


def get_reduce(
    chip: str,
    kind: str,
    element: str,
    shape: tuple[int, int],
    axis: int,
    threads: int = 128,
) -> str:
    """A reduction of a matrix along `axis`."""
    m, n = shape
    return _REDUCE.format(
        chip=chip,
        kind=kind,
        type=element,
        m=m,
        n=n,
        axis=axis,
        out=shape[1 - axis],
        threads=threads,
    )


_CAST = """
gpu.module @kernels [#rocdl.target<chip = "{chip}">] {{
  gpu.func @cast(%A: memref<?xf32>, %F: memref<?x{fp8}>, %B: memref<?xf32>)
      kernel attributes {{tile.threads = 128 : i32}} {{
    %x = tile.load %A[0] : memref<?xf32> -> tensor<1024xf32>
    %f = arith.truncf %x : tensor<1024xf32> to tensor<1024x{fp8}>
    tile.store %f to %F[0] : tensor<1024x{fp8}> to memref<?x{fp8}>
    %y = arith.extf %f : tensor<1024x{fp8}> to tensor<1024xf32>
    tile.store %y to %B[0] : tensor<1024xf32> to memref<?xf32>
    gpu.return
  }}
}}
"""


def get_cast(chip: str, fp8: str) -> str:
    """Rounds 1024 numbers to fp8 and back."""
    return _CAST.format(chip=chip, fp8=fp8)


_ATOMIC = """
gpu.module @kernels [#rocdl.target<chip = "{chip}">] {{
  gpu.func @atomic(%A: memref<16x64x{type}>, %C: memref<16x64x{type}>)
      kernel attributes {{tile.threads = 128 : i32}} {{
    %x = tile.load %A : memref<16x64x{type}> -> tensor<16x64x{type}>
    tile.atomic_rmw <{kind}> %x to %C
      : tensor<16x64x{type}> to memref<16x64x{type}>
    gpu.return
  }}
}}
"""


def get_atomic(chip: str, kind: str, element: str) -> str:
    """Every block combines the same tile with `C`."""
    return _ATOMIC.format(chip=chip, kind=kind, type=element)


def load(
    source: str, build: Path, folder: Path, seed: int = 0, chip: str = ""
) -> Simulator:
    """Compiles MLIR text, for `chip` or for the chip in the text, and loads it.

    Raises CalledProcessError if the tool in `build` reports an error.
    """
    path = folder / "kernel.hsaco"
    tool = build / "python_packages/tilews/bin/tilews-translate"
    command = [str(tool), "-", "--to=hsaco", "-o", str(path)]
    if chip:
        command.append(f"--chip={chip}")
    subprocess.run(command, input=source, text=True, check=True)
    return Simulator(path.read_bytes(), seed)
