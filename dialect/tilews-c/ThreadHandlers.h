//===- ThreadHandlers.h - Diagnostics of the calling thread -----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_C_THREADHANDLERS_H
#define TILEWS_C_THREADHANDLERS_H

#include "mlir-c/Diagnostics.h"
#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What receives the diagnostics that one thread reports in a context. A null
/// context means none.
typedef struct {
  MlirContext context;
  MlirDiagnosticHandler handler;
  void *userData;
} TilewsThreadHandler;

/// Lets a context ask the handlers of threads. Called once, before other
/// threads use the context.
MLIR_CAPI_EXPORTED void tilewsContextEnableThreadHandlers(MlirContext context);

/// Replaces the handler of the calling thread; returns the earlier one. Takes
/// no lock.
MLIR_CAPI_EXPORTED TilewsThreadHandler
tilewsExchangeThreadHandler(TilewsThreadHandler handler);

/// Whether the calling thread has a handler, which comes before those that are
/// attached to a context.
MLIR_CAPI_EXPORTED bool tilewsHasThreadHandler();

#ifdef __cplusplus
}
#endif

#endif // TILEWS_C_THREADHANDLERS_H
