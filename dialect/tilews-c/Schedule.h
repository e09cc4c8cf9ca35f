//===- Schedule.h - C interface of the scheduling of kernels ----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the passes that schedule kernels do, one kernel or some loops at a time.
// What fails says why in a diagnostic. Operations of the wrong kind are errors.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_C_SCHEDULE_H
#define TILEWS_C_SCHEDULE_H

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Transformations of a kernel.
enum TilewsKernelRewrite {
  TilewsAnnotateInstructions,
  TilewsChannelPreludes,
  TilewsSplitIntoRoles,
  TilewsKeepOneRole,
  TilewsDeferGemmWaits,
  TilewsPingPong,
};
MLIR_CAPI_EXPORTED MlirLogicalResult
tilewsRewriteKernel(enum TilewsKernelRewrite rewrite, MlirOperation kernel);

typedef void (*TilewsOperationCallback)(MlirOperation, void *);

/// Calls back for each operation of a loop that a plan gives stage and order.
MLIR_CAPI_EXPORTED MlirLogicalResult tilewsForEachOperationToSchedule(
    MlirOperation loop, TilewsOperationCallback callback, void *userData);

/// Plans loops of one kernel; fails if one cannot be pipelined.
MLIR_CAPI_EXPORTED MlirLogicalResult
tilewsPlanPipelines(intptr_t numLoops, const MlirOperation *loops);

/// Gives the buffers of planned loops of one kernel versions and channels, with
/// `depth` slots or, if that is 0, as many as their plans need; calls back for
/// each `tile.channel`. The loops are replaced.
MLIR_CAPI_EXPORTED MlirLogicalResult tilewsMultiVersionBuffers(
    intptr_t numLoops, const MlirOperation *loops, int64_t depth,
    TilewsOperationCallback callback, void *userData);

/// Expands a planned loop whose buffers have channels; it is replaced.
MLIR_CAPI_EXPORTED MlirLogicalResult tilewsExpandPipeline(MlirOperation loop);

/// The type of versions of a shared buffer; null after an error at `location`.
MLIR_CAPI_EXPORTED MlirType tilewsGetVersionedType(MlirType buffer,
                                                   int64_t versions,
                                                   MlirLocation location);

/// The type of one version of a buffer; null after an error at `location`.
MLIR_CAPI_EXPORTED MlirType tilewsGetSlotType(MlirType versions,
                                              MlirLocation location);

/// Lets an operation use, instead of a shared buffer, the version of it that a
/// cursor points at.
MLIR_CAPI_EXPORTED MlirLogicalResult tilewsUseVersion(MlirOperation op,
                                                      MlirValue buffer,
                                                      MlirValue versions,
                                                      MlirValue cursor);

/// Makes control flow carry cursors, results of `tile.cursor` at the entry of a
/// kernel, which its operations use and advance as if they were variables.
MLIR_CAPI_EXPORTED MlirLogicalResult tilewsCarryCursors(
    MlirOperation kernel, intptr_t numCursors, const MlirValue *cursors);

#ifdef __cplusplus
}
#endif

#endif // TILEWS_C_SCHEDULE_H
