//===- OperationPlan.h - An operation on arrays -----------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operation allocates results, launches kernels on its arguments and
// results, and returns some of them. Its first call is recorded, and its plan
// does the same with other arguments.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_BINDINGS_LAUNCH_OPERATIONPLAN_H
#define TILEWS_BINDINGS_LAUNCH_OPERATIONPLAN_H

#include "LaunchPlan.h"

namespace tilews::launch {

/// What an operation allocates: the arguments of a function of torch.
struct AllocatedArray {
  /// Where the launches find it among the arguments.
  unsigned position;
  PyObject *shape, *dtype, *device;
};

/// What an operation does. Owns references to the objects.
struct OperationSteps {
  static constexpr unsigned kMaxLaunches = 4;
  static constexpr unsigned kMaxArrays = 4;

  /// Launches, each an object of Python with its plan.
  std::vector<std::pair<PyObject *, const LaunchPlan *>> launches;
  /// Arguments that were one array, and have to be so again.
  std::vector<std::pair<unsigned, unsigned>> equal;
  std::vector<AllocatedArray> allocated;
  /// Arrays that launches on a stream use one after the other, and the stream.
  std::vector<std::pair<unsigned, PyObject *>> kept;
  void *keptStream = nullptr;
  PyObject *allocate, *names;
  /// The arguments and results to be returned, and whether as a tuple.
  std::vector<unsigned> returned;
  bool isTuple;
};

class OperationPlan : public CallPlan {
public:
  /// Takes new references to the objects.
  explicit OperationPlan(OperationSteps steps);
  ~OperationPlan() override;

  PlanOutcome run(CallKey &key, PyObject *&result) const override;

private:
  class Arrays;

  PlanOutcome allocate(CallKey &key, Arrays &arrays) const;
  PlanOutcome launch(const CallKey &key) const;
  PyObject *makeResult(const CallKey &key) const;

  OperationSteps steps;
};

} // namespace tilews::launch

#endif // TILEWS_BINDINGS_LAUNCH_OPERATIONPLAN_H
