"""Kernels in inferred layouts, on the simulator of AMD's machine code.

Each kernel needs several layouts: accumulators that are reduced and become operands,
rows within warps, stores after an exchange between lanes.
"""

import os
from pathlib import Path

import numpy as np
import pytest

from amdgcn import kernels

BUILD = Path(os.environ["TILEWS_BUILD_DIR"])
MORE_SHARED = 64 << 10
SHARED = "#gpu.address_space<workgroup>"
CHIPS = ("gfx942", "gfx950", "gfx1100")

ATTENTION = """
gpu.module @m [#rocdl.target<chip = "{chip}">] {{
  gpu.func @attention(%Q: memref<64x32xf16>, %K: memref<?x32xf16>,
                      %V: memref<?x32xf16>, %O: memref<64x32xf16>) kernel {{
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = memref.dim %K, %c0 : memref<?x32xf16>
    %q = tile.alloc_shared : memref<64x32xf16, {shared}>
    %k = tile.alloc_shared : memref<32x32xf16, {shared}>
    %v = tile.alloc_shared : memref<32x32xf16, {shared}>
    tile.copy %Q to %q : memref<64x32xf16> to memref<64x32xf16, {shared}>
    %zero = arith.constant dense<0.0> : tensor<64x32xf32>
    %low = arith.constant dense<-1.0e30> : tensor<64xf32>
    %none = arith.constant dense<0.0> : tensor<64xf32>
    %r:3 = scf.for %t = %c0 to %n step %c32
        iter_args(%o = %zero, %m = %low, %l = %none)
        -> (tensor<64x32xf32>, tensor<64xf32>, tensor<64xf32>) {{
      tile.copy %K[%t, 0] to %k : memref<?x32xf16> to memref<32x32xf16, {shared}>
      tile.copy %V[%t, 0] to %v : memref<?x32xf16> to memref<32x32xf16, {shared}>
      %s = tile.gemm %q, %k, %zero {{transpose_rhs, policy = #tile.warps<{policy}>}}
         : memref<64x32xf16, {shared}>, memref<32x32xf16, {shared}>
           -> tensor<64x32xf32>
      %mx = tile.reduce <max> %s {{axis = 1 : i64}}
         : tensor<64x32xf32> -> tensor<64xf32>
      %m2 = arith.maximumf %m, %mx : tensor<64xf32>
      %d0 = arith.subf %m, %m2 : tensor<64xf32>
      %al = math.exp %d0 : tensor<64xf32>
      %e = tile.expand_dims %m2 {{axis = 1 : i64}} : tensor<64xf32> -> tensor<64x1xf32>
      %x = tile.broadcast %e : tensor<64x1xf32> -> tensor<64x32xf32>
      %d = arith.subf %s, %x : tensor<64x32xf32>
      %p = math.exp %d : tensor<64x32xf32>
      %sm = tile.reduce <sum> %p {{axis = 1 : i64}}
         : tensor<64x32xf32> -> tensor<64xf32>
      %l1 = arith.mulf %l, %al : tensor<64xf32>
      %l2 = arith.addf %l1, %sm : tensor<64xf32>
      %ae = tile.expand_dims %al {{axis = 1 : i64}} : tensor<64xf32> -> tensor<64x1xf32>
      %ax = tile.broadcast %ae : tensor<64x1xf32> -> tensor<64x32xf32>
      %o1 = arith.mulf %o, %ax : tensor<64x32xf32>
      %h = arith.truncf %p : tensor<64x32xf32> to tensor<64x32xf16>
      %o2 = tile.gemm %h, %v, %o1 {{policy = #tile.warps<{policy}>}}
         : tensor<64x32xf16>, memref<32x32xf16, {shared}> -> tensor<64x32xf32>
      scf.yield %o2, %m2, %l2 : tensor<64x32xf32>, tensor<64xf32>, tensor<64xf32>
    }}
    %le = tile.expand_dims %r#2 {{axis = 1 : i64}} : tensor<64xf32> -> tensor<64x1xf32>
    %lx = tile.broadcast %le : tensor<64x1xf32> -> tensor<64x32xf32>
    %od = arith.divf %r#0, %lx : tensor<64x32xf32>
    %oh = arith.truncf %od : tensor<64x32xf32> to tensor<64x32xf16>
    tile.store %oh to %O : tensor<64x32xf16> to memref<64x32xf16>
    gpu.return
  }}
}}
"""


@pytest.mark.parametrize("policy", ["square", "full_row"])
@pytest.mark.parametrize("chip", CHIPS)
def test_attention(chip: str, policy: str, tmp_path: Path) -> None:
    source = ATTENTION.format(chip=chip, policy=policy, shared=SHARED)
    simulator = kernels.load(source, BUILD, tmp_path)
    rng = np.random.default_rng(7)
    length = 96
    q = rng.standard_normal((64, 32)).astype(np.float16)
    k, v = rng.standard_normal((2, length, 32)).astype(np.float16)
    o = np.zeros_like(q)
    n = np.int32(length)
    simulator.launch("attention", (1,), 128, [q, k, n, v, n, o], MORE_SHARED)
    scores = q.astype(np.float64) @ k.T.astype(np.float64)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected = weights @ v.astype(np.float64) / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(o.astype(np.float64), expected, rtol=0, atol=4e-3)


ROWS = """
gpu.module @m [#rocdl.target<chip = "{chip}">] {{
  gpu.func @rows(%X: memref<{m}x{n}xf32>, %G: memref<{n}xf32>,
                      %Y: memref<{m}x{n}xf16>) kernel {{
    %x = tile.load %X : memref<{m}x{n}xf32> -> tensor<{m}x{n}xf32>
    %g = tile.load %G : memref<{n}xf32> -> tensor<{n}xf32>
    %count = arith.constant dense<{n}.0> : tensor<{m}xf32>
    %s = tile.reduce <sum> %x {{axis = 1 : i64}}
       : tensor<{m}x{n}xf32> -> tensor<{m}xf32>
    %mean = arith.divf %s, %count : tensor<{m}xf32>
    %me = tile.expand_dims %mean {{axis = 1 : i64}}
       : tensor<{m}xf32> -> tensor<{m}x1xf32>
    %mb = tile.broadcast %me : tensor<{m}x1xf32> -> tensor<{m}x{n}xf32>
    %d = arith.subf %x, %mb : tensor<{m}x{n}xf32>
    %q = arith.mulf %d, %d : tensor<{m}x{n}xf32>
    %v = tile.reduce <sum> %q {{axis = 1 : i64}}
       : tensor<{m}x{n}xf32> -> tensor<{m}xf32>
    %var = arith.divf %v, %count : tensor<{m}xf32>
    %ve = tile.expand_dims %var {{axis = 1 : i64}}
       : tensor<{m}xf32> -> tensor<{m}x1xf32>
    %vb = tile.broadcast %ve : tensor<{m}x1xf32> -> tensor<{m}x{n}xf32>
    %z = arith.divf %d, %vb : tensor<{m}x{n}xf32>
    %ge = tile.expand_dims %g {{axis = 0 : i64}} : tensor<{n}xf32> -> tensor<1x{n}xf32>
    %gb = tile.broadcast %ge : tensor<1x{n}xf32> -> tensor<{m}x{n}xf32>
    %y = arith.mulf %z, %gb : tensor<{m}x{n}xf32>
    %h = arith.truncf %y : tensor<{m}x{n}xf32> to tensor<{m}x{n}xf16>
    tile.store %h to %Y : tensor<{m}x{n}xf16> to memref<{m}x{n}xf16>
    gpu.return
  }}
}}
"""


@pytest.mark.parametrize(("m", "n"), [(4, 512), (1, 229), (5, 229), (24, 40)])
@pytest.mark.parametrize("chip", ["gfx942", "gfx1100"])
def test_rows(chip: str, m: int, n: int, tmp_path: Path) -> None:
    """Rows within one warp, rows over several warps, and rows of odd lengths."""
    simulator = kernels.load(ROWS.format(chip=chip, m=m, n=n), BUILD, tmp_path)
    rng = np.random.default_rng(n)
    x = rng.standard_normal((m, n)).astype(np.float32) * 3 + 1
    g = rng.standard_normal(n).astype(np.float32)
    y = np.zeros((m, n), np.float16)
    simulator.launch("rows", (1,), 128, [x, g, y], MORE_SHARED)
    wide = x.astype(np.float64)
    centered = wide - wide.mean(axis=1, keepdims=True)
    expected = centered / (centered**2).mean(axis=1, keepdims=True) * g
    np.testing.assert_allclose(y.astype(np.float64), expected, rtol=2e-3, atol=2e-3)


DEQUANTIZED = """
gpu.module @m [#rocdl.target<chip = "{chip}">] {{
  gpu.func @product(%A: memref<{m}x64xf16>, %B: memref<{n}x64xi8>,
                    %S: memref<{n}xf32>, %C: memref<{m}x{n}xf16>) kernel {{
    %as = tile.alloc_shared : memref<{m}x64xf16, {shared}>
    %bs = tile.alloc_shared : memref<{n}x64xi8, {shared}>
    %ws = tile.alloc_shared : memref<{n}x64xf16, {shared}>
    tile.copy %A to %as : memref<{m}x64xf16> to memref<{m}x64xf16, {shared}>
    tile.copy %B to %bs : memref<{n}x64xi8> to memref<{n}x64xi8, {shared}>
    %b = tile.load %bs : memref<{n}x64xi8, {shared}> -> tensor<{n}x64xi8>
    %scale = tile.load %S : memref<{n}xf32> -> tensor<{n}xf32>
    %f = arith.uitofp %b : tensor<{n}x64xi8> to tensor<{n}x64xf32>
    %se = tile.expand_dims %scale {{axis = 1 : i64}}
       : tensor<{n}xf32> -> tensor<{n}x1xf32>
    %sb = tile.broadcast %se : tensor<{n}x1xf32> -> tensor<{n}x64xf32>
    %m = arith.mulf %f, %sb : tensor<{n}x64xf32>
    %w = arith.truncf %m : tensor<{n}x64xf32> to tensor<{n}x64xf16>
    {store}
    %zero = arith.constant dense<0.0> : tensor<{m}x{n}xf32>
    %d = tile.gemm %as, {operand}, %zero {{transpose_rhs}}
       : memref<{m}x64xf16, {shared}>, {type} -> tensor<{m}x{n}xf32>
    %h = arith.truncf %d : tensor<{m}x{n}xf32> to tensor<{m}x{n}xf16>
    tile.store %h to %C : tensor<{m}x{n}xf16> to memref<{m}x{n}xf16>
    gpu.return
  }}
}}
"""


@pytest.mark.parametrize("through", ["shared", "fragment"])
@pytest.mark.parametrize(
    ("chip", "m", "n"),
    [(chip, *size) for chip in CHIPS for size in ((64, 64), (32, 96), (48, 48))]
    + [("gfx942", 48, 40), ("gfx950", 24, 40)],
)
def test_dequantized_product(
    chip: str, m: int, n: int, through: str, tmp_path: Path
) -> None:
    """Weights of 8 bits become an operand; stores of the result have 16 bytes."""
    shared = f"memref<{n}x64xf16, {SHARED}>"
    fragment = f"tensor<{n}x64xf16>"
    source = DEQUANTIZED.format(
        chip=chip,
        m=m,
        n=n,
        shared=SHARED,
        store=f"tile.store %w to %ws : {fragment} to {shared}"
        if through == "shared"
        else "",
        operand="%ws" if through == "shared" else "%w",
        type=shared if through == "shared" else fragment,
    )
    simulator = kernels.load(source, BUILD, tmp_path)
    rng = np.random.default_rng(m + n)
    a = rng.standard_normal((m, 64)).astype(np.float16)
    b = rng.integers(0, 200, (n, 64)).astype(np.uint8)
    scale = (rng.standard_normal(n) / 64).astype(np.float32)
    c = np.zeros((m, n), np.float16)
    simulator.launch("product", (1,), 128, [a, b, scale, c], MORE_SHARED)
    weights = (b * scale[:, None]).astype(np.float16)
    expected = a.astype(np.float64) @ weights.T.astype(np.float64)
    np.testing.assert_allclose(c.astype(np.float64), expected, rtol=2e-3, atol=2e-2)
