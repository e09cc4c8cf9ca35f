//===- Schedule.h - C interface of the scheduling of kernels ----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The transformations of the passes that schedule kernels, for one kernel or
// some loops. A failure emits a diagnostic. Operations of the wrong kind are
// errors.
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

/// Calls back for each operation of a loop to which a plan assigns a stage and
/// an order.
MLIR_CAPI_EXPORTED MlirLogicalResult tilewsForEachOperationToSchedule(
    MlirOperation loop, TilewsOperationCallback callback, void *userData);

/// Plans loops of one kernel; fails if one cannot be pipelined.
MLIR_CAPI_EXPORTED MlirLogicalResult
tilewsPlanPipelines(intptr_t numLoops, const MlirOperation *loops);

/// Gives the buffers of planned loops of one kernel versions and channels, with
/// `depth` slots or, if that is 0, as many as their plans need. Calls back for
/// each `tile.channel`. The loops are replaced.
MLIR_CAPI_EXPORTED MlirLogicalResult tilewsMultiVersionBuffers(
    intptr_t numLoops, const MlirOperation *loops, int64_t depth,
    TilewsOperationCallback callback, void *userData);

/// Expands a planned loop whose buffers have channels; it is replaced.
MLIR_CAPI_EXPORTED MlirLogicalResult tilewsExpandPipeline(MlirOperation loop);

/// Returns the type of versions of a shared buffer; null after an error at
/// `location`.
MLIR_CAPI_EXPORTED MlirType tilewsGetVersionedType(MlirType buffer,
                                                   int64_t versions,
                                                   MlirLocation location);

/// Returns the type of one version of a buffer; null after an error at
/// `location`.
MLIR_CAPI_EXPORTED MlirType tilewsGetSlotType(MlirType versions,
                                              MlirLocation location);

/// Replaces a shared buffer in the operands of an operation by the version that
/// a cursor refers to.
MLIR_CAPI_EXPORTED MlirLogicalResult tilewsUseVersion(MlirOperation op,
                                                      MlirValue buffer,
                                                      MlirValue versions,
                                                      MlirValue cursor);

/// Converts cursors to SSA form. The kernel uses and advances results of
/// `tile.cursor` as if they were variables; afterwards control flow carries
/// them.
MLIR_CAPI_EXPORTED MlirLogicalResult tilewsCarryCursors(
    MlirOperation kernel, intptr_t numCursors, const MlirValue *cursors);

#ifdef __cplusplus
}
#endif

#endif // TILEWS_C_SCHEDULE_H
