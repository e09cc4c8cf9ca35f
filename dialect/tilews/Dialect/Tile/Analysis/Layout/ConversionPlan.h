//===- ConversionPlan.h - Plans of layout conversions -----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How a conversion between two fragment layouts is done, and an estimate of its
// cost. The plan of shared memory, the barriers, the lowering and the choice of
// layouts ask here, so that they agree.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_CONVERSIONPLAN_H
#define TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_CONVERSIONPLAN_H

#include "tilews/Dialect/Tile/IR/Tile.h"
#include "tilews/Layout/Mirror.h"

namespace tilews::tile {

enum class ConversionKind {
  /// Elements stay in their threads: registers are renamed, or selected by the
  /// thread's number.
  Registers,
  /// Elements stay in their warps: lanes exchange registers.
  Shuffles,
  /// Through scratch memory: all threads write, synchronize, and read.
  Shared
};

/// How a fragment lies in scratch memory. Its dimensions are permuted and its
/// rows padded so that writes and reads use vectors and avoid bank conflicts as
/// far as possible. It prints `64x32 permuted by (1, 0), 24 wavefronts`.
struct ScratchLayout {
  /// Dimension `i` of the scratch buffer is dimension `permutation[i]` of the
  /// fragment.
  llvm::SmallVector<int64_t> permutation;
  llvm::SmallVector<int64_t> shape;
  SharedLayout layout;
  /// The wavefronts (cycles that shared memory is busy) of one warp's accesses.
  int64_t wavefronts = 0;

  void print(llvm::raw_ostream &os) const;
};

/// How a conversion is done. Two examples with warps of 32 threads:
///
/// * A 16x8 f16 result of `mma` that becomes an operand of the next `mma` has
///   the same elements in each thread: `Registers`, no cost.
/// * A 128x128 tile whose rows are divided among 4 warps, and then its columns,
///   moves elements between warps: `Shared`.
///
/// It prints `registers, 0 cycles`, `shuffles in 3 rounds, 89 cycles` or
/// `shared, 412 cycles, 33280 bytes: written as ..., read as ...`.
struct ConversionPlan {
  ConversionKind kind = ConversionKind::Shared;
  /// An estimate of the cycles that it takes if the threads of the fragment
  /// have a multiprocessor (compute unit) for themselves.
  int64_t cycles = 0;
  /// For `Registers` and `Shuffles`.
  std::optional<WarpExchange> exchange;
  /// For `Shared`: where elements lie when they are written and when they are
  /// read (a reshape numbers them by another shape), and the bytes this takes.
  ScratchLayout written, read;
  int64_t scratchBytes = 0;

  void print(llvm::raw_ostream &os) const;
};

inline llvm::raw_ostream &operator<<(llvm::raw_ostream &os,
                                     const ConversionPlan &plan) {
  plan.print(os);
  return os;
}

/// Returns the cheapest conversion of a fragment of `shape` with elements of
/// `elementBits` (see `getConversionBits`) between two layouts.
ConversionPlan planConversion(const FragmentLayout &from,
                              const FragmentLayout &to,
                              llvm::ArrayRef<int64_t> shape,
                              int64_t elementBits, const TargetInfo &target);

/// Returns the bits that an element of this type takes when it moves: whole
/// bytes, and 64 for an index, which may be lowered to 64 bits.
int64_t getConversionBits(mlir::Type elementType);

/// Returns the plan of a `tile.convert_layout`, or of a `tile.reshape` whose
/// source and result have layouts. A reshape that moves elements through
/// scratch memory uses rows without padding: only there do both shapes number
/// elements alike.
ConversionPlan planConversion(ConvertLayoutOp op, const TargetInfo &target);
ConversionPlan planConversion(ReshapeOp op, const TargetInfo &target);

/// How a `tile.flip` is done: as a conversion that ends at the mirrored place.
struct FlipPlan : ConversionPlan {
  /// Where elements come from. Without it, a thread computes the reversed
  /// coordinates of each of its registers and reads these from scratch memory.
  std::optional<Mirror> mirror;
};

/// Returns the plan of a flip of a fragment of `shape` along `axes`. It does
/// not go through scratch memory if the mirror of each lane is in the same
/// warp: one shuffle for each word is cheaper than a write and a read.
FlipPlan planFlip(const FragmentLayout &layout, llvm::ArrayRef<int64_t> shape,
                  llvm::ArrayRef<int64_t> axes, int64_t elementBits,
                  const TargetInfo &target);
FlipPlan planFlip(FlipOp op, const TargetInfo &target);

/// Returns a layout with wider stores that needs only exchanges within warps: a
/// thread holds 16 adjacent bytes along the last dimension, or as many as
/// possible. None if threads hold that much already, or if no exchange within
/// warps achieves more.
///
/// The accumulator of a matrix instruction has 2 adjacent elements in a thread.
/// If its elements are f16, a store writes 4 bytes at a time; in the wide
/// layout it writes 16 bytes, and fills whole 32-byte sectors.
std::optional<FragmentLayout>
getWidestStoreLayout(const FragmentLayout &layout,
                     llvm::ArrayRef<int64_t> shape, int64_t elementBits,
                     const TargetInfo &target);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_CONVERSIONPLAN_H
