//===- SlotSymmetry.cpp - Slot numbers that may be renamed ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the inputs of events back to where their numbers come from: control flow
// that passes them on, the step to the next slot, and constants, which are
// starts. Any other operation asks for a certain slot, and so does one that
// uses a slot for anything else. Then there is no symmetry.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/SlotSymmetry.h"

#include "mlir/IR/Matchers.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-verify-schedule"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

SlotSymmetry::SlotSymmetry(const TaskProgram &program, const Rules &rules)
    : program(program), rules(rules), period(rules.getSlotPeriod()) {
  if (period > 1 && find() && !isUsedOtherwise()) {
    for (Value value : found)
      slots.push_back(program.getNumber(value));
    for (Value value : between)
      if (int64_t number = program.getNumber(value); number >= 0)
        steps.insert(number);
    llvm::sort(slots);
    LDBG_OS([&](raw_ostream &os) { print(os); });
  } else {
    period = 0;
  }
}

void SlotSymmetry::print(raw_ostream &os) const {
  os << "slots of " << period << ": values";
  for (unsigned slot : slots)
    os << " " << slot;
  os << ", " << steps.size() << " values between two slots";
}

bool SlotSymmetry::find() {
  gpu::GPUFuncOp kernel = program.getKernel();
  bool isSymmetric = true;
  kernel.walk([&](Operation *op) {
    if (program.matters(op) && rules.isEvent(op))
      for (Value input : rules.getInputs(op))
        isSymmetric &= add(input, op);
  });
  while (isSymmetric && !todo.empty())
    isSymmetric = addSources(todo.pop_back_val());
  return isSymmetric;
}

/// Adds a slot that `user` takes.
bool SlotSymmetry::add(Value value, Operation *user) {
  if (matchPattern(value, m_Constant())) {
    starts.push_back(user);
    return true;
  }
  if (program.getNumber(value) < 0)
    return false;
  if (found.insert(value).second)
    todo.push_back(value);
  return true;
}

/// Adds the step from one slot to the next one that ends with `select`.
bool SlotSymmetry::addStep(arith::SelectOp select) {
  auto wraps = select.getCondition().getDefiningOp<arith::CmpIOp>();
  auto next = select.getFalseValue().getDefiningOp<arith::AddIOp>();
  IntegerAttr last;
  if (!wraps || !next || wraps.getPredicate() != arith::CmpIPredicate::eq ||
      wraps.getLhs() != next.getResult() ||
      !matchPattern(wraps.getRhs(), m_Constant(&last)) ||
      last.getInt() != period || !matchPattern(next.getRhs(), m_One()) ||
      !matchPattern(select.getTrueValue(), m_Zero()))
    return false;
  between.insert(next.getResult());
  between.insert(wraps.getResult());
  return add(next.getLhs(), select);
}

bool SlotSymmetry::addSources(Value value) {
  auto addYield = [&](mlir::Region &region, unsigned number) {
    Operation *yield = region.front().getTerminator();
    return add(yield->getOperand(number), yield);
  };
  auto addCarried = [&](scf::ForOp loop, unsigned number) {
    return add(loop.getInitArgs()[number], loop) &&
           addYield(loop.getRegion(), number);
  };
  auto addCondition = [&](scf::WhileOp loop, unsigned number) {
    return add(loop.getConditionOp().getArgs()[number], loop.getConditionOp());
  };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    unsigned number = argument.getArgNumber();
    if (auto loop = dyn_cast<scf::ForOp>(parent))
      return number > 0 && addCarried(loop, number - 1);
    auto loop = dyn_cast<scf::WhileOp>(parent);
    if (!loop)
      return false;
    if (argument.getOwner() != loop.getBeforeBody())
      return addCondition(loop, number);
    return add(loop.getInits()[number], loop) &&
           addYield(loop.getAfter(), number);
  }
  Operation *op = value.getDefiningOp();
  unsigned number = cast<OpResult>(value).getResultNumber();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return addCarried(loop, number);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return addCondition(loop, number);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return addYield(branch.getThenRegion(), number) &&
           addYield(branch.getElseRegion(), number);
  auto select = dyn_cast<arith::SelectOp>(op);
  return select && addStep(select);
}

/// Whether a number, a condition, or control flow depends on which slot it is.
bool SlotSymmetry::isUsedOtherwise() const {
  auto isOwn = [&](Value value) {
    return found.contains(value) || between.contains(value);
  };
  for (unsigned number = 0; number < program.getNumValues(); ++number) {
    Value value = program.getValue(number);
    if (!isOwn(value) && llvm::any_of(getSources(value), isOwn))
      return true;
    if (isOwn(value) && !program.getCopiedReads(value).empty())
      return true;
  }
  gpu::GPUFuncOp kernel = program.getKernel();
  WalkResult result = kernel.walk([&](Operation *op) {
    bool decides = isa<scf::IfOp, scf::ForOp, scf::ConditionOp>(op) ||
                   getAsserted(op) != nullptr;
    if (!program.matters(op) || !decides)
      return WalkResult::advance();
    unsigned deciding = isa<scf::ForOp>(op) ? 3 : 1;
    return llvm::any_of(op->getOperands().take_front(deciding), isOwn)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return result.wasInterrupted();
}
