//===- StepTrace.h - Happens-before of the steps of a run -------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps of one run, what they touch, and which of them happen before which.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_SIMULATOR_STEPTRACE_H
#define TILEWS_LIB_SIMULATOR_STEPTRACE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace tilews::sim {

/// What a schedule orders: an agent (`op` is 0), or the completion of the
/// agent's asynchronous operation number `op`.
struct Process {
  unsigned agent = 0, op = 0;

  bool operator==(const Process &other) const {
    return agent == other.agent && op == other.op;
  }
};

enum class TouchKind {
  /// An arrival at a barrier, bytes that are expected or land there, and the
  /// start of a copy whose bytes will.
  Update,
  /// The end of a wait for a barrier.
  Wait,
  /// An atomic update of memory.
  Memory
};

/// The use of a barrier's slot, or of memory, by a step.
///
/// Example: the last arrival of phase 4 of barrier 7 is an `Update` of object 7
/// in phase 4 that completes. A wait for its parity 0 is then over; it is a
/// `Wait` in phase 5.
struct Touch {
  TouchKind kind;
  /// The number of a barrier, or an address that identifies memory.
  uint64_t object;
  /// The phase of the barrier, or the first element.
  int64_t first = 0;
  /// The parity that is waited for, or the element after the last.
  int64_t last = 0;
  /// How many arrivals are missing before the update, how many it makes, and
  /// whether it completes the phase.
  int64_t missing = 0, arrivals = 0;
  bool completes = false;
  /// Whether the atomic update returns the old value, or is an exchange.
  bool isObserved = false;

  /// Returns whether a wait is over in phase `phase`.
  bool isOverIn(int64_t phase) const { return (phase & 1) != last; }
};

/// Which touches commute. Updates of one phase do in regular runs (see
/// StepTrace.cpp). With `isExact` they are taken not to.
struct Dependency {
  bool isExact = false;

  bool areDependent(const Touch &a, const Touch &b) const;
  /// Returns whether two touches that are both possible now are dependent in
  /// one of their orders.
  bool disturbs(const Touch &taken, const Touch &next) const;
};

/// The steps of one run.
class StepTrace {
public:
  struct TracedStep {
    Process process;
    llvm::SmallVector<Touch, 2> touches;
    /// The earlier steps that happen before this one, and those that happen
    /// before the process comes to it.
    llvm::BitVector before, position;
  };

  explicit StepTrace(Dependency dependency) : dependency(dependency) {}

  /// Begins a step.
  void begin(Process process);
  /// Adds a touch to the present step.
  void touch(const Touch &touch);
  /// Orders the present step after all steps of a process.
  void orderAfter(Process process);
  /// Notes that the present step starts a process.
  void start(Process process) { starts.emplace_back(process, present()); }

  llvm::ArrayRef<TracedStep> getSteps() const { return steps; }
  const Dependency &getDependency() const { return dependency; }
  /// Returns what happens before the next step of a process.
  llvm::BitVector getPosition(Process process) const;
  /// Returns a number that is equal for runs that differ only in the order of
  /// independent steps.
  uint64_t hash() const;

private:
  int present() const { return int(steps.size()) - 1; }
  int findLast(Process process) const;
  void addBefore(unsigned earlier);

  Dependency dependency;
  std::vector<TracedStep> steps;
  /// The steps that started processes.
  llvm::SmallVector<std::pair<Process, int>> starts;
  /// The touches so far of each object, each with its step.
  llvm::DenseMap<uint64_t, llvm::SmallVector<std::pair<unsigned, Touch>, 8>>
      objects;
};

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_STEPTRACE_H
