//===- SplitK.cpp - Share the turns of a loop among blocks ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop that does nothing but add up can be run in parts by several blocks,
// each of which adds its part to memory atomically. All else that a block does
// is then done several times, so that it may have no effect.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/MemoryAccesses.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

namespace tilews::tile {
#define GEN_PASS_DEF_SPLITKPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

namespace {
/// Why a loop is not split, and at which operation.
struct Refusal {
  Operation *op;
  std::string reason;
};
using MaybeRefusal = std::optional<Refusal>;
} // namespace

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

namespace {
/// A carried value, and what a turn makes of it by adding.
class Sum {
public:
  explicit Sum(Value begin) : begin(begin), values({begin}) {}

  /// Whether `end` passes on the value plus something, and nothing else uses it
  /// on the way.
  bool reaches(OpOperand &end) {
    return follow(end) && llvm::all_of(values, [&](Value value) {
             return llvm::all_of(value.getUses(), [&](OpOperand &use) {
               return links.contains(&use);
             });
           });
  }

private:
  bool follow(OpOperand &operand) {
    links.insert(&operand);
    Value value = operand.get();
    if (value == begin)
      return true;
    values.push_back(value);
    Operation *op = value.getDefiningOp();
    if (auto product = dyn_cast_if_present<MatmulOpInterface>(op))
      return !product.getClearAccumulator() && follow(product.getAccMutable());
    if (isa_and_present<arith::AddFOp, arith::AddIOp>(op))
      return followOneOf(op->getOpOperands());
    auto guard = dyn_cast_if_present<scf::IfOp>(op);
    if (!guard)
      return false;
    unsigned number = cast<OpResult>(value).getResultNumber();
    return follow(guard.thenYield()->getOpOperand(number)) &&
           follow(guard.elseYield()->getOpOperand(number));
  }
  bool followOneOf(MutableArrayRef<OpOperand> operands) {
    for (OpOperand &operand : operands) {
      Sum before = *this;
      if (follow(operand))
        return true;
      *this = before;
    }
    return false;
  }

  Value begin;
  SmallVector<Value> values;
  llvm::SmallPtrSet<OpOperand *, 8> links;
};
} // namespace

static bool isZero(Value value) {
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

/// Every carried value begins at zero, and only grows by what turns add.
static MaybeRefusal checkSums(scf::ForOp loop) {
  Operation *yield = loop.getBody()->getTerminator();
  for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs())) {
    Sum sum(argument);
    if (!sum.reaches(yield->getOpOperand(i)))
      return Refusal{loop, "it carries a value that is not only added to"};
    if (!isZero(loop.getInitArgs()[i]))
      return Refusal{loop, "a sum does not begin at zero"};
  }
  return std::nullopt;
}

/// The results go nowhere but into atomic additions, scaled perhaps, which are
/// added to `additions`.
static MaybeRefusal
checkResults(scf::ForOp loop, llvm::SmallPtrSetImpl<Operation *> &additions) {
  SmallVector<Value> parts(loop.getResults());
  for (size_t i = 0; i < parts.size(); ++i)
    for (OpOperand &use : parts[i].getUses()) {
      Operation *user = use.getOwner();
      auto atomic = dyn_cast<AtomicRMWOp>(user);
      if (atomic && atomic.getKind() == AtomicKind::Add &&
          &use == &atomic.getValueMutable() && !isShared(atomic.getDest())) {
        additions.insert(user);
        continue;
      }
      auto scale = dyn_cast<arith::MulFOp>(user);
      if (!scale || llvm::is_contained(
                        parts, user->getOperand(1 - use.getOperandNumber())))
        return Refusal{user,
                       "blocks have only a part of the sum here; expected "
                       "'tile.atomic_rmw <add>' to global memory"};
      parts.push_back(scale);
    }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Whether what `op` itself does is known from its accesses.
static bool hasKnownEffects(Operation *op) {
  return isMemoryEffectFree(op) ||
         op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
         isa<AccessOpInterface, AllocSharedOp, memref::LoadOp, memref::StoreOp>(
             op);
}

/// A turn depends on no other one through memory: it reads of shared memory
/// what it has written itself, or what no turn writes.
static MaybeRefusal checkTurns(scf::ForOp loop,
                               const MemoryAccesses &accesses) {
  SmallVector<MemoryAccess, 0> all = accesses.get(loop);
  SmallVector<const MemoryAccess *> written;
  for (const MemoryAccess &access : all) {
    if (access.writes() && !access.shared)
      return Refusal{access.op, "it writes to global memory in the loop"};
    if (access.reads() && access.shared) {
      SmallVector<Write> before;
      for (const MemoryAccess *write : written)
        if (write->op->getBlock()->findAncestorOpInBlock(*access.op))
          before.push_back({write, write->op});
      bool changes = llvm::any_of(all, [&](const MemoryAccess &other) {
        return other.writes() && other.mayAlias(access);
      });
      if (changes && (access.roots.size() != 1 ||
                      !isCovered(*access.roots.begin(), access, before)))
        return Refusal{access.op, "it may read what another turn of the loop "
                                  "wrote to shared memory"};
    }
    if (access.writes() && access.shared)
      written.push_back(&access);
  }
  return std::nullopt;
}

/// What a block does beside the loop has no effect when it is repeated, but for
/// `additions`, and nobody looks at what these add up.
static MaybeRefusal
checkRest(scf::ForOp loop, const MemoryAccesses &accesses,
          const llvm::SmallPtrSetImpl<Operation *> &additions) {
  SmallVector<MemoryAccess, 0> all =
      accesses.get(loop->getParentOfType<gpu::GPUFuncOp>());
  auto isTo = [&](const MemoryAccess &access, auto isWrite) {
    return llvm::any_of(all, [&](const MemoryAccess &other) {
      return isWrite(other.op) && other.writes() && other.mayAlias(access);
    });
  };
  auto isAddition = [&](Operation *op) { return additions.contains(op); };
  auto isInLoop = [&](Operation *op) { return loop->isAncestor(op); };
  for (const MemoryAccess &access : all) {
    if (isAddition(access.op))
      continue;
    if (access.reads() && !access.shared && isTo(access, isAddition))
      return Refusal{access.op, "it reads what the blocks add to"};
    if (isInLoop(access.op))
      continue;
    if (access.writes() && !access.shared &&
        loop->getBlock()->findAncestorOpInBlock(*access.op))
      return Refusal{access.op, "each of the blocks would do this"};
    if (access.reads() && access.shared && isTo(access, isInLoop))
      return Refusal{access.op, "it reads shared memory that the loop fills"};
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

static MaybeRefusal check(scf::ForOp loop) {
  Operation *parent = loop->getParentOp();
  auto persistent = dyn_cast<PersistentOp>(parent);
  if (!persistent && !isa<gpu::GPUFuncOp>(parent))
    return Refusal{loop, "it is inside of another loop or a branch"};
  if (persistent && !persistent.getInitArgs().empty())
    return Refusal{persistent, "values are carried from tile to tile"};
  if (persistent && !isa<gpu::GPUFuncOp>(persistent->getParentOp()))
    return Refusal{persistent, "it is inside of another loop or a branch"};
  if (!persistent && !parent->hasAttr(TileDialect::kGrid))
    return Refusal{loop, "the kernel has no 'tile.grid' to enlarge"};
  if (loop.getUnsignedCmp())
    return Refusal{loop, "its counter is unsigned"};
  if (MaybeRefusal refusal = checkSums(loop))
    return refusal;
  llvm::SmallPtrSet<Operation *, 4> additions;
  if (MaybeRefusal refusal = checkResults(loop, additions))
    return refusal;
  Operation *unknown = nullptr;
  for (Operation &statement : loop->getBlock()->without_terminator())
    statement.walk([&](Operation *op) {
      if (!hasKnownEffects(op))
        unknown = op;
    });
  if (unknown)
    return Refusal{unknown, "each of the blocks would do this"};
  MemoryAccesses accesses(loop->getParentOfType<gpu::GPUFuncOp>());
  if (MaybeRefusal refusal = checkTurns(loop, accesses))
    return refusal;
  return checkRest(loop, accesses, additions);
}

/// Makes `n` blocks of each along z; returns which of them this one is.
static Value splitGrid(RewriterBase &rewriter, gpu::GPUFuncOp kernel,
                       int64_t n) {
  Location loc = kernel.getLoc();
  AffineMap grid =
      kernel->getAttrOfType<AffineMapAttr>(TileDialect::kGrid).getValue();
  SmallVector<AffineExpr> extents(grid.getResults());
  extents.resize(3, rewriter.getAffineConstantExpr(1));
  extents[2] = extents[2] * n;
  rewriter.modifyOpInPlace(kernel, [&] {
    kernel->setAttr(TileDialect::kGrid,
                    AffineMapAttr::get(AffineMap::get(
                        0, grid.getNumSymbols(), extents, loc.getContext())));
  });
  SmallVector<Operation *> old;
  kernel.walk([&](Operation *op) {
    auto id = dyn_cast<gpu::BlockIdOp>(op);
    auto extent = dyn_cast<gpu::GridDimOp>(op);
    if ((id && id.getDimension() == gpu::Dimension::z) ||
        (extent && extent.getDimension() == gpu::Dimension::z))
      old.push_back(op);
  });
  Value count;
  for (Operation *op : old) {
    rewriter.setInsertionPointAfter(op);
    count = arith::ConstantIndexOp::create(rewriter, loc, n);
    auto own = arith::DivUIOp::create(rewriter, loc, op->getResult(0), count);
    rewriter.replaceAllUsesExcept(op->getResult(0), own, own);
  }
  rewriter.setInsertionPointToStart(&kernel.getBody().front());
  Value id = gpu::BlockIdOp::create(rewriter, loc, gpu::Dimension::z);
  count = arith::ConstantIndexOp::create(rewriter, loc, n);
  return arith::RemUIOp::create(rewriter, loc, id, count);
}

/// Makes `n` tiles of each along the last extent; returns which of them this
/// one is.
static Value splitTiles(RewriterBase &rewriter, PersistentOp op, int64_t n) {
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  Value count = arith::ConstantIndexOp::create(rewriter, loc, n);
  OpOperand &extent = op.getExtentsMutable()[op.getExtents().size() - 1];
  Value all = arith::MulIOp::create(rewriter, loc, extent.get(), count);
  rewriter.modifyOpInPlace(op, [&] { extent.set(all); });
  BlockArgument index = op.getTileIndices().back();
  rewriter.setInsertionPointToStart(&op.getBody().front());
  auto own = arith::DivUIOp::create(rewriter, loc, index, count);
  rewriter.replaceAllUsesExcept(index, own, own);
  return arith::RemUIOp::create(rewriter, loc, index, count);
}

/// Lets `loop` run the turns that are share number `share` of `n`.
static void takeShare(RewriterBase &rewriter, scf::ForOp loop, Value share,
                      int64_t n) {
  rewriter.setInsertionPoint(loop);
  Location loc = loop.getLoc();
  Type type = loop.getInductionVar().getType();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(rewriter, loc,
                                     rewriter.getIntegerAttr(type, value));
  };
  if (!type.isIndex())
    share = arith::IndexCastOp::create(rewriter, loc, type, share);
  Value lower = loop.getLowerBound(), step = loop.getStep();
  auto divideUp = [&](Value value, Value by) {
    Value more = rewriter.createOrFold<arith::SubIOp>(loc, by, constant(1));
    return rewriter.createOrFold<arith::DivUIOp>(
        loc, rewriter.createOrFold<arith::AddIOp>(loc, value, more), by);
  };
  Value range =
      rewriter.createOrFold<arith::SubIOp>(loc, loop.getUpperBound(), lower);
  range = rewriter.createOrFold<arith::MaxSIOp>(loc, range, constant(0));
  Value turns = divideUp(range, step);
  Value each = divideUp(turns, constant(n));
  Value first = rewriter.createOrFold<arith::MulIOp>(loc, share, each);
  Value last = rewriter.createOrFold<arith::AddIOp>(loc, first, each);
  last = rewriter.createOrFold<arith::MinSIOp>(loc, last, turns);
  auto counter = [&](Value turn) {
    return rewriter.createOrFold<arith::AddIOp>(
        loc, lower, rewriter.createOrFold<arith::MulIOp>(loc, turn, step));
  };
  Value begin = counter(first), end = counter(last);
  rewriter.modifyOpInPlace(loop, [&] {
    loop.setLowerBound(begin);
    loop.setUpperBound(end);
  });
}

LogicalResult tile::splitK(RewriterBase &rewriter, scf::ForOp loop, int64_t n) {
  OpBuilder::InsertionGuard guard(rewriter);
  if (MaybeRefusal refusal = check(loop)) {
    loop.emitRemark("tile-split-0001: loop is not split: ")
            .append(refusal->reason)
            .attachNote(refusal->op->getLoc())
        << "because of this operation";
    return failure();
  }
  auto persistent = dyn_cast<PersistentOp>(loop->getParentOp());
  Value share =
      persistent
          ? splitTiles(rewriter, persistent, n)
          : splitGrid(rewriter, loop->getParentOfType<gpu::GPUFuncOp>(), n);
  takeShare(rewriter, loop, share, n);
  return success();
}

void tile::splitLoops(gpu::GPUFuncOp kernel) {
  SmallVector<scf::ForOp> loops;
  kernel.walk([&](scf::ForOp loop) {
    if (loop->hasAttr(TileDialect::kSplitK))
      loops.push_back(loop);
  });
  IRRewriter rewriter(kernel.getContext());
  for (scf::ForOp loop : loops) {
    int64_t n = loop->getAttrOfType<IntegerAttr>(TileDialect::kSplitK).getInt();
    loop->removeAttr(TileDialect::kSplitK);
    if (n > 1)
      (void)splitK(rewriter, loop, n);
  }
}

namespace {
struct SplitKPass : tile::impl::SplitKPassBase<SplitKPass> {
  void runOnOperation() override {
    getOperation()->walk([](gpu::GPUFuncOp kernel) { splitLoops(kernel); });
  }
};
} // namespace
