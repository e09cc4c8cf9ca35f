//===- ScheduleVerdict.h - Whether a schedule is right ----------*- C++ -*-===//
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

/// What is known about the schedule of a kernel.
struct ScheduleVerdict {
  enum class Kind {
    /// It is right for all arguments, on all ways through the kernel.
    Proved,
    /// It is wrong: `trace` leads there.
    Counterexample,
    /// Neither was found.
    Unsupported
  };
  /// An event of a counterexample.
  struct Step {
    mlir::Operation *op;
    /// The task that does it: 0 outside of roles, then the roles in order.
    unsigned task;
    /// Who does it, and what.
    std::string text;
  };
  /// What a counterexample is seen with.
  struct Input {
    enum class Kind { Scalar, Extent, Element, Other };
    Kind kind = Kind::Other;
    /// The kernel's argument that it is, or is an extent or an element of.
    unsigned argument = 0;
    /// Which extent, or the indices of the element.
    llvm::SmallVector<int64_t, 2> place = {};
    int64_t value = 0;
  };

  Kind kind = Kind::Proved;
  /// What is wrong, or in the way, and where.
  mlir::Operation *op = nullptr;
  std::string text;
  /// Another operation that has to do with it, if there is one.
  mlir::Operation *other = nullptr;
  std::string otherText;
  /// Counterexamples: arguments and loaded values by name, for a grid of one
  /// block, and all events up to the fault in an order in which they happen.
  /// Without a trace the fault does not depend on arguments.
  std::map<std::string, Input> inputs;
  std::vector<Step> trace;
  /// What was checked: links between tasks (channels, or barriers), operations
  /// that are events, and states that were gone through.
  unsigned links = 0, events = 0, states = 0;
};

/// Checks the schedule of a kernel, in any form from `tile.channel` to
/// `tile.mbarrier`. Kernels without a schedule are proved.
ScheduleVerdict verifySchedule(mlir::gpu::GPUFuncOp kernel);

} // namespace tilews::verifier

#endif // TILEWS_VERIFIER_SCHEDULEVERDICT_H
