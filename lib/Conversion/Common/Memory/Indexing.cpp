//===- Indexing.cpp - Memory addresses of fragment registers --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A coordinate is `base(thread) + constant(register)`. The base is computed
// from the digits of the thread's number: each thread mode of the layout with
// stride s and extent e adds `thread / step % e * s`. In global memory the
// offset is linear in coordinates, so each register adds a constant to one
// address.
//
// In shared memory a layout may have several modes for a dimension, and a
// swizzle. The offset is then still separable if base and constant have no bit
// in common: offset(base + constant) = offset(base) XOR offset(constant). Bits
// that only the constant can have are added as an immediate. Otherwise the
// whole offset is computed for each register. The coordinate of a gather along
// an indexed dimension is `offset + index(register)` instead.
//
//===----------------------------------------------------------------------===//

#include "IndexArithmetic.h"

#include "tilews/Conversion/Common/Indexing.h"
#include "tilews/Layout/Algebra.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <numeric>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// Returns the bits that the digit of a mode may set in its coordinate, or -1
/// if they are not a bit field.
static int64_t getBits(int64_t extent, int64_t stride) {
  if (!llvm::isPowerOf2_64(extent) ||
      (stride != 0 && !llvm::isPowerOf2_64(stride)))
    return -1;
  return (extent - 1) * stride;
}

//===----------------------------------------------------------------------===//
// FragmentIndexer
//===----------------------------------------------------------------------===//

FragmentIndexer::FragmentIndexer(ImplicitLocOpBuilder &b,
                                 const FragmentLayout &layout,
                                 ArrayRef<int64_t> shape, Value threadId)
    : layout(layout), shape(shape), cover(layout.getCover(shape.size())),
      baseBits(shape.size(), 0), bases(shape.size()) {
  int64_t prefix = 1, total = layout.getNumThreads();
  for (const Mode &mode : layout.getThreadModes()) {
    int64_t step = prefix;
    prefix *= mode.extent;
    if (mode.stride == 0 || mode.extent == 1)
      continue;
    Value digit = threadId;
    if (step > 1)
      digit = arith::DivUIOp::create(b, digit,
                                     createInteger(b, b.getI32Type(), step));
    if (prefix < total)
      digit = arith::RemUIOp::create(
          b, digit, createInteger(b, b.getI32Type(), mode.extent));
    digit = createMul(b, digit, mode.stride);
    bases[mode.dim] = createAdd(b, bases[mode.dim], digit);
    int64_t bits = getBits(mode.extent, mode.stride);
    int64_t &known = baseBits[mode.dim];
    // The sum of digits with common bits has carries, so any bit may be set.
    known = bits < 0 || known < 0 || (known & bits) ? -1 : known | bits;
  }
}

Value FragmentIndexer::createCoord(ImplicitLocOpBuilder &b, int64_t value,
                                   int64_t dim) const {
  Value coord = arith::ConstantOp::create(
      b, b.getI32IntegerAttr(getConstants(value)[dim]));
  Value base = getBase(dim);
  return base ? arith::AddIOp::create(b, base, coord).getResult() : coord;
}

Value FragmentIndexer::createIsInside(ImplicitLocOpBuilder &b, int64_t value,
                                      int64_t dim) const {
  Value coord = createCoord(b, value, dim);
  Value extent = arith::ConstantOp::create(b, b.getI32IntegerAttr(shape[dim]));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, coord, extent);
}

//===----------------------------------------------------------------------===//
// RegionAccess
//===----------------------------------------------------------------------===//

RegionAccess::RegionAccess(ImplicitLocOpBuilder &b, MemRefType type,
                           Value buffer, ArrayRef<SplitOffset> offsets,
                           ArrayRef<int64_t> sizes, int64_t maxVector,
                           const FragmentIndexer &indexer,
                           ElementPlacement placement)
    : b(b), type(type), buffer(buffer), maxVector(maxVector), indexer(indexer),
      elementBytes(llvm::divideCeil(getElementBits(type.getElementType()), 8)),
      shared(isShared(type)), alwaysInside(placement.isEmpty()),
      dims(type.getRank()), elementMask(std::move(placement.mask)) {
  for (ElementPlacement::Indices &each : placement.indices)
    dims[each.dim].indices = std::move(each.registers);
  if (placement.limit)
    dims[placement.limitDim].limit = placement.limit;
  indexType = b.getI32Type();
  if (!shared)
    indexType = MemRefDescriptor(buffer).getIndexType();
  initDims(offsets, sizes);
  for (int64_t dim = 0; dim < indexer.getRank(); ++dim)
    alwaysInside &= !indexer.overCovers(dim);
  if (shared)
    initShared();
  else
    initGlobal();
  initLimits();
}

void RegionAccess::initDims(ArrayRef<SplitOffset> offsets,
                            ArrayRef<int64_t> sizes) {
  ArrayRef<int64_t> shape = indexer.getShape();
  // The dimensions of the region with an extent other than 1 are the last ones
  // of the fragment, in the same order; indices make those before.
  SmallVector<int64_t> fragmentDims;
  int64_t others = 0;
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    others += extent != 1;
    if (extent != 1 || indexer.overCovers(dim))
      fragmentDims.push_back(dim);
  }
  others -= llvm::count_if(sizes, [](int64_t size) { return size != 1; });
  unsigned next = 0;
  for (; others > 0; ++next)
    others -= shape[fragmentDims[next]] != 1;

  for (auto [d, dim] : llvm::enumerate(dims)) {
    // A fragment dimension of extent 1 that the layout over-covers has no
    // dimension of the region. `getMask` checks it by itself.
    while (sizes[d] != 1 && next < fragmentDims.size() &&
           shape[fragmentDims[next]] == 1)
      ++next;
    if (sizes[d] != 1)
      dim.fragmentDim = fragmentDims[next++];
    // The index is the coordinate.
    if (!dim.indices.empty())
      dim.fragmentDim = -1;
    dim.constant = offsets[d].constant;
    dim.base = dim.offset = createResize(b, offsets[d].value, indexType);
    dim.staticExtent = type.getDimSize(d);
    bool fits = !dim.base && dim.constant >= 0 && dim.indices.empty() &&
                !dim.limit && !ShapedType::isDynamic(dim.staticExtent) &&
                dim.constant + sizes[d] <= dim.staticExtent;
    dim.checkBuffer = !fits;
    if (dim.fragmentDim >= 0) {
      dim.checkFragment = indexer.overCovers(dim.fragmentDim);
      if (Value base = indexer.getBase(dim.fragmentDim))
        dim.base = createAdd(b, dim.base, createResize(b, base, indexType));
    }
    alwaysInside &= !dim.checkBuffer && !dim.checkFragment;
  }
}

SmallVector<int64_t>
RegionAccess::getBufferConstants(ArrayRef<int64_t> constants) const {
  SmallVector<int64_t> result;
  for (const Dim &dim : dims)
    result.push_back(dim.constant +
                     (dim.fragmentDim < 0 ? 0 : constants[dim.fragmentDim]));
  return result;
}

Value RegionAccess::addConstant(Value base, int64_t constant) {
  if (constant == 0 && base)
    return base;
  Value value = createInteger(b, indexType, constant);
  return createAdd(b, base, value);
}

Value RegionAccess::getAddress(int64_t value) {
  return shared ? getSharedAddress(value) : getGlobalAddress(value);
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

Value tilews::createOffset(ImplicitLocOpBuilder &b, ArrayRef<Axis> axes,
                           Value index) {
  Value offset;
  int64_t prefix = 1;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    Value digit = index;
    Type type = index.getType();
    if (prefix > 1)
      digit = arith::DivUIOp::create(b, digit, createInteger(b, type, prefix));
    if (i + 1 < axes.size())
      digit =
          arith::RemUIOp::create(b, digit, createInteger(b, type, axis.extent));
    prefix *= axis.extent;
    if (axis.extent > 1 && axis.stride != 0)
      offset = createAdd(b, offset, createMul(b, digit, axis.stride));
  }
  return offset;
}

/// Returns the offset in elements before the swizzle of coordinates that are
/// values (null for zero).
Value RegionAccess::getLinearOffset(ArrayRef<Value> coords) {
  Value offset;
  for (auto [d, coord] : llvm::enumerate(coords)) {
    if (!coord)
      continue;
    SmallVector<Axis> axes =
        llvm::map_to_vector(layout.getModes(d), [](const Mode &mode) {
          return Axis{mode.extent, mode.stride};
        });
    offset = createAdd(b, offset, createOffset(b, axes, coord));
  }
  return offset;
}

static Value createSwizzle(ImplicitLocOpBuilder &b, Value bytes, Swizzle s) {
  if (!bytes || s.isIdentity())
    return bytes;
  Type type = bytes.getType();
  int64_t mask = ((int64_t(1) << s.bits) - 1) << s.base;
  Value high =
      arith::ShRUIOp::create(b, bytes, createInteger(b, type, s.shift));
  high = arith::AndIOp::create(b, high, createInteger(b, type, mask));
  return arith::XOrIOp::create(b, bytes, high);
}

void RegionAccess::initShared() {
  layout = tile::getSharedLayout(type);
  Swizzle s = layout.getSwizzle();
  // The parts of thread and register are separable if the digits of each
  // dimension are bit fields, or if the dimension has one stride and there is
  // no swizzle.
  separable = true;
  SmallVector<Value> coords;
  for (auto [d, dim] : llvm::enumerate(dims)) {
    coords.push_back(dim.base);
    SmallVector<Mode> modes = layout.getModes(d);
    separable &= dim.indices.empty();
    dim.isLinear = s.isIdentity() && modes.size() == 1;
    if (!dim.base || dim.isLinear)
      continue;
    int64_t bits =
        dim.fragmentDim < 0 ? -1 : indexer.getBaseBits(dim.fragmentDim);
    // A dynamic offset of the region may have any bits.
    separable &= bits >= 0 && !dim.offset;
    int64_t prefix = 1;
    for (const Mode &mode : modes) {
      separable &= llvm::isPowerOf2_64(mode.extent) &&
                   (s.isIdentity() || getBits(mode.extent, mode.stride) >= 0);
      if (!separable)
        return;
      if (!s.isIdentity())
        linearBits |= ((bits / prefix) & (mode.extent - 1)) * mode.stride;
      prefix *= mode.extent;
    }
  }
  baseBits = linearBits * elementBytes;
  baseBits |= (baseBits >> s.shift) & (((int64_t(1) << s.bits) - 1) << s.base);
  Value linear = getLinearOffset(coords);
  baseBytes = linear ? createSwizzle(b, createMul(b, linear, elementBytes), s)
                     : createInteger(b, indexType, 0);
}

/// Returns whether offset(thread part + constants) is offset(thread part) plus
/// offset(constants); with a swizzle, their XOR.
bool RegionAccess::isSeparable(ArrayRef<int64_t> constants) const {
  if (!separable)
    return false;
  for (auto [dim, constant] : llvm::zip(dims, constants))
    if (dim.base && !dim.isLinear &&
        (indexer.getBaseBits(dim.fragmentDim) & constant))
      return false;
  if (layout.getSwizzle().isIdentity())
    return true;
  SharedLayout linear(layout.getModes());
  return (linear.getOffset(constants, elementBytes * 8) & linearBits) == 0;
}

static Value createGEP(ImplicitLocOpBuilder &b, Value pointer,
                       LLVM::GEPArg bytes) {
  return LLVM::GEPOp::create(b, pointer.getType(), b.getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{bytes});
}

Value RegionAccess::getSharedAddress(int64_t value) {
  SmallVector<int64_t> bufferConstants =
      getBufferConstants(indexer.getConstants(value));
  if (isSeparable(bufferConstants)) {
    int64_t bytes =
        layout.getOffset(bufferConstants, elementBytes * 8) * elementBytes;
    // Bits that the thread's part may also have are flipped by an XOR. The
    // other bits are added, as an immediate offset of the access.
    int64_t common = bytes & baseBits;
    Value &base = swizzledBases[common];
    if (!base) {
      Value offset = baseBytes;
      if (common)
        offset = arith::XOrIOp::create(b, offset,
                                       createInteger(b, indexType, common));
      base = createGEP(b, buffer, offset);
    }
    if (bytes == common)
      return base;
    return createGEP(b, base, static_cast<int32_t>(bytes - common));
  }
  SmallVector<Value> coords;
  for (auto [dim, constant] : llvm::zip(dims, bufferConstants)) {
    coords.push_back(
        !dim.base && constant == 0 ? Value() : addConstant(dim.base, constant));
    if (!dim.indices.empty())
      coords.back() = createAdd(b, coords.back(),
                                createResize(b, dim.indices[value], indexType));
  }
  Value linear = getLinearOffset(coords);
  if (!linear)
    return buffer;
  return createGEP(b, buffer,
                   createSwizzle(b, createMul(b, linear, elementBytes),
                                 layout.getSwizzle()));
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

Value RegionAccess::createStep(const Dim &dim, Value coord) {
  if (!dim.stride)
    return createMul(b, coord, dim.staticStride);
  return arith::MulIOp::create(b, coord, dim.stride,
                               arith::IntegerOverflowFlags::nsw);
}

void RegionAccess::initGlobal() {
  MemRefDescriptor descriptor(buffer);
  auto [strides, offset] = type.getStridesAndOffset();
  Value linear;
  if (ShapedType::isDynamic(offset))
    linear = descriptor.offset(b, b.getLoc());
  for (auto [d, dim] : llvm::enumerate(dims)) {
    dim.staticStride = strides[d];
    if (ShapedType::isDynamic(strides[d]))
      dim.stride = descriptor.stride(b, b.getLoc(), d);
    if (ShapedType::isDynamic(dim.staticExtent))
      dim.extent = descriptor.size(b, b.getLoc(), d);
    if (!dim.base)
      continue;
    linear = createAdd(b, linear, createStep(dim, dim.base));
  }
  basePointer = descriptor.alignedPtr(b, b.getLoc());
  int64_t constant = ShapedType::isDynamic(offset) ? 0 : offset;
  if (constant)
    linear = addConstant(linear, constant);
  if (linear)
    basePointer = LLVM::GEPOp::create(
        b, basePointer.getType(), b.getIntegerType(elementBytes * 8),
        basePointer, ArrayRef<LLVM::GEPArg>{linear});
}

Value RegionAccess::getGlobalAddress(int64_t value) {
  int64_t known = 0;
  Value linear;
  SmallVector<int64_t> constants =
      getBufferConstants(indexer.getConstants(value));
  for (auto [dim, constant] : llvm::zip(dims, constants)) {
    if (!dim.indices.empty()) {
      Value index = createResize(b, dim.indices[value], indexType);
      linear = createAdd(b, linear, createStep(dim, index));
    }
    if (constant == 0)
      continue;
    if (!dim.stride)
      known += constant * dim.staticStride;
    else
      linear = createAdd(b, linear, createMul(b, dim.stride, constant));
  }
  Value pointer = basePointer;
  Type element = b.getIntegerType(elementBytes * 8);
  if (linear)
    pointer = LLVM::GEPOp::create(b, pointer.getType(), element, pointer,
                                  ArrayRef<LLVM::GEPArg>{linear});
  if (known == 0)
    return pointer;
  if (!llvm::isInt<29>(known)) // GEP's static indices are 30 bits wide
    return LLVM::GEPOp::create(
        b, pointer.getType(), element, pointer,
        ArrayRef<LLVM::GEPArg>{createInteger(b, b.getI64Type(), known)});
  return LLVM::GEPOp::create(
      b, pointer.getType(), element, pointer,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(known)});
}
