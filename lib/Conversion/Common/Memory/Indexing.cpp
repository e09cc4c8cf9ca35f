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
// whole offset is computed for each register. A register past an extent gets a
// mask, an unsigned comparison.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/Indexing.h"
#include "tilews/Dialect/Tile/Analysis/Layout/FragmentAccess.h"

#include "tilews/Layout/Algebra.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <numeric>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

static Value createInt(ImplicitLocOpBuilder &b, Type type, int64_t value) {
  return arith::ConstantOp::create(b, b.getIntegerAttr(type, value));
}

static Value createAdd(ImplicitLocOpBuilder &b, Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return arith::AddIOp::create(b, lhs, rhs, arith::IntegerOverflowFlags::nsw);
}

static Value createMul(ImplicitLocOpBuilder &b, Value value, int64_t factor) {
  if (factor == 1)
    return value;
  return arith::MulIOp::create(b, value, createInt(b, value.getType(), factor),
                               arith::IntegerOverflowFlags::nsw);
}

/// Extends or truncates an integer to the type that addresses of this memory
/// are computed in.
static Value createResize(ImplicitLocOpBuilder &b, Value value, Type type) {
  if (!value || value.getType() == type)
    return value;
  if (value.getType().getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth())
    return arith::ExtSIOp::create(b, type, value);
  return arith::TruncIOp::create(b, type, value);
}

static bool isPowerOf2(int64_t value) { return llvm::isPowerOf2_64(value); }

/// Returns the bits that the digit of a mode may set in its coordinate, or -1
/// if they are not a bit field.
static int64_t getBits(int64_t extent, int64_t stride) {
  if (!isPowerOf2(extent) || (stride != 0 && !isPowerOf2(stride)))
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
      digit =
          arith::DivUIOp::create(b, digit, createInt(b, b.getI32Type(), step));
    if (prefix < total)
      digit = arith::RemUIOp::create(b, digit,
                                     createInt(b, b.getI32Type(), mode.extent));
    digit = createMul(b, digit, mode.stride);
    bases[mode.dim] = createAdd(b, bases[mode.dim], digit);
    int64_t bits = getBits(mode.extent, mode.stride);
    int64_t &known = baseBits[mode.dim];
    // The sum of digits with common bits has carries, so any bit may be set.
    known = bits < 0 || known < 0 || (known & bits) ? -1 : known | bits;
  }
}

//===----------------------------------------------------------------------===//
// RegionAccess
//===----------------------------------------------------------------------===//

RegionAccess::RegionAccess(ImplicitLocOpBuilder &b, MemRefType type,
                           Value buffer, ArrayRef<SplitOffset> offsets,
                           ArrayRef<int64_t> sizes, int64_t maxVector,
                           const FragmentIndexer &indexer)
    : b(b), type(type), buffer(buffer), maxVector(maxVector), indexer(indexer),
      elementBytes(llvm::divideCeil(getElementBits(type.getElementType()), 8)),
      shared(isShared(type)), dims(type.getRank()) {
  // The dimensions of the region with an extent other than 1 are those of the
  // fragment, in the same order.
  SmallVector<int64_t> fragmentDims;
  for (auto [dim, extent] : llvm::enumerate(indexer.getShape()))
    if (extent != 1 || indexer.overCovers(dim))
      fragmentDims.push_back(dim);
  indexType = b.getI32Type();
  if (!shared)
    indexType = MemRefDescriptor(buffer).getIndexType();

  unsigned next = 0;
  for (auto [d, dim] : llvm::enumerate(dims)) {
    // A fragment dimension of extent 1 that the layout over-covers has no
    // dimension of the region. `getMask` checks it by itself.
    while (sizes[d] != 1 && next < fragmentDims.size() &&
           indexer.getShape()[fragmentDims[next]] == 1)
      ++next;
    if (sizes[d] != 1)
      dim.fragmentDim = fragmentDims[next++];
    dim.constant = offsets[d].constant;
    dim.base = dim.offset = createResize(b, offsets[d].value, indexType);
    dim.staticExtent = type.getDimSize(d);
    bool fits = !dim.base && dim.constant >= 0 &&
                !ShapedType::isDynamic(dim.staticExtent) &&
                dim.constant + sizes[d] <= dim.staticExtent;
    dim.checkBuffer = !fits;
    if (dim.fragmentDim >= 0) {
      dim.checkFragment = indexer.overCovers(dim.fragmentDim);
      if (Value base = indexer.getBase(dim.fragmentDim))
        dim.base = createAdd(b, dim.base, createResize(b, base, indexType));
    }
    alwaysInside &= !dim.checkBuffer && !dim.checkFragment;
  }
  for (auto [dim, extent] : llvm::enumerate(indexer.getShape()))
    alwaysInside &= !indexer.overCovers(dim);
  if (shared)
    initShared();
  else
    initGlobal();
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
  Value value = createInt(b, indexType, constant);
  return createAdd(b, base, value);
}

Value RegionAccess::getAddress(ArrayRef<int64_t> constants) {
  return shared ? getSharedAddress(constants) : getGlobalAddress(constants);
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
      digit = arith::DivUIOp::create(b, digit, createInt(b, type, prefix));
    if (i + 1 < axes.size())
      digit = arith::RemUIOp::create(b, digit, createInt(b, type, axis.extent));
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
  Value high = arith::ShRUIOp::create(b, bytes, createInt(b, type, s.shift));
  high = arith::AndIOp::create(b, high, createInt(b, type, mask));
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
    dim.isLinear = s.isIdentity() && modes.size() == 1;
    if (!dim.base || dim.isLinear)
      continue;
    int64_t bits =
        dim.fragmentDim < 0 ? -1 : indexer.getBaseBits(dim.fragmentDim);
    // A dynamic offset of the region may have any bits.
    separable &= bits >= 0 && !dim.offset;
    int64_t prefix = 1;
    for (const Mode &mode : modes) {
      separable &= isPowerOf2(mode.extent) &&
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
                     : createInt(b, indexType, 0);
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

Value RegionAccess::getSharedAddress(ArrayRef<int64_t> constants) {
  SmallVector<int64_t> bufferConstants = getBufferConstants(constants);
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
        offset =
            arith::XOrIOp::create(b, offset, createInt(b, indexType, common));
      base = createGEP(b, buffer, offset);
    }
    if (bytes == common)
      return base;
    return createGEP(b, base, static_cast<int32_t>(bytes - common));
  }
  SmallVector<Value> coords;
  for (auto [dim, constant] : llvm::zip(dims, bufferConstants))
    coords.push_back(
        !dim.base && constant == 0 ? Value() : addConstant(dim.base, constant));
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
    Value term = dim.stride
                     ? arith::MulIOp::create(b, dim.base, dim.stride,
                                             arith::IntegerOverflowFlags::nsw)
                           .getResult()
                     : createMul(b, dim.base, dim.staticStride);
    linear = createAdd(b, linear, term);
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

Value RegionAccess::getGlobalAddress(ArrayRef<int64_t> constants) {
  int64_t known = 0;
  Value linear;
  for (auto [dim, constant] : llvm::zip(dims, getBufferConstants(constants))) {
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
        ArrayRef<LLVM::GEPArg>{createInt(b, b.getI64Type(), known)});
  return LLVM::GEPOp::create(
      b, pointer.getType(), element, pointer,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(known)});
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

Value RegionAccess::getExtent(const Dim &dim) {
  return dim.extent ? dim.extent : createInt(b, indexType, dim.staticExtent);
}

Value RegionAccess::getMask(ArrayRef<int64_t> constants) {
  Value mask;
  auto require = [&](Value coord, Value extent) {
    // The comparison is unsigned, so negative coordinates are outside as well.
    Value inside =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, coord, extent);
    mask = mask ? arith::AndIOp::create(b, mask, inside).getResult() : inside;
  };
  for (auto [dim, constant] : llvm::zip(dims, getBufferConstants(constants)))
    if (dim.checkBuffer)
      require(addConstant(dim.base, constant), getExtent(dim));
  for (int64_t d = 0; d < indexer.getRank(); ++d) {
    if (!indexer.overCovers(d))
      continue;
    Type i32 = b.getI32Type();
    Value coord =
        createAdd(b, indexer.getBase(d), createInt(b, i32, constants[d]));
    require(coord, createInt(b, i32, indexer.getShape()[d]));
  }
  return mask;
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
  Value inside;
  auto require = [&](arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    Value holds = arith::CmpIOp::create(b, predicate, lhs, rhs);
    inside =
        inside ? arith::AndIOp::create(b, inside, holds).getResult() : holds;
  };
  for (const Dim &dim : dims) {
    if (!dim.checkBuffer)
      continue;
    int64_t size =
        dim.fragmentDim < 0 ? 1 : indexer.getShape()[dim.fragmentDim];
    Value first = dim.offset;
    first = addConstant(first, dim.constant);
    require(arith::CmpIPredicate::sge, first, createInt(b, indexType, 0));
    require(arith::CmpIPredicate::sle, addConstant(first, size),
            getExtent(dim));
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
