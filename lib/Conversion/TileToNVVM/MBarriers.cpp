//===- MBarriers.cpp - Barriers in shared memory --------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Barriers in shared memory (PTX ISA, "mbarrier") and of clusters. An array of
// barriers becomes a pointer to 8-byte objects, which one thread initializes.
// Each operation on one of them is one or two instructions:
//
//   arrive by thread, bytes  mbarrier.arrive.expect_tx by one thread
//   arrive by warps          mbarrier.arrive by an elected lane
//   arrive by copies         cp.async.mbarrier.arrive.noinc
//   arrive with peers        mapa, then mbarrier.arrive.cluster
//   wait                     a loop around mbarrier.try_wait.parity
//                            (test_wait before sm_90)
//
//===----------------------------------------------------------------------===//

#include "AsyncPlan.h"
#include "NVVMLowering.h"
#include "tilews/Dialect/Tile/Analysis/Memory/Scratch.h"
#include "tilews/Dialect/Tile/IR/Cluster.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// Upper bound in nanoseconds for which `mbarrier.try_wait` may suspend a
/// thread. The thread resumes as soon as the phase completes, so the bound only
/// sets how rarely the loop around the instruction runs: 10 ms is far above any
/// wait of a kernel that makes progress (PTX ISA, "mbarrier.try_wait",
/// suspendTimeHint).
static constexpr int64_t kSuspendTime = 10000000;

Value tilews::createBarrierPointer(ImplicitLocOpBuilder &b, Value barriers,
                                   Value slot) {
  return createElementPointer(b, barriers, slot, kBarrierBytes);
}

/// Returns the position of this block in its cluster along a dimension.
static Value createPlace(ImplicitLocOpBuilder &b, unsigned dim) {
  Type i32 = b.getI32Type();
  if (dim == 0)
    return NVVM::BlockInClusterIdXOp::create(b, i32);
  if (dim == 1)
    return NVVM::BlockInClusterIdYOp::create(b, i32);
  return NVVM::BlockInClusterIdZOp::create(b, i32);
}

/// Returns the sum over the dimensions d of the cluster of the block's position
/// along d times `getFactor(d)`. Null if every term is zero.
static Value createPlaceSum(ImplicitLocOpBuilder &b, const Cluster &cluster,
                            llvm::function_ref<int64_t(unsigned)> getFactor) {
  Value sum;
  for (unsigned dim = 0; dim < 3; ++dim) {
    int64_t factor = cluster.extents[dim] == 1 ? 0 : getFactor(dim);
    if (factor == 0)
      continue;
    Value place = createPlace(b, dim);
    if (factor != 1)
      place = arith::MulIOp::create(b, place, constantI32(b, factor));
    sum = sum ? arith::AddIOp::create(b, sum, place).getResult() : place;
  }
  return sum;
}

Value tilews::createShare(ImplicitLocOpBuilder &b, const Cluster &cluster,
                          ClusterDims dims) {
  int64_t factor = 1;
  return createPlaceSum(b, cluster, [&](unsigned dim) -> int64_t {
    if (!cluster.has(dims, dim))
      return 0;
    return std::exchange(factor, factor * cluster.extents[dim]);
  });
}

/// The peers of the block of rank 0 are a constant set. A shift by this block's
/// position along the other dimensions makes it the set of this block's peers.
Value tilews::createPeers(ImplicitLocOpBuilder &b, const Cluster &cluster,
                          ArrayRef<ClusterDims> allDims) {
  Value peers;
  for (ClusterDims dims : allDims) {
    Value some = constantI32(b, cluster.getPeers(dims, /*rank=*/0));
    Value first = createPlaceSum(b, cluster, [&](unsigned dim) {
      return cluster.has(dims, dim) ? 0 : cluster.getStride(dim);
    });
    if (first)
      some = arith::ShLIOp::create(b, some, first);
    peers = peers ? arith::OrIOp::create(b, peers, some).getResult() : some;
  }
  return peers;
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

Value tilews::createElected(ImplicitLocOpBuilder &b, const TargetInfo &info) {
  if (info.arch >= 90)
    return NVVM::ElectSyncOp::create(b, b.getI1Type(), Value());
  Value lane = NVVM::LaneIdOp::create(b, b.getI32Type());
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane,
                               constantI32(b, 0));
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
    // The fence makes the initialization visible to other blocks and to TMA.
    // For the block's own threads the barrier below is enough.
    if (getTarget().info.arch >= 90)
      NVVM::FenceMbarrierInitOp::create(rewriter, op.getLoc());
    if (!op.getCluster()) {
      rewriter.replaceOpWithNewOp<NVVM::Barrier0Op>(op);
      return success();
    }
    NVVM::ClusterArriveOp::create(rewriter, op.getLoc(),
                                  rewriter.getUnitAttr());
    rewriter.replaceOpWithNewOp<NVVM::ClusterWaitOp>(op,
                                                     rewriter.getUnitAttr());
    return success();
  }
};

struct ClusterBarrierPattern : TilePattern<ClusterBarrierOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(ClusterBarrierOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    // After roles the lanes of a warp may have diverged, so the instructions
    // must not be the `.aligned` ones.
    NVVM::ClusterArriveOp::create(rewriter, op.getLoc(), UnitAttr());
    rewriter.replaceOpWithNewOp<NVVM::ClusterWaitOp>(op, UnitAttr());
    return success();
  }
};

/// Lowers an operation on the barrier of one slot: `lower` has an overload for
/// MBarrierArriveOp, MBarrierExpectOp and MBarrierWaitOp.
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
    if (op.getPeers()) {
      arriveInPeers(b, op, barrier);
      return;
    }
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
      Value elected = createElected(b, this->getTarget().info);
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

  /// Arrives at the barriers of peers in the cluster. With agents `warps`, lane
  /// r of the warp arrives at the block of cluster rank r, so one instruction
  /// serves all peers. Otherwise each arriving thread loops over the ranks.
  void arriveInPeers(ImplicitLocOpBuilder &b, MBarrierArriveOp op,
                     Value barrier) const {
    Cluster cluster = Cluster::get(op);
    Value peers = createPeers(b, cluster, op.getPeerDims());
    bool areAll = op.getPeerDims().size() == 1 &&
                  cluster.countPeers(op.getPeerDims()[0]) == cluster.size();
    auto arrive = [&](Value rank, Value among) {
      if (!areAll) {
        Value bit = arith::ShRUIOp::create(b, peers, rank);
        Value isPeer = arith::TruncIOp::create(b, b.getI1Type(), bit);
        among = among ? arith::AndIOp::create(b, among, isPeer).getResult()
                      : isPeer;
      }
      auto body = [&] {
        createRemoteArrive(b, barrier, rank, op.getConverged());
      };
      if (among)
        createGuarded(b, among, body);
      else
        body();
    };
    if (op.getBy() == Agents::Warps) {
      if (!op.getConverged())
        NVVM::SyncWarpOp::create(b, constantI32(b, -1));
      Value lane = NVVM::LaneIdOp::create(b, b.getI32Type());
      arrive(lane, arith::CmpIOp::create(b, arith::CmpIPredicate::ult, lane,
                                         constantI32(b, cluster.size())));
      return;
    }
    auto arriveOneByOne = [&] {
      for (int64_t rank = 0; rank < cluster.size(); ++rank)
        arrive(constantI32(b, rank), Value());
    };
    if (op.getBy() == Agents::Thread)
      createForOneThread(b, this->lowering.getThreads(op), arriveOneByOne);
    else
      arriveOneByOne();
  }

  /// Arrives at the barrier of the block of cluster rank `rank`. An arrival
  /// with release semantics in a cluster waits for all accesses of the thread.
  /// A relaxed one is enough if only wgmma has read the slot: those reads are
  /// complete when the matmul has been waited for.
  static void createRemoteArrive(ImplicitLocOpBuilder &b, Value barrier,
                                 Value rank, bool isRelaxed) {
    auto type = LLVM::LLVMPointerType::get(
        b.getContext(), unsigned(NVVM::NVVMMemorySpace::SharedCluster));
    Value remote = NVVM::MapaOp::create(b, type, barrier, rank);
    NVVM::MBarrierArriveOp::create(
        b, /*res=*/Type(), remote, /*count=*/Value(),
        NVVM::MemScopeKindAttr::get(b.getContext(),
                                    NVVM::MemScopeKind::CLUSTER),
        b.getBoolAttr(isRelaxed));
  }

  void lower(ImplicitLocOpBuilder &b, MBarrierWaitOp op, Value barrier,
             MBarrierWaitOp::Adaptor adaptor) const {
    // An elected role only starts copies and accesses no memory itself, so
    // writes of other blocks need not become visible to it.
    auto scope = op.getCluster() && !this->lowering.getThreads(op).elected
                     ? NVVM::MemScopeKind::CLUSTER
                     : NVVM::MemScopeKind::CTA;
    bool canSuspend = this->getTarget().info.arch >= 90;
    Value ticks = canSuspend ? constantI32(b, kSuspendTime) : Value();
    auto loop = scf::WhileOp::create(b, TypeRange(), ValueRange());
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&loop.getBefore());
    Value done;
    if (canSuspend)
      done = NVVM::MBarrierTryWaitOp::create(b, b.getI1Type(), barrier,
                                             adaptor.getParity(), ticks, scope);
    else
      done = NVVM::MBarrierTestWaitOp::create(b, b.getI1Type(), barrier,
                                              adaptor.getParity(), scope);
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
  patterns.add<MBarrierPattern, ReadyPattern, ClusterBarrierPattern,
               OneBarrierPattern<MBarrierArriveOp>,
               OneBarrierPattern<MBarrierExpectOp>,
               OneBarrierPattern<MBarrierWaitOp>>(converter, lowering);
}
