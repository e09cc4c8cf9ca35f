//===- BoundedAccess.cpp - Bounds that the hardware checks ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Addresses of a region by a bounded pointer: the hardware drops accesses whose
// offset, an unsigned number of 32 bits, is not less than the pointer's number
// of bytes. The pointer is the same in all threads and points to the region's
// first element, so that offsets count from there:
//
//   offset = select(masks, thread's part, 2^31) + register's part
//
// The bytes to the end of a row-major buffer decide about its first dimension
// without a mask. Other dimensions have masks, because an element past the end
// of a row is the first of the next one. The launch checks that no part of a
// region is 2^31 bytes away from its first element (`tile.reach`), so no sum
// wraps. Strides that may be negative move the pointer 2^30 bytes back.
//
//===----------------------------------------------------------------------===//

#include "IndexArithmetic.h"

#include "tilews/Conversion/Common/Indexing.h"
#include "tilews/Conversion/Common/TargetLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// The most bytes of a bounded pointer; an offset that is past the end (2^31 as
/// an unsigned number), also after the part of a register was added; and the
/// distance by which a pointer with negative offsets is moved.
static constexpr int64_t kMaxBytes = (int64_t(1) << 31) - 1,
                         kOutside = -(int64_t(1) << 31),
                         kBias = int64_t(1) << 30;

/// Sums and products that may wrap: those of elements outside of the buffer.
static Value createWrappingAdd(ImplicitLocOpBuilder &b, Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return arith::AddIOp::create(b, lhs, rhs);
}

static Value createWrappingMul(ImplicitLocOpBuilder &b, Value lhs, Value rhs) {
  return arith::MulIOp::create(b, lhs, rhs);
}

bool RegionAccess::isFixed(int64_t fragmentDim) const {
  return fragmentDim < 0 || llvm::none_of(
                                indexer.getLayout().getValueModes(),
                                [&](const Mode &mode) {
                                  return mode.dim == fragmentDim &&
                                         mode.extent != 1 && mode.stride != 0;
                                });
}

bool RegionAccess::isNeverInside(int64_t value) const {
  SmallVector<int64_t> constants = indexer.getConstants(value);
  for (auto [constant, extent] : llvm::zip(constants, indexer.getShape()))
    if (constant >= extent)
      return true;
  return false;
}

/// Returns whether an element is past the end of the buffer exactly if its
/// coordinate along the first dimension is, given that the other coordinates
/// are inside.
bool RegionAccess::canCountRows(bool startsInside) const {
  if (!startsInside || !dims.front().indices.empty() ||
      !dims.front().checkBuffer)
    return false;
  if (!type.getLayout().isIdentity()) {
    int64_t rowElements = 1;
    for (const Dim &dim : ArrayRef(dims).drop_front()) {
      if (ShapedType::isDynamic(dim.staticStride) ||
          ShapedType::isDynamic(dim.staticExtent))
        return false;
      rowElements += (dim.staticExtent - 1) * dim.staticStride;
    }
    if (ShapedType::isDynamic(dims.front().staticStride) ||
        dims.front().staticStride < rowElements)
      return false;
  }
  // LLVM merges narrow accesses of neighbors into words, which are then inside
  // or outside as a whole. Neighbors with masks of their own are not merged.
  int64_t vector = getVectorElements();
  if (isMaskUniform(vector) && vector * elementBytes % 4 == 0)
    return true;
  int64_t rowBytes = dims.front().staticStride;
  if (!ShapedType::isDynamic(rowBytes))
    rowBytes *= elementBytes;
  return dims.size() > 1 && dims.back().checkBuffer &&
         (ShapedType::isDynamic(rowBytes) || rowBytes >= 4);
}

void RegionAccess::useBounds(const TargetLowering &target, bool startsInside,
                             bool always) {
  if (shared || (alwaysInside && !always) || dims.empty() ||
      !indexType.isInteger(32) || !target.hasBoundedPointers())
    return;
  bounds.emplace();
  bounds->countsRows = canCountRows(startsInside);
  bounds->isSigned =
      !type.getLayout().isIdentity() && llvm::any_of(dims, [](const Dim &dim) {
        return ShapedType::isDynamic(dim.staticStride) || dim.staticStride < 0;
      });
  bounds->pointer = createResource(target);
  bounds->offset = createThreadBytes();
  SmallVector<int64_t> constants = indexer.getConstants(0);
  for (const Dim &dim : dims)
    if (dim.indices.empty() && hasMask(dim) && isCommon(dim.fragmentDim))
      bounds->offset =
          createBoundedOffset(getBufferMask(dim, 0, constants), bounds->offset);
  for (int64_t d = 0; d < indexer.getRank(); ++d)
    if (isCommon(d))
      bounds->offset =
          createBoundedOffset(getFragmentMask(d, constants[d]), bounds->offset);
}

/// Returns whether a mask decides about a dimension of the buffer.
bool RegionAccess::hasMask(const Dim &dim) const {
  return !bounds->countsRows || &dim != &dims.front();
}

/// Returns whether the thread's offset has the mask of a dimension of the
/// fragment. A part that may be negative would bring an offset past the end
/// back, so that masks come last.
bool RegionAccess::isCommon(int64_t fragmentDim) const {
  return !bounds->isSigned && isFixed(fragmentDim);
}

Value RegionAccess::createBoundedOffset(Value mask, Value offset) {
  if (!mask)
    return offset;
  Value outside = createInteger(b, indexType, kOutside);
  return arith::SelectOp::create(b, mask, offset, outside);
}

/// Returns the bounded pointer of the region. Its address is computed without
/// the thread's part.
Value RegionAccess::createResource(const TargetLowering &target) {
  MemRefDescriptor descriptor(buffer);
  Value linear, length;
  for (Dim &dim : dims) {
    Value first = createInteger(b, indexType, dim.constant);
    first = createWrappingAdd(b, first, dim.offset);
    // A region may begin anywhere past the end, or before the buffer if an
    // index has wrapped.
    if (bounds->countsRows && &dim == &dims.front()) {
      first = arith::MinUIOp::create(b, first, getExtent(dim));
      length = createStep(dim, getExtent(dim));
    }
    Value stride =
        dim.stride ? dim.stride : createInteger(b, indexType, dim.staticStride);
    linear = createWrappingAdd(b, linear, createWrappingMul(b, first, stride));
  }
  Value bytes = createInteger(b, indexType, kMaxBytes);
  if (length) {
    // Not the maximum of a difference and 0: LLVM would merge the maximum and
    // the minimum to an instruction of vectors, and lose that the bytes are the
    // same in all threads.
    Value start = arith::MinSIOp::create(b, linear, length);
    Value rest = arith::SubIOp::create(b, length, start);
    rest = arith::MinUIOp::create(
        b, rest, createInteger(b, indexType, kMaxBytes / elementBytes));
    bytes = createMul(b, rest, elementBytes);
  }
  auto [strides, offset] = type.getStridesAndOffset();
  Value start = ShapedType::isDynamic(offset)
                    ? descriptor.offset(b, b.getLoc())
                    : createInteger(b, indexType, offset);
  Type i64 = b.getI64Type();
  Value distance = arith::AddIOp::create(b, createResize(b, linear, i64),
                                         createResize(b, start, i64));
  distance = createMul(b, distance, elementBytes);
  if (bounds->isSigned)
    distance = arith::SubIOp::create(b, distance, createInteger(b, i64, kBias));
  Value pointer = descriptor.alignedPtr(b, b.getLoc());
  pointer = LLVM::GEPOp::create(b, pointer.getType(), b.getI8Type(), pointer,
                                ArrayRef<LLVM::GEPArg>{distance});
  return target.createBoundedPointer(b, pointer,
                                     arith::ExtUIOp::create(b, i64, bytes));
}

/// Returns the distance in bytes of neighbors along a dimension.
Value RegionAccess::createByteStride(const Dim &dim) {
  Value bytes = createInteger(b, indexType, elementBytes);
  if (dim.stride)
    return createWrappingMul(b, dim.stride, bytes);
  return createInteger(b, indexType, dim.staticStride * elementBytes);
}

/// Returns the distance in bytes between the thread's first element and the
/// region's.
Value RegionAccess::createThreadBytes() {
  Value bytes;
  if (bounds->isSigned)
    bytes = createInteger(b, indexType, kBias);
  for (const Dim &dim : dims) {
    Value coord;
    if (dim.fragmentDim >= 0)
      coord = indexer.getBase(dim.fragmentDim);
    if (coord)
      bytes = createWrappingAdd(
          b, bytes, createWrappingMul(b, coord, createByteStride(dim)));
  }
  return bytes ? bytes : createInteger(b, indexType, 0);
}

static Value createByteGEP(ImplicitLocOpBuilder &b, Value pointer,
                           Value bytes) {
  return LLVM::GEPOp::create(b, pointer.getType(), b.getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{bytes});
}

/// Returns the part of a register in the offset, apart from the thread's part:
/// the sum of `known` and of a value, which may be null.
Value RegionAccess::createRegisterBytes(ArrayRef<int64_t> constants,
                                        int64_t &known) {
  Value bytes;
  for (const Dim &dim : dims) {
    int64_t constant = dim.fragmentDim < 0 ? 0 : constants[dim.fragmentDim];
    if (constant == 0)
      continue;
    constant *= elementBytes;
    if (!dim.stride)
      known += constant * dim.staticStride;
    else
      bytes = createWrappingAdd(
          b, bytes,
          createWrappingMul(b, dim.stride,
                            createInteger(b, indexType, constant)));
  }
  return bytes;
}

Value RegionAccess::getBoundedAddress(int64_t value, bool withMask) {
  if (isNeverInside(value))
    return createByteGEP(b, bounds->pointer,
                         createInteger(b, indexType, kOutside));
  SmallVector<int64_t> constants = indexer.getConstants(value);
  Value offset = bounds->offset, mask;
  if (withMask && !elementMask.empty())
    mask = elementMask[value];
  for (const Dim &dim : dims) {
    if (!dim.indices.empty()) {
      Value index = createResize(b, dim.indices[value], indexType);
      offset = createWrappingAdd(
          b, offset, createWrappingMul(b, index, createByteStride(dim)));
    } else if (!hasMask(dim) || isCommon(dim.fragmentDim)) {
      continue;
    }
    mask = createAnd(b, mask, getBufferMask(dim, value, constants));
  }
  for (int64_t d = 0; d < indexer.getRank(); ++d)
    if (!isCommon(d))
      mask = createAnd(b, mask, getFragmentMask(d, constants[d]));
  int64_t known = 0;
  Value part = createRegisterBytes(constants, known);
  Value constant = known == 0 ? Value() : createInteger(b, indexType, known);
  if (bounds->isSigned) {
    offset = createWrappingAdd(b, createWrappingAdd(b, offset, part), constant);
    part = constant = Value();
  }
  // LLVM makes a constant that is added last the immediate of the instruction.
  Value pointer =
      createByteGEP(b, bounds->pointer, createBoundedOffset(mask, offset));
  if (part)
    pointer = createByteGEP(b, pointer, part);
  return constant ? createByteGEP(b, pointer, constant) : pointer;
}
