//===- StableReads.h - Reads whose values stay the same ---------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_ENGINE_STABLEREADS_H
#define TILEWS_LIB_VERIFIER_ENGINE_STABLEREADS_H

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace tilews::verifier {

/// The operations that read memory which has its last values.
class StableReads {
public:
  void find(mlir::gpu::GPUFuncOp kernel, const tile::MemoryAccesses &memory,
            llvm::function_ref<bool(mlir::Operation *)> isRelevant);

  /// Equal reads of one epoch give equal values. None for reads of memory that
  /// is written meanwhile.
  std::optional<unsigned> getEpoch(mlir::Operation *op) const {
    auto it = epochs.find(op);
    return it == epochs.end() ? std::nullopt : std::optional(it->second);
  }
  /// Whether `op` reads global memory that the kernel does not write.
  bool readsInput(mlir::Operation *op) const { return inputs.contains(op); }

private:
  void add(const tile::MemoryAccess &read,
           llvm::ArrayRef<tile::MemoryAccess> writes, mlir::Block &body);

  llvm::DenseMap<mlir::Operation *, unsigned> epochs;
  llvm::DenseSet<mlir::Operation *> inputs;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_ENGINE_STABLEREADS_H
