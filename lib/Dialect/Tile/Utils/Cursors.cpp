//===- Cursors.cpp - Cursors that control flow carries --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SSA construction for cursors, in one walk over structured control flow. The
// state maps each cursor to its current value. Each use takes the value of the
// state, and each `tile.advance` changes the state.
//
// An scf.for, scf.if or scf.while whose body advances cursors is replaced by
// one with these cursors as additional results. In loops they are also
// additional region arguments. Their regions are visited with the arguments as
// state, and their terminators pass the state on.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Utils/Cursors.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

void Cursors::carry(mlir::Region &region) {
  State state(llvm::make_first_range(numbers));
  visit(region.front(), state);
}

void Cursors::visit(Block &block, State &state) {
  for (Operation &op : llvm::make_early_inc_range(block))
    visit(&op, state);
}

void Cursors::visit(Operation *op, State &state) {
  Numbers assigned = getAssigned(op);
  Value advanced = isa<AdvanceOp>(op) ? op->getOperand(0) : Value();
  for (OpOperand &operand : op->getOpOperands()) {
    auto *it = numbers.find(operand.get());
    if (it != numbers.end())
      operand.set(state[it->second]);
  }
  if (advanced && !assigned.empty()) {
    state[numbers.lookup(advanced)] = op->getResult(0);
    if (Value last = lasts.lookup(advanced))
      state[numbers.lookup(last)] = op->getOperand(0);
    return;
  }
  if (assigned.empty()) {
    for (mlir::Region &region : op->getRegions())
      for (Block &block : region)
        visit(block, state);
    return;
  }
  Operation *extended = extend(op, assigned, state);
  unsigned first = extended->getNumResults() - assigned.size();
  for (auto [i, number] : llvm::enumerate(assigned))
    state[number] = extended->getResult(first + i);
}

/// Returns the cursors that `op` or an operation in its regions advances.
Cursors::Numbers Cursors::getAssigned(Operation *op) const {
  llvm::SmallSetVector<unsigned, 4> assigned;
  op->walk([&](AdvanceOp advance) {
    const auto *it = numbers.find(advance.getCursor());
    if (it == numbers.end())
      return;
    assigned.insert(it->second);
    if (Value last = lasts.lookup(advance.getCursor()))
      assigned.insert(numbers.lookup(last));
  });
  Numbers sorted(assigned.begin(), assigned.end());
  llvm::sort(sorted);
  return sorted;
}

static SmallVector<Value> select(ArrayRef<Value> state,
                                 ArrayRef<unsigned> numbers) {
  return llvm::map_to_vector(numbers, [&](unsigned n) { return state[n]; });
}

/// Rewrites a region, and appends the carried cursors to its terminator. The
/// region arguments from `firstArgument` on are these cursors. A region of an
/// scf.if has none: the cursors have the values of `state` at its entry.
void Cursors::visitBranch(mlir::Region &region, const Numbers &carried,
                          State state, unsigned firstArgument) {
  Block &block = region.front();
  if (firstArgument < block.getNumArguments())
    for (auto [i, number] : llvm::enumerate(carried))
      state[number] = block.getArgument(firstArgument + i);
  visit(block, state);
  Operation *terminator = block.getTerminator();
  rewriter.modifyOpInPlace(terminator, [&] {
    terminator->insertOperands(terminator->getNumOperands(),
                               select(state, carried));
  });
}

static void addArguments(mlir::Region &region, TypeRange types, Location loc) {
  for (Type type : types)
    region.addArgument(type, loc);
}

/// Replaces `op` by an operation that also carries cursors: as its last results
/// and, in loops, as the last arguments of its regions.
Operation *Cursors::extend(Operation *op, const Numbers &carried,
                           const State &state) {
  Location loc = op->getLoc();
  SmallVector<Value> values = select(state, carried);
  TypeRange types{ValueRange(values)};
  SmallVector<Type> resultTypes(op->getResultTypes());
  llvm::append_range(resultTypes, types);

  // The same operation with more results and empty regions.
  OperationState create(loc, op->getName(), op->getOperands(), resultTypes,
                        op->getAttrs(), op->getSuccessors());
  if (!isa<scf::IfOp>(op))
    create.addOperands(values);
  for (unsigned i = 0; i < op->getNumRegions(); ++i)
    create.addRegion();
  rewriter.setInsertionPoint(op);
  Operation *extended = rewriter.create(create);
  for (auto [from, to] : llvm::zip(op->getRegions(), extended->getRegions())) {
    to.takeBody(from);
    if (to.empty()) { // The missing `else` of an scf.if.
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.createBlock(&to);
      scf::YieldOp::create(rewriter, loc);
    }
    unsigned firstArgument = to.getNumArguments();
    if (!isa<scf::IfOp>(op))
      addArguments(to, types, loc);
    visitBranch(to, carried, state, firstArgument);
  }
  rewriter.replaceOp(op, extended->getResults().drop_back(carried.size()));
  return extended;
}
