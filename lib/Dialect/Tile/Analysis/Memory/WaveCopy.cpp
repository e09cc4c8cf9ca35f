//===- WaveCopy.cpp - Copies from global memory to LDS --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On AMD a wait names the number of accesses that may be in flight (`vmcnt`),
// which complete in order. So a wait for all but the last n groups of copies
// needs the number of instructions since the group before these. It differs
// between paths, as guards and the first iterations of a loop skip copies. The
// least one is right on all: it is less than what was started since.
//
// The search goes backward from the wait, along all paths, with the number of
// groups that still may be in flight. A place is visited again only for a
// smaller number. One kind of path is left out: the prologue of a pipeline
// starts copies under conditions that hold whenever its loop has iterations.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/WaveCopy.h"

#include "tilews/Layout/IntTuple.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>
#include <map>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

llvm::Expected<LdsDma> tile::getWaveCopy(CopyOp copy,
                                         const SharedLayout &layout,
                                         int64_t sourceVector) {
  int64_t bits = getStorageBits(getElementType(copy.getSource()));
  if (getElementBits(getElementType(copy.getSource())) < 8)
    return makeLayoutError("several of its elements share a byte");
  if (copy.limitsDest())
    return makeLayoutError("its destination has a limit");
  TileRegion to = copy.getDestRegion();
  auto dest = cast<MemRefType>(copy.getDest().getType());
  if (ArrayRef(to.sizes) != dest.getShape() ||
      !llvm::all_of(to.offsets, [](OpFoldResult offset) {
        return getConstantIntValue(offset) == 0;
      }))
    return makeLayoutError("it fills a part of a buffer");
  int64_t widest = sourceVector * bits / 8;
  if (widest < 4)
    return makeLayoutError(
        llvm::formatv("only {0} adjacent bytes are known to be aligned, and 4 "
                      "are needed; see tile.divisible and tile.alignment",
                      widest)
            .str());
  int64_t threads = getNumThreads(copy);
  llvm::Error error = llvm::Error::success();
  for (int64_t bytes : {16, 4}) {
    if (widest % bytes != 0 || bytes * 8 < bits)
      continue;
    llvm::Expected<LdsDma> dma = LdsDma::get(layout, bits, threads, bytes);
    if (dma) {
      llvm::consumeError(std::move(error));
      return dma;
    }
    // The reason for the narrowest access is the last one.
    llvm::consumeError(std::move(error));
    error = dma.takeError();
  }
  return std::move(error);
}

//===----------------------------------------------------------------------===//
// Instructions since a group
//===----------------------------------------------------------------------===//

namespace {
/// An integer as the sum of a value, or null, and a constant.
struct Distance {
  Value value;
  int64_t constant = 0;

  static Distance get(Value of);
};

/// Searches backward from a wait for the group that it waits for.
class YoungerCopies {
public:
  explicit YoungerCopies(function_ref<int64_t(Operation *)> count)
      : count(count) {}

  int64_t run(CopyGroupWaitOp wait) {
    visit(wait->getBlock(), wait, {int64_t(wait.getPending()), 0, nullptr});
    return least == kNone ? 0 : least;
  }

private:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

  /// A path so far.
  struct SearchPath {
    /// The groups that may still be in flight, and the instructions passed.
    int64_t groups, copies;
    /// A loop that is executed at least once after this place, or null.
    scf::ForOp entered;
  };

  void visit(Block *block, Operation *before, SearchPath path);
  void enter(Operation *op, SearchPath path);
  void leave(Block *block, SearchPath path);
  /// Ends a path.
  void finish(const SearchPath &path) { least = std::min(least, path.copies); }

  function_ref<int64_t(Operation *)> count;
  int64_t least = kNone;
  /// The fewest copies with which a search before an operation, or from the end
  /// of a block, has begun, for each number of groups and loop.
  std::map<std::tuple<void *, int64_t, Operation *>, int64_t> best;
};
} // namespace

Distance Distance::get(Value of) {
  if (std::optional<int64_t> constant = getConstantIntValue(of))
    return {Value(), *constant};
  Operation *def = of.getDefiningOp();
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(def))
    if (auto constant = getConstantIntValue(def->getOperand(1))) {
      Distance distance = get(def->getOperand(0));
      distance.constant += isa<arith::AddIOp>(def) ? *constant : -*constant;
      return distance;
    }
  return {of, 0};
}

/// Whether `condition` holds if `loop` has iterations, because both are about
/// the distance of the same values: `start < end - 2` and `start + 1 < end`.
static bool isImplied(Value condition, scf::ForOp loop) {
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!loop || !compare)
    return false;
  Value less = compare.getLhs(), more = compare.getRhs();
  if (compare.getPredicate() == arith::CmpIPredicate::sgt)
    std::swap(less, more);
  else if (compare.getPredicate() != arith::CmpIPredicate::slt)
    return false;
  Distance low = Distance::get(less), high = Distance::get(more);
  Distance first = Distance::get(loop.getLowerBound()),
           end = Distance::get(loop.getUpperBound());
  return low.value == first.value && high.value == end.value &&
         first.constant - end.constant >= low.constant - high.constant;
}

/// Whether an operation contains groups of copies, or copies.
static bool hasGroups(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<CommitGroupOp, CopyOp>(inner) ? WalkResult::interrupt()
                                                 : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Follows the operations of `block` before `before`, or all of them if that is
/// null.
void YoungerCopies::visit(Block *block, Operation *before, SearchPath path) {
  void *place = before ? static_cast<void *>(before) : block;
  auto [it, isNew] =
      best.try_emplace({place, path.groups, path.entered}, path.copies);
  if (!isNew && it->second <= path.copies)
    return;
  it->second = path.copies;
  if (path.copies >= least)
    return;
  Operation *op = before ? before->getPrevNode() : &block->back();
  for (; op; op = op->getPrevNode()) {
    if (isa<CommitGroupOp>(op)) {
      if (path.groups-- == 0)
        return finish(path);
    } else if (isa<CopyOp>(op)) {
      path.copies += count(op);
    } else if (op->getNumRegions() != 0 && hasGroups(op)) {
      return enter(op, path);
    }
  }
  leave(block, path);
}

/// Follows the paths through `op`, and from there on.
void YoungerCopies::enter(Operation *op, SearchPath path) {
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    visit(branch.thenBlock(), nullptr, path);
    if (isImplied(branch.getCondition(), path.entered))
      return;
    if (branch.elseBlock())
      visit(branch.elseBlock(), nullptr, path);
    else
      visit(op->getBlock(), op, path);
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    visit(op->getBlock(), op, path);
    // In an earlier iteration, values are others.
    path.entered = nullptr;
    visit(loop.getBody(), nullptr, path);
  } else {
    finish(path);
  }
}

/// Follows the paths to the start of `block`.
void YoungerCopies::leave(Block *block, SearchPath path) {
  Operation *parent = block->getParentOp();
  // At the start of a kernel nothing is in flight.
  if (isa<gpu::GPUFuncOp>(parent))
    return;
  if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    SearchPath entry = path;
    if (!loop.getUnsignedCmp())
      entry.entered = loop;
    visit(parent->getBlock(), parent, entry);
    path.entered = nullptr;
    return visit(block, nullptr, path);
  }
  if (!isa<scf::IfOp>(parent))
    return finish(path);
  visit(parent->getBlock(), parent, path);
}

int64_t tile::countYoungerCopies(CopyGroupWaitOp wait,
                                 function_ref<int64_t(Operation *)> count) {
  return YoungerCopies(count).run(wait);
}
