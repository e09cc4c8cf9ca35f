//===- HotCall.h - Objects whose like calls need no Python ------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The base of Python's classes of kernels and operations. A call makes a key of
// its arguments. If a plan is known for it, the plan does the call. Otherwise
// the subclass does, by its method `_call_anew`, which returns the result and a
// plan, or None for no plan.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_BINDINGS_LAUNCH_HOTCALL_H
#define TILEWS_BINDINGS_LAUNCH_HOTCALL_H

#include "CallPlan.h"

#include <memory>
#include <unordered_map>
#include <vector>

namespace tilews::launch {

/// What an argument is for the key of a call.
enum class Role { Argument, Constant, TensorOrConstant, Stream };

/// How a number of positional arguments and some names fill the parameters.
struct CallForm {
  Py_ssize_t numPositional;
  std::vector<PyObject *> names;
  /// Whether there are plans for such calls.
  bool hasPlans;
  std::vector<std::pair<Role, unsigned>> roles;
  /// Arguments that such calls leave out, with their defaults.
  std::vector<std::pair<unsigned, PyObject *>> defaults;
};

/// A plan, the object of Python that it is in, and when it is used.
struct KnownCall {
  StoredKey key;
  PyObject *object;
  const CallPlan *plan;
};

/// What a hot call remembers. It owns references to all objects.
struct CallTable {
  /// Forms are never removed: calls that run may use them.
  std::vector<std::unique_ptr<CallForm>> forms;
  std::unordered_multimap<uint64_t, std::unique_ptr<KnownCall>> calls;
  /// Where names are whose values are a part of each key.
  std::vector<std::pair<PyObject *, PyObject *>> captured;
};

/// Whether calls of this thread are done anew, so that Python can record them.
void setRecording(bool isRecording);

/// Makes the type, a new reference; null with Python's error set.
PyObject *makeHotCallType();

} // namespace tilews::launch

#endif // TILEWS_BINDINGS_LAUNCH_HOTCALL_H
