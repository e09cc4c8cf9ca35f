//===- ConversionPlan.h - How a fragment changes its layout -----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides how a conversion between two fragment layouts is done and estimates
// what it costs. The plan of shared memory, the barriers, the lowering and the
// choice of layouts ask here, so that they agree.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_CONVERSIONPLAN_H
#define TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_CONVERSIONPLAN_H

#include "tilews/Dialect/Tile/IR/Tile.h"
#include "tilews/Layout/WarpExchange.h"

namespace tilews::tile {

enum class ConversionKind {
  /// Within each thread: registers are renamed, or chosen by the thread's
  /// number.
  Registers,
  /// Within each warp: lanes exchange registers.
  Shuffles,
  /// Through scratch memory: all threads write, meet, and read.
  Shared
};

/// How a fragment lies in scratch memory: its dimensions are permuted and its
/// rows padded such that both sides access it in vectors and without bank
/// conflicts, as far as they can.
struct ScratchLayout {
  /// Dimension `i` of the scratch buffer is dimension `permutation[i]` of the
  /// fragment.
  llvm::SmallVector<int64_t> permutation;
  llvm::SmallVector<int64_t> shape;
  SharedLayout layout;
  /// Wavefronts (cycles that shared memory is busy) of one warp's accesses.
  int64_t wavefronts = 0;
};

struct ConversionPlan {
  ConversionKind kind = ConversionKind::Shared;
  /// Estimate of the cycles that the threads of the fragment take for it, with
  /// a multiprocessor (compute unit) of their own.
  int64_t cycles = 0;
  /// For `Registers` and `Shuffles`.
  std::optional<WarpExchange> exchange;
  /// For `Shared`: where elements lie when they are written and when they are
  /// read (a reshape numbers them by another shape), and the bytes this takes.
  ScratchLayout written, read;
  int64_t scratchBytes = 0;
};

/// The cheapest way from one layout to another of a fragment of `shape`, whose
/// elements have `elementBits` (see `getConversionBits`).
ConversionPlan planConversion(const FragmentLayout &from,
                              const FragmentLayout &to,
                              llvm::ArrayRef<int64_t> shape,
                              int64_t elementBits, const TargetInfo &target);

/// The bits that an element of this type moves: whole bytes, and 64 for an
/// index, which may be lowered to as many.
int64_t getConversionBits(mlir::Type elementType);

/// The plan of a `tile.convert_layout`, or of a `tile.reshape` whose source and
/// result have layouts. A reshape that moves elements passes through rows
/// without padding, which both shapes number alike.
ConversionPlan planConversion(ConvertLayoutOp op, const TargetInfo &target);
ConversionPlan planConversion(ReshapeOp op, const TargetInfo &target);

/// The layout in which a thread holds 16 bytes (or as many as there are, at
/// least more than now) side by side along the last dimension and that costs
/// the least exchange within warps: the one in which to store a matrix
/// instruction's accumulator to memory. None where threads hold that much
/// already, or where no exchange within warps reaches more. What it costs to
/// get there says `planConversion`; what it saves is that a store of R
/// registers takes R / (elements of a vector) instructions, each of which
/// fills whole 32-byte sectors.
std::optional<FragmentLayout>
getWidestStoreLayout(const FragmentLayout &layout,
                     llvm::ArrayRef<int64_t> shape, int64_t elementBits,
                     const TargetInfo &target);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_CONVERSIONPLAN_H
