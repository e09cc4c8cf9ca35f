//===- Channels.cpp - Channels as barriers in shared memory ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "mbarrier". A slot has two barriers: "full" completes a phase when
// the slot has been filled, "empty" when all consumers have released it. A wait
// names the parity of the phase that it waits for; the phase before the first
// counts as complete, which makes all slots free at first.
//
//===----------------------------------------------------------------------===//

#include "AsyncPlan.h"
#include "NVVMLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// How long the hardware may suspend a waiting thread before it looks again, in
/// nanoseconds; it resumes as soon as the phase completes.
static constexpr int64_t kSuspendTime = 10000000;

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

SlotBarriers::SlotBarriers(ImplicitLocOpBuilder &b, Value channel, Value cursor,
                           int64_t depth)
    : b(b), channel(channel), cursor(cursor), depth(depth) {}

Value SlotBarriers::getBarrier(int64_t first) {
  return createElementPointer(b, channel, getCursorSlot(b, cursor),
                              kBarrierBytes, first * kBarrierBytes);
}
Value SlotBarriers::getFull() { return getBarrier(0); }
Value SlotBarriers::getEmpty() { return getBarrier(depth); }
Value SlotBarriers::getPhase() {
  return LLVM::ExtractValueOp::create(b, cursor, 1);
}

/// Returns when `barrier` has completed the phase of parity `parity`.
static void createWait(ImplicitLocOpBuilder &b, Value barrier, Value parity) {
  Value ticks = constantI32(b, kSuspendTime);
  auto loop = scf::WhileOp::create(b, TypeRange(), ValueRange());
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&loop.getBefore());
  Value done = NVVM::MBarrierTryWaitOp::create(
      b, b.getI1Type(), barrier, parity, ticks, NVVM::MemScopeKind::CTA);
  Value truth = arith::ConstantOp::create(b, b.getBoolAttr(true));
  Value again = arith::XOrIOp::create(b, done, truth);
  scf::ConditionOp::create(b, again, ValueRange());
  b.createBlock(&loop.getAfter());
  scf::YieldOp::create(b);
}

void tilews::createForOneThread(ImplicitLocOpBuilder &b,
                                const ThreadGroup &threads,
                                llvm::function_ref<void()> body) {
  if (threads.elected) {
    body();
    return;
  }
  Value id = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  Value first = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, id,
                                      constantI32(b, threads.first));
  createGuarded(b, first, body);
}

namespace {

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

struct ChannelPattern : AsyncPattern<ChannelOp> {
  using AsyncPattern::AsyncPattern;

  LogicalResult
  matchAndRewrite(ChannelOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto offset = op->getAttrOfType<IntegerAttr>(TileDialect::kOffset);
    if (!offset)
      return op.emitError("has no place in shared memory; run "
                          "--tile-plan-shared-memory first");
    const PlannedChannel &planned = plan->channels.at(op);
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    int64_t depth = op.getChannel().getType().getDepth();
    createForOneThread(b, lowering.getThreads(op), [&] {
      for (int64_t slot = 0; slot < 2 * depth; ++slot) {
        Value barrier =
            createArenaPointer(b, offset.getInt() + slot * kBarrierBytes);
        int64_t arrivals =
            slot < depth ? planned.fullArrivals : planned.emptyArrivals;
        NVVM::MBarrierInitOp::create(b, barrier, constantI32(b, arrivals),
                                     /*predicate=*/Value());
      }
    });
    rewriter.replaceOp(op, createArenaPointer(b, offset.getInt()));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Transactions
//===----------------------------------------------------------------------===//

template <typename OpT>
struct TransactionPattern : AsyncPattern<OpT> {
  using AsyncPattern<OpT>::AsyncPattern;

  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    SlotBarriers slot(b, adaptor.getChannel(), adaptor.getCursor(),
                      op.getChannel().getType().getDepth());
    lower(b, op, slot);
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// Waits for the end of the phase before, in which the slot was released.
  void lower(ImplicitLocOpBuilder &b, AcquireOp, SlotBarriers &slot) const {
    createWait(b, slot.getEmpty(),
               arith::XOrIOp::create(b, slot.getPhase(), constantI32(b, 1)));
  }

  void lower(ImplicitLocOpBuilder &b, CommitOp op, SlotBarriers &slot) const {
    const PlannedChannel &planned = this->plan->getChannel(op.getChannel());
    Value full = slot.getFull();
    if (planned.byTma)
      createForOneThread(b, this->lowering.getThreads(op), [&] {
        int64_t bytes = this->plan->committedBytes.lookup(op);
        if (bytes)
          NVVM::MBarrierArriveExpectTxOp::create(
              b, /*res=*/Type(), full, constantI32(b, bytes), scope(b),
              b.getBoolAttr(false), /*predicate=*/Value());
        else
          createArrive(b, full);
      });
    if (planned.byCpAsync)
      NVVM::CpAsyncMBarrierArriveOp::create(b, full, b.getBoolAttr(true));
    if (planned.byStores) {
      if (planned.hasAsyncReaders)
        this->getTarget().emitProxyFence(b);
      createArrive(b, full);
    }
  }

  void lower(ImplicitLocOpBuilder &b, WaitOp op, SlotBarriers &slot) const {
    const PlannedChannel &planned = this->plan->getChannel(op.getChannel());
    createWait(b, slot.getFull(), slot.getPhase());
    // The producer cannot fence what its copies have yet to write.
    if (planned.byCpAsync && planned.hasAsyncReaders)
      this->getTarget().emitProxyFence(b);
  }

  void lower(ImplicitLocOpBuilder &b, ReleaseOp op, SlotBarriers &slot) const {
    const PlannedChannel &planned = this->plan->getChannel(op.getChannel());
    Value empty = slot.getEmpty();
    if (planned.byTma && planned.isWrittenByConsumers)
      this->getTarget().emitProxyFence(b);
    if (this->lowering.getThreads(op).elected) {
      createArrive(b, empty);
      return;
    }
    // The other lanes' loads come first.
    if (planned.hasGenericReaders || planned.isWrittenByConsumers)
      NVVM::SyncWarpOp::create(b, constantI32(b, -1));
    Value elected = NVVM::ElectSyncOp::create(b, b.getI1Type(), Value());
    createGuarded(b, elected, [&] { createArrive(b, empty); });
  }

  static NVVM::MemScopeKindAttr scope(ImplicitLocOpBuilder &b) {
    return NVVM::MemScopeKindAttr::get(b.getContext(), NVVM::MemScopeKind::CTA);
  }
  static void createArrive(ImplicitLocOpBuilder &b, Value barrier) {
    NVVM::MBarrierArriveOp::create(b, /*res=*/Type(), barrier,
                                   /*count=*/Value(), scope(b),
                                   b.getBoolAttr(false));
  }
};

} // namespace

void tilews::populateChannelPatterns(const TileTypeConverter &converter,
                                     LoweringContext &lowering,
                                     std::shared_ptr<const AsyncPlan> plan,
                                     RewritePatternSet &patterns) {
  patterns.add<ChannelPattern, TransactionPattern<AcquireOp>,
               TransactionPattern<CommitOp>, TransactionPattern<WaitOp>,
               TransactionPattern<ReleaseOp>>(converter, lowering, plan);
}
