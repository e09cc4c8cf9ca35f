//===- CallPlan.h - What like calls do --------------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan does again what the first call of its kind did in Python. Where a call
// is unusual, such as an address that is not aligned, the plan declines it
// before it has done anything. Python then does all of the call, and has the
// errors.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_BINDINGS_LAUNCH_CALLPLAN_H
#define TILEWS_BINDINGS_LAUNCH_CALLPLAN_H

#include "CallKey.h"

namespace tilews::launch {

enum class PlanOutcome {
  Done,
  /// Nothing was done, and Python's error is not set.
  Declined,
  /// Python's error is set.
  Failed,
};

class CallPlan {
public:
  CallPlan() = default;
  CallPlan(const CallPlan &) = delete;
  CallPlan &operator=(const CallPlan &) = delete;
  virtual ~CallPlan() = default;

  /// Does a call. On success the result is a new reference.
  virtual PlanOutcome run(CallKey &key, PyObject *&result) const = 0;
};

} // namespace tilews::launch

#endif // TILEWS_BINDINGS_LAUNCH_CALLPLAN_H
