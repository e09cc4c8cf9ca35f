//===- IndexSigns.cpp - Index values that are not negative ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sparse forward dataflow over two facts (SliceSolver.h): a value may be
// negative, or never is. Values in a cycle start as never negative, so that
// `%next = %i + 8` stays so if the first `%i` is. Upstream's analysis of
// integer ranges knows no sign of `%k * 64` without a bound of `%k`, because
// that could overflow; index arithmetic is assumed not to.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/IndexSigns.h"

#include "tilews/Dialect/Tile/Analysis/BriefPrinter.h"
#include "tilews/Dialect/Tile/Analysis/SliceSolver.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-index-signs"

using namespace mlir;
using namespace tilews::tile;

/// Returns whether an expression may be negative.
static bool mayBeNegative(AffineExpr expr, ArrayRef<bool> dims,
                          ArrayRef<bool> symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue() < 0;
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  // A remainder is not negative whatever is divided.
  if (expr.getKind() == AffineExprKind::Mod)
    return false;
  auto binary = cast<AffineBinaryOpExpr>(expr);
  return mayBeNegative(binary.getLHS(), dims, symbols) ||
         mayBeNegative(binary.getRHS(), dims, symbols);
}

namespace {
/// Finds the facts of a value and of all values that it is computed from.
class SignSolver {
public:
  using Solver = SliceSolver<bool>;
  explicit SignSolver(Solver::Facts &known) : solver(known) {}

  void solve(Value root) {
    solver.solve(root, [&](Value value, bool last) {
      bool negative = last || evaluate(value);
      if (negative != last)
        LDBG(2) << value << ": may be negative";
      return negative;
    });
  }

private:
  bool read(Value value) { return solver.read(value); }
  bool evaluate(Value value);
  bool evaluateFlow(Value value, RegionBranchOpInterface branch);
  bool evaluateOp(Operation *op);
  SmallVector<bool> evaluateMap(AffineMap map, ValueRange operands);

  Solver solver;
};
} // namespace

bool SignSolver::evaluate(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.isNegative();
  auto argument = dyn_cast<BlockArgument>(value);
  Operation *op =
      argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
  if (auto branch = dyn_cast_if_present<RegionBranchOpInterface>(op))
    return evaluateFlow(value, branch);
  return argument || evaluateOp(op);
}

bool SignSolver::evaluateFlow(Value value, RegionBranchOpInterface branch) {
  // The step of a loop is positive.
  if (auto loop = dyn_cast<scf::ForOp>(branch.getOperation());
      loop && value == loop.getInductionVar())
    return read(loop.getLowerBound());
  bool isPassed = false, negative = false;
  visitPassedOperands(branch, value, [&](Value passed) {
    negative |= read(passed);
    isPassed = true;
  });
  return negative || !isPassed;
}

bool SignSolver::evaluateOp(Operation *op) {
  auto operand = [&](unsigned i) { return read(op->getOperand(i)); };
  return TypeSwitch<Operation *, bool>(op)
      .Case<gpu::BlockIdOp, gpu::GridDimOp, gpu::ThreadIdOp, gpu::BlockDimOp,
            memref::DimOp>([](auto) { return false; })
      .Case<arith::IndexCastOp, arith::ExtSIOp>(
          [&](auto) { return operand(0); })
      .Case<arith::ExtUIOp>([](auto) { return false; })
      .Case<arith::AddIOp, arith::MulIOp, arith::MinSIOp, arith::DivSIOp,
            arith::FloorDivSIOp, arith::CeilDivSIOp, arith::OrIOp,
            arith::XOrIOp>([&](auto) {
        // Both are read in any case, so that the solver visits both.
        bool lhs = operand(0), rhs = operand(1);
        return lhs || rhs;
      })
      .Case<arith::MaxSIOp, arith::AndIOp>([&](auto) {
        bool lhs = operand(0), rhs = operand(1);
        return lhs && rhs;
      })
      .Case<arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::ShRSIOp,
            arith::ShRUIOp, arith::ShLIOp>([&](auto) { return operand(0); })
      .Case<arith::SelectOp>([&](auto) {
        bool lhs = operand(1), rhs = operand(2);
        return lhs || rhs;
      })
      .Case<affine::AffineApplyOp, affine::AffineMinOp>([&](auto affineOp) {
        return llvm::is_contained(
            evaluateMap(affineOp.getAffineMap(), op->getOperands()), true);
      })
      .Case<affine::AffineMaxOp>([&](affine::AffineMaxOp max) {
        return !llvm::is_contained(
            evaluateMap(max.getAffineMap(), op->getOperands()), false);
      })
      .Default(true);
}

/// Returns whether each result of a map may be negative.
SmallVector<bool> SignSolver::evaluateMap(AffineMap map, ValueRange operands) {
  auto signs = llvm::map_to_vector(
      operands, [&](Value operand) { return read(operand); });
  ArrayRef<bool> all = signs;
  return llvm::map_to_vector(map.getResults(), [&](AffineExpr expr) {
    return mayBeNegative(expr, all.take_front(map.getNumDims()),
                         all.drop_front(map.getNumDims()));
  });
}

bool IndexSigns::isNonNegative(Value value) {
  if (!known.contains(value))
    SignSolver(known).solve(value);
  return !known.find(value)->second;
}

bool IndexSigns::isNonNegative(OpFoldResult value) {
  if (auto attr = dyn_cast<Attribute>(value))
    return cast<IntegerAttr>(attr).getInt() >= 0;
  return isNonNegative(cast<Value>(value));
}

void IndexSigns::print(raw_ostream &os) const {
  if (known.empty())
    return;
  Value first = known.front().first;
  BriefPrinter printer(first.getParentRegion()->getParentOp(), os);
  for (auto [value, negative] : known)
    printer << value << ": " << (negative ? "any" : "0 or more") << "\n";
}
