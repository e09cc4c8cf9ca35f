//===- RegisterPressure.h - Registers that fragments take -------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_PIPELINE_REGISTERPRESSURE_H
#define TILEWS_DIALECT_TILE_ANALYSIS_PIPELINE_REGISTERPRESSURE_H

#include "tilews/Dialect/Tile/Analysis/SliceSolver.h"
#include "tilews/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/SetVector.h"

namespace tilews::tile {

/// The registers that a thread needs beside those of its fragments, for
/// addresses, induction variables, descriptors and intermediate results.
constexpr int64_t kOtherRegisters = 40;

/// An estimate of the 32-bit registers of a thread that hold fragments. It
/// assumes that `threads` share the elements of each fragment evenly, so that
/// it does not depend on layouts: with 128 threads, an accumulator of 64x128
/// f32 takes 64 registers, and a tensor of 64x64 f16 takes 16.
class RegisterPressure {
public:
  explicit RegisterPressure(int64_t threads) : threads(threads) {}

  /// Returns the registers of `value`; 0 if it is no fragment, or one that is
  /// computed again from scalars and rows at each use, such as a broadcast.
  int64_t count(mlir::Value value);

  /// Returns the largest number that is live at one time in `region`.
  int64_t findPeak(mlir::Region &region);

  /// Prints the peak of the last `findPeak`: the last operation before which so
  /// many registers are live, and the fragments that take them, as in
  /// `80 registers before %8 = tile.gemm %5, %7, %arg4: %arg4 64, %5 16`.
  void print(llvm::raw_ostream &os) const;

private:
  using LiveSet = llvm::SmallSetVector<mlir::Value, 32>;
  struct Peak {
    int64_t registers = 0;
    mlir::Operation *before = nullptr;
    llvm::SmallVector<std::pair<mlir::Value, int64_t>> fragments;
  };

  bool isRemade(mlir::Value root);
  /// Adds the fragments among `values`.
  void addFragments(mlir::ValueRange values, LiveSet &live);
  /// Raises the peak to what the fragments in `live` take, if that is more.
  void raisePeak(const LiveSet &live, mlir::Operation *before);
  /// Raises the peak to that of a region in which `live` is live throughout.
  void visit(mlir::Region &region, LiveSet live);

  int64_t threads;
  SliceSolver<bool>::Facts remade;
  Peak peak;
};

/// Returns the most registers that each thread of a block of `warps` warps can
/// have. Each quarter of the register file serves every fourth warp (CUDA C++
/// Programming Guide, "Compute Capability 9.0"): 8 warps leave 248, 12 leave
/// 168.
int64_t getRegisterLimit(int64_t warps);

/// The registers of a thread that does nothing but start TMA copies in a loop.
constexpr int64_t kLoadRegisters = 24;

/// The most registers that a role asks for. The assembler can use 255, and a
/// number of `setmaxnreg` is a multiple of 8.
constexpr int64_t kMostRoleRegisters = 240;

/// Returns the most registers that each thread of a role of `warps` warps can
/// get if the rest of the block is a warpgroup whose threads keep `others` (PTX
/// ISA, "setmaxnreg").
int64_t getDonatedLimit(int64_t warps, int64_t others = kLoadRegisters);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_PIPELINE_REGISTERPRESSURE_H
