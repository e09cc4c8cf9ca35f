//===- FillParts.cpp - Which writes to a buffer may overlap ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each offset of a region is a linear form (LinearOffsets.h). Two regions are
// disjoint if they are in one dimension:
//
//   * the ranges over all values of the roots do not overlap. They are bounded
//     where roots count the iterations of loops with constant bounds;
//   * or they do not overlap modulo the greatest common divisor of the factors:
//     rows 16 * i to 16 * i + 7 and 16 * j + 8 to 16 * j + 15.
//
// A write is fresh in a loop if any two of its executions in one run of the
// loop write different bytes. Offsets are then like numbers with several
// digits: 8 * i + 2 * j with j < 4, of size 2, has another value for each i and
// j.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Symbolic/FillParts.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/DenseSet.h"

#include <numeric>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

/// Whether ranges are all elements of a memory of type `memory`.
static bool isWhole(ArrayRef<FillParts::Range> ranges, MemRefType memory) {
  return llvm::all_of(
      llvm::zip_equal(ranges, memory.getShape()), [](auto pair) {
        auto [range, size] = pair;
        return range.isConstant() && range.offset->constant == 0 &&
               range.size == size;
      });
}

/// Sets the elements that an access names. They are those of the version of a
/// buffer, or of a view of it, which has all of its bytes. All of a view is all
/// of the version.
void FillParts::setRanges(PartWrite &write, const SharedAccess &access) {
  write.memory = write.base = cast<MemRefType>(access.operand->get().getType());
  std::optional<ViewedRegion> region = getViewedRegion(access);
  if (!region)
    return;
  write.isScattered = false;
  Value memory = region->memory;
  while (auto view = memory.getDefiningOp<ViewOp>())
    memory = view.getSource();
  if (!isa_and_present<AllocSharedOp, SlotOp>(memory.getDefiningOp()))
    return;
  write.memory = cast<MemRefType>(region->memory.getType());
  write.base = cast<MemRefType>(memory.getType());
  write.ranges.emplace();
  for (auto [offset, start, size] :
       llvm::zip_equal(region->offsets, region->starts, region->sizes)) {
    std::optional<LinearOffset> linear = getLinearOffset(offset);
    if (linear)
      linear->constant += start;
    write.ranges->push_back({std::move(linear), size});
  }
  write.mayBeCut = region->mayBeCut;
  write.isWhole = isWhole(*write.ranges, write.memory);
}

/// The least and the greatest element of a range, over all values of its roots.
static Interval getHull(const FillParts::Range &range) {
  Interval hull = {range.offset->constant,
                   range.offset->constant + range.size - 1};
  for (auto [root, factor] : range.offset->terms)
    hull = hull.plus(getRootBounds(root).times(factor));
  return hull;
}

bool FillParts::areDisjoint(const Range &a, const Range &b) {
  if (!a.offset || !b.offset)
    return false;
  Interval ofA = getHull(a), ofB = getHull(b);
  if (ofA.high < ofB.low || ofB.high < ofA.low)
    return true;
  int64_t divisor = 0;
  for (const Range &range : {a, b})
    for (auto [root, factor] : range.offset->terms)
      divisor = std::gcd(divisor, factor);
  if (divisor == 0)
    return false;
  int64_t start = (a.offset->constant - b.offset->constant) % divisor;
  start = start < 0 ? start + divisor : start;
  return start >= b.size && start + a.size <= divisor;
}

/// Whether two executions in one run of the outermost of `loops` that differ in
/// the count of any loop of `range` have different elements. Returns these
/// loops, or none.
static SmallVector<scf::ForOp> getDigits(const FillParts::Range &range,
                                         ArrayRef<scf::ForOp> loops) {
  SmallVector<std::pair<int64_t, scf::ForOp>> digits;
  if (!range.offset)
    return {};
  for (auto [root, factor] : range.offset->terms) {
    scf::ForOp loop = getCountedLoop(root);
    if (loop && llvm::is_contained(loops, loop))
      digits.push_back({std::abs(factor), loop});
    else if (!scf::ForOp(loops.back()).isDefinedOutsideOfLoop(root))
      return {};
  }
  llvm::sort(digits, llvm::less_first());
  // A digit is worth more than all smaller ones together.
  std::optional<int64_t> needed = range.size;
  for (auto [factor, loop] : digits) {
    if (!needed || factor < *needed)
      return {};
    std::optional<int64_t> trips = getConstantTrips(loop);
    needed =
        trips ? std::optional(*needed + factor * (*trips - 1)) : std::nullopt;
  }
  return llvm::to_vector(llvm::make_second_range(digits));
}

/// The largest nest of loops around `op` in a run of which it is fresh.
scf::ForOp FillParts::findFreshLoop(Operation *op, ArrayRef<Range> ranges) {
  SmallVector<scf::ForOp> nest;
  for (Operation *parent = op->getParentOp();
       isa_and_present<scf::ForOp, scf::IfOp>(parent);
       parent = parent->getParentOp())
    if (auto loop = dyn_cast<scf::ForOp>(parent))
      nest.push_back(loop);
  for (size_t count = nest.size(); count > 0; --count) {
    ArrayRef<scf::ForOp> loops = ArrayRef(nest).take_front(count);
    llvm::DenseSet<Operation *> told;
    for (const Range &range : ranges)
      for (scf::ForOp loop : getDigits(range, loops))
        told.insert(loop);
    if (llvm::all_of(loops, [&](scf::ForOp loop) {
          return told.contains(loop) || getConstantTrips(loop) == 1;
        }))
      return nest[count - 1];
  }
  return {};
}

/// Whether a value is computed once in a kernel.
static bool isFixed(Value value) {
  for (Operation *op = value.getParentBlock()->getParentOp(); op;
       op = op->getParentOp())
    if (isa<LoopLikeOpInterface>(op))
      return false;
  return true;
}

/// Whether any two executions have the same elements, or no common one.
bool FillParts::isSteady(scf::ForOp loop, ArrayRef<Range> ranges) {
  return llvm::all_of(ranges, [&](const Range &range) {
    return range.offset &&
           llvm::all_of(range.offset->terms, [&](const auto &term) {
             scf::ForOp counted = getCountedLoop(term.first);
             return isFixed(term.first) ||
                    (loop && counted && loop->isAncestor(counted));
           });
  });
}

uint32_t FillParts::getFresh(Operation *loop) const {
  uint32_t fresh = 0;
  for (auto [number, write] : llvm::enumerate(writes))
    if (write.freshLoop == loop)
      fresh |= uint32_t(1) << number;
  return fresh;
}

unsigned FillParts::add(Operation *op, unsigned task,
                        const SharedAccess &access) {
  Writer writer = hasInst(op, InstKind::Tma)       ? Tma
                  : hasInst(op, InstKind::CpAsync) ? CpAsync
                                                   : Threads;
  PartWrite write{task, writer, access.atomic.has_value(), !access.region};
  setRanges(write, access);
  if (auto store = dyn_cast<StoreOp>(op))
    write.stored = store.getValue().getType();
  if (write.ranges) {
    write.freshLoop = findFreshLoop(op, *write.ranges);
    write.isSteady = isSteady(write.freshLoop, *write.ranges);
  }
  // Kernels may fill all of a buffer in any number of loops.
  auto same = llvm::find_if(writes, [&](const PartWrite &other) {
    bool isCounted = writer != Threads || write.stored || write.isUpdate;
    return !write.freshLoop && isCounted && write == other;
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
    write.freshLoop = {};
    write.isSteady = write.isUpdate = false;
  }
  writes.push_back(std::move(write));
  mixed |= bool(writes.back().freshLoop);
  for (unsigned other = 0; other < number; ++other)
    mixed |= !overlap(number, other) || clash(number, other);
  mixed |= clash(number, number);
  return number;
}

bool FillParts::areComparable(unsigned a, unsigned b) const {
  const PartWrite &x = writes[a], &y = writes[b];
  return x.ranges && y.ranges && x.memory == y.memory && x.base == y.base;
}

bool FillParts::overlap(unsigned a, unsigned b) const {
  if (a == b || !areComparable(a, b))
    return true;
  return llvm::none_of(
      llvm::zip_equal(*writes[a].ranges, *writes[b].ranges), [](auto pair) {
        return areDisjoint(std::get<0>(pair), std::get<1>(pair));
      });
}

bool FillParts::overlapAlways(unsigned a, unsigned b) const {
  const PartWrite &x = writes[a], &y = writes[b];
  if (!x.ranges || !y.ranges || x.base != y.base || x.mayBeCut || y.mayBeCut)
    return false;
  auto isConstant = [](const Range &range) { return range.isConstant(); };
  return x.isWhole || y.isWhole ||
         (areComparable(a, b) && llvm::all_of(*x.ranges, isConstant) &&
          llvm::all_of(*y.ranges, isConstant) && overlap(a, b));
}

bool FillParts::clash(unsigned a, unsigned b) const {
  const PartWrite &x = writes[a], &y = writes[b];
  bool isSame = a == b && !x.isScattered;
  if (!overlap(a, b) || (a == b && isCopy(a)) || (isSame && x.isSteady))
    return false;
  if (x.isScattered || y.isScattered || !areComparable(a, b))
    return true;
  if (a != b && (isCopy(a) || isCopy(b) || !x.stored || x.stored != y.stored))
    return true;
  // The elements are the same if no offset depends on a value.
  return llvm::any_of(llvm::zip_equal(*x.ranges, *y.ranges), [](auto pair) {
    auto [one, other] = pair;
    return !one.isConstant() || !other.isConstant() ||
           one.offset->constant != other.offset->constant;
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
    if (write.freshLoop)
      os << ", to other bytes in each iteration";
    os << ", overlaps";
    for (unsigned other = 0; other < size(); ++other)
      if (other != number && overlap(number, other))
        os << " " << other << (clash(number, other) ? " (clash)" : "");
    os << "\n";
  }
}
