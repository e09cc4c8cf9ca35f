//===- PipelineSegments.cpp - What runs in some turns of a pipeline only --===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Transforms/PipelineItems.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// The value of `result`, made in a turn that does not exist: what the loop
/// carries stays the same, the rest does not matter.
Value PipelineItems::getDefault(OpResult result) {
  for (OpOperand &use : result.getUses())
    if (use.getOwner() == body.getTerminator())
      return loop.getRegionIterArg(use.getOperandNumber());
  if (auto cursor = dyn_cast<CursorType>(result.getType()))
    return CursorOp::create(rewriter, result.getLoc(), cursor);
  TypedAttr zero = rewriter.getZeroAttr(result.getType());
  return arith::ConstantOp::create(rewriter, result.getLoc(), zero);
}

/// Whether `op`, which has no stage, is computed from a result of `ops`.
static bool isMadeFrom(Operation *op, const llvm::SetVector<Operation *> &ops) {
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    Operation *def = operand.getDefiningOp();
    return def && (ops.contains(def) ||
                   (def->getBlock() == op->getBlock() &&
                    !getPipelineItem(def) && isMadeFrom(def, ops)));
  });
}

/// Adds `op` to `segment` behind copies of what, without a stage of its own, is
/// between it and the segment's operations.
void PipelineItems::addToSegment(Operation *op,
                                 llvm::SetVector<Operation *> &segment) {
  SmallVector<OpOperand *> operands;
  op->walk([&](Operation *inner) {
    for (OpOperand &operand : inner->getOpOperands())
      operands.push_back(&operand);
  });
  for (OpOperand *operand : operands) {
    auto result = dyn_cast<OpResult>(operand->get());
    Operation *def = result ? result.getOwner() : nullptr;
    if (!def || def->getBlock() != &body || segment.contains(def) ||
        getPipelineItem(def) || !isMadeFrom(def, segment))
      continue;
    rewriter.setInsertionPoint(op);
    Operation *copy = rewriter.clone(*def);
    operand->set(copy->getResult(result.getResultNumber()));
    if (def->use_empty())
      rewriter.eraseOp(def);
    addToSegment(copy, segment);
  }
  segment.insert(op);
}

/// Puts operations of one stage into an `scf.if`.
scf::IfOp PipelineItems::wrap(ArrayRef<PipelineItem> segment) {
  llvm::SetVector<Operation *> inside;
  for (const PipelineItem &item : segment)
    addToSegment(item.op, inside);
  SmallVector<OpResult> escaping;
  for (Operation *op : inside)
    for (OpResult result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !inside.contains(getInBody(user));
          }))
        escaping.push_back(result);

  Location loc = segment.front().op->getLoc();
  rewriter.setInsertionPoint(loop);
  Value always =
      arith::ConstantOp::create(rewriter, loc, rewriter.getBoolAttr(true));
  rewriter.setInsertionPoint(body.getTerminator());
  SmallVector<Type> types;
  for (OpResult result : escaping)
    types.push_back(result.getType());
  auto wrapper = scf::IfOp::create(rewriter, loc, types, always,
                                   /*addThenBlock=*/true,
                                   /*addElseBlock=*/!types.empty());
  if (!types.empty()) {
    rewriter.setInsertionPointToEnd(wrapper.elseBlock());
    SmallVector<Value> defaults;
    for (OpResult result : escaping)
      defaults.push_back(getDefault(result));
    scf::YieldOp::create(rewriter, loc, defaults);
  }
  if (!wrapper.thenBlock()->empty())
    rewriter.eraseOp(wrapper.thenBlock()->getTerminator());
  rewriter.setInsertionPointToEnd(wrapper.thenBlock());
  scf::YieldOp::create(rewriter, loc,
                       SmallVector<Value>(escaping.begin(), escaping.end()));
  for (auto [result, outside] : llvm::zip(escaping, wrapper.getResults()))
    rewriter.replaceUsesWithIf(result, outside, [&](OpOperand &use) {
      Operation *owner = getInBody(use.getOwner());
      return owner != wrapper && !inside.contains(owner);
    });
  for (Operation *op : inside)
    rewriter.moveOpBefore(op, wrapper.thenBlock()->getTerminator());
  sinkInto(wrapper);
  return wrapper;
}

/// Moves replayed operations that only `wrapper` uses into it.
void PipelineItems::sinkInto(scf::IfOp wrapper) {
  Block *block = wrapper.thenBlock();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body))) {
    bool sinks = &op != wrapper && !op.use_empty() && !getPipelineItem(&op) &&
                 !isa<CursorOp>(op) &&
                 llvm::all_of(op.getUsers(), [&](Operation *user) {
                   return block->findAncestorOpInBlock(*user) != nullptr;
                 });
    if (sinks)
      rewriter.moveOpBefore(&op, &block->front());
  }
}

void PipelineItems::wrapSegments() {
  int64_t last = getLastStage();
  SmallVector<PipelineItem> wrapped, segment;
  int64_t open = 0;
  bool commits = false;
  auto flush = [&] {
    if (segment.empty())
      return;
    scf::IfOp wrapper = wrap(segment);
    wrapped.push_back({wrapper, segment.front().stage, 0});
    segment.clear();
    commits = false;
  };
  for (auto [i, item] : llvm::enumerate(items)) {
    if (item.stage == last ||
        (!segment.empty() && segment.front().stage != item.stage))
      flush();
    if (item.stage == last) {
      wrapped.push_back(item);
      continue;
    }
    segment.push_back(item);
    forEachTransaction<AcquireOp>(item.op,
                                  [&](AcquireOp, ChannelOp) { ++open; });
    forEachTransaction<CommitOp>(item.op, [&](CommitOp, ChannelOp) {
      --open;
      commits = true;
    });
    bool advances = i + 1 < items.size() && isa<AdvanceOp>(items[i + 1].op);
    if (commits && open == 0 && !advances)
      flush();
  }
  flush();
  items = std::move(wrapped);
}

//===----------------------------------------------------------------------===//
// Groups of asynchronous copies
//===----------------------------------------------------------------------===//

static bool isAsync(ChannelOp channel) {
  return channel.getProducer() == ProducerKind::CpAsync ||
         channel.getProducer() == ProducerKind::Mixed;
}

/// Calls `fn` with each channel whose copies `op` commits, to wait for them in
/// a later operation of the body. A wait in `op` itself comes before a group
/// behind it would close: it waits for all copies.
static void forEachGroup(Operation *op, function_ref<void(ChannelOp)> fn) {
  forEachTransaction<CommitOp>(op, [&](CommitOp, ChannelOp channel) {
    bool waits = false;
    forEachTransaction<WaitOp>(op, [&](WaitOp, ChannelOp waitedFor) {
      waits |= waitedFor == channel;
    });
    if (isAsync(channel) && !waits)
      fn(channel);
  });
}

void PipelineItems::addGroups() {
  SmallVector<PipelineItem> result;
  for (const PipelineItem &item : items) {
    result.push_back(item);
    bool commits = false;
    forEachGroup(item.op, [&](ChannelOp) { commits = true; });
    if (!commits)
      continue;
    rewriter.setInsertionPoint(body.getTerminator());
    auto group = CommitGroupOp::create(rewriter, item.op->getLoc());
    result.push_back({group, item.stage, 0});
  }
  items = std::move(result);
}

/// The groups that turns up to a wait's close, but not before the group at
/// place `commit`, for the wait at place `wait` of the same original turn.
int64_t PipelineItems::countPending(size_t wait, size_t commit) const {
  int64_t count = 0;
  for (auto [place, item] : llvm::enumerate(items)) {
    if (!isa<CommitGroupOp>(item.op))
      continue;
    // Of the first turn, before which no group was closed.
    for (int64_t turn = std::max(item.stage, items[commit].stage);
         turn <= items[wait].stage; ++turn) {
      bool isAfter = turn > items[commit].stage || place > commit;
      bool isBefore = turn < items[wait].stage || place < wait;
      count += isAfter && isBefore;
    }
  }
  return count;
}

void PipelineItems::countGroups() {
  addGroups();
  llvm::DenseMap<Operation *, size_t> groups;
  for (auto [place, item] : llvm::enumerate(items))
    forEachGroup(item.op, [&, place = place](ChannelOp channel) {
      groups[channel] = place + 1;
    });
  for (auto [place, item] : llvm::enumerate(items))
    forEachTransaction<WaitOp>(
        item.op, [&, place = place](WaitOp wait, ChannelOp channel) {
          auto it = groups.find(channel);
          if (it != groups.end())
            wait.setPending(countPending(place, it->second));
        });
}
