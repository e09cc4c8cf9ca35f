//===- Divisibility.cpp - Known divisors of index values ------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sparse forward dataflow over the lattice of divisors (SliceSolver.h): the
// join is the greatest common divisor, and 0, which every number divides, is
// the optimistic start.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Divisibility.h"

#include "tilews/Dialect/Tile/Analysis/SliceSolver.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/DebugLog.h"

#include <numeric>

#define DEBUG_TYPE "tile-divisibility"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// Arithmetic on divisors
//===----------------------------------------------------------------------===//

/// The largest divisor that the analysis keeps. Nothing uses larger ones, and
/// multiplying them could overflow.
static constexpr int64_t kLargest = int64_t(1) << 40;

static int64_t gcd(int64_t a, int64_t b) { return std::gcd(a, b); }

/// Returns the largest power of two that divides `a`, which is not 0.
static int64_t getPowerOfTwo(int64_t a) { return a & -a; }

/// Returns a divisor of `x * y` for all multiples `x` of `a` and `y` of `b`.
static int64_t multiply(int64_t a, int64_t b) {
  if (a == 0 || b == 0)
    return 0;
  if (a <= kLargest / b)
    return a * b;
  a = std::min(getPowerOfTwo(a), int64_t(1) << 20);
  b = std::min(getPowerOfTwo(b), int64_t(1) << 20);
  return a * b;
}

/// Returns a divisor of `x / b` for each multiple `x` of `a`, however the
/// quotient is rounded. With a = 64, b = 16 that is 4; with b = 24 some
/// quotients are rounded, and only 1 remains.
static int64_t divide(int64_t a, int64_t b) {
  return b != 0 && a % b == 0 ? a / b : 1;
}

static int64_t getConstantDivisor(int64_t value) {
  // The absolute value of the smallest integer would overflow.
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
// DivisorSolver
//===----------------------------------------------------------------------===//

namespace {
/// Finds the divisors of a value and of all values that it is computed from.
/// Each step down the lattice divides by 2 or more, so that a divisor changes
/// at most 41 times.
class DivisorSolver {
public:
  using Solver = SliceSolver<int64_t>;
  DivisorSolver(Divisibility &divisibility, Solver::Facts &known)
      : divisibility(divisibility), solver(known) {}

  /// Adds them to the known ones. Returns the number of evaluations.
  int64_t solve(Value root) {
    return solver.solve(root, [&](Value value, int64_t last) {
      int64_t divisor = gcd(last, evaluate(value));
      if (divisor != last)
        LDBG(2) << value << ": divisor " << last << " -> " << divisor;
      return divisor;
    });
  }

private:
  int64_t read(Value value) { return solver.read(value); }
  int64_t evaluate(Value value);
  int64_t evaluateFlow(Value value, RegionBranchOpInterface branch);
  int64_t evaluateOp(Operation *op);
  int64_t evaluateQuotient(Operation *op);
  int64_t evaluateShift(Operation *op);
  int64_t evaluateAnd(Operation *op);
  int64_t evaluateMap(AffineMap map, ValueRange operands);

  Divisibility &divisibility;
  Solver solver;
};
} // namespace

int64_t DivisorSolver::evaluate(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSignificantBits() > 64
               ? 1
               : getConstantDivisor(constant.getSExtValue());
  auto argument = dyn_cast<BlockArgument>(value);
  Operation *op =
      argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
  if (auto branch = dyn_cast_if_present<RegionBranchOpInterface>(op))
    return evaluateFlow(value, branch);
  return argument ? 1 : evaluateOp(op);
}

/// Evaluates a result of `branch` or an argument of its regions: the join of
/// all operands that control flow passes on to it.
int64_t DivisorSolver::evaluateFlow(Value value,
                                    RegionBranchOpInterface branch) {
  if (auto loop = dyn_cast<scf::ForOp>(branch.getOperation());
      loop && value == loop.getInductionVar())
    return gcd(read(loop.getLowerBound()), read(loop.getStep()));
  bool isPassed = false;
  int64_t divisor = 0;
  visitPassedOperands(branch, value, [&](Value passed) {
    divisor = gcd(divisor, read(passed));
    isPassed = true;
  });
  return isPassed ? divisor : 1;
}

int64_t DivisorSolver::evaluateOp(Operation *op) {
  auto operand = [&](unsigned i) { return read(op->getOperand(i)); };
  return TypeSwitch<Operation *, int64_t>(op)
      .Case<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
            arith::ExtUIOp>([&](auto) { return operand(0); })
      .Case<arith::TruncIOp>([&](auto) {
        // Bits above the result's are lost, and with them odd factors.
        return getPowerOfTwo(operand(0));
      })
      .Case<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MinUIOp,
            arith::MaxSIOp, arith::MaxUIOp, arith::RemSIOp, arith::RemUIOp>(
          [&](auto) { return gcd(operand(0), operand(1)); })
      .Case<arith::MulIOp>(
          [&](auto) { return multiply(operand(0), operand(1)); })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp,
            arith::CeilDivSIOp, arith::CeilDivUIOp>(
          [&](auto) { return evaluateQuotient(op); })
      .Case<arith::ShLIOp>([&](auto) { return evaluateShift(op); })
      .Case<arith::AndIOp>([&](auto) { return evaluateAnd(op); })
      .Case<arith::SelectOp>([&](auto) { return gcd(operand(1), operand(2)); })
      .Case<affine::AffineApplyOp, affine::AffineMinOp, affine::AffineMaxOp>(
          [&](auto affineOp) {
            return evaluateMap(affineOp.getAffineMap(), op->getOperands());
          })
      .Case<memref::DimOp>([&](memref::DimOp dim) {
        auto index = dim.getConstantIndex();
        return index ? divisibility.getExtentDivisor(dim.getSource(), *index)
                     : 1;
      })
      .Default(int64_t(1));
}

int64_t DivisorSolver::evaluateQuotient(Operation *op) {
  int64_t dividend = read(op->getOperand(0));
  std::optional<int64_t> divisor = getConstantIntValue(op->getOperand(1));
  return divisor ? divide(dividend, getConstantDivisor(*divisor)) : 1;
}

int64_t DivisorSolver::evaluateShift(Operation *op) {
  int64_t shifted = read(op->getOperand(0));
  std::optional<int64_t> bits = getConstantIntValue(op->getOperand(1));
  return bits && *bits >= 0 && *bits < 40
             ? multiply(shifted, int64_t(1) << *bits)
             : 1;
}

/// A bit that is zero in one operand is zero in the result.
int64_t DivisorSolver::evaluateAnd(Operation *op) {
  int64_t lhs = read(op->getOperand(0)), rhs = read(op->getOperand(1));
  if (lhs == 0 || rhs == 0)
    return 0;
  return std::max(getPowerOfTwo(lhs), getPowerOfTwo(rhs));
}

int64_t DivisorSolver::evaluateMap(AffineMap map, ValueRange operands) {
  auto divisors = llvm::map_to_vector(
      operands, [&](Value operand) { return read(operand); });
  ArrayRef<int64_t> all = divisors;
  int64_t result = 0;
  for (AffineExpr expr : map.getResults())
    result = gcd(result, ::getDivisor(expr, all.take_front(map.getNumDims()),
                                      all.drop_front(map.getNumDims())));
  return result;
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
  if (auto it = known.find(value); it != known.end())
    return it->second;
  numEvaluations += DivisorSolver(*this, known).solve(value);
  return known.find(value)->second;
}

void Divisibility::print(raw_ostream &os) const {
  os << known.size() << " values in " << numEvaluations << " evaluations\n";
  if (known.empty())
    return;
  Value first = known.front().first;
  Operation *root = first.getParentRegion()->getParentOp();
  while (Operation *parent = root->getParentOp())
    root = parent;
  AsmState names(root);
  for (auto [value, divisor] : known) {
    value.printAsOperand(os, names);
    os << ": " << divisor << "\n";
  }
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
  if (auto collapse = buffer.getDefiningOp<memref::CollapseShapeOp>()) {
    int64_t divisor = 1;
    // Before C++23 a loop over an element of a temporary outlives that.
    auto groups = collapse.getReassociationIndices();
    for (int64_t from : groups[dim])
      divisor = multiply(divisor, getExtentDivisor(collapse.getSrc(), from));
    return divisor;
  }
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
  while (auto collapse = buffer.getDefiningOp<memref::CollapseShapeOp>())
    buffer = collapse.getSrc();
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

int64_t Divisibility::getVectorElements(const AccessRegion &access) {
  const TileRegion &region = access.region;
  Value buffer = access.buffer->get();
  int64_t last = int64_t(region.sizes.size()) - 1;
  auto isIndexed = [&](int64_t dim) {
    return llvm::is_contained(access.indexedDims, dim);
  };
  if (last < 0 || isIndexed(last))
    return 1;
  int64_t bits =
      getStorageBits(cast<MemRefType>(buffer.getType()).getElementType());
  Placement placement = getPlacement(buffer);
  // The bits at which a row of the region may start.
  int64_t start = gcd(placement.base, 128);
  for (int64_t dim = 0; dim <= last; ++dim) {
    int64_t stride = placement.strides[dim];
    start = gcd(start, multiply(getDivisor(region.offsets[dim]), stride));
    if (dim < last && (region.sizes[dim] > 1 || isIndexed(dim)))
      start = gcd(start, stride);
  }
  int64_t elements = std::max<int64_t>(start / bits, 1);
  elements = gcd(elements, placement.run);
  elements = gcd(elements, region.sizes[last]);
  // A run that straddles the buffer's end would be neither in nor out.
  elements = gcd(elements, getExtentDivisor(buffer, last));
  if (access.limit && access.limitDim == last)
    elements = gcd(elements, getDivisor(access.limit));
  elements = gcd(elements, getDivisor(region.offsets[last]));
  return getPowerOfTwo(elements);
}

int64_t tile::getCopyVectorElements(CopyOp op, Divisibility &divisibility) {
  SmallVector<AccessRegion> regions;
  op.getAccessRegions(regions);
  return std::min(divisibility.getVectorElements(regions[0]),
                  divisibility.getVectorElements(regions[1]));
}
