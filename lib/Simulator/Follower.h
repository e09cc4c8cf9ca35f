//===- Follower.h - A block in a given order of events ----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A counterexample of the verifier is a list of events: which agent executes
// which operation, in order. An agent waits before an operation of the list
// until all earlier events have happened. After the last event the policy
// decides alone.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_SIMULATOR_FOLLOWER_H
#define TILEWS_LIB_SIMULATOR_FOLLOWER_H

#include "Program.h"

#include "llvm/ADT/DenseSet.h"

namespace tilews::sim {

/// Makes the agents of a block follow an order of events.
///
/// Example: with the order (1, acquire) (2, wait), agent 2 stops before its
/// wait until agent 1 has come to its acquire.
class Follower {
public:
  explicit Follower(llvm::ArrayRef<OrderedEvent> order);

  /// Waits until the instruction that the frame is about to execute is the next
  /// event, if the order has events of that operation. Fails if the agent's
  /// next event is another operation.
  mlir::LogicalResult follow(Frame &frame, const Instruction &inst);
  bool hasEnded() const { return next == order.size(); }
  /// Returns the failure for a run that stops before the end of the order.
  Failure getDeparture() const;

private:
  std::string describeNext() const;

  llvm::ArrayRef<OrderedEvent> order;
  llvm::DenseSet<mlir::Operation *> operations;
  size_t next = 0;
};

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_FOLLOWER_H
