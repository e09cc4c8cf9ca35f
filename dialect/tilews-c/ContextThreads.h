//===- ContextThreads.h - The threads of contexts ---------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_C_CONTEXTTHREADS_H
#define TILEWS_C_CONTEXTTHREADS_H

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Lets a context without threads work on those of the process, once
/// multithreading is enabled. A process that was forked has threads of its own.
MLIR_CAPI_EXPORTED void tilewsContextUseSharedThreads(MlirContext context);

/// Makes a pool of threads, which mlirLlvmThreadPoolDestroy destroys. A process
/// that was forked has threads of its own in it.
MLIR_CAPI_EXPORTED MlirLlvmThreadPool tilewsThreadPoolCreate(void);

/// Begins and ends a call during which other Python threads run.
MLIR_CAPI_EXPORTED void tilewsContextBeginCall(MlirContext context);
MLIR_CAPI_EXPORTED void tilewsContextEndCall(MlirContext context);

/// Whether there is such a call. The threads of the context must then not
/// change, because its locks are taken or not accordingly.
MLIR_CAPI_EXPORTED bool tilewsContextIsBusy(MlirContext context);

#ifdef __cplusplus
}
#endif

#endif // TILEWS_C_CONTEXTTHREADS_H
