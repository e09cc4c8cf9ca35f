//===- AccessMasks.cpp - Which elements of a region exist -----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A register whose element lies past the end of the buffer or of the fragment
// gets a mask, an unsigned comparison for each dimension that needs one. So a
// negative coordinate is outside as well. Where the elements of a vector could
// have different masks, they are accessed one by one.
//
//===----------------------------------------------------------------------===//

#include "IndexArithmetic.h"

#include "tilews/Conversion/Common/Indexing.h"
#include "tilews/Dialect/Tile/Analysis/Layout/FragmentAccess.h"

#include <numeric>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

Value RegionAccess::getExtent(const Dim &dim) {
  return dim.extent ? dim.extent
                    : createInteger(b, indexType, dim.staticExtent);
}

Value tilews::createLimitedExtent(ImplicitLocOpBuilder &b, Value extent,
                                  Value limit, Value first) {
  Value zero = createInteger(b, first.getType(), 0);
  Value end =
      arith::MaxSIOp::create(b, arith::MinSIOp::create(b, limit, extent), zero);
  Value isBefore =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, first, zero);
  return arith::SelectOp::create(b, isBefore, zero, end);
}

void RegionAccess::initLimits() {
  for (Dim &dim : dims) {
    if (!dim.limit)
      continue;
    Type type = dim.limit.getType();
    Value first = createResize(b, addConstant(dim.offset, dim.constant), type);
    Value end = createLimitedExtent(b, createResize(b, getExtent(dim), type),
                                    dim.limit, first);
    dim.extent = createResize(b, end, indexType);
  }
}

/// Any number may be an index, so that the sum with the offset is formed in 64
/// bits, where it wraps to a number outside.
Value RegionAccess::isIndexInside(const Dim &dim, int64_t value) {
  Value coord = dim.indices[value];
  bool hasOffset = dim.base || dim.constant != 0;
  Type wide = hasOffset || coord.getType().getIntOrFloatBitWidth() == 64
                  ? b.getI64Type()
                  : indexType;
  coord = createResize(b, coord, wide);
  if (hasOffset) {
    Value offset = addConstant(dim.base, dim.constant);
    coord = arith::AddIOp::create(b, coord, createResize(b, offset, wide));
  }
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, coord,
                               createResize(b, getExtent(dim), wide));
}

/// The comparison is unsigned, so negative coordinates are outside as well.
static Value isBelow(ImplicitLocOpBuilder &b, Value coord, Value extent) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, coord, extent);
}

Value RegionAccess::getBufferMask(const Dim &dim, int64_t value,
                                  ArrayRef<int64_t> constants) {
  if (!dim.indices.empty())
    return isIndexInside(dim, value);
  if (!dim.checkBuffer)
    return {};
  int64_t constant = dim.constant;
  if (dim.fragmentDim >= 0)
    constant += constants[dim.fragmentDim];
  return isBelow(b, addConstant(dim.base, constant), getExtent(dim));
}

Value RegionAccess::getFragmentMask(int64_t d, int64_t constant) {
  if (!indexer.overCovers(d))
    return {};
  Type i32 = b.getI32Type();
  Value coord =
      createAdd(b, indexer.getBase(d), createInteger(b, i32, constant));
  return isBelow(b, coord, createInteger(b, i32, indexer.getShape()[d]));
}

Value RegionAccess::getMask(int64_t value) {
  Value mask = elementMask.empty() ? Value() : elementMask[value];
  SmallVector<int64_t> constants = indexer.getConstants(value);
  for (const Dim &dim : dims)
    mask = createAnd(b, mask, getBufferMask(dim, value, constants));
  for (int64_t d = 0; d < indexer.getRank(); ++d)
    mask = createAnd(b, mask, getFragmentMask(d, constants[d]));
  return mask;
}

bool RegionAccess::hasOneMask(int64_t value, int64_t count) const {
  return elementMask.empty() ||
         llvm::all_equal(ArrayRef(elementMask).slice(value, count));
}

void RegionAccess::assumeInside() {
  alwaysInside = true;
  for (Dim &dim : dims)
    dim.checkBuffer = dim.checkFragment = false;
}

Value RegionAccess::getInsidePredicate() {
  for (int64_t d = 0; d < indexer.getRank(); ++d)
    if (indexer.overCovers(d))
      return {};
  bool isIndexed =
      llvm::any_of(dims, [](const Dim &dim) { return !dim.indices.empty(); });
  if (isIndexed || !elementMask.empty())
    return {};
  Value inside;
  auto require = [&](arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    inside =
        createAnd(b, inside, arith::CmpIOp::create(b, predicate, lhs, rhs));
  };
  for (const Dim &dim : dims) {
    if (!dim.checkBuffer)
      continue;
    int64_t size =
        dim.fragmentDim < 0 ? 1 : indexer.getShape()[dim.fragmentDim];
    Value first = dim.offset;
    first = addConstant(first, dim.constant);
    require(arith::CmpIPredicate::sge, first, createInteger(b, indexType, 0));
    // `first + size <= extent` would hold for a sum past the largest number.
    require(arith::CmpIPredicate::sle, first,
            addConstant(getExtent(dim), -size));
  }
  return inside;
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

int64_t RegionAccess::getVectorElements() const {
  if (dims.empty() || dims.back().fragmentDim < 0)
    return 1;
  const Dim &inner = dims.back();
  int64_t d = inner.fragmentDim;
  int64_t run = getVectorRun(indexer.getLayout(), d,
                             16 / std::min<int64_t>(elementBytes, 16));
  if (shared)
    run = std::gcd(run, layout.getContiguity(elementBytes * 8));
  return std::max<int64_t>(std::gcd(run, maxVector), 1);
}

bool RegionAccess::isMaskUniform(int64_t vectorElements) const {
  if (vectorElements == 1)
    return true;
  const Dim &inner = dims.back();
  bool buffer = !inner.checkBuffer || maxVector % vectorElements == 0;
  bool fragment = !inner.checkFragment ||
                  indexer.getShape()[inner.fragmentDim] % vectorElements == 0;
  return buffer && fragment;
}
