//===- RoleOps.cpp - Roles of a block -------------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `tile.specialize` starts one agent for each role and waits until all have
// ended. Each role gets a copy of the frame, so values from outside are visible
// and no value is shared. The clock of a role starts as that of the block; at
// the end the clocks of all roles are joined into the block's.
//
// When the roles have ended, copies in flight are completed, because they refer
// to the frames of the roles. Copies by TMA that no agent waited for are an
// error.
//
//===----------------------------------------------------------------------===//

#include "Simulator/BlockState.h"

#include "tilews/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;

/// Returns whether one thread runs a role: it is `elected` or, before channels
/// are lowered, each of its operations needs one thread only.
static bool runsOnOneThread(tile::RoleOp role, bool hasChannels) {
  if (role.getElected() || !hasChannels)
    return role.getElected();
  WalkResult result = role.getBody().walk([](Operation *op) {
    return tile::runsOnOneThread(op) ? WalkResult::advance()
                                     : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

static LogicalResult runRoles(Frame &frame, const Instruction &inst) {
  const std::vector<Instruction> &roles = inst.regions.front().body;
  BlockState &state = frame.getState();
  if (frame.isInRole())
    return frame.fail(inst, "stands in a role");
  // The lowering of channels makes their barriers ready at this point, by a
  // barrier of all threads.
  bool hasChannels = llvm::any_of(
      inst.op->getParentOfType<gpu::GPUFuncOp>().getOps<tile::ChannelOp>(),
      [](auto) { return true; });
  if (hasChannels || !state.isExplicit)
    state.synchronize(state.getAgent(frame.getAgent()));
  std::vector<Frame> frames;
  std::vector<Scheduler::Body> bodies;
  for (const Instruction &role : ArrayRef(roles).drop_back()) {
    auto op = cast<tile::RoleOp>(role.op);
    frames.push_back(
        frame.fork(state.addRole(op, ("role @" + op.getName()).str(),
                                 runsOnOneThread(op, hasChannels))));
    const BlockCode &code = role.regions.front();
    bodies.push_back([&frames, &code, number = bodies.size()] {
      return frames[number].run(code, {});
    });
  }
  if (failed(state.scheduler.runAgents(frame.getAgent(), bodies)))
    return failure();
  // Operations in flight refer to the frames of the roles.
  if (failed(state.scheduler.complete(frame.getAgent(), [&](const AsyncOp &op) {
        return state.owns(op.agent);
      })))
    return failure();
  for (Frame &role : frames)
    state.joinRole(role.getAgent());
  return state.checkLoads();
}

void sim::registerRoleHandlers(Registry &registry) {
  registry.add<tile::SpecializeOp>(runRoles); // Runs the bodies of its roles.
  registry.add<tile::RoleOp>(
      [](Frame &, const Instruction &) { return success(); });
}
