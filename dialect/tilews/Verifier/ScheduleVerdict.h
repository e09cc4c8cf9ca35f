//===- ScheduleVerdict.h - Results of the verifier --------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_VERIFIER_SCHEDULEVERDICT_H
#define TILEWS_VERIFIER_SCHEDULEVERDICT_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <map>
#include <string>
#include <vector>

namespace tilews::verifier {

/// How much work a proof took, over all of its searches.
struct ProofEffort {
  /// States that paths came to, at the end of loop iterations.
  unsigned states = 0;
  /// Paths that joined another one in a state that was visited before.
  unsigned joins = 0;
  /// Loop-carried numbers that were widened from constants to variables.
  unsigned widenings = 0;
  /// Conditions whose value the path condition was asked for.
  unsigned questions = 0;

  ProofEffort &operator+=(const ProofEffort &other) {
    states += other.states;
    joins += other.joins;
    widenings += other.widenings;
    questions += other.questions;
    return *this;
  }
};

/// The result of checking the schedule of a kernel.
///
/// Example: a counterexample has the fault in `text` and `op`, the inputs
/// `n = 2` and `mask[0] = 1` in `inputs`, and the events up to the fault in
/// `trace`, such as "3: role @load: tile.commit slot 0 in phase 0".
struct ScheduleVerdict {
  enum class Kind {
    /// The schedule is right for all arguments, on all paths through the
    /// kernel.
    Proved,
    /// The schedule is wrong; `trace` leads to the fault.
    Counterexample,
    /// Neither a proof nor a counterexample was found.
    Unsupported
  };
  /// An event of a counterexample.
  struct Step {
    mlir::Operation *op;
    /// The task that executes it: 0 outside of roles, then the roles in order.
    unsigned task;
    /// The task and the event as a line of text.
    std::string text;
  };
  /// An input for which a counterexample occurs.
  struct Input {
    enum class Kind { Scalar, Extent, Element, Fill };
    Kind kind = Kind::Scalar;
    /// The number of the kernel's argument that is the scalar, or has the
    /// extent or element, or whose elements are all the same.
    unsigned argument = 0;
    /// The dimension of the extent, or the indices of the element.
    llvm::SmallVector<int64_t, 2> place = {};
    int64_t value = 0;
  };

  Kind kind = Kind::Proved;
  /// The fault, or the obstacle to a proof, and its operation.
  mlir::Operation *op = nullptr;
  std::string text;
  /// An operation that a note points to, if there is one.
  mlir::Operation *other = nullptr;
  std::string otherText;
  /// Counterexamples: arguments and loaded values by name, for a grid of one
  /// block, and all events up to the fault in an order in which they happen.
  /// Without a trace the fault does not depend on arguments.
  std::map<std::string, Input> inputs;
  std::vector<Step> trace;
  /// The numbers of links between tasks (channels, or barriers) and of
  /// operations that are events.
  unsigned links = 0, events = 0;
  ProofEffort effort;
};

/// Checks the schedule of a kernel, in any form from `tile.channel` to
/// `tile.mbarrier`. Kernels without a schedule are proved.
ScheduleVerdict verifySchedule(mlir::gpu::GPUFuncOp kernel);

} // namespace tilews::verifier

#endif // TILEWS_VERIFIER_SCHEDULEVERDICT_H
