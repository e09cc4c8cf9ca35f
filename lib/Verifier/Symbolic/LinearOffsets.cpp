//===- LinearOffsets.cpp - Offsets as sums of counts and values -----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows sums, differences, and products with constants down to values of
// which no more is known, the roots. Induction variables, and numbers that a
// loop carries and increments by a constant, are linear in the count of
// iterations:
//
//   for %i = %l to %u step 4 iter_args(%p = %q) { ...; yield %p + 8 }
//
//   %i is %l + 4 * count, and %p is %q + 8 * count.
//
// Remainders, masks and minima are roots, and have bounds.
//
// Numbers of narrow types wrap around, and are roots.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Symbolic/LinearOffsets.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::verifier;

/// A root has the bounds of up to this many operations, one of the other.
static constexpr size_t kMostBounds = 8;

/// Numbers of this size do not overflow when a few of them are combined.
static bool isSmall(int64_t number) { return llvm::isInt<31>(number); }

/// Whether a number has a type in which it does not overflow: `index`, or an
/// integer of 32 or 64 bits (docs/verifier.md, "What is not checked").
static bool isWide(Value value) {
  Type type = value.getType();
  return type.isIndex() || type.isInteger(32) || type.isInteger(64);
}

static std::optional<int64_t> getSmallConstant(Value value) {
  APInt number;
  if (!matchPattern(value, m_ConstantInt(&number)) ||
      number.getSignificantBits() > 31)
    return std::nullopt;
  return number.getSExtValue();
}

scf::ForOp verifier::getCountedLoop(Value root) {
  auto argument = dyn_cast<BlockArgument>(root);
  auto loop = argument
                  ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp())
                  : scf::ForOp();
  if (!loop || loop.getInductionVar() != root || !isWide(root))
    return {};
  std::optional<int64_t> step = getSmallConstant(loop.getStep());
  return step && *step > 0 ? loop : scf::ForOp();
}

std::optional<int64_t> verifier::getIncrement(scf::ForOp loop,
                                              BlockArgument carried) {
  if (!isWide(carried) || !getCountedLoop(loop.getInductionVar()))
    return std::nullopt;
  int64_t sum = 0;
  Value value = loop.getTiedLoopYieldedValue(carried)->get();
  while (value != carried) {
    Operation *op = value.getDefiningOp();
    if (!isa_and_present<arith::AddIOp, arith::SubIOp>(op))
      return std::nullopt;
    std::optional<int64_t> left = getSmallConstant(op->getOperand(0));
    std::optional<int64_t> right = getSmallConstant(op->getOperand(1));
    bool adds = isa<arith::AddIOp>(op);
    if (left.has_value() == right.has_value() || (left && !adds))
      return std::nullopt;
    sum += left ? *left : adds ? *right : -*right;
    if (!isSmall(sum))
      return std::nullopt;
    value = op->getOperand(left ? 1 : 0);
  }
  return sum;
}

namespace {
/// Adds up terms, up to limits.
class OffsetReader {
public:
  /// Adds `factor * value`; false if a number becomes too large.
  bool add(Value value, int64_t factor);

  LinearOffset sum;

private:
  bool addTerm(Value root, int64_t factor);
  bool addOperation(Operation *op, int64_t factor, bool &isRoot);

  static constexpr unsigned kMaxSteps = 64, kMaxTerms = 6;
  unsigned steps = 0;
};
} // namespace

bool OffsetReader::addTerm(Value root, int64_t factor) {
  auto it = llvm::find_if(sum.terms,
                          [&](const auto &term) { return term.first == root; });
  if (it == sum.terms.end())
    it = sum.terms.insert(it, {root, 0});
  it->second += factor;
  bool fits = isSmall(it->second) && sum.terms.size() <= kMaxTerms;
  if (it->second == 0)
    sum.terms.erase(it);
  return fits;
}

bool OffsetReader::add(Value value, int64_t factor) {
  if (!isSmall(factor) || ++steps > kMaxSteps)
    return false;
  if (std::optional<int64_t> number = getSmallConstant(value)) {
    sum.constant += factor * *number;
    return isSmall(sum.constant);
  }
  if (scf::ForOp loop = getCountedLoop(value))
    return addTerm(value, factor * *getSmallConstant(loop.getStep())) &&
           add(loop.getLowerBound(), factor);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    std::optional<int64_t> increment;
    if (loop)
      increment = getIncrement(loop, argument);
    if (increment)
      return addTerm(loop.getInductionVar(), factor * *increment) &&
             add(loop.getTiedLoopInit(argument)->get(), factor);
    return addTerm(value, factor);
  }
  bool isRoot = false;
  bool fits = addOperation(value.getDefiningOp(), factor, isRoot);
  return isRoot ? addTerm(value, factor) : fits;
}

/// Adds the result of an operation, or sets `isRoot` if it is not linear in its
/// operands.
bool OffsetReader::addOperation(Operation *op, int64_t factor, bool &isRoot) {
  if (llvm::all_of(op->getOperands(), isWide) && isWide(op->getResult(0))) {
    if (isa<arith::IndexCastOp, arith::ExtSIOp>(op))
      return add(op->getOperand(0), factor);
    if (isa<arith::AddIOp>(op))
      return add(op->getOperand(0), factor) && add(op->getOperand(1), factor);
    if (isa<arith::SubIOp>(op))
      return add(op->getOperand(0), factor) && add(op->getOperand(1), -factor);
    if (isa<arith::MulIOp>(op))
      for (unsigned i : {0, 1})
        if (std::optional<int64_t> number = getSmallConstant(op->getOperand(i)))
          return add(op->getOperand(1 - i), factor * *number);
    if (isa<arith::ShLIOp>(op))
      if (std::optional<int64_t> count = getSmallConstant(op->getOperand(1));
          count && *count >= 0 && *count < 31)
        return add(op->getOperand(0), factor * (int64_t(1) << *count));
  }
  isRoot = true;
  return true;
}

std::optional<LinearOffset> verifier::getLinearOffset(OpFoldResult offset) {
  if (std::optional<int64_t> constant = getConstantIntValue(offset))
    return LinearOffset{*constant, {}};
  OffsetReader reader;
  if (!reader.add(cast<Value>(offset), 1))
    return std::nullopt;
  llvm::sort(reader.sum.terms, [](const auto &a, const auto &b) {
    return a.first.getAsOpaquePointer() < b.first.getAsOpaquePointer();
  });
  return reader.sum;
}

std::optional<int64_t> verifier::getConstantTrips(scf::ForOp loop) {
  std::optional<int64_t> step = getSmallConstant(loop.getStep());
  OffsetReader reader;
  if (loop.getUnsignedCmp() || !step || *step <= 0 ||
      !reader.add(loop.getUpperBound(), 1) ||
      !reader.add(loop.getLowerBound(), -1) || !reader.sum.terms.empty())
    return std::nullopt;
  return std::max<int64_t>(llvm::divideCeilSigned(reader.sum.constant, *step),
                           1);
}

/// The bounds of what an operation computes of a value within `bounds` and a
/// constant.
static Interval getBoundsByConstant(Operation *op, Interval bounds,
                                    int64_t number) {
  if (isa<arith::RemUIOp>(op) && number > 0)
    return {0, number - 1};
  if (isa<arith::RemSIOp>(op) && number > 0)
    return {1 - number, number - 1};
  if (isa<arith::AndIOp, arith::MinUIOp>(op) && number >= 0)
    return {0, number};
  if (isa<arith::MinSIOp>(op))
    return {std::min(bounds.low, number), std::min(bounds.high, number)};
  if (isa<arith::MaxSIOp>(op))
    return {std::max(bounds.low, number), std::max(bounds.high, number)};
  return {};
}

Interval verifier::getRootBounds(Value root) {
  if (scf::ForOp loop = getCountedLoop(root)) {
    std::optional<int64_t> trips = getConstantTrips(loop);
    return {0, trips ? *trips - 1 : INT64_MAX};
  }
  // The canonical form has constants on the right.
  SmallVector<std::pair<Operation *, int64_t>> path;
  for (Operation *op = root.getDefiningOp();
       op && op->getNumOperands() == 2 && isWide(op->getResult(0)) &&
       path.size() < kMostBounds;
       op = op->getOperand(0).getDefiningOp()) {
    std::optional<int64_t> number = getSmallConstant(op->getOperand(1));
    if (!number)
      break;
    path.push_back({op, *number});
  }
  Interval bounds;
  for (auto [op, number] : llvm::reverse(path))
    bounds = getBoundsByConstant(op, bounds, number);
  return bounds;
}
