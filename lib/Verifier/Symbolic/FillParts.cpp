//===- FillParts.cpp - Which writes to a buffer may overlap ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each offset of a region is read as factor * root + constant, where the root
// is any SSA value. Numbers of narrow types wrap around, and are roots. Two regions are disjoint if they are in one dimension:
//
//   * the ranges over all values of the roots do not overlap. They are bounded
//     where a root is the induction variable of a loop with constant bounds;
//   * or they do not overlap modulo the greatest common divisor of the factors:
//     rows 16 * i to 16 * i + 7 and 16 * j + 8 to 16 * j + 15.
//
// A write is fresh in a loop if one offset moves with the induction variable by
// at least the size of the region.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Symbolic/FillParts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

/// Numbers of this size do not overflow when a few of them are combined.
static bool isSmall(int64_t number) { return llvm::isInt<31>(number); }

/// Whether a number has a type in which it does not overflow: `index`, or an
/// integer of 32 or 64 bits (docs/verifier.md, "What is not checked").
static bool isWide(Value value) {
  Type type = value.getType();
  return type.isIndex() || type.isInteger(32) || type.isInteger(64);
}

/// One step from the root of `range` to the operand that it is computed from;
/// nullopt if there is none.
static std::optional<FillParts::Range> stepBack(FillParts::Range range) {
  Operation *op = range.root.getDefiningOp();
  if (!op || op->getNumOperands() == 0 || !isWide(range.root) ||
      !isWide(op->getOperand(0)))
    return std::nullopt;
  unsigned root = 0;
  int64_t factor = 1, constant = 0;
  if (!isa<arith::IndexCastOp, arith::ExtSIOp>(op)) {
    APInt left, right;
    if (op->getNumOperands() != 2)
      return std::nullopt;
    bool isLeft = matchPattern(op->getOperand(0), m_ConstantInt(&left));
    bool isRight = matchPattern(op->getOperand(1), m_ConstantInt(&right));
    if (isLeft == isRight || (isLeft && !isa<arith::SubIOp>(op)))
      return std::nullopt;
    int64_t number = (isLeft ? left : right).getSExtValue();
    if (!isSmall(number))
      return std::nullopt;
    root = isLeft ? 1 : 0;
    if (isa<arith::MulIOp>(op))
      factor = number;
    else if (isa<arith::ShLIOp>(op) && number >= 0 && number < 31)
      factor = int64_t(1) << number;
    else if (isa<arith::AddIOp>(op))
      constant = number;
    else if (isa<arith::SubIOp>(op) && isLeft)
      factor = -1, constant = number;
    else if (isa<arith::SubIOp>(op))
      constant = -number;
    else
      return std::nullopt;
  }
  range.root = op->getOperand(root);
  range.constant += range.factor * constant;
  range.factor *= factor;
  if (!isSmall(range.factor) || !isSmall(range.constant))
    return std::nullopt;
  return range;
}

FillParts::Range FillParts::getRange(OpFoldResult offset, int64_t size) {
  if (std::optional<int64_t> constant = getConstantIntValue(offset))
    return {Value(), 0, *constant, size};
  Range range{cast<Value>(offset), 1, 0, size};
  while (std::optional<Range> next = stepBack(range))
    range = *next;
  return range;
}

/// The region of the version of a buffer that an access names.
std::optional<SmallVector<FillParts::Range, 4>>
FillParts::getRanges(const SharedAccess &access) {
  Operation *source = access.operand->get().getDefiningOp();
  if (!isa_and_present<AllocSharedOp, SlotOp>(source) || !access.region)
    return std::nullopt;
  SmallVector<Range, 4> ranges;
  for (auto [offset, size] :
       llvm::zip_equal(access.region->offsets, access.region->sizes))
    ranges.push_back(getRange(offset, size));
  return ranges;
}

/// The first and the last induction variable of the loop of `root`, if they are
/// constants.
static std::optional<std::pair<int64_t, int64_t>> getBounds(Value root) {
  auto argument = dyn_cast<BlockArgument>(root);
  auto loop = argument
                  ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp())
                  : scf::ForOp();
  if (!loop || loop.getInductionVar() != root)
    return std::nullopt;
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound());
  std::optional<int64_t> upper = getConstantIntValue(loop.getUpperBound());
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  if (!lower || !upper || !step || !isSmall(*lower) || !isSmall(*upper) ||
      *step <= 0 || *lower >= *upper)
    return std::nullopt;
  return std::pair(*lower, *lower + (*upper - 1 - *lower) / *step * *step);
}

bool FillParts::areDisjoint(const Range &a, const Range &b) {
  auto getHull = [](const Range &range) {
    std::pair<int64_t, int64_t> bounds = {0, 0};
    if (range.root) {
      auto found = getBounds(range.root);
      if (!found)
        return std::pair(INT64_MIN, INT64_MAX);
      bounds = *found;
    }
    int64_t x = range.factor * bounds.first, y = range.factor * bounds.second;
    return std::pair(std::min(x, y) + range.constant,
                     std::max(x, y) + range.constant + range.size);
  };
  auto [lowA, highA] = getHull(a);
  auto [lowB, highB] = getHull(b);
  if (highA <= lowB || highB <= lowA)
    return true;
  int64_t divisor = std::gcd(a.factor, b.factor);
  if (divisor == 0)
    return false;
  int64_t start = (a.constant - b.constant) % divisor;
  start = start < 0 ? start + divisor : start;
  return start >= b.size && start + a.size <= divisor;
}

/// Whether each iteration of the loops around `op` has ranges of its own, for
/// the innermost loop and those around it, as far as any range depends on them.
bool FillParts::isFresh(Operation *op, ArrayRef<Range> ranges) {
  bool isMoved = false;
  for (auto loop = op->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>()) {
    std::optional<int64_t> step = getConstantIntValue(loop.getStep());
    auto moves = [&](const Range &range) {
      return range.root == loop.getInductionVar() && step && isSmall(*step) &&
             std::abs(range.factor * *step) >= range.size;
    };
    if (!llvm::any_of(ranges, moves))
      break;
    isMoved = true;
  }
  return isMoved;
}

unsigned FillParts::add(Operation *op, unsigned task,
                        const SharedAccess &access) {
  Writer writer = hasInst(op, InstKind::Tma)       ? Tma
                  : hasInst(op, InstKind::CpAsync) ? CpAsync
                                                   : Threads;
  PartWrite write{
      task,   writer,           /*isFresh=*/false, access.atomic.has_value(),
      Type(), getRanges(access)};
  if (auto store = dyn_cast<StoreOp>(op))
    write.stored = store.getValue().getType();
  if (write.ranges)
    write.isFresh = isFresh(op, *write.ranges);
  // Kernels may fill all of a buffer in any number of loops.
  auto same = llvm::find_if(writes, [&](const PartWrite &other) {
    bool isCounted = writer != Threads || write.stored || write.isUpdate;
    return !write.isFresh && isCounted && write == other;
  });
  if (same != writes.end())
    return same - writes.begin();
  if (writes.size() == kMax + 1) {
    writes[kMax].writers |= writer;
    return kMax;
  }
  unsigned number = writes.size();
  if (number == kMax) { // It stands for all further writes, too.
    write.ranges.reset();
    write.stored = Type();
    write.isFresh = write.isUpdate = false;
  }
  writes.push_back(std::move(write));
  mixed |= writes.back().isFresh;
  for (unsigned other = 0; other < number; ++other)
    mixed |= !overlap(number, other) || clash(number, other);
  return number;
}

bool FillParts::overlap(unsigned a, unsigned b) const {
  const auto &x = writes[a].ranges, &y = writes[b].ranges;
  if (a == b || !x || !y || x->size() != y->size())
    return true;
  return llvm::none_of(llvm::zip(*x, *y), [](auto pair) {
    return areDisjoint(std::get<0>(pair), std::get<1>(pair));
  });
}

bool FillParts::overlapAlways(unsigned a, unsigned b) const {
  const auto &x = writes[a].ranges, &y = writes[b].ranges;
  auto isConstant = [](const Range &range) { return !range.root; };
  return x && y && llvm::all_of(*x, isConstant) &&
         llvm::all_of(*y, isConstant) && overlap(a, b);
}

bool FillParts::clash(unsigned a, unsigned b) const {
  const PartWrite &x = writes[a], &y = writes[b];
  if (!overlap(a, b) || (a == b && (x.isFresh || isCopy(a) || !x.ranges)))
    return false;
  if (a != b && (isCopy(a) || isCopy(b) || !x.stored || x.stored != y.stored ||
                 !x.ranges || !y.ranges))
    return true;
  // The elements are the same if no offset depends on a value.
  return llvm::any_of(llvm::zip_equal(*x.ranges, *y.ranges), [](auto pair) {
    auto [one, other] = pair;
    return one.root || other.root || one.constant != other.constant;
  });
}

void FillParts::print(raw_ostream &os) const {
  for (auto [number, write] : llvm::enumerate(writes)) {
    os << "write " << number;
    if (number < kMax)
      os << " of task " << write.task;
    os << " by" << (write.writers & Threads ? " threads" : "")
       << (write.writers & CpAsync ? " cp.async" : "")
       << (write.writers & Tma ? " TMA" : "");
    if (write.isFresh)
      os << ", to other bytes in each iteration";
    os << ", overlaps";
    for (unsigned other = 0; other < size(); ++other)
      if (other != number && overlap(number, other))
        os << " " << other << (clash(number, other) ? " (clash)" : "");
    os << "\n";
  }
}
