//===- OperationPlan.cpp - An operation on arrays -------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call goes this way: it checks that arguments are one array where they were,
// allocates, prepares all launches, and starts them. So an operation that is
// declined has started nothing. Arrays that it has allocated are freed then.
//
//===----------------------------------------------------------------------===//

#include "OperationPlan.h"

using namespace tilews::launch;

/// The arrays that a call has allocated, until they are returned.
class OperationPlan::Arrays {
public:
  Arrays() = default;
  Arrays(const Arrays &) = delete;
  Arrays &operator=(const Arrays &) = delete;
  ~Arrays() {
    for (unsigned i = 0; i < count; ++i)
      Py_DECREF(objects[i]);
  }
  void add(PyObject *object) { objects[count++] = object; }

private:
  PyObject *objects[OperationSteps::kMaxArrays];
  unsigned count = 0;
};

OperationPlan::OperationPlan(OperationSteps given) : steps(std::move(given)) {
  Py_INCREF(steps.allocate);
  Py_INCREF(steps.names);
  for (auto [object, plan] : steps.launches)
    Py_INCREF(object);
  for (auto [position, array] : steps.kept)
    Py_INCREF(array);
  for (const AllocatedArray &array : steps.allocated)
    for (PyObject *object : {array.shape, array.dtype, array.device})
      Py_INCREF(object);
}

OperationPlan::~OperationPlan() {
  Py_DECREF(steps.allocate);
  Py_DECREF(steps.names);
  for (auto [object, plan] : steps.launches)
    Py_DECREF(object);
  for (auto [position, array] : steps.kept)
    Py_DECREF(array);
  for (const AllocatedArray &array : steps.allocated)
    for (PyObject *object : {array.shape, array.dtype, array.device})
      Py_DECREF(object);
}

PlanOutcome OperationPlan::run(CallKey &key, PyObject *&result) const {
  for (auto [first, second] : steps.equal)
    if (key.getArgument(first).address != key.getArgument(second).address)
      return PlanOutcome::Declined;
  Arrays arrays;
  PlanOutcome outcome = allocate(key, arrays);
  if (outcome == PlanOutcome::Done)
    outcome = launch(key);
  if (outcome != PlanOutcome::Done)
    return outcome;
  result = makeResult(key);
  return result ? PlanOutcome::Done : PlanOutcome::Failed;
}

PlanOutcome OperationPlan::allocate(CallKey &key, Arrays &arrays) const {
  for (const AllocatedArray &each : steps.allocated) {
    PyObject *arguments[] = {each.shape, each.dtype, each.device};
    PyObject *array =
        PyObject_Vectorcall(steps.allocate, arguments, 1, steps.names);
    if (!array)
      return PlanOutcome::Failed;
    arrays.add(array);
    if (!key.setResult(each.position, array))
      return PlanOutcome::Declined;
  }
  for (auto [position, array] : steps.kept)
    if (!key.setResult(position, array))
      return PlanOutcome::Declined;
  return PlanOutcome::Done;
}

PlanOutcome OperationPlan::launch(const CallKey &key) const {
  PreparedLaunch prepared[OperationSteps::kMaxLaunches];
  for (size_t i = 0; i < steps.launches.size(); ++i)
    if (!steps.launches[i].second->prepare(key, prepared[i]) ||
        (!steps.kept.empty() && prepared[i].stream != steps.keptStream))
      return PlanOutcome::Declined;
  for (size_t i = 0; i < steps.launches.size(); ++i)
    if (steps.launches[i].second->start(prepared[i]) == PlanOutcome::Failed)
      return PlanOutcome::Failed;
  return PlanOutcome::Done;
}

PyObject *OperationPlan::makeResult(const CallKey &key) const {
  if (!steps.isTuple)
    return Py_NewRef(key.getArgument(steps.returned[0]).value);
  auto size = static_cast<Py_ssize_t>(steps.returned.size());
  PyObject *tuple = PyTuple_New(size);
  for (Py_ssize_t i = 0; tuple && i < size; ++i)
    PyTuple_SET_ITEM(tuple, i,
                     Py_NewRef(key.getArgument(steps.returned[i]).value));
  return tuple;
}
