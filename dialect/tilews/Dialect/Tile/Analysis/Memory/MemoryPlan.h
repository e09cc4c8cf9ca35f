//===- MemoryPlan.h - Offsets and lifetimes in shared memory ----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_MEMORYPLAN_H
#define TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_MEMORYPLAN_H

#include "tilews/Dialect/Tile/Analysis/Memory/Packing.h"

#include <limits>
#include <string>

namespace tilews::tile {

/// The alignment in bytes that the lowering gives the arena.
constexpr int64_t kArenaAlignment = 1024;
/// The bytes of the widest access. Every buffer and scratch memory allows it.
constexpr int64_t kMinAlignment = 16;
/// From the start of a kernel to its end.
constexpr LiveInterval kAlways = {0, std::numeric_limits<int64_t>::max()};

/// Something in a kernel that needs shared memory: a buffer, the barriers of a
/// channel, or the scratch memory of an operation.
struct MemoryUse {
  mlir::Operation *op;
  /// How many bytes it needs, and for how long.
  PackedItem item;

  /// Returns "buffer", "barriers" or "scratch memory".
  llvm::StringRef getKind() const;
};

/// Returns everything that needs shared memory, in program order.
llvm::SmallVector<MemoryUse> getMemoryUses(mlir::gpu::GPUFuncOp kernel,
                                           const TargetInfo &target);

/// Prints the uses of a kernel, one a line:
///
/// ```
/// buffer of 96 bytes at 0, aligned to 16, live [3, 9]: %3 = tile.alloc_shared
/// barriers of 16 bytes at 96, aligned to 8, live always: %4 = tile.channel %3
/// ```
void printMemoryUses(llvm::ArrayRef<MemoryUse> uses, llvm::raw_ostream &os);

/// What is wrong with the places (`tile.offset`) of shared memory in a kernel,
/// at `op`, because of `other` if there is one.
struct PlanFault {
  mlir::Operation *op;
  std::string text;
  mlir::Operation *other = nullptr;
};
/// Checks the plan that a kernel's attributes describe: every use lies within
/// the kernel's `tile.shared_bytes`, is aligned, and shares no byte with
/// another one that is live at the same time. Returns the first fault.
std::optional<PlanFault> findPlanFault(mlir::gpu::GPUFuncOp kernel,
                                       const TargetInfo &target);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_MEMORYPLAN_H
