//===- ThreadHandlersCAPI.cpp - Diagnostics of the calling thread ---------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR locks the handlers of a context to attach one, and while it calls them.
// A thread with Python's interpreter lock must not wait for that lock, as a
// handler in Python may wait for the interpreter. It must not give the
// interpreter away either, as other threads may erase the operations of a call.
// So one handler is attached when a context is made.
//
//===----------------------------------------------------------------------===//

#include "tilews-c/ThreadHandlers.h"

#include <utility>

static thread_local TilewsThreadHandler current{{nullptr}, nullptr, nullptr};

void tilewsContextEnableThreadHandlers(MlirContext context) {
  auto forward = [](MlirDiagnostic diagnostic, void *owner) {
    // The default handler prints what no handler takes.
    if (!current.context.ptr || current.context.ptr != owner)
      return mlirLogicalResultFailure();
    return current.handler(diagnostic, current.userData);
  };
  mlirContextAttachDiagnosticHandler(context, forward, context.ptr, nullptr);
}

TilewsThreadHandler tilewsExchangeThreadHandler(TilewsThreadHandler handler) {
  return std::exchange(current, handler);
}

bool tilewsHasThreadHandler() { return !mlirContextIsNull(current.context); }
