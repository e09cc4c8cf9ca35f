//===- FilledReads.h - Reads of tiles from the inputs -----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_ENGINE_FILLEDREADS_H
#define TILEWS_LIB_VERIFIER_ENGINE_FILLEDREADS_H

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace tilews::verifier {

/// The reads whose values are known if all elements of an input are equal.
///
/// Example: with each element of %A being 1, %x is a tile of ones, whichever
/// slot it is read from:
///
///     tile.copy %A[0, %m] to %slot      // an origin of %x
///     ...
///     tile.copy %A[0, %n] to %other     // another one
///     ...
///     %x = tile.load %ready
class FilledReads {
public:
  explicit FilledReads(mlir::gpu::GPUFuncOp kernel) : kernel(kernel) {}

  /// Adds `op`, and returns its origins: `op` itself if it reads an input, else
  /// the copies that fill the shared memory it reads. Empty for other
  /// operations.
  llvm::ArrayRef<mlir::Operation *> add(mlir::Operation *op,
                                        const tile::MemoryAccesses &memory);

  /// Whether `op` was added and has origins.
  bool contains(mlir::Operation *op) const { return reads.contains(op); }
  /// Whether `op` is an origin of a read.
  bool isOrigin(mlir::Operation *op) const { return origins.contains(op); }
  /// Whether an origin of a read reads `memory`, an argument of the kernel.
  bool isFilled(mlir::Value memory) const { return filled.contains(memory); }

private:
  mlir::gpu::GPUFuncOp kernel;
  /// The writes of the kernel, once a read was asked for.
  std::optional<llvm::SmallVector<tile::MemoryAccess, 0>> writes;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Operation *, 2>>
      reads;
  llvm::DenseSet<mlir::Operation *> origins;
  llvm::DenseSet<mlir::Value> filled;
};

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

/// The buffer and the region that an origin of a read reads.
std::pair<mlir::Value, tile::TileRegion> getOriginRegion(mlir::Operation *op);

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_ENGINE_FILLEDREADS_H
