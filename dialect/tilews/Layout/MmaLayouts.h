//===- MmaLayouts.h - Fragments of matrix instructions ----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The register fragments of the matrix instructions, as the ISA documents give
// them, and their distribution over the warps of a block.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LAYOUT_MMALAYOUTS_H
#define TILEWS_LAYOUT_MMALAYOUTS_H

#include "tilews/Layout/Layout.h"

namespace tilews {

/// A matrix instruction of one warp (or wgmma's warpgroup): the extents of the
/// matmul that it computes, and which lane holds which element of each operand.
/// Coordinates are (m, k) for the left operand, (k, n) for the right one and
/// (m, n) for the accumulator.
struct MmaInstruction {
  int64_t m = 0, n = 0, k = 0;
  FragmentLayout lhs, rhs, acc;

  /// Returns the lanes that execute it together: those of a warp, or 128.
  int64_t getNumLanes() const { return acc.getNumThreads(); }
};

/// mma.sync (PTX ISA, "Matrix Fragments for mma.m16n8k8", "...k16", "...k32",
/// "mma.m8n8k4 with .f64") for operands of 8, 16, 32 (tf32) or 64 bits.
MmaInstruction getMmaSync(int64_t operandBits);

/// wgmma m64nNkK (PTX ISA, "Asynchronous wgmma"): `n` is a multiple of 8 up to
/// 256. The right operand is always in shared memory and has no fragment.
MmaInstruction getWgmma(int64_t n, int64_t operandBits);

/// mfma 32x32 or 16x16 (AMD CDNA3/CDNA4 ISA, "Matrix Arithmetic Instructions"),
/// with `k` elements along K; each lane holds `k * size / 64` of them.
MmaInstruction getMfma(int64_t size, int64_t k);
/// mfma 32x32x64 or 16x16x128 of CDNA4, whose operands have 8, 6 or 4 bits,
/// each its own. The layout of an operand is that of the bytes in memory, where
/// elements of 6 and 4 bits are packed along K: its rows have `k * bits / 8`
/// columns.
MmaInstruction getMfmaSmall(int64_t size, int64_t lhsBits, int64_t rhsBits);
/// mfma 16x16x4 of f64, whose accumulator has rows of its own order.
MmaInstruction getMfmaF64();

/// wmma 16x16x16 of RDNA3 (both half-warps hold the operands) and of RDNA4.
MmaInstruction getWmmaGfx11();
MmaInstruction getWmmaGfx12();

/// How many warps (or warpgroups) divide the rows and the columns of a matmul.
struct WarpGrid {
  int64_t m = 1, n = 1;
};

/// The preferred one of the grids that waste no instruction.
enum class WarpShape { Square, AlongM, AlongN };

/// Distributes an M x N matmul over `numGroups` groups of lanes: the grid with
/// the fewest instructions per group, then with the least operand traffic.
WarpGrid getWarpGrid(const MmaInstruction &mma, int64_t numGroups, int64_t m,
                     int64_t n, WarpShape shape);

/// An MxN accumulator over a grid of warps. A warp's part is contiguous; its
/// registers are the instruction's, then the repeats along N, then along M.
FragmentLayout getAccLayout(const MmaInstruction &mma, WarpGrid grid, int64_t m,
                            int64_t n);
/// A left operand (M x K) and a right operand (K x N) held in registers for the
/// same grid: the instruction's registers, then repeats along K, then along M
/// (or N). Warps that share rows (columns) hold copies.
FragmentLayout getLhsLayout(const MmaInstruction &mma, WarpGrid grid, int64_t m,
                            int64_t k);
FragmentLayout getRhsLayout(const MmaInstruction &mma, WarpGrid grid, int64_t k,
                            int64_t n);

/// Instructions along each dimension that one warp of the grid executes.
struct MmaRepeats {
  int64_t m = 1, n = 1;
};
MmaRepeats getRepeats(const MmaInstruction &mma, WarpGrid grid, int64_t m,
                      int64_t n);

} // namespace tilews

#endif // TILEWS_LAYOUT_MMALAYOUTS_H
