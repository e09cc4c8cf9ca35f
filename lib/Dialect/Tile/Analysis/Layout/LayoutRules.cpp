//===- LayoutRules.cpp - Layouts through one operation --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each operation on fragments is a map of coordinates, and layouts are composed
// with it: `tile.reduce` drops a dimension, `tile.transpose` permutes them,
// `tile.slice` keeps a part. Forward, a rule gives the result's layout for an
// operand's; backward, the operand's layout for a result's. The two need not be
// inverse: a reduction has no backward rule, because many operand layouts have
// the same result, and a broadcast has no forward rule.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Layout/LayoutRules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

Operation *tile::getMaker(Value value) {
  if (Operation *op = value.getDefiningOp())
    return op;
  return cast<BlockArgument>(value).getOwner()->getParentOp();
}

int64_t tile::getNumThreads(Value value) {
  return getNumThreads(getMaker(value));
}

bool tile::isRepeatable(Operation *op) {
  return isa<arith::ConstantOp, tensor::SplatOp, tensor::EmptyOp, ub::PoisonOp,
             IotaOp>(op);
}

bool tile::isElementwise(Operation *op) {
  // The old values of an atomic access are held like the new ones.
  bool isUpdate = isa<AtomicRMWOp, AtomicCASOp>(op) && op->getNumResults() > 0;
  return isa<ScanOp, FlipOp>(op) || isUpdate ||
         (OpTrait::hasElementwiseMappableTraits(op) && !isRepeatable(op));
}

/// Returns the layout of a value with the extent 1 in some dimensions, which
/// stands for a value of the shape `to` in the layout `full`.
static FragmentLayout collapse(FragmentLayout full, ArrayRef<int64_t> from,
                               ArrayRef<int64_t> to) {
  for (auto [dim, extent, wanted] : llvm::enumerate(from, to))
    if (extent != wanted)
      full = full.collapseDim(dim);
  return full;
}

/// Returns whether the operation extracts the element of a fragment of rank 0,
/// which each thread holds in any layout.
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
      .Case<SliceOp>([&](SliceOp op) {
        return source.slice(op.getAxis(),
                            getShape(op.getResult())[op.getAxis()]);
      })
      .Case<TransposeOp>(
          [&](TransposeOp op) { return source.transpose(op.getPermutation()); })
      .Case<ReshapeOp>([&](ReshapeOp op) {
        return source.reshape(getShape(op.getSource()),
                              getShape(op.getResult()));
      })
      .Case<BitcastOp>([&](BitcastOp op) {
        int64_t dim = getShape(op.getSource()).size() - 1;
        return source.splitElements(dim, op.getSplit())
            .joinElements(dim, op.getJoin());
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
        return collapse(result, getShape(op.getSource()),
                        getShape(op.getResult()));
      })
      .Case<IndexedOpInterface>([&](IndexedOpInterface op) {
        // Indices, masks and stored values are where the accessed elements are.
        return collapse(result, getShape(operand.get()),
                        getShape(op.getAccessed()));
      })
      .Case<SliceOp>([&](SliceOp op) {
        return result.repeat(op.getAxis(),
                             getShape(op.getResult())[op.getAxis()],
                             op.getNumParts());
      })
      .Case<TransposeOp>([&](TransposeOp op) {
        return result.transpose(invert(op.getPermutation()));
      })
      .Case<ReshapeOp>([&](ReshapeOp op) {
        return result.reshape(getShape(op.getResult()),
                              getShape(op.getSource()));
      })
      .Case<BitcastOp>([&](BitcastOp op) {
        int64_t dim = getShape(op.getSource()).size() - 1;
        return result.splitElements(dim, op.getJoin())
            .joinElements(dim, op.getSplit());
      })
      .Default(Layout());
}

FragmentLayout tile::chooseBlockedLayout(ArrayRef<int64_t> shape,
                                         int64_t threads,
                                         int64_t vectorElements) {
  int64_t elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  while (vectorElements > 1 && elements / vectorElements < threads)
    vectorElements /= 2;
  return getBlockedLayout(shape, threads, vectorElements);
}

FragmentLayout tile::getRowLayout(ArrayRef<int64_t> shape, int64_t threads,
                                  int64_t vectorElements, int64_t axis,
                                  int64_t warpSize) {
  SmallVector<int64_t> others(shape);
  others[axis] = 1;
  if (axis + 1 != int64_t(shape.size())) {
    FragmentLayout rest = getBlockedLayout(others, threads, vectorElements);
    SmallVector<Mode> value(rest.getValueModes());
    if (shape[axis] > 1)
      value.push_back({shape[axis], 1, axis});
    return FragmentLayout(rest.getThreadModes(), value);
  }
  int64_t vector = std::gcd(vectorElements, shape[axis]);
  int64_t vectors = shape[axis] / vector;
  int64_t lanes = std::min(threads & -threads, warpSize);
  lanes = std::min<int64_t>(lanes, llvm::bit_floor<uint64_t>(vectors));
  int64_t repeats = llvm::divideCeil(vectors, lanes);
  FragmentLayout rest = getBlockedLayout(others, threads / lanes, 1);
  SmallVector<Mode> thread = {{lanes, vector, axis}};
  llvm::append_range(thread, rest.getThreadModes());
  SmallVector<Mode> value = {{vector, 1, axis},
                             {repeats, vector * lanes, axis}};
  llvm::append_range(value, rest.getValueModes());
  return FragmentLayout(thread, value);
}
