//===- DeferGemmWaits.cpp - Wait for matmuls one iteration later ----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The result of a matmul that accumulates over a loop is only added to in the
// next iteration. The tensor cores execute wgmma in order, so it need not have
// finished when the next one starts. Each iteration therefore starts its own
// matmuls, waits until only these are in flight, and then releases the slots of
// the previous iteration:
//
//   wait %p; gemm; release %p   becomes   wait %p; gemm {async};
//                                         gemm_wait pending 1;
//                                         if %any { release %last }
//
// The loop carries the cursors `%last` of the previous iteration, and whether
// there was one (`%any`). One more wait and release follow the loop. The
// producer gets each slot back one iteration later, so channels need twice the
// slots that an iteration uses.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/SlotAccesses.h"
#include "tilews/Dialect/Tile/IR/Tile.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

namespace tilews::tile {
#define GEN_PASS_DEF_DEFERGEMMWAITSPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

#define DEBUG_TYPE "tile-defer-gemm-waits"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

ALWAYS_ENABLED_STATISTIC(numLoops, "Loops whose matmuls overlap");

namespace {
/// The matmuls of a loop that may run into the next iteration, and the releases
/// of the slots that they read.
struct Deferral {
  scf::ForOp loop;
  /// The `scf.if` around all of them; null if they are in the loop's body.
  scf::IfOp guard;
  SmallVector<MatmulOpInterface> gemms;
  /// The numbers of the loop's results that they accumulate.
  SmallVector<unsigned> accumulators;
  SmallVector<ReleaseOp> releases;

  Block *getBlock() { return guard ? guard.thenBlock() : loop.getBody(); }
  /// Returns the matmul that comes last in the block.
  MatmulOpInterface getLast() const {
    MatmulOpInterface last = gemms.front();
    for (MatmulOpInterface gemm : gemms)
      if (last->isBeforeInBlock(gemm))
        last = gemm;
    return last;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// What can be deferred
//===----------------------------------------------------------------------===//

/// Whether `op` is a wgmma whose operands are in shared memory. Registers that
/// it reads would have to keep their values until it finishes. A sparse wgmma
/// is excluded for that reason: its metadata are in registers, which the next
/// iteration overwrites.
static bool canRunOn(MatmulOpInterface op) {
  if (isa<GemmSpOp>(op))
    return false;
  return hasInst(op, InstKind::Wgmma) && !op.getAsync() &&
         isShared(op.getLhs()) && isShared(op.getRhs());
}

/// Follows the accumulator that `loop` carries as argument `index` through a
/// chain of matmuls, back to the loop's `scf.yield`. All matmuls must be in one
/// block: the loop's body, or the `then` block of a guard in it, which is
/// returned in `guard`. Fails if anything else uses the accumulator.
static bool findChain(scf::ForOp loop, unsigned index, scf::IfOp &guard,
                      SmallVectorImpl<MatmulOpInterface> &gemms) {
  Value value = loop.getRegionIterArg(index);
  OpOperand *otherwise = nullptr;
  MatmulOpInterface first;
  for (OpOperand &use : value.getUses()) {
    auto gemm = dyn_cast<MatmulOpInterface>(use.getOwner());
    if (gemm && &use == &gemm.getAccMutable() && !first)
      first = gemm;
    else if (isa<scf::YieldOp>(use.getOwner()) && !otherwise)
      otherwise = &use;
    else
      return false;
  }
  if (!first)
    return false;
  Block *block = first->getBlock();
  guard = dyn_cast<scf::IfOp>(block->getParentOp());
  if (block != loop.getBody() &&
      !(guard && guard->getBlock() == loop.getBody() &&
        block == guard.thenBlock()))
    return false;
  OpOperand *last = nullptr;
  for (MatmulOpInterface gemm = first; gemm;) {
    if (!canRunOn(gemm) || gemm->getBlock() != block ||
        !gemm.getAccResult().hasOneUse())
      return false;
    gemms.push_back(gemm);
    last = &*gemm.getAccResult().getUses().begin();
    gemm = dyn_cast<MatmulOpInterface>(last->getOwner());
    if (gemm && last != &gemm.getAccMutable())
      return false;
  }
  if (!isa<scf::YieldOp>(last->getOwner()))
    return false;
  if (!guard)
    return !otherwise && last->getOperandNumber() == index;
  // The guard's other branch must pass the accumulator on unchanged.
  unsigned number = last->getOperandNumber();
  Value result = guard.getResult(number);
  return otherwise && otherwise->getOwner() == guard.elseYield() &&
         otherwise->getOperandNumber() == number && result.hasOneUse() &&
         result.getUses().begin()->getOwner() ==
             loop.getBody()->getTerminator() &&
         result.getUses().begin()->getOperandNumber() == index;
}

/// Returns the one of `channels` to which the slot `buffer` belongs. Null for
/// other buffers.
static Value getChannel(Value buffer, ArrayRef<Value> channels) {
  SlotOp slot = getViewedSlot(buffer);
  for (Value channel : channels)
    if (auto op = channel.getDefiningOp<ChannelOp>();
        op && slot && llvm::is_contained(op.getBuffers(), slot.getSource()))
      return channel;
  return {};
}

/// Finds the releases of the slots that the matmuls read. Fails unless they are
/// in the same block after all matmuls, and each channel has room for the slots
/// of two iterations.
static bool findReleases(Deferral &deferral) {
  llvm::SmallMapVector<Value, int64_t, 2> counts;
  SmallVector<Value> channels;
  Block *block = deferral.getBlock();
  for (ReleaseOp release : block->getOps<ReleaseOp>())
    if (counts[release.getChannel()]++ == 0)
      channels.push_back(release.getChannel());
  llvm::SmallPtrSet<Operation *, 2> read;
  for (MatmulOpInterface gemm : deferral.gemms)
    for (Value buffer : {gemm.getLhs(), gemm.getRhs()}) {
      Value channel = getChannel(buffer, channels);
      // A buffer without a channel is safe: the next write to it comes after a
      // barrier, and that barrier waits for the matmul. A slot of a channel
      // that is released in another block is not.
      if (channel)
        read.insert(channel.getDefiningOp());
      else if (getViewedSlot(buffer))
        return false;
    }
  Operation *last = deferral.getLast();
  for (ReleaseOp release : block->getOps<ReleaseOp>()) {
    Value channel = release.getChannel();
    if (!read.contains(channel.getDefiningOp()))
      continue;
    int64_t depth = cast<ChannelType>(channel.getType()).getDepth();
    if (release->isBeforeInBlock(last) || depth < 2 * counts[channel]) {
      LDBG() << "loop at " << deferral.loop.getLoc() << " stays: channel of "
             << depth << " slots, of which an iteration uses "
             << counts[channel];
      return false;
    }
    deferral.releases.push_back(release);
  }
  return !deferral.releases.empty();
}

/// Returns what can be deferred in `loop`; none outside of roles, because there
/// the threads that fill the slots are those that wait for the matmuls.
static std::optional<Deferral> findDeferral(scf::ForOp loop) {
  if (!loop->getParentOfType<RoleOp>())
    return std::nullopt;
  Deferral deferral;
  deferral.loop = loop;
  for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i) {
    scf::IfOp guard;
    SmallVector<MatmulOpInterface> gemms;
    if (!findChain(loop, i, guard, gemms))
      continue;
    // There is one wait for all matmuls, so they must be in one block.
    if (!deferral.gemms.empty() && guard != deferral.guard)
      continue;
    deferral.guard = guard;
    deferral.gemms.append(gemms);
    deferral.accumulators.push_back(i);
  }
  if (deferral.gemms.empty() || !findReleases(deferral))
    return std::nullopt;
  return deferral;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// Releases the slots that `cursors` point at, which the previous iteration
/// read, if `any` says that there was one.
static void createReleases(OpBuilder &b, Location loc, Value any,
                           ArrayRef<ReleaseOp> releases, ValueRange cursors) {
  scf::IfOp::create(b, loc, any, [&](OpBuilder &inner, Location loc) {
    for (auto [i, cursor] : llvm::enumerate(cursors))
      ReleaseOp::create(inner, loc, ReleaseOp(releases[i]).getChannel(),
                        cursor);
    scf::YieldOp::create(inner, loc);
  });
}

/// Lets a guard return `then` from its first branch and `otherwise` from its
/// second, after its own results. Returns the new results.
static ValueRange addResults(RewriterBase &rewriter, scf::IfOp guard,
                             ValueRange then, ValueRange otherwise) {
  unsigned before = guard.getNumResults();
  SmallVector<Type> types(guard.getResultTypes());
  llvm::append_range(types, then.getTypes());
  rewriter.setInsertionPoint(guard);
  auto wider = scf::IfOp::create(rewriter, guard.getLoc(), types,
                                 guard.getCondition(), /*withElse=*/true);
  wider->setDiscardableAttrs(guard->getDiscardableAttrDictionary());
  wider.getThenRegion().takeBody(guard.getThenRegion());
  wider.getElseRegion().takeBody(guard.getElseRegion());
  wider.thenYield()->insertOperands(before, then);
  wider.elseYield()->insertOperands(before, otherwise);
  rewriter.replaceOp(guard, wider.getResults().take_front(before));
  return wider.getResults().drop_front(before);
}

/// Returns the cursors of the releases, and the constant true: what an
/// iteration that starts matmuls passes on to the next one.
static SmallVector<Value> getStarted(OpBuilder &b, Location loc,
                                     ArrayRef<ReleaseOp> releases) {
  SmallVector<Value> values;
  for (ReleaseOp release : releases)
    values.push_back(release.getCursor());
  values.push_back(arith::ConstantOp::create(b, loc, b.getBoolAttr(true)));
  return values;
}

/// Lets the loop carry the cursors of the slots that the matmuls of the
/// previous iteration read, and whether there was such an iteration. Returns
/// the new arguments. In a loop with a guard the values are passed on unchanged
/// at first; `passThroughGuard` corrects that.
static ValueRange carryCursors(RewriterBase &rewriter, Deferral &deferral) {
  scf::ForOp loop = deferral.loop;
  Location loc = loop.getLoc();
  rewriter.setInsertionPoint(loop);
  SmallVector<Value> inits;
  for (ReleaseOp release : deferral.releases)
    inits.push_back(
        CursorOp::create(rewriter, loc, release.getCursor().getType()));
  inits.push_back(
      arith::ConstantOp::create(rewriter, loc, rewriter.getBoolAttr(false)));
  auto getYields = [&](OpBuilder &b, Location loc,
                       ArrayRef<BlockArgument> arguments) {
    return deferral.guard ? SmallVector<Value>(arguments)
                          : getStarted(b, loc, deferral.releases);
  };
  FailureOr<LoopLikeOpInterface> replaced = loop.replaceWithAdditionalYields(
      rewriter, inits, /*replaceInitOperandUsesInLoop=*/false, getYields);
  // `scf.for` always supports additional yields.
  deferral.loop = cast<scf::ForOp>(replaced->getOperation());
  return deferral.loop.getRegionIterArgs().take_back(inits.size());
}

/// Makes the matmuls asynchronous. Waits for those of the previous iteration
/// after the last one has been started, and then releases what they read.
static void startAsync(RewriterBase &rewriter, const Deferral &deferral,
                       ValueRange late) {
  MatmulOpInterface last = deferral.getLast();
  for (MatmulOpInterface gemm : deferral.gemms)
    gemm.setAsync(true);
  rewriter.setInsertionPointAfter(last);
  GemmWaitOp::create(rewriter, last.getLoc(), TypeRange(), ValueRange(),
                     deferral.gemms.size());
  createReleases(rewriter, last.getLoc(), late.back(), deferral.releases,
                 late.drop_back());
}

/// Lets the guard return the carried cursors: those of this iteration if it
/// started matmuls, else those it was given.
static void passThroughGuard(RewriterBase &rewriter, const Deferral &deferral,
                             ValueRange late) {
  scf::ForOp loop = deferral.loop;
  scf::IfOp guard = deferral.guard;
  rewriter.setInsertionPoint(guard.thenYield());
  SmallVector<Value> then =
      getStarted(rewriter, loop.getLoc(), deferral.releases);
  ValueRange results = addResults(rewriter, guard, then, late);
  unsigned first = loop.getNumResults() - late.size();
  Operation *yield = loop.getBody()->getTerminator();
  for (auto [i, result] : llvm::enumerate(results))
    yield->setOperand(first + i, result);
}

/// After the loop, waits for the matmuls of the last iteration and releases
/// what they read.
static void finish(RewriterBase &rewriter, const Deferral &deferral,
                   unsigned numCarried) {
  scf::ForOp loop = deferral.loop;
  rewriter.setInsertionPointAfter(loop);
  SmallVector<Value> unfinished;
  for (unsigned i : deferral.accumulators)
    unfinished.push_back(loop.getResult(i));
  auto done = GemmWaitOp::create(rewriter, loop.getLoc(),
                                 TypeRange(ValueRange(unfinished)), unfinished,
                                 /*pending=*/0);
  for (auto [before, after] : llvm::zip(unfinished, done.getResults()))
    rewriter.replaceAllUsesExcept(before, after, done);
  ValueRange carried = loop.getResults().take_back(numCarried);
  createReleases(rewriter, loop.getLoc(), carried.back(), deferral.releases,
                 carried.drop_back());
}

static void rewrite(RewriterBase &rewriter, Deferral &deferral) {
  ValueRange late = carryCursors(rewriter, deferral);
  startAsync(rewriter, deferral, late);
  if (deferral.guard)
    passThroughGuard(rewriter, deferral, late);
  finish(rewriter, deferral, late.size());
  for (ReleaseOp release : deferral.releases)
    rewriter.eraseOp(release);
}

void tile::deferGemmWaits(gpu::GPUFuncOp kernel) {
  if (isLimitedTo(kernel, ScheduleLimit::NoPipeline))
    return;
  SmallVector<scf::ForOp> loops;
  kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
  IRRewriter rewriter(kernel.getContext());
  for (scf::ForOp loop : loops)
    if (std::optional<Deferral> deferral = findDeferral(loop)) {
      LDBG() << "loop at " << loop.getLoc() << ": " << deferral->gemms.size()
             << " matmuls run into the next iteration, which releases "
             << deferral->releases.size() << " slots";
      rewrite(rewriter, *deferral);
      ++numLoops;
    }
}

namespace {
struct DeferGemmWaitsPass
    : tile::impl::DeferGemmWaitsPassBase<DeferGemmWaitsPass> {
  void runOnOperation() override {
    getOperation()->walk([](gpu::GPUFuncOp kernel) { deferGemmWaits(kernel); });
  }
};
} // namespace
