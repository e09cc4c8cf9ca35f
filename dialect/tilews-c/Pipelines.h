//===- Pipelines.h - The C interface of the named pipelines --- -*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_C_PIPELINES_H
#define TILEWS_C_PIPELINES_H

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// An option of a pipeline. `type` is "integer", "boolean" or "string".
typedef struct TilewsPipelineOption {
  MlirStringRef name;
  MlirStringRef type;
  MlirStringRef summary;
} TilewsPipelineOption;

/// Calls `callback` with each named pipeline of tilews, such as
/// "tilews-to-nvvm", one line on what it does, and its options. The texts
/// outlive the call; the array of options does not.
MLIR_CAPI_EXPORTED void tilewsForEachPipeline(
    void (*callback)(MlirStringRef flag, MlirStringRef summary,
                     intptr_t numOptions, const TilewsPipelineOption *options,
                     void *userData),
    void *userData);

/// Moves the operations and attributes of `from`, a module that is left empty,
/// to `module`, whose own operations are erased.
MLIR_CAPI_EXPORTED void tilewsReplaceModule(MlirModule module,
                                            MlirOperation from);

#ifdef __cplusplus
}
#endif

#endif // TILEWS_C_PIPELINES_H
