//===- Barriers.cpp - Barriers in shared memory ---------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "mbarrier": each operation is an instruction or two.
//
//===----------------------------------------------------------------------===//

#include "AsyncPlan.h"
#include "NVVMLowering.h"
#include "tilews/Dialect/Tile/Analysis/Scratch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// How long the hardware may suspend a waiting thread before it looks again, in
/// nanoseconds; it resumes as soon as the phase completes.
static constexpr int64_t kSuspendTime = 10000000;

Value tilews::createBarrierPointer(ImplicitLocOpBuilder &b, Value barriers,
                                   Value slot) {
  return createElementPointer(b, barriers, slot, kBarrierBytes);
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

struct MBarrierPattern : TilePattern<MBarrierOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(MBarrierOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto offset = op->getAttrOfType<IntegerAttr>(TileDialect::kOffset);
    if (!offset)
      return op.emitError("has no place in shared memory; run "
                          "--tile-plan-shared-memory first");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    int64_t depth = op.getBarrier().getType().getDepth();
    createForOneThread(b, lowering.getThreads(op), [&] {
      for (int64_t slot = 0; slot < depth; ++slot)
        NVVM::MBarrierInitOp::create(
            b, createArenaPointer(b, offset.getInt() + slot * kBarrierBytes),
            constantI32(b, op.getCount()), /*predicate=*/Value());
    });
    rewriter.replaceOp(op, createArenaPointer(b, offset.getInt()));
    return success();
  }
};

struct ReadyPattern : TilePattern<MBarrierReadyOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(MBarrierReadyOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVM::FenceMbarrierInitOp::create(rewriter, op.getLoc());
    rewriter.replaceOpWithNewOp<NVVM::Barrier0Op>(op);
    return success();
  }
};

/// An operation on the barrier of a slot.
template <typename OpT>
struct OneBarrierPattern : TilePattern<OpT> {
  using TilePattern<OpT>::TilePattern;

  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value barrier =
        createBarrierPointer(b, adaptor.getBarrier(), adaptor.getSlot());
    lower(b, op, barrier, adaptor);
    rewriter.eraseOp(op);
    return success();
  }

private:
  void lower(ImplicitLocOpBuilder &b, MBarrierArriveOp op, Value barrier,
             MBarrierArriveOp::Adaptor) const {
    switch (op.getBy()) {
    case Agents::Thread:
      createForOneThread(b, this->lowering.getThreads(op), [&] {
        if (std::optional<int64_t> bytes = op.getBytes())
          NVVM::MBarrierArriveExpectTxOp::create(
              b, /*res=*/Type(), barrier, constantI32(b, *bytes), scope(b),
              b.getBoolAttr(false), /*predicate=*/Value());
        else
          createArrive(b, barrier);
      });
      return;
    case Agents::Warps: {
      if (!op.getConverged())
        NVVM::SyncWarpOp::create(b, constantI32(b, -1));
      Value elected = NVVM::ElectSyncOp::create(b, b.getI1Type(), Value());
      createGuarded(b, elected, [&] { createArrive(b, barrier); });
      return;
    }
    case Agents::Threads:
      createArrive(b, barrier);
      return;
    case Agents::Copies:
      NVVM::CpAsyncMBarrierArriveOp::create(b, barrier,
                                            /*noinc=*/b.getBoolAttr(true));
      return;
    }
    llvm_unreachable("covered switch");
  }

  void lower(ImplicitLocOpBuilder &b, MBarrierExpectOp op, Value barrier,
             MBarrierExpectOp::Adaptor) const {
    createForOneThread(b, this->lowering.getThreads(op), [&] {
      NVVM::MBarrierExpectTxOp::create(
          b, barrier, constantI32(b, op.getBytes()), NVVM::MemScopeKind::CTA);
    });
  }

  void lower(ImplicitLocOpBuilder &b, MBarrierWaitOp, Value barrier,
             MBarrierWaitOp::Adaptor adaptor) const {
    Value ticks = constantI32(b, kSuspendTime);
    auto loop = scf::WhileOp::create(b, TypeRange(), ValueRange());
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&loop.getBefore());
    Value done = NVVM::MBarrierTryWaitOp::create(b, b.getI1Type(), barrier,
                                                 adaptor.getParity(), ticks,
                                                 NVVM::MemScopeKind::CTA);
    Value truth = arith::ConstantOp::create(b, b.getBoolAttr(true));
    Value again = arith::XOrIOp::create(b, done, truth);
    scf::ConditionOp::create(b, again, ValueRange());
    b.createBlock(&loop.getAfter());
    scf::YieldOp::create(b);
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

void tilews::populateBarrierPatterns(const TileTypeConverter &converter,
                                     LoweringContext &lowering,
                                     RewritePatternSet &patterns) {
  patterns
      .add<MBarrierPattern, ReadyPattern, OneBarrierPattern<MBarrierArriveOp>,
           OneBarrierPattern<MBarrierExpectOp>,
           OneBarrierPattern<MBarrierWaitOp>>(converter, lowering);
}
