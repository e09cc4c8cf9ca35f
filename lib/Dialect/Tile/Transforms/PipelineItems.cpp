//===- PipelineItems.cpp - A loop on its way to a software pipeline -------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `scf::pipelineForLoop` takes each operation of a loop's body with one stage,
// in the order in which the pipelined body runs them. The plan gives stages
// only to operations that produce or consume. The others ("the rest": scalars
// without effects) are computed where they are needed: in the earliest stage
// that uses them, and cloned for each later one.
//
//   %k1 = addi %k, %c          used in the stages 0 and 2
//     -> %k1 in stage 0, and a clone of it in stage 2
//
// Without the clone the pipeliner would carry the value through two iterations.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Transforms/PipelineItems.h"

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-expand-pipeline"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

static std::optional<int64_t> getNumber(Operation *op, StringRef name) {
  if (auto attr = op->getAttrOfType<IntegerAttr>(name))
    return attr.getInt();
  return std::nullopt;
}

std::optional<PipelineItem> tile::getPipelineItem(Operation *op) {
  // The item of a guard names the guard, not the operation in it.
  std::optional<PipelineItem> item;
  auto add = [&](Operation *inner) {
    auto stage = getNumber(inner, TileDialect::kStage);
    auto order = getNumber(inner, TileDialect::kOrder);
    if (stage && order && (!item || *order < item->order))
      item = PipelineItem{op, *stage, *order};
  };
  add(op);
  if (!item && isa<scf::IfOp>(op))
    op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
      add(inner);
      return isa<scf::ForOp>(inner) ? WalkResult::skip()
                                    : WalkResult::advance();
    });
  return item;
}

/// Besides scheduled operations, the body may hold operations without effects:
/// `placeRest` computes them where they are needed.
std::optional<std::string> PipelineItems::collect() {
  for (Operation &op : body.without_terminator()) {
    if (std::optional<PipelineItem> item = getPipelineItem(&op))
      items.push_back(*item);
    else if (!onlyReads(&op))
      return ("'" + op.getName().getStringRef() +
              "' in it has neither a stage nor an order")
          .str();
  }
  if (loop.getUnsignedCmp())
    return "the loop compares its induction variable as an unsigned number";
  llvm::sort(items, [](const PipelineItem &a, const PipelineItem &b) {
    return a.order < b.order;
  });
  for (const PipelineItem &item : items)
    LDBG() << "stage " << item.stage << ", order " << item.order << ": "
           << item.op->getName();
  return checkOrder();
}

/// Whether `first` runs before `second` of `distance` iterations later, in the
/// pipelined loop.
static bool isBefore(const PipelineItem &first, const PipelineItem &second,
                     int64_t distance) {
  return std::pair(first.stage, first.order) <
         std::pair(second.stage + distance, second.order);
}

/// Says that `user`, which uses a result of `item`, would run before it. `when`
/// names the iteration of `item`.
static std::string describe(const PipelineItem &user, const PipelineItem &item,
                            StringRef when) {
  return ("'" + user.op->getName().getStringRef() +
          "' in it has a stage and an order before those of '" +
          item.op->getName().getStringRef() + "'" + when +
          ", whose result it uses")
      .str();
}

/// Returns a message if an operation would run before one whose result it uses,
/// in the same iteration or through a carried value.
std::optional<std::string> PipelineItems::checkOrder() {
  llvm::DenseMap<Operation *, const PipelineItem *> known;
  for (const PipelineItem &item : items)
    known[item.op] = &item;
  Operation *yield = body.getTerminator();
  for (const PipelineItem &item : items)
    for (OpOperand &use : item.op->getUses()) {
      const PipelineItem *user = known.lookup(getInBody(use.getOwner()));
      if (user && user != &item && !isBefore(item, *user, 0))
        return describe(*user, item, "");
      if (use.getOwner() != yield)
        continue;
      Value next = loop.getRegionIterArg(use.getOperandNumber());
      for (Operation *op : next.getUsers())
        if (const PipelineItem *later = known.lookup(getInBody(op));
            later && !isBefore(item, *later, 1))
          return describe(*later, item, " of the previous iteration");
    }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Replayed operations
//===----------------------------------------------------------------------===//

/// Returns the scheduled operations with their stages.
llvm::DenseMap<Operation *, int64_t> PipelineItems::getStageOfItems() const {
  llvm::DenseMap<Operation *, int64_t> stages;
  for (const PipelineItem &item : items)
    stages[item.op] = item.stage;
  return stages;
}

/// Finds the stages in which each operation of the body is needed: the stages
/// of its users, to a fixpoint. Sets only grow, so the iteration ends.
PipelineItems::Stages PipelineItems::findStages() {
  Operation *yield = body.getTerminator();
  llvm::DenseMap<Operation *, int64_t> scheduled = getStageOfItems();
  Stages stages;
  for (const PipelineItem &item : items)
    stages[item.op].insert(item.stage);
  // A value that is yielded is needed where the next iteration uses it.
  auto addNeeds = [&](Value value, auto &needs) {
    bool changed = false;
    for (OpOperand &use : value.getUses()) {
      Operation *user = getInBody(use.getOwner());
      SmallVector<Operation *> users = {user};
      if (user == yield) {
        users.clear();
        for (Operation *next :
             loop.getRegionIterArg(use.getOperandNumber()).getUsers())
          users.push_back(getInBody(next));
      }
      for (Operation *op : users)
        for (int64_t stage : llvm::to_vector(stages[op]))
          changed |= needs.insert(stage);
    }
    return changed;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation &op : llvm::reverse(body.without_terminator()))
      if (!scheduled.contains(&op))
        for (Value result : op.getResults()) {
          llvm::SmallSetVector<int64_t, 2> needs = stages[&op];
          changed |= addNeeds(result, needs);
          stages[&op] = needs;
        }
  }
  return stages;
}

/// Clones operations without a stage in the plan for each stage that needs
/// them. Goes backwards, so that the users of an operation have their stages
/// already.
PipelineItems::OwnStage PipelineItems::cloneRest(Stages &stages) {
  Operation *yield = body.getTerminator();
  int64_t last = getLastStage();
  llvm::DenseMap<Operation *, int64_t> scheduled = getStageOfItems();
  OwnStage own;
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(body.without_terminator()))) {
    if (scheduled.contains(&op))
      continue;
    SmallVector<int64_t> needs = stages[&op].takeVector();
    llvm::sort(needs);
    if (needs.empty())
      needs.push_back(last);
    own[&op] = needs.front();
    bool carried = llvm::is_contained(op.getUsers(), yield);
    for (int64_t stage : ArrayRef(needs).drop_front()) {
      if (carried)
        break; // Only one value can be carried: later stages use that one.
      rewriter.setInsertionPointAfter(&op);
      Operation *clone = rewriter.clone(op);
      own[clone] = stage;
      for (auto [from, to] : llvm::zip(op.getResults(), clone->getResults()))
        rewriter.replaceUsesWithIf(from, to, [&](OpOperand &use) {
          Operation *user = getInBody(use.getOwner());
          auto it = own.find(user);
          int64_t at = it != own.end() ? it->second : stages[user].front();
          return at == stage;
        });
    }
  }
  return own;
}

/// The operations in `own` of stage `stage` whose results `op`, or an operation
/// in it, uses.
SmallVector<Operation *> PipelineItems::getNeeds(Operation *op, int64_t stage,
                                                 const OwnStage &own) const {
  SmallVector<Operation *> needs;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (Operation *def = operand.getDefiningOp())
        if (auto it = own.find(def);
            def->getBlock() == &body && it != own.end() && it->second == stage)
          needs.push_back(def);
  });
  return needs;
}

/// Makes items of the operations in `own`, each before the first operation of
/// the same stage that uses it. Visits operands depth first, in post-order. The
/// stack is explicit, because chains of scalar operations may be long.
void PipelineItems::sortByNeeds(const OwnStage &own) {
  struct NeedsFrame {
    Operation *op;
    SmallVector<Operation *> needs;
    size_t next = 0;
  };
  SmallVector<PipelineItem> all;
  llvm::SmallPtrSet<Operation *, 16> placed;
  auto place = [&](Operation *root, int64_t stage) {
    SmallVector<NeedsFrame> stack;
    auto enter = [&](Operation *op) {
      if (placed.insert(op).second)
        stack.push_back({op, getNeeds(op, stage, own)});
    };
    enter(root);
    while (!stack.empty()) {
      NeedsFrame &frame = stack.back();
      if (frame.next < frame.needs.size()) {
        enter(frame.needs[frame.next++]);
        continue;
      }
      all.push_back({frame.op, stage, 0});
      stack.pop_back();
    }
  };
  for (const PipelineItem &item : items)
    place(item.op, item.stage);
  for (Operation &op : body.without_terminator())
    if (auto it = own.find(&op); it != own.end())
      place(&op, it->second);
  items = std::move(all);
}

/// Wraps yielded values that no operation of the body defines, such as other
/// arguments, in `arith.select %true, %v, %v`: the pipeliner accepts only
/// results of the body's operations.
void PipelineItems::defineYields() {
  Operation *yield = body.getTerminator();
  llvm::DenseMap<Operation *, int64_t> stages = getStageOfItems();
  int64_t last = getLastStage();
  for (OpOperand &operand : yield->getOpOperands()) {
    Operation *def = operand.get().getDefiningOp();
    if (def && def->getBlock() == &body)
      continue;
    // The value takes the earliest stage of its users.
    int64_t stage = last;
    Value next = loop.getRegionIterArg(operand.getOperandNumber());
    for (Operation *user : next.getUsers())
      if (auto it = stages.find(getInBody(user)); it != stages.end())
        stage = std::min(stage, it->second);
    rewriter.setInsertionPoint(loop);
    Location loc = yield->getLoc();
    Value yes =
        arith::ConstantOp::create(rewriter, loc, rewriter.getBoolAttr(true));
    rewriter.setInsertionPoint(yield);
    Value same = arith::SelectOp::create(rewriter, loc, yes, operand.get(),
                                         operand.get());
    operand.set(same);
    items.push_back({same.getDefiningOp(), stage, 0});
    stages[same.getDefiningOp()] = stage;
  }
}

void PipelineItems::placeRest() {
  Stages stages = findStages();
  sortByNeeds(cloneRest(stages));
  defineYields();
  for (const PipelineItem &item : items)
    rewriter.moveOpBefore(item.op, body.getTerminator());
}
