//===- AsyncPlan.h - Asynchronous operations of a kernel --------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Facts about a whole kernel that the patterns for copies and barriers need.
// The plan is made before the conversion starts, because the conversion erases
// the operations that it is made from.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_CONVERSION_TILETONVVM_ASYNCPLAN_H
#define TILEWS_LIB_CONVERSION_TILETONVVM_ASYNCPLAN_H

#include "tilews/Conversion/Common/Patterns.h"
#include "tilews/Dialect/Tile/Analysis/Memory/TmaCopy.h"
#include "tilews/Dialect/Tile/IR/Cluster.h"

#include <memory>

namespace tilews {

/// A copy by the tensor memory accelerator (TMA).
struct PlannedCopy {
  tile::TmaCopy copy;
  /// Indices into `LoweringContext::tensorMaps`. With a window there is a
  /// second map, for boxes outside of the array.
  unsigned map = 0;
  std::optional<unsigned> outsideMap;
};

/// The asynchronous operations of a kernel. For a GEMM with two TMA loads and a
/// TMA store of its result: three entries in `copies`, `storesByTma` and
/// `hasAsyncMatmuls` are set, the other flags are not.
struct AsyncPlan {
  llvm::DenseMap<mlir::Operation *, PlannedCopy> copies;
  bool storesByTma = false, copiesByCpAsync = false;
  /// Whether the kernel also reads a global buffer that it stores to by TMA.
  bool readsStored = false;
  /// Whether a wgmma may still run when its operation is over.
  bool hasAsyncMatmuls = false;
};

/// Plans `kernel`, and adds the tensor maps that it needs to `lowering`. Emits
/// an error if an instruction that a copy asks for cannot do the copy.
mlir::FailureOr<std::shared_ptr<const AsyncPlan>>
planAsync(mlir::gpu::GPUFuncOp kernel, LoweringContext &lowering);

/// Emits `body` for the first of `threads` alone. In an elected role, which has
/// a single thread, no branch is needed.
void createForOneThread(mlir::ImplicitLocOpBuilder &b,
                        const ThreadGroup &threads,
                        llvm::function_ref<void()> body);

/// Returns an i1 that is true in exactly one lane of a converged warp.
mlir::Value createElected(mlir::ImplicitLocOpBuilder &b,
                          const TargetInfo &info);

/// Returns the address of the barrier of `slot` in an array of barriers. Both
/// arguments are converted values: a pointer and an i32.
mlir::Value createBarrierPointer(mlir::ImplicitLocOpBuilder &b,
                                 mlir::Value barriers, mlir::Value slot);

/// Returns the position of this block among its peers along `dims`, from 0 on.
/// With a cluster of 2x1 blocks and the first dimension, that is 0 or 1.
mlir::Value createShare(mlir::ImplicitLocOpBuilder &b,
                        const tile::Cluster &cluster, tile::ClusterDims dims);
/// Returns the set of cluster ranks of this block's peers along any of `dims`:
/// bit r of the i32 stands for the block of rank r. The block is its own peer.
mlir::Value createPeers(mlir::ImplicitLocOpBuilder &b,
                        const tile::Cluster &cluster,
                        llvm::ArrayRef<tile::ClusterDims> dims);

/// Adds patterns for copies by TMA, and for barriers that wait for such copies
/// or for asynchronous matmuls.
void populateTmaPatterns(const TileTypeConverter &converter,
                         LoweringContext &lowering,
                         const std::shared_ptr<const AsyncPlan> &plan,
                         mlir::RewritePatternSet &patterns);
/// Adds patterns for barriers in shared memory (mbarrier) and of clusters.
void populateBarrierPatterns(const TileTypeConverter &converter,
                             LoweringContext &lowering,
                             mlir::RewritePatternSet &patterns);
/// Adds patterns for roles: branches on the number of the warp.
void populateRolePatterns(const TileTypeConverter &converter,
                          LoweringContext &lowering,
                          mlir::RewritePatternSet &patterns);

} // namespace tilews

#endif // TILEWS_LIB_CONVERSION_TILETONVVM_ASYNCPLAN_H
