//===- DeferGemmWaits.cpp - Let matrix products run on --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product whose result is only added to in the next turn of its loop need not
// be finished before that turn: it is started, and waited for when the next one
// has been started. The slots it reads are released then.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/IR/Tile.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"

namespace tilews::tile {
#define GEN_PASS_DEF_DEFERGEMMWAITSPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

namespace {
/// The products of a loop that can run on, and the releases that wait for them.
struct Deferral {
  scf::ForOp loop;
  /// The guard around all of them, if there is one.
  scf::IfOp guard;
  SmallVector<MatmulOpInterface> gemms;
  /// The loop's results that they accumulate.
  SmallVector<unsigned> accumulators;
  SmallVector<ReleaseOp> releases;

  Block *getBlock() { return guard ? guard.thenBlock() : loop.getBody(); }
};
} // namespace

//===----------------------------------------------------------------------===//
// What can be deferred
//===----------------------------------------------------------------------===//

/// Whether `op` is a wgmma that reads nothing but shared memory: registers it
/// read would have to stay as they are. A sparse one reads its metadata from
/// registers that the next turn loads.
static bool canRunOn(MatmulOpInterface op) {
  if (isa<GemmSpOp>(op))
    return false;
  return hasInst(op, InstKind::Wgmma) && !op.getAsync() &&
         isShared(op.getLhs()) && isShared(op.getRhs());
}

/// Follows the accumulator that `loop` carries as argument `index` through
/// products of one block, the loop's or that of a guard, back to the loop's
/// argument. Nothing else may use it.
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
        !gemm.getProduct().hasOneUse())
      return false;
    gemms.push_back(gemm);
    last = &*gemm.getProduct().getUses().begin();
    gemm = dyn_cast<MatmulOpInterface>(last->getOwner());
    if (gemm && last != &gemm.getAccMutable())
      return false;
  }
  if (!isa<scf::YieldOp>(last->getOwner()))
    return false;
  if (!guard)
    return !otherwise && last->getOperandNumber() == index;
  // The guard's other branch passes the accumulator on.
  unsigned number = last->getOperandNumber();
  Value result = guard.getResult(number);
  return otherwise && otherwise->getOwner() == guard.elseYield() &&
         otherwise->getOperandNumber() == number && result.hasOneUse() &&
         result.getUses().begin()->getOwner() ==
             loop.getBody()->getTerminator() &&
         result.getUses().begin()->getOperandNumber() == index;
}

/// The channel whose slot a buffer is; null for other buffers.
static Value getChannel(Value buffer, ArrayRef<Value> channels) {
  while (auto view = buffer.getDefiningOp<ViewOp>())
    buffer = view.getSource();
  auto slot = buffer.getDefiningOp<SlotOp>();
  for (Value channel : channels)
    if (auto op = channel.getDefiningOp<ChannelOp>();
        op && slot && llvm::is_contained(op.getBuffers(), slot.getSource()))
      return channel;
  return {};
}

/// Finds the releases of what the products read: in their block, behind them,
/// of channels with room for the slots of two turns.
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
      // What is in no channel has to stay as it is: nobody may write to it
      // before the barrier that waits for the product.
      if (channel)
        read.insert(channel.getDefiningOp());
      else if (buffer.getDefiningOp<SlotOp>())
        return false;
    }
  Operation *last = deferral.gemms.back();
  for (MatmulOpInterface gemm : deferral.gemms)
    if (last->isBeforeInBlock(gemm))
      last = gemm;
  for (ReleaseOp release : block->getOps<ReleaseOp>()) {
    Value channel = release.getChannel();
    if (!read.contains(channel.getDefiningOp()))
      continue;
    int64_t depth = cast<ChannelType>(channel.getType()).getDepth();
    if (release->isBeforeInBlock(last) || depth < 2 * counts[channel])
      return false;
    deferral.releases.push_back(release);
  }
  return !deferral.releases.empty();
}

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
    // One place to wait for all of them.
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

/// Releases what the turn before has read, if there was one.
static void createReleases(OpBuilder &b, Location loc, Value any,
                           ArrayRef<ReleaseOp> releases, ValueRange cursors) {
  scf::IfOp::create(b, loc, any, [&](OpBuilder &inner, Location loc) {
    for (auto [i, cursor] : llvm::enumerate(cursors))
      ReleaseOp::create(inner, loc, ReleaseOp(releases[i]).getChannel(),
                        cursor);
    scf::YieldOp::create(inner, loc);
  });
}

/// Adds `then` and `otherwise` to what a guard returns.
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

static void rewrite(RewriterBase &rewriter, Deferral &deferral) {
  scf::ForOp loop = deferral.loop;
  Location loc = loop.getLoc();
  // The cursors of the last turn, and whether there was one.
  rewriter.setInsertionPoint(loop);
  SmallVector<Value> inits;
  for (ReleaseOp release : deferral.releases)
    inits.push_back(
        CursorOp::create(rewriter, loc, release.getCursor().getType()));
  inits.push_back(
      arith::ConstantOp::create(rewriter, loc, rewriter.getBoolAttr(false)));
  unsigned before = loop.getNumResults(), added = inits.size();
  auto getYields = [&](OpBuilder &b, Location loc,
                       ArrayRef<BlockArgument> arguments) {
    SmallVector<Value> cursors;
    for (ReleaseOp release : deferral.releases)
      cursors.push_back(release.getCursor());
    // Replaced below, where the guard knows.
    if (deferral.guard)
      return SmallVector<Value>(arguments);
    cursors.push_back(arith::ConstantOp::create(b, loc, b.getBoolAttr(true)));
    return cursors;
  };
  auto replaced = loop.replaceWithAdditionalYields(
      rewriter, inits, /*replaceInitOperandUsesInLoop=*/false, getYields);
  loop = cast<scf::ForOp>(replaced->getOperation());
  ValueRange late = loop.getRegionIterArgs().take_back(added);

  MatmulOpInterface last = deferral.gemms.front();
  for (MatmulOpInterface gemm : deferral.gemms) {
    gemm.setAsync(true);
    if (last->isBeforeInBlock(gemm))
      last = gemm;
  }
  rewriter.setInsertionPointAfter(last);
  GemmWaitOp::create(rewriter, last.getLoc(), TypeRange(), ValueRange(),
                     deferral.gemms.size());
  createReleases(rewriter, last.getLoc(), late.back(), deferral.releases,
                 late.drop_back());
  if (scf::IfOp guard = deferral.guard) {
    SmallVector<Value> then;
    for (ReleaseOp release : deferral.releases)
      then.push_back(release.getCursor());
    rewriter.setInsertionPoint(guard.thenYield());
    then.push_back(
        arith::ConstantOp::create(rewriter, loc, rewriter.getBoolAttr(true)));
    ValueRange results = addResults(rewriter, guard, then, late);
    Operation *yield = loop.getBody()->getTerminator();
    for (auto [i, result] : llvm::enumerate(results))
      yield->setOperand(before + i, result);
  }

  // The last turn.
  rewriter.setInsertionPointAfter(loop);
  SmallVector<Value> unfinished;
  for (unsigned i : deferral.accumulators)
    unfinished.push_back(loop.getResult(i));
  auto done = GemmWaitOp::create(
      rewriter, loc, TypeRange(ValueRange(unfinished)), unfinished, 0);
  for (auto [before, after] : llvm::zip(unfinished, done.getResults()))
    rewriter.replaceAllUsesExcept(before, after, done);
  ValueRange final = loop.getResults().take_back(added);
  createReleases(rewriter, loc, final.back(), deferral.releases,
                 final.drop_back());
  for (ReleaseOp release : deferral.releases)
    rewriter.eraseOp(release);
}

void tile::deferGemmWaits(gpu::GPUFuncOp kernel) {
  SmallVector<scf::ForOp> loops;
  kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
  IRRewriter rewriter(kernel.getContext());
  for (scf::ForOp loop : loops)
    if (std::optional<Deferral> deferral = findDeferral(loop))
      rewrite(rewriter, *deferral);
}

namespace {
struct DeferGemmWaitsPass
    : tile::impl::DeferGemmWaitsPassBase<DeferGemmWaitsPass> {
  void runOnOperation() override {
    getOperation()->walk([](gpu::GPUFuncOp kernel) { deferGemmWaits(kernel); });
  }
};
} // namespace
