//===- WidenSmallFloats.cpp - Compute with small floats in f32 ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GPUs convert fp8, fp6, fp4 and scales, and do not compute with them. So each
// operation on their values extends its operands to f32, and rounds its result:
//
//   %r = tile.reduce <sum> %x       %0 = arith.extf %x : f8E4M3FN to f32
//                               ->  %1 = tile.reduce <sum> %0
//                                   %r = arith.truncf %1 : f32 to f8E4M3FN
//
// Two operations in a row would round to the small type and extend again. The
// folder of `arith.extf` drops both conversions if they are marked `contract`.
// That is right after an operation such as a maximum, whose result is one of
// its operands or its absolute value; elsewhere a rounding would be lost. So
// only truncations of such results are marked.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/IR/Tile.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

namespace tilews::tile {
#define GEN_PASS_DEF_WIDENSMALLFLOATSPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

#define DEBUG_TYPE "tile-widen-small-floats"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

ALWAYS_ENABLED_STATISTIC(numWidened, "Operations that compute in f32 instead");

/// Whether a type is floating point of at most 8 bits, or a fragment of it.
static bool isSmall(Type type) {
  auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
  return element && element.getWidth() <= 8;
}

/// Returns `type` with elements of f32.
static Type widen(Type type) {
  Type single = Float32Type::get(type.getContext());
  if (auto shaped = dyn_cast<ShapedType>(type))
    return shaped.clone(single);
  return single;
}

/// Whether an operation computes with the values of its operands. Others
/// convert them, or move their bits.
static bool computes(Operation *op) {
  if (isa<arith::ExtFOp, arith::TruncFOp, arith::BitcastOp, arith::ConstantOp,
          arith::SelectOp>(op))
    return false;
  // Unregistered operations have no dialect.
  return isa_and_present<arith::ArithDialect, math::MathDialect>(
             op->getDialect()) ||
         isa<ReduceOp, ScanOp>(op);
}

/// Whether each result is an operand, or its absolute value.
static bool isExact(Operation *op) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getKind() != ReductionKind::Sum;
  if (auto scan = dyn_cast<ScanOp>(op))
    return scan.getKind() != ReductionKind::Sum;
  return isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
             arith::MinNumFOp, math::AbsFOp>(op);
}

/// Lets `op` compute in f32.
static void widen(RewriterBase &rewriter, Operation *op) {
  LDBG() << "computes in f32: " << *op;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  Location loc = op->getLoc();
  auto contract = arith::FastMathFlagsAttr::get(op->getContext(),
                                                arith::FastMathFlags::contract);
  rewriter.modifyOpInPlace(op, [&] {
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      if (!isSmall(value.getType()))
        continue;
      auto wide =
          arith::ExtFOp::create(rewriter, loc, widen(value.getType()), value);
      wide.setFastmathAttr(contract);
      operand.set(wide);
    }
  });
  rewriter.setInsertionPointAfter(op);
  for (Value result : op->getResults()) {
    Type type = result.getType();
    if (!isSmall(type))
      continue;
    result.setType(widen(type));
    auto rounded = arith::TruncFOp::create(rewriter, loc, type, result);
    if (isExact(op))
      rounded.setFastmathAttr(contract);
    rewriter.replaceAllUsesExcept(result, rounded, rounded);
  }
  ++numWidened;
}

void tile::widenSmallFloats(RewriterBase &rewriter, Operation *root) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (computes(op) && (llvm::any_of(op->getOperandTypes(), isSmall) ||
                         llvm::any_of(op->getResultTypes(), isSmall)))
      ops.push_back(op);
  });
  for (Operation *op : ops)
    widen(rewriter, op);
}

namespace {
struct WidenSmallFloatsPass
    : tile::impl::WidenSmallFloatsPassBase<WidenSmallFloatsPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    widenSmallFloats(rewriter, getOperation());
  }
};
} // namespace
