//===- Divisibility.cpp - Known divisors of index values ------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Divisibility.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// Arithmetic on divisors
//===----------------------------------------------------------------------===//

/// Divisors larger than this tell nobody anything and could overflow.
static constexpr int64_t kLargest = int64_t(1) << 40;

static int64_t gcd(int64_t a, int64_t b) { return std::gcd(a, b); }

/// The largest power of two that divides `a`, which is not 0.
static int64_t getPowerOfTwo(int64_t a) { return a & -a; }

static int64_t multiply(int64_t a, int64_t b) {
  if (a == 0 || b == 0)
    return 0;
  if (a <= kLargest / b)
    return a * b;
  a = std::min(getPowerOfTwo(a), int64_t(1) << 20);
  b = std::min(getPowerOfTwo(b), int64_t(1) << 20);
  return a * b;
}

/// The divisor of a quotient that is rounded, if at all, only where `a` is not
/// a multiple of `b`.
static int64_t divide(int64_t a, int64_t b) {
  return b != 0 && a % b == 0 ? a / b : 1;
}

static int64_t getConstantDivisor(int64_t value) {
  // Negating the smallest integer would overflow; its power of two is known.
  return value == std::numeric_limits<int64_t>::min() ? kLargest
                                                      : std::abs(value);
}

static int64_t getDivisor(AffineExpr expr, ArrayRef<int64_t> dims,
                          ArrayRef<int64_t> symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return getConstantDivisor(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t lhs = getDivisor(binary.getLHS(), dims, symbols);
  int64_t rhs = getDivisor(binary.getRHS(), dims, symbols);
  switch (expr.getKind()) {
  case AffineExprKind::Mul:
    return multiply(lhs, rhs);
  case AffineExprKind::Add:
  case AffineExprKind::Mod:
    return gcd(lhs, rhs);
  default:
    return isa<AffineConstantExpr>(binary.getRHS()) ? divide(lhs, rhs) : 1;
  }
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

int64_t Divisibility::getDivisor(OpFoldResult value) {
  if (auto attr = dyn_cast<Attribute>(value))
    return getConstantDivisor(cast<IntegerAttr>(attr).getInt());
  return getDivisor(cast<Value>(value));
}

int64_t Divisibility::getDivisor(Value value) {
  if (auto it = assumed.find(value); it != assumed.end())
    return it->second;
  if (auto it = known.find(value); it != known.end())
    return it->second;
  int64_t divisor = compute(value);
  // What follows from an assumption holds only as long as that does.
  if (assumed.empty())
    known[value] = divisor;
  return divisor;
}

int64_t Divisibility::compute(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSignificantBits() > 64
               ? 1
               : getConstantDivisor(constant.getSExtValue());
  if (auto argument = dyn_cast<BlockArgument>(value))
    return computeArgument(argument);

  Operation *op = value.getDefiningOp();
  auto operand = [&](unsigned i) { return getDivisor(op->getOperand(i)); };
  auto constantOperand = [&](unsigned i) -> std::optional<int64_t> {
    return getConstantIntValue(op->getOperand(i));
  };
  auto applyMap = [&](AffineMap map, ValueRange operands) {
    auto divisors = llvm::map_to_vector(
        operands, [&](Value operand) { return getDivisor(operand); });
    ArrayRef<int64_t> all = divisors;
    int64_t result = 0;
    for (AffineExpr expr : map.getResults())
      result = gcd(result, ::getDivisor(expr, all.take_front(map.getNumDims()),
                                        all.drop_front(map.getNumDims())));
    return result;
  };
  return TypeSwitch<Operation *, int64_t>(op)
      .Case<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
            arith::ExtUIOp>([&](auto) { return operand(0); })
      .Case<arith::TruncIOp>([&](auto) {
        int64_t divisor = operand(0);
        return divisor == 0 ? 0 : getPowerOfTwo(divisor);
      })
      .Case<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MinUIOp,
            arith::MaxSIOp, arith::MaxUIOp, arith::RemSIOp, arith::RemUIOp>(
          [&](auto) { return gcd(operand(0), operand(1)); })
      .Case<arith::MulIOp>(
          [&](auto) { return multiply(operand(0), operand(1)); })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp,
            arith::CeilDivSIOp, arith::CeilDivUIOp>([&](auto) {
        auto divisor = constantOperand(1);
        return divisor ? divide(operand(0), std::abs(*divisor)) : 1;
      })
      .Case<arith::ShLIOp>([&](auto) {
        auto bits = constantOperand(1);
        return bits && *bits >= 0 && *bits < 40
                   ? multiply(operand(0), int64_t(1) << *bits)
                   : 1;
      })
      .Case<arith::AndIOp>([&](auto) {
        // A bit that is zero on either side is zero in the result.
        int64_t lhs = operand(0), rhs = operand(1);
        if (lhs == 0 || rhs == 0)
          return int64_t(0);
        return std::max(getPowerOfTwo(lhs), getPowerOfTwo(rhs));
      })
      .Case<arith::SelectOp>([&](auto) { return gcd(operand(1), operand(2)); })
      .Case<affine::AffineApplyOp, affine::AffineMinOp, affine::AffineMaxOp>(
          [&](auto affineOp) {
            return applyMap(affineOp.getAffineMap(), affineOp->getOperands());
          })
      .Case<memref::DimOp>([&](memref::DimOp dim) {
        auto index = dim.getConstantIndex();
        return index ? getExtentDivisor(dim.getSource(), *index) : 1;
      })
      .Case<scf::ForOp>([&](scf::ForOp loop) {
        unsigned index = cast<OpResult>(value).getResultNumber();
        return getDivisor(loop.getRegionIterArg(index));
      })
      .Case<scf::IfOp>([&](scf::IfOp branch) {
        unsigned index = cast<OpResult>(value).getResultNumber();
        return gcd(getDivisor(branch.thenYield().getOperand(index)),
                   getDivisor(branch.elseYield().getOperand(index)));
      })
      .Default(int64_t(1));
}

int64_t Divisibility::computeArgument(BlockArgument argument) {
  auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
  if (!loop)
    return 1;
  if (argument == loop.getInductionVar())
    return gcd(getDivisor(loop.getLowerBound()), getDivisor(loop.getStep()));
  return computeCarried(argument, loop.getTiedLoopInit(argument)->get(),
                        loop.getTiedLoopYieldedValue(argument)->get());
}

/// The largest divisor of the initial value that each iteration preserves.
int64_t Divisibility::computeCarried(BlockArgument argument, Value init,
                                     Value next) {
  int64_t divisor = getDivisor(init);
  while (divisor != 1) {
    assumed[argument] = divisor;
    int64_t after = gcd(divisor, getDivisor(next));
    assumed.erase(argument);
    if (after == divisor)
      break;
    divisor = after;
  }
  return divisor;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// The kernel's argument that `buffer` is, and an attribute of it.
template <typename AttrT>
static AttrT getArgumentAttr(Value buffer, StringRef name) {
  auto argument = dyn_cast<BlockArgument>(buffer);
  auto kernel =
      argument ? dyn_cast<gpu::GPUFuncOp>(argument.getOwner()->getParentOp())
               : gpu::GPUFuncOp();
  if (!kernel || argument.getArgNumber() >= kernel.getNumArguments())
    return {};
  return kernel.getArgAttrOfType<AttrT>(argument.getArgNumber(), name);
}

int64_t Divisibility::getExtentDivisor(Value buffer, int64_t dim) {
  auto type = cast<MemRefType>(buffer.getType());
  if (dim < 0 || dim >= type.getRank())
    return 1;
  if (!type.isDynamicDim(dim))
    return type.getDimSize(dim);
  auto divisors =
      getArgumentAttr<DenseI64ArrayAttr>(buffer, TileDialect::kDivisible);
  return divisors ? divisors[dim] : 1;
}

/// The alignment in bytes of a buffer's first element.
static int64_t getBaseAlignment(Value buffer, int64_t elementBits) {
  // The planner of shared memory aligns to 16 bytes and more.
  constexpr int64_t kDefault = 16;
  if (isShared(buffer))
    return kDefault;
  auto argument = dyn_cast<BlockArgument>(buffer);
  if (!argument || !isa<gpu::GPUFuncOp>(argument.getOwner()->getParentOp()))
    return std::max<int64_t>(elementBits / 8, 1);
  auto alignment =
      getArgumentAttr<IntegerAttr>(buffer, TileDialect::kAlignment);
  return alignment ? alignment.getInt() : kDefault;
}

Divisibility::Placement Divisibility::getPlacement(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  int64_t rank = type.getRank();
  int64_t bits = getStorageBits(type.getElementType());
  Placement placement;
  placement.base = getBaseAlignment(buffer, bits) * 8;
  placement.strides.assign(rank, bits);
  placement.run = 1;
  if (isa<SharedLayoutAttr>(type.getLayout())) {
    // Each run that the layout keeps together starts at a multiple of itself.
    placement.run = getSharedLayout(type).getContiguity(bits);
    for (int64_t dim = 0; dim < rank - 1; ++dim)
      placement.strides[dim] = placement.run * bits;
    return placement;
  }
  if (type.getLayout().isIdentity()) {
    int64_t stride = bits;
    for (int64_t dim = rank - 1; dim >= 0; --dim) {
      placement.strides[dim] = stride;
      stride = multiply(stride, getExtentDivisor(buffer, dim));
    }
    placement.run = rank == 0 ? 1 : kLargest;
    return placement;
  }
  SmallVector<int64_t> strides;
  int64_t offset;
  if (rank == 0 || failed(type.getStridesAndOffset(strides, offset)))
    return placement;
  for (auto [known, stride] : llvm::zip(placement.strides, strides))
    if (!ShapedType::isDynamic(stride))
      known = multiply(bits, getConstantDivisor(stride));
  placement.base = gcd(placement.base, ShapedType::isDynamic(offset)
                                           ? bits
                                           : multiply(bits, std::abs(offset)));
  if (strides.back() == 1)
    placement.run = kLargest;
  return placement;
}

int64_t Divisibility::getAlignment(Value buffer,
                                   ArrayRef<OpFoldResult> offsets) {
  Placement placement = getPlacement(buffer);
  int64_t bits = placement.base;
  for (auto [offset, stride] : llvm::zip(offsets, placement.strides))
    bits = gcd(bits, multiply(getDivisor(offset), stride));
  return std::max<int64_t>(getPowerOfTwo(bits) / 8, 1);
}

int64_t Divisibility::getVectorElements(Value buffer,
                                        const TileRegion &region) {
  if (region.sizes.empty())
    return 1;
  int64_t last = region.sizes.size() - 1;
  int64_t bits =
      getStorageBits(cast<MemRefType>(buffer.getType()).getElementType());
  Placement placement = getPlacement(buffer);
  // The bits at which a row of the region may start.
  int64_t start = gcd(placement.base, 128);
  for (int64_t dim = 0; dim <= last; ++dim) {
    int64_t stride = placement.strides[dim];
    start = gcd(start, multiply(getDivisor(region.offsets[dim]), stride));
    if (dim < last && region.sizes[dim] > 1)
      start = gcd(start, stride);
  }
  int64_t elements = std::max<int64_t>(start / bits, 1);
  elements = gcd(elements, placement.run);
  elements = gcd(elements, region.sizes[last]);
  // A run that straddles the buffer's end would be neither in nor out.
  elements = gcd(elements, getExtentDivisor(buffer, last));
  elements = gcd(elements, getDivisor(region.offsets[last]));
  return getPowerOfTwo(elements);
}

int64_t tile::getCopyVectorElements(CopyOp op, Divisibility &divisibility) {
  return std::min(
      divisibility.getVectorElements(op.getSource(), op.getSourceRegion()),
      divisibility.getVectorElements(op.getDest(), op.getDestRegion()));
}
