//===- KernelPipelines.h - The software pipelines of a kernel ---*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_PIPELINE_KERNELPIPELINES_H
#define TILEWS_DIALECT_TILE_ANALYSIS_PIPELINE_KERNELPIPELINES_H

#include "tilews/Dialect/Tile/Analysis/Pipeline/PipelinePlan.h"

namespace tilews::tile {

/// Returns the loops of a kernel that have `tile.num_stages` and no channels
/// yet, inner ones first.
llvm::SmallVector<mlir::scf::ForOp>
getLoopsToPipeline(mlir::gpu::GPUFuncOp kernel);

/// The plans of loops of a kernel, inner ones first. The plan of an annotated
/// loop is read, that of another loop is computed. A buffer is piped only if
/// the rest of the kernel does not need it; reads after the only loop that
/// pipes it are allowed if that loop runs once. It prints the plans, and for
/// each operation that is not pipelined the reason. For a loop with
/// `%n = tile.reduce ...` and `tile.copy %A[%n, 0] to %s`:
///
/// ```
/// not pipelined (4): tile.copy %arg0, %5, %3: a consumer,
/// 'tile.reduce', computes a value that it needs
/// ```
class KernelPipelines {
public:
  KernelPipelines(mlir::gpu::GPUFuncOp kernel,
                  llvm::ArrayRef<mlir::scf::ForOp> loops);

  llvm::ArrayRef<PipelinePlan> getPlans() const { return plans; }
  /// Moves the plans out, to keep them while the kernel changes.
  llvm::SmallVector<PipelinePlan, 0> takePlans() { return std::move(plans); }
  /// Emits the mistakes of annotated loops; fails if there are any.
  llvm::LogicalResult emitErrors() const;
  /// Returns what is not pipelined in other loops, and why.
  llvm::ArrayRef<Refusal> getRefusals() const { return refusals; }

  void print(llvm::raw_ostream &os) const;

private:
  void plan(llvm::ArrayRef<mlir::scf::ForOp> loops,
            const ForbiddenBuffers &forbidden);
  bool forbid(mlir::gpu::GPUFuncOp kernel, ForbiddenBuffers &forbidden) const;

  MemoryAccesses memory;
  llvm::SmallVector<PipelinePlan, 0> plans;
  llvm::SmallVector<Refusal> errors, refusals;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_PIPELINE_KERNELPIPELINES_H
