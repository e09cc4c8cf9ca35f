//===- PlanObjects.h - Plans as objects of Python ---------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Python makes plans, and keeps them beside what it knows of a kernel. This is
// the way from such an object to the plan.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_BINDINGS_LAUNCH_PLANOBJECTS_H
#define TILEWS_BINDINGS_LAUNCH_PLANOBJECTS_H

#include "CallPlan.h"

namespace tilews::launch {

/// The plan that an object of Python is; null for other objects.
const CallPlan *getPlan(PyObject *object);

} // namespace tilews::launch

#endif // TILEWS_BINDINGS_LAUNCH_PLANOBJECTS_H
