//===- InterpreterLock.h - Calls without Python's lock ----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// When the interpreter ends, Python before 3.14 ends each other thread where it
// asks for the lock: it unwinds the stack of a daemon thread. The stack has C++
// functions that must not be unwound, and the process would abort. So such a
// thread waits here until the process has ended.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_BINDINGS_PYTHON_INTERPRETERLOCK_H
#define TILEWS_BINDINGS_PYTHON_INTERPRETERLOCK_H

#include "mlir/Bindings/Python/Nanobind.h"
#include "tilews-c/ContextThreads.h"
#include <cxxabi.h>
#include <unistd.h>

/// Calls `take`, which takes the interpreter lock.
template <typename Take>
auto takeLock(Take take) noexcept {
  try {
    return take();
  } catch (abi::__forced_unwind &) {
    while (true)
      pause();
  }
}

/// Has the interpreter lock during its life.
class LockScope {
public:
  LockScope() : state(takeLock(PyGILState_Ensure)) {}
  LockScope(const LockScope &) = delete;
  ~LockScope() { PyGILState_Release(state); }

private:
  PyGILState_STATE state;
};

/// Releases the interpreter lock during its life, for a call that takes long.
class LongCall {
public:
  explicit LongCall(MlirContext context) : context(context) {
    tilewsContextBeginCall(context);
    state = PyEval_SaveThread();
  }
  LongCall(const LongCall &) = delete;
  ~LongCall() {
    takeLock([this] { PyEval_RestoreThread(state); });
    tilewsContextEndCall(context);
  }

private:
  MlirContext context;
  PyThreadState *state;
};

#endif // TILEWS_BINDINGS_PYTHON_INTERPRETERLOCK_H
