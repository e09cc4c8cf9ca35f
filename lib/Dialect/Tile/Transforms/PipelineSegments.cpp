//===- PipelineSegments.cpp - Predicated parts of a software pipeline -----===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations of the early stages must not run in iterations that do not exist.
// A segment is a run of such operations of one stage, from the first acquire
// until all acquired slots are committed. It becomes one `scf.if` rather than
// one for each operation, so that a transaction is in one branch:
//
//   acquire %p; copy; commit %p; advance %p
//     -> %p1 = scf.if %true { acquire; copy; commit; yield advance %p }
//              else { yield %p }
//
// `cp.async` copies are waited for by group. A group is committed after each
// segment, in iterations that do not exist too, so that the number of groups
// between a commit and its wait is a constant.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Transforms/PipelineItems.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-expand-pipeline"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// Returns the value of `result` in an iteration that does not exist. A carried
/// value stays the same. Other values are not used there, so any will do.
Value PipelineItems::getDefault(OpResult result) {
  for (OpOperand &use : result.getUses())
    if (use.getOwner() == body.getTerminator())
      return loop.getRegionIterArg(use.getOperandNumber());
  if (auto cursor = dyn_cast<CursorType>(result.getType()))
    return CursorOp::create(rewriter, result.getLoc(), cursor);
  TypedAttr zero = rewriter.getZeroAttr(result.getType());
  return arith::ConstantOp::create(rewriter, result.getLoc(), zero);
}

/// The operations that one `scf.if` wraps, and what is computed from them.
///
/// For example `%b = f(%a); %c = g(%b, %b)`, where `%a` belongs to the segment
/// and `%b` and `%c` have no stage: both depend on the segment. The set grows
/// with the segment, so each use is looked at once.
class PipelineItems::Segment {
public:
  Segment(Block &body) : body(body) {}

  bool contains(Operation *op) const { return ops.contains(op); }
  /// Whether `op`, which has no stage, is computed from a result of the
  /// segment.
  bool isDependent(Operation *op) const { return dependents.contains(op); }
  ArrayRef<Operation *> getOps() const { return ops.getArrayRef(); }

  void insert(Operation *op) {
    ops.insert(op);
    SmallVector<Operation *> worklist = {op};
    while (!worklist.empty())
      for (Operation *user : worklist.pop_back_val()->getUsers())
        if (user->getBlock() == &body && !getPipelineItem(user) &&
            dependents.insert(user).second)
          worklist.push_back(user);
  }

  /// The copy of `op` for the segment; null if there is none.
  Operation *getCopy(Operation *op) const { return copies.lookup(op); }
  void setCopy(Operation *op, Operation *copy) { copies[op] = copy; }
  /// Forgets an operation that is about to be erased.
  void forget(Operation *op) {
    dependents.erase(op);
    copies.erase(op);
  }

private:
  Block &body;
  llvm::SetVector<Operation *> ops;
  llvm::SmallPtrSet<Operation *, 16> dependents;
  llvm::DenseMap<Operation *, Operation *> copies;
};

/// The operands of `op` and of the operations in it.
static SmallVector<OpOperand *> getOperandsWithin(Operation *op) {
  SmallVector<OpOperand *> operands;
  op->walk([&](Operation *inner) {
    for (OpOperand &operand : inner->getOpOperands())
      operands.push_back(&operand);
  });
  return operands;
}

/// Adds `op` to `segment`, after copies of the operations without a stage that
/// are between it and the segment's operations. All uses in the segment share
/// one copy:
///
///   %a = acquire ...        ; in the segment
///   %x = addi %a, %c        ; no stage: copied
///   copy %x                 ; the operation to add
///
/// An explicit stack replaces recursion: chains of such operations may be long.
void PipelineItems::addToSegment(Operation *op, Segment &segment) {
  struct CopyFrame {
    Operation *op;
    SmallVector<OpOperand *> operands;
    size_t next = 0;
  };
  SmallVector<CopyFrame, 0> stack;
  stack.push_back({op, getOperandsWithin(op)});
  while (!stack.empty()) {
    CopyFrame &frame = stack.back();
    if (frame.next == frame.operands.size()) {
      segment.insert(frame.op);
      stack.pop_back();
      continue;
    }
    OpOperand *operand = frame.operands[frame.next++];
    auto result = dyn_cast<OpResult>(operand->get());
    Operation *def = result ? result.getOwner() : nullptr;
    if (!def || def->getBlock() != &body || segment.contains(def) ||
        getPipelineItem(def) || !segment.isDependent(def))
      continue;
    Operation *copy = segment.getCopy(def);
    bool isNew = !copy;
    if (isNew) {
      rewriter.setInsertionPoint(frame.op);
      copy = rewriter.clone(*def);
      segment.setCopy(def, copy);
    }
    operand->set(copy->getResult(result.getResultNumber()));
    if (def->use_empty()) {
      segment.forget(def);
      rewriter.eraseOp(def);
    }
    if (isNew)
      stack.push_back({copy, getOperandsWithin(copy)});
  }
}

/// Puts operations of one stage into an `scf.if`.
scf::IfOp PipelineItems::wrap(ArrayRef<PipelineItem> segment) {
  Segment inside(body);
  for (const PipelineItem &item : segment)
    addToSegment(item.op, inside);
  SmallVector<OpResult> escaping;
  for (Operation *op : inside.getOps())
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
  for (Operation *op : inside.getOps())
    rewriter.moveOpBefore(op, wrapper.thenBlock()->getTerminator());
  sinkInto(wrapper);
  return wrapper;
}

/// Moves operations without a stage that only `wrapper` uses into it.
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

/// The last stage runs in every iteration of the pipelined loop that exists, so
/// its operations need no wrapper. An advance right after a commit still
/// belongs to the segment.
void PipelineItems::wrapSegments() {
  int64_t last = getLastStage();
  SmallVector<PipelineItem> wrapped, segment;
  int64_t open = 0;
  bool commits = false;
  auto flush = [&] {
    if (segment.empty())
      return;
    LDBG() << "segment of " << segment.size() << " operations in stage "
           << segment.front().stage;
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

/// Calls `fn` with each channel whose asynchronous copies `op` commits, and for
/// which a later operation of the body waits. If `op` itself waits as well, it
/// does so before the group after it is closed. That wait is for all copies.
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

/// Closes a group of copies after each item with a commit that is waited for by
/// group. The group is an item of the same stage.
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

/// Counts the groups that may be in flight at a wait: those closed after the
/// group at position `commit` and before the wait at position `wait`, where
/// both are of the same original iteration.
int64_t PipelineItems::countPending(size_t wait, size_t commit) const {
  int64_t count = 0;
  for (auto [position, item] : llvm::enumerate(items)) {
    if (!isa<CommitGroupOp>(item.op))
      continue;
    // Original iteration 0 commits in iteration `items[commit].stage` of the
    // pipelined loop and waits in iteration `items[wait].stage`. This group
    // exists from iteration `item.stage` on.
    for (int64_t iteration = std::max(item.stage, items[commit].stage);
         iteration <= items[wait].stage; ++iteration) {
      bool isAfter = iteration > items[commit].stage || position > commit;
      bool isBefore = iteration < items[wait].stage || position < wait;
      count += isAfter && isBefore;
    }
  }
  return count;
}

void PipelineItems::countGroups() {
  addGroups();
  llvm::DenseMap<Operation *, size_t> groups;
  for (auto [position, item] : llvm::enumerate(items))
    forEachGroup(item.op, [&, position = position](ChannelOp channel) {
      groups[channel] = position + 1;
    });
  for (auto [position, item] : llvm::enumerate(items))
    forEachTransaction<WaitOp>(
        item.op, [&, position = position](WaitOp wait, ChannelOp channel) {
          auto it = groups.find(channel);
          if (it == groups.end())
            return;
          wait.setPending(countPending(position, it->second));
          LDBG() << "wait at " << wait.getLoc() << ": " << *wait.getPending()
                 << " groups may be in flight";
        });
}
