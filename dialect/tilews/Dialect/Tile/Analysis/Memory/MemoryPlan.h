//===- MemoryPlan.h - Who has which bytes of shared memory ------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_MEMORYPLAN_H
#define TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_MEMORYPLAN_H

#include "tilews/Dialect/Tile/Analysis/Memory/Packing.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <limits>

namespace tilews::tile {

/// The lowering aligns the arena to this.
constexpr int64_t kArenaAlignment = 1024;
/// The widest access, which every buffer and scratch memory allows.
constexpr int64_t kMinAlignment = 16;
/// From the begin of a kernel to its end.
constexpr LiveInterval kAlways = {0, std::numeric_limits<int64_t>::max()};

/// Something in a kernel that needs shared memory: a buffer, barriers, or an
/// operation with scratch memory; and what it needs, for how long.
struct MemoryUse {
  mlir::Operation *op;
  PackedItem item;

  /// "buffer", "barriers" or "scratch memory".
  llvm::StringRef getKind() const;
};

/// All that needs shared memory, in program order.
llvm::SmallVector<MemoryUse> getMemoryUses(mlir::gpu::GPUFuncOp kernel,
                                           const TargetInfo &target);

/// What is wrong with the places (`tile.offset`) of shared memory in a kernel,
/// at `op`, because of `other` if there is one.
struct PlanFault {
  mlir::Operation *op;
  std::string text;
  mlir::Operation *other = nullptr;
};

/// Checks a plan: everything has a place in the kernel's `tile.shared_bytes`,
/// which is aligned as it has to be, and of its own while it is in use.
std::optional<PlanFault> findPlanFault(mlir::gpu::GPUFuncOp kernel,
                                       const TargetInfo &target);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_MEMORYPLAN_H
