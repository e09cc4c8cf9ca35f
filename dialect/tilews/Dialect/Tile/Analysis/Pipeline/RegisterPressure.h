//===- RegisterPressure.h - Registers that fragments take -------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_PIPELINE_REGISTERPRESSURE_H
#define TILEWS_DIALECT_TILE_ANALYSIS_PIPELINE_REGISTERPRESSURE_H

#include "tilews/Dialect/Tile/IR/Tile.h"

namespace tilews::tile {

/// Registers that a thread needs beside those of its fragments: addresses,
/// counters, descriptors and what arithmetic is under way.
constexpr int64_t kOtherRegisters = 40;

/// The 32-bit registers of a thread that hold fragments, if their elements are
/// spread evenly over `threads`: an estimate that does not depend on layouts.
class RegisterPressure {
public:
  explicit RegisterPressure(int64_t threads) : threads(threads) {}

  /// Those of `value`; 0 if it is no fragment, or one that is made again from
  /// scalars and rows where it is used.
  int64_t count(mlir::Value value);

  /// The most at one time in `region`.
  int64_t findPeak(mlir::Region &region) { return findPeak(region, {}); }

private:
  using LiveSet = llvm::SmallDenseSet<mlir::Value, 32>;

  bool isRemade(mlir::Value value);
  int64_t sum(const LiveSet &live);
  /// With `live` held throughout.
  int64_t findPeak(mlir::Region &region, LiveSet live);

  int64_t threads;
  llvm::DenseMap<mlir::Operation *, bool> remade;
};

/// The most registers that each thread of a block of `warps` warps can have:
/// each quarter of the register file serves every fourth warp (CUDA C++
/// Programming Guide, "Compute Capability 9.0").
int64_t getRegisterLimit(int64_t warps);

/// Registers of a thread that does nothing but start TMA copies in a loop.
constexpr int64_t kLoadRegisters = 24;

/// The most registers that each thread of a role of `warps` warps can be given
/// if the rest of the block is a warpgroup with `others` (PTX ISA,
/// "setmaxnreg").
int64_t getDonatedLimit(int64_t warps, int64_t others = kLoadRegisters);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_PIPELINE_REGISTERPRESSURE_H
