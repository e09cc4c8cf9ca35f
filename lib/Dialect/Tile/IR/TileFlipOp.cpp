//===- TileFlipOp.cpp - Fragments in reverse order ------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifier, fold and canonicalization of `tile.flip`. An axis along which all
// elements are equal need not be reversed, and one that is reversed twice is as
// before:
//
//   tile.flip (tile.flip %x {axes = 0, 1}) {axes = 1, 2}
//     becomes tile.flip %x {axes = 0, 2}
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <algorithm>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

static RankedTensorType getTensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

LogicalResult FlipOp::verify() {
  int64_t rank = getTensor(getSource()).getRank(), last = -1;
  if (rank == 0 && !getAxes().empty())
    return emitOpError("expected no axes for a fragment without dimensions, "
                       "found [")
           << getAxes() << "]";
  for (int64_t axis : getAxes()) {
    if (axis <= last || axis >= rank)
      return emitOpError("expected axes from 0 to ")
             << rank - 1 << ", each once and in ascending order, found ["
             << getAxes() << "]";
    last = axis;
  }
  return success();
}

/// Returns whether the elements of `value` along `axis` are known to be equal.
static bool isUniformAlong(Value value, int64_t axis) {
  if (getTensor(value).getDimSize(axis) == 1)
    return true;
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    return getTensor(broadcast.getSource()).getDimSize(axis) == 1;
  auto iota = value.getDefiningOp<IotaOp>();
  return iota && static_cast<int64_t>(iota.getAxis()) != axis;
}

OpFoldResult FlipOp::fold(FoldAdaptor adaptor) {
  if (isa_and_present<SplatElementsAttr>(adaptor.getSource()))
    return adaptor.getSource();
  Value source = getSource();
  if (source.getDefiningOp<tensor::SplatOp>())
    return source;
  SmallVector<int64_t> axes = llvm::filter_to_vector(
      getAxes(), [&](int64_t axis) { return !isUniformAlong(source, axis); });
  if (auto inner = source.getDefiningOp<FlipOp>()) {
    // An axis that both reverse is as before.
    SmallVector<int64_t> either;
    std::set_symmetric_difference(
        axes.begin(), axes.end(), inner.getAxes().begin(),
        inner.getAxes().end(), std::back_inserter(either));
    if (either.empty() || !isScratchPlanned(*this)) {
      axes = std::move(either);
      source = inner.getSource();
    }
  }
  if (axes.empty())
    return source;
  if (source == getSource() && axes.size() == getAxes().size())
    return {};
  setOperand(source);
  setAxes(axes);
  return getResult();
}

/// Replaces the reverse of coordinates by what they are subtracted from less
/// these, and flips a fragment before it is repeated rather than after.
LogicalResult FlipOp::canonicalize(FlipOp op, PatternRewriter &rewriter) {
  RankedTensorType type = getTensor(op.getResult());
  if (auto iota = op.getSource().getDefiningOp<IotaOp>()) {
    // An axis other than that of the coordinates folds away.
    unsigned width = type.getElementType().isIndex()
                         ? IndexType::kInternalStorageBitWidth
                         : type.getElementTypeBitWidth();
    APInt last(width, type.getDimSize(iota.getAxis()) - 1, /*isSigned=*/false,
               /*implicitTrunc=*/true);
    Value from = arith::ConstantOp::create(rewriter, op.getLoc(),
                                           DenseElementsAttr::get(type, last));
    rewriter.replaceOpWithNewOp<arith::SubIOp>(op, from, iota);
    return success();
  }
  auto broadcast = op.getSource().getDefiningOp<BroadcastOp>();
  // Layouts are chosen, and perhaps scratch memory is planned, for what is.
  if (!broadcast || hasFragmentLayout(type))
    return failure();
  Value flipped = FlipOp::create(rewriter, op.getLoc(), broadcast.getSource(),
                                 op.getAxes());
  rewriter.replaceOpWithNewOp<BroadcastOp>(op, type, flipped);
  return success();
}
