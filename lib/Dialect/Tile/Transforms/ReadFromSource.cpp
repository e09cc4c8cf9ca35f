//===- ReadFromSource.cpp - Read the source of a copy ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A read of shared memory that a copy filled becomes a read of global memory.
// The indices are translated: index i of a buffer that holds `%A[%o, ...]` is
// index %o + i of %A. A copy fills the buffer with zeros outside of its source,
// so the new read yields zero there as well:
//
//   copy %A[%o] to %s; %x = load %s[%i]
//     -> %x = if %o + %i < dim %A { load %A[%o + %i] } else { 0 }
//
// The load role uses this for control data such as masks and index tables.
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

/// One element for each dimension of the source of a copy: an index or an
/// extent.
template <typename T>
using PerDim = SmallVector<T>;

/// Returns the indices in the source of `copy` of the element that has the
/// indices `place` in the destination.
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

/// Returns a value that says whether the indices `place` are in `buffer`. Null
/// if all of them are known to be.
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
    // As an unsigned number a negative index is too large.
    Value less =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, index, extent);
    inside = inside ? arith::AndIOp::create(b, loc, inside, less) : less;
  }
  return inside;
}

/// Returns the element of `buffer` at `place`, or zero outside of it.
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

/// Returns the fragment that `load` reads from the destination of `copy`, read
/// from the source.
static Value readFragment(OpBuilder &b, LoadOp load, CopyOp copy) {
  TileRegion region = load.getRegion();
  PerDim<Value> place =
      getPlaceInSource(b, load.getLoc(), copy, region.offsets);
  PerDim<int64_t> sizes;
  for (std::optional<unsigned> dim : getDestDims(copy))
    sizes.push_back(dim ? region.sizes[*dim] : 1);
  // Without padding a load has zeros outside of its source, like the copy.
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
