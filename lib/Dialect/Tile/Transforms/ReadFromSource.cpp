//===- ReadFromSource.cpp - Read what a copy brought where it came from ---===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/CopiedReads.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// A place, or the extents of a region, in the source of a copy.
template <typename T>
using PerDim = SmallVector<T>;

/// The place in the source of what `place` names in the destination.
static PerDim<Value> getPlaceInSource(OpBuilder &b, Location loc, CopyOp copy,
                                      ArrayRef<OpFoldResult> place) {
  PerDim<Value> result;
  for (auto [offset, dim] :
       llvm::zip_equal(copy.getSourceRegion().offsets, getDestDims(copy))) {
    Value value = getValueOrCreateConstantIndexOp(b, loc, offset);
    if (dim)
      value = b.createOrFold<arith::AddIOp>(
          loc, value, getValueOrCreateConstantIndexOp(b, loc, place[*dim]));
    result.push_back(value);
  }
  return result;
}

/// Whether `place` lies in `buffer`; null if it surely does.
static Value isInBounds(OpBuilder &b, Location loc, Value buffer,
                        ArrayRef<Value> place) {
  auto type = cast<MemRefType>(buffer.getType());
  Value inside;
  for (auto [dim, index] : llvm::enumerate(place)) {
    std::optional<int64_t> constant = getConstantIntValue(index);
    if (constant && *constant >= 0 && !type.isDynamicDim(dim) &&
        *constant < type.getDimSize(dim))
      continue;
    Value extent = b.createOrFold<memref::DimOp>(loc, buffer, int64_t(dim));
    // Negative numbers are large ones.
    Value less =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, index, extent);
    inside = inside ? arith::AndIOp::create(b, loc, inside, less) : less;
  }
  return inside;
}

/// An element of `buffer`, zero outside of it.
static Value readElement(OpBuilder &b, Location loc, Value buffer,
                         ArrayRef<Value> place) {
  Value inside = isInBounds(b, loc, buffer, place);
  if (!inside)
    return memref::LoadOp::create(b, loc, buffer, place);
  Type type = cast<MemRefType>(buffer.getType()).getElementType();
  auto branch = scf::IfOp::create(b, loc, type, inside, /*addElseBlock=*/true);
  OpBuilder then = branch.getThenBodyBuilder();
  scf::YieldOp::create(
      then, loc, memref::LoadOp::create(then, loc, buffer, place).getResult());
  OpBuilder otherwise = branch.getElseBodyBuilder();
  Value zero =
      arith::ConstantOp::create(otherwise, loc, otherwise.getZeroAttr(type));
  scf::YieldOp::create(otherwise, loc, zero);
  return branch.getResult(0);
}

/// A fragment of `load` of what `copy` copied.
static Value readFragment(OpBuilder &b, LoadOp load, CopyOp copy) {
  TileRegion region = load.getRegion();
  PerDim<Value> place =
      getPlaceInSource(b, load.getLoc(), copy, region.offsets);
  PerDim<int64_t> sizes;
  for (std::optional<unsigned> dim : getDestDims(copy))
    sizes.push_back(dim ? region.sizes[*dim] : 1);
  // The copy filled with zeros what is outside.
  return LoadOp::create(b, load.getLoc(), load.getType(), copy.getSource(),
                        place,
                        /*padding=*/Value(),
                        b.getDenseI64ArrayAttr(SmallVector<int64_t>(
                            place.size(), ShapedType::kDynamic)),
                        b.getDenseI64ArrayAttr(sizes));
}

void tile::readFromSource(RewriterBase &rewriter, Operation *read,
                          CopyOp copy) {
  rewriter.setInsertionPoint(read);
  if (auto load = dyn_cast<LoadOp>(read)) {
    rewriter.replaceOp(load, readFragment(rewriter, load, copy));
    return;
  }
  auto load = cast<memref::LoadOp>(read);
  PerDim<Value> place =
      getPlaceInSource(rewriter, load.getLoc(), copy,
                       getAsOpFoldResult(ValueRange(load.getIndices())));
  rewriter.replaceOp(
      load, readElement(rewriter, load.getLoc(), copy.getSource(), place));
}
