//===- Follower.h - A block in a given order of events ----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A counterexample of the verifier says which agent does what, one after the
// other. Agents wait for their turn before each operation that the order has
// events of. Behind the last event they go on as the policy says.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_SIMULATOR_FOLLOWER_H
#define TILEWS_LIB_SIMULATOR_FOLLOWER_H

#include "Program.h"

#include "llvm/ADT/DenseSet.h"

namespace tilews::sim {

class Follower {
public:
  explicit Follower(llvm::ArrayRef<OrderedEvent> order);

  /// Waits until it is the turn of what a frame is about to do, if the order
  /// speaks of such operations. Fails if something else has to come next.
  mlir::LogicalResult follow(Frame &frame, const Instruction &inst);
  bool hasEnded() const { return next == order.size(); }
  /// Why the block fails if nothing can happen any more before the end.
  Failure getDeparture() const;

private:
  std::string describeNext() const;

  llvm::ArrayRef<OrderedEvent> order;
  llvm::DenseSet<mlir::Operation *> operations;
  size_t next = 0;
};

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_FOLLOWER_H
