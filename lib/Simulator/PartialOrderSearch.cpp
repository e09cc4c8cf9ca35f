//===- PartialOrderSearch.cpp - All orders of a run's steps ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stateless search: each run starts anew and repeats the choices of the run
// before it up to some node. It reduces the runs in two ways:
//
// * Backtracking at races (Flanagan and Godefroid, "Dynamic partial-order
//   reduction for model checking software", 2005), by source sets (Abdulla et
//   al., "Optimal dynamic partial order reduction", 2014). After a run, each
//   pair of dependent steps that nothing else orders is a race. Another run
//   takes the later step first: at the node of the earlier one, a process is
//   added that can begin the steps which the earlier step does not precede.
//
//     run:   @a arrives (phase 0)   @b arrives (phase 1)
//     race:  at the node of @a's arrival, @b is tried as well
//
// * Sleep sets (Godefroid, "Partial-order methods for the verification of
//   concurrent systems", 1996). A step whose runs are done need not be tried
//   again before a step that depends on it is taken.
//
// A wait can be disabled: its parity may pass. So waits that are still blocked
// at the end of a run race, too, with the updates that they could have
// preceded. An update that enables a wait is no race: the wait cannot come
// first.
//
//===----------------------------------------------------------------------===//

#include "PartialOrderSearch.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>

using namespace tilews;
using namespace tilews::sim;

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

std::optional<unsigned>
PartialOrderSearch::SearchNode::find(Process process) const {
  auto it = llvm::find(possible, process);
  if (it == possible.end())
    return std::nullopt;
  return it - possible.begin();
}

bool PartialOrderSearch::SearchNode::isAsleep(Process process) const {
  return llvm::any_of(
      asleep, [&](const Seen &seen) { return seen.process == process; });
}

/// Makes the node after the present last step. A step of the node before sleeps
/// on if the step that was taken there does not disturb it.
PartialOrderSearch::SearchNode
PartialOrderSearch::makeNode(llvm::ArrayRef<Process> possible) const {
  SearchNode node;
  node.possible.assign(possible.begin(), possible.end());
  node.backtrack.resize(possible.size());
  if (!reduces) {
    node.backtrack.set();
    return node;
  }
  if (nodes.empty())
    return node;
  const StepTrace::TracedStep &taken = trace->getSteps().back();
  for (const Seen &seen : nodes.back().asleep) {
    bool isDisturbed = llvm::any_of(taken.touches, [&](const Touch &touch) {
      return llvm::any_of(seen.touches, [&](const Touch &next) {
        return dependency.disturbs(touch, next);
      });
    });
    if (!isDisturbed)
      node.asleep.push_back(seen);
  }
  return node;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

bool PartialOrderSearch::beginRun() {
  bool isFirst = !trace;
  for (; !nodes.empty(); nodes.pop_back()) {
    SearchNode &node = nodes.back();
    // The runs with this step here are done.
    const StepTrace::TracedStep &step = trace->getSteps()[nodes.size() - 1];
    node.asleep.push_back({step.process, step.touches});
    auto next = llvm::find_if(node.backtrack.set_bits(), [&](unsigned i) {
      return !node.isAsleep(node.possible[i]);
    });
    if (next == node.backtrack.set_bits_end())
      continue;
    node.chosen = *next;
    break;
  }
  numGiven = nodes.size();
  trace.emplace(dependency);
  blocked.clear();
  isCutOff = false;
  return !isDeparted && (isFirst || numGiven > 0);
}

void PartialOrderSearch::makeExact() {
  assert(!isExact() && "is exact already");
  dependency.isExact = true;
  nodes.clear();
  hashes.clear();
  trace.reset();
}

std::optional<unsigned>
PartialOrderSearch::choose(llvm::ArrayRef<Process> possible) {
  unsigned depth = trace->getSteps().size();
  if (depth == nodes.size()) {
    nodes.push_back(makeNode(possible));
    SearchNode &node = nodes.back();
    while (node.chosen < possible.size() &&
           node.isAsleep(possible[node.chosen]))
      ++node.chosen;
    if (node.chosen == possible.size()) {
      nodes.pop_back();
      isCutOff = true;
      return std::nullopt;
    }
    node.backtrack.set(node.chosen);
  } else if (llvm::ArrayRef(nodes[depth].possible) != possible) {
    isDeparted = true;
    return std::nullopt;
  }
  unsigned chosen = nodes[depth].chosen;
  trace->begin(possible[chosen]);
  return chosen;
}

void PartialOrderSearch::addBlocked(Process process, const Touch &wait) {
  StepTrace::TracedStep step;
  step.process = process;
  step.touches.push_back(wait);
  step.position = trace->getPosition(process);
  blocked.push_back(std::move(step));
}

void PartialOrderSearch::endRun() {
  llvm::ArrayRef<StepTrace::TracedStep> steps = trace->getSteps();
  if (!isCutOff)
    hashes.insert(trace->hash());
  if (!reduces)
    return;
  // Races among the given steps were found in earlier runs.
  for (unsigned i = std::max(numGiven, 1u) - 1; i < steps.size(); ++i)
    reverseRaces(steps[i], i);
  for (const StepTrace::TracedStep &step : blocked)
    reverseRaces(step, steps.size());
}

llvm::SmallVector<unsigned> PartialOrderSearch::getChoices() const {
  llvm::SmallVector<unsigned> choices;
  for (const SearchNode &node : nodes)
    if (node.possible.size() > 1)
      choices.push_back(node.chosen);
  return choices;
}

//===----------------------------------------------------------------------===//
// Races
//===----------------------------------------------------------------------===//

/// Returns whether the process of `later` could have taken its step just before
/// a dependent one.
static bool isReversible(const Touch &earlier, const Touch &later) {
  return earlier.kind != TouchKind::Update || later.kind != TouchKind::Wait ||
         later.isOverIn(earlier.first);
}

/// Finds the races between step number `number` and earlier ones. A race with a
/// step that happens before another such step is left out: it shows again when
/// the other race is reversed.
void PartialOrderSearch::reverseRaces(const StepTrace::TracedStep &step,
                                      unsigned number) {
  llvm::ArrayRef<StepTrace::TracedStep> steps = trace->getSteps();
  auto happensBefore = [](unsigned i, const llvm::BitVector &before) {
    return i < before.size() && before.test(i);
  };
  llvm::SmallVector<unsigned> races;
  for (unsigned i = number; i-- > 0;) {
    const StepTrace::TracedStep &earlier = steps[i];
    if (earlier.process == step.process || happensBefore(i, step.position))
      continue;
    bool isRace = llvm::any_of(earlier.touches, [&](const Touch &a) {
      return llvm::any_of(step.touches, [&](const Touch &b) {
        return dependency.areDependent(a, b) && isReversible(a, b);
      });
    });
    if (isRace && llvm::none_of(races, [&](unsigned later) {
          return happensBefore(i, steps[later].before);
        }))
      races.push_back(i);
  }
  for (unsigned earlier : races)
    reverse(earlier, step, number);
}

/// Schedules the reversal of a race. Candidates are `step` and the steps since
/// `earlier` that do not depend on it. One without a predecessor among them (an
/// initial, in source sets) goes into the backtrack set of the node of
/// `earlier`, unless one is in it or asleep. If no initial can run there, all
/// processes go into it.
void PartialOrderSearch::reverse(unsigned earlier,
                                 const StepTrace::TracedStep &step,
                                 unsigned number) {
  llvm::ArrayRef<StepTrace::TracedStep> steps = trace->getSteps();
  SearchNode &node = nodes[earlier];
  llvm::BitVector free(number);
  std::optional<unsigned> first;
  auto visit = [&](const StepTrace::TracedStep &next) {
    bool isInitial = !free.anyCommon(next.before);
    std::optional<unsigned> process = node.find(next.process);
    if (!isInitial || !process)
      return false;
    if (!first)
      first = process;
    return node.backtrack.test(*process) || node.isAsleep(next.process);
  };
  for (unsigned i = earlier + 1; i < number; ++i) {
    const llvm::BitVector &before = steps[i].before;
    if (earlier < before.size() && before.test(earlier))
      continue;
    if (visit(steps[i]))
      return;
    free.set(i);
  }
  // The step itself comes first unless one of the others touches the same.
  StepTrace::TracedStep last = step;
  last.before = step.position;
  for (unsigned i : free.set_bits())
    for (const Touch &a : steps[i].touches)
      if (llvm::any_of(step.touches, [&](const Touch &b) {
            return dependency.areDependent(a, b);
          })) {
        if (last.before.size() <= i)
          last.before.resize(i + 1);
        last.before.set(i);
      }
  if (visit(last))
    return;
  if (first)
    node.backtrack.set(*first);
  else
    node.backtrack.set();
}
