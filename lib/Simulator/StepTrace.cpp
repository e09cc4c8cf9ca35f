//===- StepTrace.cpp - Happens-before of the steps of a run ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two steps are dependent if their order may matter. A run stands for all runs
// that differ from it in the order of independent steps, a Mazurkiewicz trace.
// A step happens before another one if it precedes it in all of these:
//
//   a wait and an update of one barrier      dependent
//   two updates of one barrier               dependent if their phases differ
//   two waits                                independent
//   atomic updates of one element            dependent if one returns the old
//                                            value
//   the start of a process and its steps     ordered
//
// Other accesses to memory need no entry: unless something above orders two
// conflicting accesses, the run fails whatever their order (AccessCheck.cpp).
//
// Updates within a phase commute, because all arrivals and bytes of the phase
// are needed to complete it, and the last one completes it. MBarrier finds a
// run to be irregular if it has one of three exceptions. Arrivals are complete
// while more bytes have landed than are expected. Bytes are expected after the
// last arrival. Or they are expected by an agent that does not arrive
// afterwards. No order of the updates of a regular run is irregular. After an
// irregular run the search starts again, and takes all updates of a barrier to
// be dependent.
//
//===----------------------------------------------------------------------===//

#include "StepTrace.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"

#include <cassert>

using namespace tilews;
using namespace tilews::sim;

//===----------------------------------------------------------------------===//
// Dependency
//===----------------------------------------------------------------------===//

bool Dependency::areDependent(const Touch &a, const Touch &b) const {
  if (a.object != b.object)
    return false;
  if (a.kind == TouchKind::Memory || b.kind == TouchKind::Memory)
    return (a.isObserved || b.isObserved) && a.first < b.last &&
           b.first < a.last;
  if (a.kind == TouchKind::Update && b.kind == TouchKind::Update)
    return isExact || a.first != b.first;
  return a.kind != b.kind;
}

bool Dependency::disturbs(const Touch &taken, const Touch &next) const {
  // After an update that completes the phase, the other one is in the next.
  bool areUpdates = taken.object == next.object &&
                    taken.kind == TouchKind::Update &&
                    next.kind == TouchKind::Update;
  bool completes = taken.completes || taken.missing <= next.arrivals;
  return (areUpdates && completes) || areDependent(taken, next);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Returns the last step of a process, or the one that started it; -1 if there
/// is none.
int StepTrace::findLast(Process process) const {
  for (int i = present(); i >= 0; --i)
    if (steps[i].process == process)
      return i;
  for (auto [started, step] : starts)
    if (started == process)
      return step;
  return -1;
}

llvm::BitVector StepTrace::getPosition(Process process) const {
  llvm::BitVector position;
  if (int last = findLast(process); last >= 0) {
    position = steps[last].before;
    position.resize(last + 1);
    position.set(last);
  }
  return position;
}

void StepTrace::begin(Process process) {
  TracedStep step;
  step.process = process;
  step.before = step.position = getPosition(process);
  steps.push_back(std::move(step));
}

void StepTrace::addBefore(unsigned earlier) {
  llvm::BitVector &before = steps.back().before;
  if (before.size() <= earlier)
    before.resize(earlier + 1);
  before |= steps[earlier].before;
  before.set(earlier);
}

void StepTrace::touch(const Touch &touch) {
  auto &touches = objects[touch.object];
  for (auto &[step, other] : touches)
    if (int(step) != present() && dependency.areDependent(other, touch))
      addBefore(step);
  touches.emplace_back(present(), touch);
  steps.back().touches.push_back(touch);
}

void StepTrace::orderAfter(Process process) {
  for (int i = present() - 1; i >= 0; --i)
    if (steps[i].process == process)
      return addBefore(i);
}

uint64_t StepTrace::hash() const {
  // Steps that touch nothing do not count: it does not matter when they happen.
  llvm::SmallVector<uint64_t> names;
  llvm::DenseMap<std::pair<unsigned, unsigned>, unsigned> counts;
  uint64_t sum = 0;
  for (const TracedStep &step : steps) {
    if (step.touches.empty()) {
      names.push_back(0);
      continue;
    }
    std::pair<unsigned, unsigned> process(step.process.agent, step.process.op);
    names.push_back(
        llvm::hash_combine(process.first, process.second, counts[process]++));
    uint64_t earlier = 0;
    for (unsigned i : step.before.set_bits())
      earlier += names[i] * names[i];
    sum += llvm::hash_combine(names.back(), earlier);
  }
  return sum;
}
