//===- LowerChannels.cpp - Channels to barriers ---------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A channel of a kernel with roles becomes two arrays of barriers, one barrier
// for each slot: `full` completes a phase when the slot has been filled,
// `empty` when it has been read. A cursor becomes two numbers: the slot, and
// the parity of the phase.
//
//   acquire %ch[%c] -> mbarrier_wait %empty[slot], phase xor 1
//   commit  %ch[%c] -> mbarrier_arrive %full[slot]
//   wait    %ch[%c] -> mbarrier_wait %full[slot], phase
//   release %ch[%c] -> mbarrier_arrive %empty[slot]
//
// The `xor` lets the first acquire of each slot pass: a wait for the phase
// before the first one returns at once. `ChannelSignalMap` counts the arrivals.
// Each operation on a channel is replaced first, with casts from cursors to
// numbers; `lowerCursors` then replaces the cursors that control flow carries.
// Without roles a wait becomes a wait for copies and a barrier of the block.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/Scratch.h"
#include "tilews/Dialect/Tile/Analysis/Roles/ChannelSignals.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"
#include "tilews/Dialect/Tile/Utils/Cursors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/DebugLog.h"

namespace tilews::tile {
#define GEN_PASS_DEF_LOWERCHANNELSPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

#define DEBUG_TYPE "tile-lower-channels"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

ALWAYS_ENABLED_STATISTIC(numChannels, "Channels lowered to barriers");

namespace {
/// Lowers the channels of one kernel.
class ChannelLowering {
public:
  ChannelLowering(gpu::GPUFuncOp kernel, ChannelSignalMap &signals,
                  I32Constants &constants)
      : kernel(kernel), signals(signals), constants(constants) {}

  void run();

private:
  /// The barriers of a channel.
  struct Barriers {
    Value full, empty;
  };

  void createBarriers(ChannelOp op, const ChannelSignals &own);
  void insertReady();
  void insertLastBarrier();
  void lower(ImplicitLocOpBuilder &b, SlotOp op);
  void lower(ImplicitLocOpBuilder &b, CopyOp op);
  void lower(ImplicitLocOpBuilder &b, AcquireOp op);
  void lower(ImplicitLocOpBuilder &b, CommitOp op);
  void lower(ImplicitLocOpBuilder &b, WaitOp op);
  void lower(ImplicitLocOpBuilder &b, ReleaseOp op);
  void lowerWithoutRoles(ImplicitLocOpBuilder &b, WaitOp op);

  template <typename OpT>
  const ChannelSignals &getSignals(OpT op) {
    return signals.channels.find(getChannel(op))->second;
  }
  template <typename OpT>
  static ChannelOp getChannel(OpT op) {
    return op.getChannel().template getDefiningOp<ChannelOp>();
  }
  /// Whether only one thread of the role of `op` is active.
  bool isElected(Operation *op) const {
    return signals.electedRoles.contains(op->getParentOfType<RoleOp>());
  }

  gpu::GPUFuncOp kernel;
  ChannelSignalMap &signals;
  I32Constants &constants;
  llvm::DenseMap<ChannelOp, Barriers> barriers;
};
} // namespace

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

/// The memory plan has reserved room for both arrays at the channel's offset:
/// `full` first, then `empty`.
void ChannelLowering::createBarriers(ChannelOp op, const ChannelSignals &own) {
  LDBG() << "channel at " << op.getLoc() << ": " << own.fullArrivals
         << " arrivals fill a slot, " << own.emptyArrivals << " free it";
  ImplicitLocOpBuilder b(op.getLoc(), op);
  int64_t depth = op.getChannel().getType().getDepth();
  auto offset = op->getAttrOfType<IntegerAttr>(TileDialect::kOffset);
  auto create = [&](int64_t arrivals, int64_t first) -> Value {
    auto type = MBarrierType::get(b.getContext(), depth);
    auto barrier = MBarrierOp::create(b, type, arrivals);
    if (offset)
      barrier->setAttr(
          TileDialect::kOffset,
          b.getI64IntegerAttr(offset.getInt() + first * kBarrierBytes));
    return barrier;
  };
  Value full = create(own.fullArrivals, 0);
  barriers[op] = {full, create(own.emptyArrivals, depth)};
}

/// Makes the barriers ready, in one operation before the first roles that may
/// use them.
void ChannelLowering::insertReady() {
  bool anyNew = false;
  for (Operation &op : kernel.getBody().front()) {
    anyNew |= isa<ChannelOp>(op);
    WalkResult found =
        op.walk([](SpecializeOp) { return WalkResult::interrupt(); });
    if (!anyNew || !found.wasInterrupted())
      continue;
    OpBuilder b(&op);
    MBarrierReadyOp::create(b, op.getLoc(), signals.hasPeers());
    anyNew = false;
  }
}

/// Inserts a barrier of the cluster before the kernel returns: other blocks may
/// still copy to this block's memory or arrive at its barriers.
void ChannelLowering::insertLastBarrier() {
  kernel.walk([](gpu::ReturnOp op) {
    OpBuilder b(op);
    ClusterBarrierOp::create(b, op.getLoc());
  });
}

//===----------------------------------------------------------------------===//
// Transactions
//===----------------------------------------------------------------------===//

static AgentsAttr getAgents(ImplicitLocOpBuilder &b, Agents agents) {
  return AgentsAttr::get(b.getContext(), agents);
}

/// Returns whether `op` accesses no memory that a fence would cover. Operations
/// with an offset have scratch memory.
static bool needsNoFence(Operation *op) {
  return isa<MBarrierArriveOp>(op) ||
         (op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
          !op->hasAttr(TileDialect::kOffset));
}

/// Creates a proxy fence, unless the last one covers all accesses up to here.
/// For example, a matmul reads the slots of two channels: one fence and two
/// arrivals follow.
static void createFence(ImplicitLocOpBuilder &b) {
  Operation *before = b.getInsertionPoint()->getPrevNode();
  while (before && needsNoFence(before))
    before = before->getPrevNode();
  if (!isa_and_nonnull<ProxyFenceOp>(before))
    ProxyFenceOp::create(b);
}

void ChannelLowering::lower(ImplicitLocOpBuilder &b, SlotOp op) {
  op.getCursorMutable().assign(castCursor(b, op.getCursor()).slot);
}

void ChannelLowering::lower(ImplicitLocOpBuilder &b, CopyOp op) {
  const ChannelCopy &copy = signals.copies.find(op)->second;
  Value full = barriers.lookup(copy.channel).full;
  Value slot = castCursor(b, copy.cursor).slot;
  if (copy.expectsAlone)
    MBarrierExpectOp::create(b, full, slot, copy.bytes);
  op.getSignalMutable().assign(full);
  op.getSignalSlotMutable().assign(slot);
}

/// Waits for the end of the previous phase, in which the slot was released.
///
/// Each warp of the role waits. If one thread alone commits, the other warps
/// have to be here before: the slot may be filled and released meanwhile, and a
/// warp that comes two phases late waits forever.
void ChannelLowering::lower(ImplicitLocOpBuilder &b, AcquireOp op) {
  const ChannelSignals &own = getSignals(op);
  CursorNumbers place = castCursor(b, op.getCursor());
  Value before = arith::XOrIOp::create(b, place.phase, constants.get(b, 1));
  MBarrierWaitOp::create(b, barriers.lookup(getChannel(op)).empty, place.slot,
                         before, !own.peers.empty());
  bool isByThread = own.byTma && !own.byCpAsync && !own.byStores;
  if (isByThread && !isElected(op) &&
      op->getParentOfType<RoleOp>().getWarps() > 1)
    BarrierOp::create(b);
}

/// Each kind of producer arrives by itself: TMA by bytes, which one thread
/// announces; cp.async when the copies of a thread are complete; stores after
/// they are visible.
void ChannelLowering::lower(ImplicitLocOpBuilder &b, CommitOp op) {
  const ChannelSignals &own = getSignals(op);
  Value full = barriers.lookup(getChannel(op)).full;
  Value slot = castCursor(b, op.getCursor()).slot;
  auto arrive = [&](Agents by, IntegerAttr bytes = {}) {
    MBarrierArriveOp::create(b, full, slot, getAgents(b, by), bytes,
                             /*converged=*/UnitAttr(), /*peers=*/ArrayAttr());
  };
  if (own.byTma) {
    int64_t bytes = signals.committedBytes.lookup(op);
    arrive(Agents::Thread, bytes ? b.getI64IntegerAttr(bytes) : IntegerAttr());
  }
  if (own.byCpAsync)
    arrive(Agents::Copies);
  if (own.byStores) {
    if (own.needsFence())
      createFence(b);
    arrive(isElected(op) ? Agents::Thread : Agents::Threads);
  }
}

void ChannelLowering::lower(ImplicitLocOpBuilder &b, WaitOp op) {
  const ChannelSignals &own = getSignals(op);
  CursorNumbers place = castCursor(b, op.getCursor());
  MBarrierWaitOp::create(b, barriers.lookup(getChannel(op)).full, place.slot,
                         place.phase, /*cluster=*/false);
  // The producer commits before its cp.async copies have written, so a fence
  // there would be too early. The consumer fences instead.
  if (own.byCpAsync && own.needsFence())
    ProxyFenceOp::create(b);
}

/// Returns the other blocks of the cluster that wait for the release of a slot,
/// as an attribute. Null if there are none.
static ArrayAttr getPeers(ImplicitLocOpBuilder &b,
                          const ChannelSignals &signals) {
  if (signals.peers.empty())
    return {};
  SmallVector<Attribute> peers;
  for (ClusterDims dims : signals.peers)
    peers.push_back(ClusterDimsAttr::get(b.getContext(), dims));
  return b.getArrayAttr(peers);
}

void ChannelLowering::lower(ImplicitLocOpBuilder &b, ReleaseOp op) {
  const ChannelSignals &own = getSignals(op);
  // The next fill may be by TMA, whose writes an arrival alone does not order
  // after ordinary accesses. An arrival does not wait for the values of loads:
  // without the fence, warps on an H200 did read bytes of the next fill.
  bool isByThreads = own.hasGenericReaders || own.isWrittenByConsumers;
  if (isByThreads && (own.byTma || own.isOverwrittenByTma))
    createFence(b);
  // If only wgmma reads the slot, no lane has loads of its own in flight. One
  // lane can then arrive without a synchronization of the warp.
  bool converged = !isByThreads;
  Agents by = isElected(op) ? Agents::Thread : Agents::Warps;
  MBarrierArriveOp::create(b, barriers.lookup(getChannel(op)).empty,
                           castCursor(b, op.getCursor()).slot, getAgents(b, by),
                           /*bytes=*/IntegerAttr(),
                           converged && by == Agents::Warps ? b.getUnitAttr()
                                                            : UnitAttr(),
                           getPeers(b, own));
}

/// Returns the wait that directly follows `wait`, or null.
static WaitOp getNextWait(WaitOp wait) {
  Operation *next = wait->getNextNode();
  while (next && !isa<WaitOp>(next) && isMemoryEffectFree(next))
    next = next->getNextNode();
  return dyn_cast_or_null<WaitOp>(next);
}

/// Without roles, the same threads fill and read a slot. Each thread waits for
/// its own copies, then all synchronize at a barrier, one for waits in a row.
/// An acquire needs nothing: `--tile-insert-barriers` has put a barrier between
/// the last read of a slot and the next write.
void ChannelLowering::lowerWithoutRoles(ImplicitLocOpBuilder &b, WaitOp op) {
  WaitOp next = getNextWait(op);
  if (std::optional<int64_t> pending = op.getPending()) {
    // Groups are in order: a wait that leaves fewer of them covers this one.
    if (!next || next.getPending().value_or(*pending + 1) > uint64_t(*pending))
      CopyGroupWaitOp::create(b, *pending);
  } else if (getChannel(op).getProducer() != ProducerKind::Simt) {
    CommitGroupOp::create(b);
    CopyGroupWaitOp::create(b, 0);
  }
  if (next)
    next.setProxyFence(next.getProxyFence() || op.getProxyFence());
  else
    BarrierOp::create(b, /*drain_copies=*/false, op.getProxyFence());
}

void ChannelLowering::run() {
  if (signals.hasRoles) {
    insertReady();
    if (signals.hasPeers())
      insertLastBarrier();
    for (auto &[channel, own] : signals.channels)
      createBarriers(channel, own);
  }
  kernel.walk([&](Operation *op) {
    ImplicitLocOpBuilder b(op->getLoc(), op);
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](SlotOp slot) {
          if (isa<CursorType>(slot.getCursor().getType()))
            lower(b, slot);
        })
        .Case([&](CopyOp copy) {
          if (signals.copies.contains(copy))
            lower(b, copy);
        })
        .Case<AcquireOp, CommitOp, WaitOp, ReleaseOp>([&](auto transaction) {
          if (signals.hasRoles)
            lower(b, transaction);
          else if (auto wait = dyn_cast<WaitOp>(op))
            lowerWithoutRoles(b, wait);
          op->erase();
        });
  });
  for (auto &[channel, own] : signals.channels)
    channel.erase();
  for (RoleOp role : signals.electedRoles)
    role.setElected(true);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Fails with an error if an operation uses a channel that no `tile.channel` of
/// the kernel defines.
static LogicalResult checkChannels(gpu::GPUFuncOp kernel) {
  WalkResult result = kernel.walk([](Operation *op) {
    for (Value operand : op->getOperands())
      if (isa<ChannelType>(operand.getType()) &&
          !operand.getDefiningOp<ChannelOp>()) {
        op->emitOpError("uses a channel of unknown origin; expected the result "
                        "of a tile.channel");
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult tile::lowerChannels(gpu::GPUFuncOp kernel) {
  if (failed(checkChannels(kernel)) || failed(checkCursors(kernel)))
    return failure();
  FailureOr<ChannelSignalMap> signals = ChannelSignalMap::get(kernel);
  if (failed(signals))
    return failure();
  I32Constants constants(kernel);
  ChannelLowering(kernel, *signals, constants).run();
  numChannels += signals->channels.size();
  return lowerCursors(kernel, constants);
}

namespace {
struct LowerChannelsPass
    : tile::impl::LowerChannelsPassBase<LowerChannelsPass> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](gpu::GPUFuncOp kernel) {
      return WalkResult(lowerChannels(kernel));
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
