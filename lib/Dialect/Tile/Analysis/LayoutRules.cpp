//===- LayoutRules.cpp - Layouts through one operation --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/LayoutRules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

int64_t tile::getNumThreads(Value value) {
  if (Operation *op = value.getDefiningOp())
    return getNumThreads(op);
  return getNumThreads(cast<BlockArgument>(value).getOwner()->getParentOp());
}

bool tile::isRepeatable(Operation *op) {
  return isa<arith::ConstantOp, tensor::SplatOp, tensor::EmptyOp, ub::PoisonOp,
             IotaOp>(op);
}

bool tile::isElementwise(Operation *op) {
  return isa<ScanOp>(op) ||
         (OpTrait::hasElementwiseMappableTraits(op) && !isRepeatable(op));
}

/// Whether the operation takes the one element of a fragment of rank 0, which
/// each thread holds in any layout.
static bool isScalarOfFragment(Operation *op) {
  auto extract = dyn_cast<tensor::ExtractOp>(op);
  return extract && extract.getTensor().getType().getRank() == 0;
}

bool tile::hasLayoutRule(Operation *op) {
  return isRepeatable(op) || isElementwise(op) || isScalarOfFragment(op) ||
         isa<TileDialect>(op->getDialect()) ||
         isa<RegionBranchOpInterface, RegionBranchTerminatorOpInterface>(op);
}

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static SmallVector<int64_t> invert(ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> inverse(permutation.size());
  for (auto [i, p] : llvm::enumerate(permutation))
    inverse[p] = i;
  return inverse;
}

std::optional<FragmentLayout>
tile::getResultLayout(Operation *op, const FragmentLayout &source) {
  using Layout = std::optional<FragmentLayout>;
  if (isElementwise(op))
    return source;
  return TypeSwitch<Operation *, Layout>(op)
      .Case<ReduceOp>([&](ReduceOp op) { return source.dropDim(op.getAxis()); })
      .Case<ExpandDimsOp>(
          [&](ExpandDimsOp op) { return source.insertDim(op.getAxis()); })
      .Case<TransposeOp>(
          [&](TransposeOp op) { return source.transpose(op.getPermutation()); })
      .Case<ReshapeOp>([&](ReshapeOp op) {
        return source.reshape(getShape(op.getSource()),
                              getShape(op.getResult()));
      })
      .Default(Layout());
}

std::optional<FragmentLayout>
tile::getOperandLayout(OpOperand &operand, const FragmentLayout &result) {
  using Layout = std::optional<FragmentLayout>;
  Operation *op = operand.getOwner();
  if (isElementwise(op))
    return result;
  return TypeSwitch<Operation *, Layout>(op)
      .Case<ExpandDimsOp>([&](ExpandDimsOp op) -> Layout {
        FragmentLayout source = result.dropDim(op.getAxis());
        // Registers along the new dimension have no counterpart.
        if (!(source.insertDim(op.getAxis()).coalesce() == result.coalesce()))
          return std::nullopt;
        return source;
      })
      .Case<BroadcastOp>([&](BroadcastOp op) {
        FragmentLayout source = result;
        for (auto [dim, from, to] : llvm::enumerate(getShape(op.getSource()),
                                                    getShape(op.getResult())))
          if (from != to)
            source = source.collapseDim(dim);
        return source;
      })
      .Case<TransposeOp>([&](TransposeOp op) {
        return result.transpose(invert(op.getPermutation()));
      })
      .Case<ReshapeOp>([&](ReshapeOp op) {
        return result.reshape(getShape(op.getResult()),
                              getShape(op.getSource()));
      })
      .Default(Layout());
}
