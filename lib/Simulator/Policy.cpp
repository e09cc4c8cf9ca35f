//===- Policy.cpp - Scheduling policies -----------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses a number among the steps that are possible next: first the agents
// that can run, then the asynchronous operations that can complete. With two
// agents and one copy in flight the numbers are
//
//   0, 1: continue an agent      2: complete the copy
//
// `earliest` takes the last kind as soon as there is one, `latest` only if no
// agent can run. Random, searched and replayed runs record each choice, so that
// a run can be repeated from the list.
//
//===----------------------------------------------------------------------===//

#include "Policy.h"
#include "PartialOrderSearch.h"

using namespace tilews;
using namespace tilews::sim;

bool Policy::completesAtOnce(AsyncKind operation) const {
  if (!isStepwise())
    return kind == TimingKind::Earliest;
  // Only the operation itself and the wait for it can tell when these complete:
  // all other accesses to its bytes are faults meanwhile.
  bool isObserved =
      operation == AsyncKind::Load || operation == AsyncKind::Arrival;
  return !isObserved && (!search || search->isReducing());
}

unsigned Policy::choose(unsigned agents, bool runsOn, unsigned operations) {
  unsigned count = agents + operations;
  if (count == 1)
    return 0;
  switch (kind) {
  case TimingKind::Earliest:
    return operations > 0 ? agents : 0;
  case TimingKind::Latest:
    // The newest operation completes; otherwise the previous agent continues.
    if (agents == 0)
      return count - 1;
    return runsOn ? 0 : agents - 1;
  case TimingKind::Random:
    choices.push_back({unsigned(random() % count), count});
    break;
  case TimingKind::Worst:
  case TimingKind::Exhaustive:
  case TimingKind::Replay: {
    unsigned next = choices.size() < given.size() ? given[choices.size()] : 0;
    choices.push_back({std::min(next, count - 1), count});
    break;
  }
  }
  return choices.back().taken;
}
