//===- ProverScalars.cpp - Scalars that a schedule depends on -------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/Prover.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

bool verifier::isSum(Type type) {
  return type.isIndex() || isa<CursorType>(type) ||
         (type.isInteger() && !type.isInteger(1));
}

Expr Prover::getThreadVariable() const {
  return table.getAtom({4}, {}, /*isVariable=*/true);
}

Expr Prover::get(const Path &path, Value value) const {
  int64_t number = program.getNumber(value);
  if (number >= 0 && path.values[number])
    return path.values[number];
  Expr atom = table.getAtom(
      {1, reinterpret_cast<int64_t>(value.getAsOpaquePointer())}, {});
  return isSum(value.getType()) ? table.getInteger(atom) : atom;
}

void Prover::set(Path &path, Value value, Expr expr) const {
  int64_t number = program.getNumber(value);
  if (number >= 0)
    path.values[number] = expr;
}

SmallVector<Expr> Prover::getOperands(const Path &path,
                                      ValueRange operands) const {
  return llvm::map_to_vector(operands,
                             [&](Value value) { return get(path, value); });
}

/// Sums and conditions; 0 for other operations.
static Expr getArithmetic(ExpressionTable &table, Operation *op,
                          ArrayRef<Expr> v) {
  using namespace arith;
  bool ofSums = op->getNumOperands() > 0 && isSum(op->getOperand(0).getType());
  if (auto cmp = dyn_cast<CmpIOp>(op); cmp && ofSums) {
    Expr difference = table.add(v[0], v[1], -1),
         minus = table.add(v[1], v[0], -1);
    switch (cmp.getPredicate()) {
    case CmpIPredicate::eq:
      return table.getZero(difference);
    case CmpIPredicate::ne:
      return table.getNot(table.getZero(difference));
    case CmpIPredicate::slt:
      return table.getPositive(minus);
    case CmpIPredicate::sle:
      return table.getPositive(table.addConstant(minus, 1));
    case CmpIPredicate::sgt:
      return table.getPositive(difference);
    case CmpIPredicate::sge:
      return table.getPositive(table.addConstant(difference, 1));
    default:
      return 0;
    }
  }
  if (isa<AddIOp, SubIOp>(op) && ofSums)
    return table.add(v[0], v[1], isa<SubIOp>(op) ? -1 : 1);
  if (isa<MulIOp>(op) && ofSums)
    return table.getProduct(v[0], v[1]);
  if (isa<FloorDivSIOp>(op))
    if (std::optional<int64_t> divisor = table.getConstantValue(v[1]);
        divisor && *divisor > 0)
      return table.getQuotient(v[0], *divisor);
  if (isa<IndexCastOp, ExtSIOp, TruncIOp, IndexCastUIOp, ExtUIOp>(op) &&
      ofSums && isSum(op->getResult(0).getType()))
    return v[0];
  if (isa<AndIOp, OrIOp>(op) && !ofSums &&
      op->getResult(0).getType().isInteger(1))
    return table.getBoth(v[0], v[1], isa<AndIOp>(op));
  if (isa<XOrIOp>(op) && op->getResult(0).getType().isInteger(1))
    for (auto [a, b] : {std::pair(v[0], v[1]), std::pair(v[1], v[0])})
      if (std::optional<int64_t> value = table.getConstantValue(b))
        return *value ? table.getNot(a) : a;
  if (isa<ConvertLayoutOp>(op))
    return v[0];
  return 0;
}

Prover::Progress Prover::evaluate(Path &path, unsigned task, Operation *op) {
  if (llvm::none_of(op->getResults(), [&](Value result) {
        return program.getNumber(result) >= 0;
      }))
    return Progress::Made;
  IntegerAttr constant;
  if (matchPattern(op, m_Constant(&constant))) {
    const APInt &value = constant.getValue();
    set(path, op->getResult(0),
        table.getConstant(value.getBitWidth() == 1 ? value.getZExtValue()
                                                   : value.getSExtValue()));
    return Progress::Made;
  }
  SmallVector<Expr> operands = getOperands(path, op->getOperands());
  if (isa<CursorOp>(op)) {
    set(path, op->getResult(0), table.getConstant(0));
    return Progress::Made;
  }
  SmallVector<int64_t> constants;
  for (Expr operand : operands)
    if (std::optional<int64_t> value = table.getConstantValue(operand))
      constants.push_back(*value);
  if (auto advance = dyn_cast<AdvanceOp>(op);
      advance && constants.size() == 1) {
    int64_t depth = advance.getCursor().getType().getDepth();
    set(path, advance.getNext(),
        table.getConstant((constants[0] + 1) % (2 * depth)));
    return Progress::Made;
  }
  if (isa<arith::FloorDivSIOp>(op))
    if (std::optional<int64_t> exact = getExact(path, operands[0]))
      operands[0] = table.getConstant(*exact);
  if (constants.size() == operands.size())
    if (std::optional<int64_t> folded = foldIntegers(op, constants)) {
      set(path, op->getResult(0), table.getConstant(*folded));
      return Progress::Made;
    }
  auto select = dyn_cast<arith::SelectOp>(op);
  if (select && select.getCondition().getType().isInteger(1)) {
    std::optional<bool> known = path.facts.decide(table, operands[0]);
    if (!known && (program.isTracked(select.getResult()) ||
                   (table.getConstantValue(operands[1]) &&
                    table.getConstantValue(operands[2]))))
      known = decide(path, operands[0]);
    if (restart)
      return Progress::Failed;
    if (known) {
      set(path, select.getResult(), operands[*known ? 1 : 2]);
      return Progress::Made;
    }
  }
  if (Expr result = getArithmetic(table, op, operands)) {
    if (isSum(op->getResult(0).getType()))
      result = divideEvenly(path, result);
    if (restart)
      return Progress::Failed;
    set(path, op->getResult(0), result);
    return Progress::Made;
  }
  CopyOp copy = program.getCopyOf(op);
  bool isKnown =
      isMemoryEffectFree(op) || copy || program.readsStableMemory(op);
  for (OpResult result : op->getResults()) {
    Expr atom;
    if (isKnown && op->getNumRegions() == 0) {
      Identity identity = getIdentity(result);
      operands.clear();
      for (OpFoldResult operand : identity.operands) {
        auto value = dyn_cast<Value>(operand);
        operands.push_back(
            value ? get(path, value)
                  : table.getConstant(*getConstantIntValue(operand)));
      }
      if (copy) {
        llvm::append_range(operands,
                           getOperands(path, copy.getSourceOffsets()));
        identity.words.push_back(
            reinterpret_cast<int64_t>(copy.getOperation()));
      }
      if (isa<gpu::ThreadIdOp, gpu::LaneIdOp, gpu::SubgroupIdOp>(op))
        operands.push_back(getThreadVariable());
      identity.words.insert(
          identity.words.begin(),
          isa<memref::LoadOp, LoadOp>(op) ? ExpressionTable::kElement : 2);
      atom = table.getAtom(identity.words, operands);
    } else {
      // Another value each time.
      atom = table.getAtom(
          {3, reinterpret_cast<int64_t>(op), int64_t(result.getResultNumber())},
          {}, /*isVariable=*/true);
      path.facts.forget(table, atom);
    }
    Expr value = isSum(result.getType()) ? table.getInteger(atom) : atom;
    if (isa<gpu::BlockIdOp, gpu::GridDimOp>(op))
      path.facts.setInterval(table, value,
                             {isa<gpu::GridDimOp>(op), INT64_MAX});
    set(path, result, value);
  }
  return Progress::Made;
}
