//===- AsyncPlan.h - What is asynchronous in a kernel -----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the lowering of copies and barriers has to know of a kernel as a whole,
// found before the conversion starts.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_CONVERSION_TILETONVVM_ASYNCPLAN_H
#define TILEWS_LIB_CONVERSION_TILETONVVM_ASYNCPLAN_H

#include "tilews/Conversion/Common/Patterns.h"
#include "tilews/Dialect/Tile/Analysis/Memory/TmaCopy.h"
#include "tilews/Dialect/Tile/IR/Cluster.h"

#include <memory>

namespace tilews {

/// A copy that TMA does.
struct PlannedCopy {
  tile::TmaCopy copy;
  /// The number of its tensor map.
  unsigned map = 0;
};

struct AsyncPlan {
  llvm::DenseMap<mlir::Operation *, PlannedCopy> copies;
  bool storesByTma = false, copiesByCpAsync = false;
  /// Whether the kernel reads what it stores by TMA.
  bool readsStored = false;
  bool hasAsyncProducts = false;
};

/// Plans `kernel`; notes the tensor maps it needs in `lowering`. Fails with an
/// error if a copy cannot be lowered as it says.
mlir::FailureOr<std::shared_ptr<const AsyncPlan>>
planAsync(mlir::gpu::GPUFuncOp kernel, LoweringContext &lowering);

/// Emits `body` for one of `threads`.
void createForOneThread(mlir::ImplicitLocOpBuilder &b,
                        const ThreadGroup &threads,
                        llvm::function_ref<void()> body);

/// Whether this is the one lane of a converged warp that acts for it.
mlir::Value createElected(mlir::ImplicitLocOpBuilder &b,
                          const TargetInfo &info);

/// The address of the barrier of `slot`, from the converted values.
mlir::Value createBarrierPointer(mlir::ImplicitLocOpBuilder &b,
                                 mlir::Value barriers, mlir::Value slot);

/// This block's share among its peers along `dims`, from 0.
mlir::Value createShare(mlir::ImplicitLocOpBuilder &b,
                        const tile::Cluster &cluster, tile::ClusterDims dims);
/// The ranks of this block's peers along any of some dimensions, one bit each.
mlir::Value createPeers(mlir::ImplicitLocOpBuilder &b,
                        const tile::Cluster &cluster,
                        llvm::ArrayRef<tile::ClusterDims> dims);

/// Copies by TMA, and barriers that wait for them or for products.
void populateTmaPatterns(const TileTypeConverter &converter,
                         LoweringContext &lowering,
                         std::shared_ptr<const AsyncPlan> plan,
                         mlir::RewritePatternSet &patterns);
/// Barriers in shared memory.
void populateBarrierPatterns(const TileTypeConverter &converter,
                             LoweringContext &lowering,
                             mlir::RewritePatternSet &patterns);
void populateRolePatterns(const TileTypeConverter &converter,
                          LoweringContext &lowering,
                          mlir::RewritePatternSet &patterns);

} // namespace tilews

#endif // TILEWS_LIB_CONVERSION_TILETONVVM_ASYNCPLAN_H
