//===- Follower.cpp - A block in a given order of events ------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes agents follow a list of (agent, operation) pairs. Only operations that
// occur in the list are held back: an agent waits before such an operation
// until the next entry names the agent, and the entry must then name the same
// operation.
//
//   order: (load, acquire) (load, commit) (math, wait)
//   role @math comes to `wait` first: it waits until two entries are consumed.
//
//===----------------------------------------------------------------------===//

#include "Follower.h"
#include "BlockState.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;

Follower::Follower(ArrayRef<OrderedEvent> order) : order(order) {
  for (const OrderedEvent &event : order)
    operations.insert(event.op);
}

std::string Follower::describeNext() const {
  const OrderedEvent &event = order[next];
  std::string who = "the block";
  if (event.agent != 0)
    if (auto role = event.op->getParentOfType<tile::RoleOp>())
      who = ("role @" + role.getName()).str();
  return ("event " + Twine(next + 1) + " of the order that the run follows, '" +
          event.op->getName().getStringRef() + "' by " + who)
      .str();
}

Failure Follower::getDeparture() const {
  return {order[next].op->getLoc(), describeNext() + ", never comes"};
}

LogicalResult Follower::follow(Frame &frame, const Instruction &inst) {
  if (hasEnded() || !operations.contains(inst.op))
    return success();
  unsigned agent = frame.getAgent();
  auto isOver = [&] { return hasEnded() || order[next].agent == agent; };
  Wait wait;
  wait.isOver = isOver;
  if (failed(frame.getState().scheduler.waitUntil(agent, wait)))
    return failure();
  if (hasEnded())
    return success();
  if (order[next].op != inst.op)
    return frame.fail(inst, "comes instead of " + describeNext());
  ++next;
  return success();
}
