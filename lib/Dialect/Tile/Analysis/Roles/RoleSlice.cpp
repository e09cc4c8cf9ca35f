//===- RoleSlice.cpp - The part of a kernel that a role executes ----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A worklist of values. Each value adds the operation that makes it, that
// operation's operands, and the control flow around it. Loops and branches are
// not added as a whole: a result or carried value adds what the loop yields for
// it, and its initial value; the bounds or the condition are always added. So
// the slice of an address does not have the accumulator that the same loop
// carries.
//
// Cloning walks the original code in program order and rebuilds each loop and
// branch with only those carried values and results that the slice has.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Roles/RoleSlice.h"

#include "tilews/Dialect/Tile/Analysis/BriefPrinter.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// What belongs to a slice
//===----------------------------------------------------------------------===//

void RoleSlice::add(Operation *op) {
  addOp(op);
  drain();
}

void RoleSlice::add(Value value) {
  addValue(value);
  drain();
}

void RoleSlice::drain() {
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value))
      addArgument(argument);
    else
      addResult(cast<OpResult>(value));
  }
}

void RoleSlice::addValue(Value value) {
  if (values.insert(value).second)
    pending.push_back(value);
}

/// Adds an operation with the values that decide whether and how often it runs.
/// Carried values are added separately, as they are needed.
void RoleSlice::addOp(Operation *op) {
  if (!ops.insert(op))
    return;
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (Value bound :
         {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
      addValue(bound);
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    addValue(branch.getCondition());
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    addValue(loop.getConditionOp().getCondition());
  } else {
    for (Value operand : op->getOperands())
      addValue(operand);
    // Other operations with regions are added as a whole.
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!op->isAncestor(operand.getParentRegion()->getParentOp()))
          addValue(operand);
    });
  }
  Operation *parent = op->getParentOp();
  if (parent && !isa<FunctionOpInterface>(parent))
    addOp(parent);
}

void RoleSlice::addArgument(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  unsigned number = argument.getArgNumber();
  if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    addOp(loop);
    if (number > 0) {
      addValue(loop.getInitArgs()[number - 1]);
      addValue(loop.getYieldedValues()[number - 1]);
    }
  } else if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
    addOp(loop);
    if (argument.getOwner() == loop.getBeforeBody()) {
      addValue(loop.getInits()[number]);
      addValue(loop.getYieldOp()->getOperand(number));
    } else {
      addValue(loop.getConditionOp().getArgs()[number]);
    }
  }
}

void RoleSlice::addResult(OpResult result) {
  Operation *op = result.getOwner();
  unsigned number = result.getResultNumber();
  addOp(op);
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    addValue(loop.getRegionIterArgs()[number]);
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (mlir::Region &region : branch->getRegions())
      addValue(region.front().getTerminator()->getOperand(number));
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    addValue(loop.getConditionOp().getArgs()[number]);
    addValue(loop.getAfterArguments()[number]);
  }
}

void RoleSlice::print(raw_ostream &os) const {
  if (ops.empty())
    return;
  BriefPrinter printer(ops.front(), os);
  for (Operation *op : ops)
    printer << op << "\n";
}

//===----------------------------------------------------------------------===//
// Cloning
//===----------------------------------------------------------------------===//

void RoleSlice::clone(OpBuilder &builder, Block::iterator first,
                      Block::iterator last, IRMapping &mapping) const {
  for (Operation &op : llvm::make_range(first, last)) {
    bool isMapped = llvm::any_of(
        op.getResults(), [&](Value value) { return mapping.contains(value); });
    if (!contains(&op) || isMapped)
      continue;
    if (auto loop = dyn_cast<scf::ForOp>(op))
      cloneFor(builder, loop, mapping);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      cloneIf(builder, branch, mapping);
    else if (auto loop = dyn_cast<scf::WhileOp>(op))
      cloneWhile(builder, loop, mapping);
    else
      builder.clone(op, mapping);
  }
}

/// Returns for each of `values` whether the slice has it.
static SmallVector<bool> select(ValueRange values, const RoleSlice &slice) {
  return llvm::map_to_vector(
      values, [&](Value value) { return slice.contains(value); });
}

static SmallVector<Value> pick(ValueRange values, ArrayRef<bool> kept,
                               const IRMapping &mapping) {
  SmallVector<Value> picked;
  for (auto [value, keep] : llvm::zip_equal(values, kept))
    if (keep)
      picked.push_back(mapping.lookupOrDefault(value));
  return picked;
}

static void mapPicked(ValueRange from, ArrayRef<bool> kept, ValueRange to,
                      IRMapping &mapping) {
  unsigned next = 0;
  for (auto [value, keep] : llvm::zip_equal(from, kept))
    if (keep)
      mapping.map(value, to[next++]);
}

/// Fills `to` with the slice of `from`. `arguments` and `yielded` say which
/// arguments and yielded values are kept.
void RoleSlice::cloneRegion(OpBuilder &builder, mlir::Region &from,
                            mlir::Region &to, IRMapping &mapping,
                            ArrayRef<bool> arguments,
                            ArrayRef<bool> yielded) const {
  Block &source = from.front();
  if (to.empty())
    to.emplaceBlock();
  Block &dest = to.front();
  dest.clear();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&dest);
  // The region of a new scf.for has its induction variable already.
  unsigned present = dest.getNumArguments();
  for (auto [argument, keep] :
       llvm::zip_equal(source.getArguments(), arguments))
    if (keep && present == 0)
      dest.addArgument(argument.getType(), argument.getLoc());
  mapPicked(source.getArguments(), arguments, dest.getArguments(), mapping);

  Operation *terminator = source.getTerminator();
  clone(builder, source.begin(), terminator->getIterator(), mapping);
  SmallVector<Value> operands =
      pick(terminator->getOperands(), yielded, mapping);
  OperationState state(terminator->getLoc(), terminator->getName(), operands,
                       TypeRange(), terminator->getAttrs());
  builder.create(state);
}

void RoleSlice::cloneFor(OpBuilder &builder, scf::ForOp loop,
                         IRMapping &mapping) const {
  SmallVector<bool> carried = select(loop.getRegionIterArgs(), *this);
  auto copy = scf::ForOp::create(
      builder, loop.getLoc(), mapping.lookupOrDefault(loop.getLowerBound()),
      mapping.lookupOrDefault(loop.getUpperBound()),
      mapping.lookupOrDefault(loop.getStep()),
      pick(loop.getInitArgs(), carried, mapping), /*bodyBuilder=*/nullptr,
      loop.getUnsignedCmp());
  copy->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  SmallVector<bool> arguments = {true};
  llvm::append_range(arguments, carried);
  cloneRegion(builder, loop.getRegion(), copy.getRegion(), mapping, arguments,
              carried);
  mapPicked(loop.getResults(), carried, copy.getResults(), mapping);
}

void RoleSlice::cloneIf(OpBuilder &builder, scf::IfOp branch,
                        IRMapping &mapping) const {
  SmallVector<bool> kept = select(branch.getResults(), *this);
  SmallVector<Type> types;
  for (auto [result, keep] : llvm::zip_equal(branch.getResults(), kept))
    if (keep)
      types.push_back(result.getType());
  bool hasElse = branch.elseBlock() != nullptr;
  auto copy = scf::IfOp::create(builder, branch.getLoc(), types,
                                mapping.lookupOrDefault(branch.getCondition()),
                                /*addThenBlock=*/true, hasElse);
  copy->setDiscardableAttrs(branch->getDiscardableAttrDictionary());
  for (auto [from, to] : llvm::zip(branch->getRegions(), copy->getRegions()))
    if (!from.empty())
      cloneRegion(builder, from, to, mapping, {}, kept);
  mapPicked(branch.getResults(), kept, copy.getResults(), mapping);
}

void RoleSlice::cloneWhile(OpBuilder &builder, scf::WhileOp loop,
                           IRMapping &mapping) const {
  SmallVector<bool> before = select(loop.getBeforeArguments(), *this);
  // The condition passes on what results or the second region need.
  SmallVector<bool> after = select(loop.getAfterArguments(), *this);
  SmallVector<Type> types;
  for (auto [result, keep] : llvm::zip_equal(loop.getResults(), after))
    if (keep)
      types.push_back(result.getType());
  auto copy = scf::WhileOp::create(builder, loop.getLoc(), types,
                                   pick(loop.getInits(), before, mapping));
  copy->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  // The condition itself comes before what it passes on.
  SmallVector<bool> passed = {true};
  llvm::append_range(passed, after);
  cloneRegion(builder, loop.getBefore(), copy.getBefore(), mapping, before,
              passed);
  cloneRegion(builder, loop.getAfter(), copy.getAfter(), mapping, after,
              before);
  mapPicked(loop.getResults(), after, copy.getResults(), mapping);
}
