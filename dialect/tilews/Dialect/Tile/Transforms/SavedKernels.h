//===- SavedKernels.h - Kernels before they get a schedule ------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies of kernels, from which a schedule can be planned again. As an analysis
// they are handed from pass to pass: `--tile-save-kernels` computes it, and
// `--tile-verify-schedule` finds it, in the same run of a pass manager. It is
// never out of date, because it is about the past.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_TRANSFORMS_SAVEDKERNELS_H
#define TILEWS_DIALECT_TILE_TRANSFORMS_SAVEDKERNELS_H

#include "tilews/Verifier/ScheduleVerdict.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/AnalysisManager.h"
#include "llvm/ADT/StringMap.h"

namespace tilews::tile {

/// The kernels of a module as they were when this was made.
class SavedKernels {
public:
  explicit SavedKernels(mlir::Operation *module);

  /// Returns the copy of a kernel; null if its schedule was written by hand.
  mlir::gpu::GPUFuncOp get(mlir::gpu::GPUFuncOp kernel) const;

  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &) {
    return false;
  }

private:
  llvm::StringMap<mlir::OwningOpRef<mlir::gpu::GPUFuncOp>> copies;
};

/// Plans the schedule of `kernel` again from `saved`, with limits that are
/// stricter and stricter, until it is not wrong. `lower` runs the passes up to
/// this point. Emits remark tile-verify-0004 with the fault of `verdict`.
/// Returns the verdict on the new schedule; if all are wrong, the first one is
/// restored, and so is its verdict.
verifier::ScheduleVerdict
planAgain(mlir::gpu::GPUFuncOp kernel, mlir::gpu::GPUFuncOp saved,
          verifier::ScheduleVerdict verdict,
          llvm::function_ref<mlir::LogicalResult()> lower);

/// Plans the schedule of `kernel` again from `saved`, whose loops get at most
/// `slots` stages, or no pipeline if that is 0. `lower` runs the passes up to
/// this point. Fails without a message if one of them does; `kernel` then is
/// what they left.
mlir::LogicalResult
planWithSlots(mlir::gpu::GPUFuncOp kernel, mlir::gpu::GPUFuncOp saved,
              int64_t slots, llvm::function_ref<mlir::LogicalResult()> lower);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_TRANSFORMS_SAVEDKERNELS_H
