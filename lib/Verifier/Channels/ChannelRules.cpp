//===- ChannelRules.cpp - Rules of channels -------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Puts the parts together: the model of the kernel, the selection of events,
// the parts of the state, and the steps on them. Each operation is dispatched
// to the part that it is a step of. With roles, groups of copies and barriers
// concern one role only, and channels order everything between roles. Without
// roles, all threads execute them, and copies land in groups.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Channels/ChannelRules.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-verify-schedule"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

ChannelRules::ChannelRules(gpu::GPUFuncOp kernel)
    : model(ChannelModel::build(kernel)), selection(model), parts(model),
      steps(model, parts), accesses(model, parts) {
  if (isEmpty() || model.obstacle)
    return;
  LDBG() << "model of @" << kernel.getName() << ":";
  LLVM_DEBUG(model.print(llvm::dbgs()));
}

SmallVector<unsigned> ChannelRules::getLinks(Operation *op) const {
  if (ChannelModel::isStep(op))
    return {model.events.at(op).channel};
  return {};
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Outcome ChannelRules::perform(State &state, unsigned task, Operation *op,
                              ArrayRef<int64_t> inputs,
                              Finding &finding) const {
  const ChannelEvent &event = selection.at(op);
  if (event.isForeign) {
    parts.landAndSynchronize(state, cast<WaitOp>(op),
                             model.channels[event.channel]);
    return Outcome::Done;
  }
  ChannelCursor cursor{event.channel, inputs.empty() ? 0 : inputs[0]};
  if (auto acquire = dyn_cast<AcquireOp>(op))
    return steps.acquire(state, task, acquire, cursor, finding);
  if (auto commit = dyn_cast<CommitOp>(op))
    return steps.commit(state, task, commit, cursor, finding);
  if (auto wait = dyn_cast<WaitOp>(op))
    return steps.wait(state, task, wait, cursor, finding);
  if (auto release = dyn_cast<ReleaseOp>(op))
    return steps.release(state, task, release, cursor, finding);
  if (auto wait = dyn_cast<GemmWaitOp>(op))
    return parts.getMatmuls(state, task)
        .wait(wait, event.matmuls, model.eventOps, finding);
  if (!event.accesses.empty() || isa<MatmulOpInterface>(op))
    return accesses.access(state, task, event, inputs, finding);
  if (auto barrier = dyn_cast<BarrierOp>(op);
      barrier && barrier.getDrainCopies())
    parts.drain(state, task);
  if (!model.hasRoles())
    performCommon(state, op);
  return Outcome::Done;
}

/// An operation without accesses that all threads of the block execute.
void ChannelRules::performCommon(State &state, Operation *op) const {
  if (isa<CommitGroupOp>(op))
    return parts.contents.closeGroup(state);
  auto barrier = dyn_cast<BarrierOp>(op);
  if (barrier && barrier.getDrainCopies())
    parts.contents.land(state, 0, /*openToo=*/true);
  parts.contents.synchronize(state, barrier && barrier.getProxyFence());
}

bool ChannelRules::hasFreshWrites(Operation *loop) const {
  return llvm::any_of(
      model.channels, [&](const ChannelModel::Channel &channel) {
        return llvm::any_of(channel.fills, [&](const FillParts &fill) {
          return fill.getFresh(loop) != 0;
        });
      });
}

bool ChannelRules::finish(const State &state, Finding &finding) const {
  for (unsigned i = 0; i < model.channels.size(); ++i)
    for (int64_t slot = 0; slot < model.channels[i].depth; ++slot)
      if (!steps.finish(state, {i, slot}, finding))
        return false;
  for (unsigned task = 0; task < model.getNumTasks(); ++task)
    if (parts.hasMatmuls(state, task)) {
      finding = {model.kernel,
                 model.taskNames[task] +
                     " ends while an asynchronous matmul may still run: no "
                     "tile.gemm_wait comes after it"};
      return false;
    }
  return true;
}

//===----------------------------------------------------------------------===//
// Symmetry and descriptions
//===----------------------------------------------------------------------===//

int64_t ChannelRules::rotateInput(int64_t input, unsigned link,
                                  int64_t base) const {
  return model.channels[link].rotate(input, base);
}

std::string ChannelRules::describe(Operation *op,
                                   ArrayRef<int64_t> inputs) const {
  const ChannelEvent &event = selection.at(op);
  std::string text = op->getName().getStringRef().str();
  if (ChannelModel::isStep(op) && !inputs.empty())
    return text + " " + model.describe({event.channel, inputs[0]});
  SmallVector<std::string> accesses;
  for (auto [access, cursor] : llvm::zip(event.accesses, inputs))
    accesses.push_back(describeAccess(
        access.writes, model.describe({access.channel, cursor})));
  return accesses.empty() ? text : text + " " + joinAccesses(accesses);
}
