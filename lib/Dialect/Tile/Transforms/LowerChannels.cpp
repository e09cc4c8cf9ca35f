//===- LowerChannels.cpp - Channels to barriers ---------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// First each operation on a channel is replaced, with casts from a cursor to
// two numbers where it needs them; then a conversion makes these numbers out of
// the cursors that control flow carries.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/Scratch.h"
#include "tilews/Dialect/Tile/Analysis/Roles/ChannelSignals.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"
#include "tilews/Dialect/Tile/Utils/Cursors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tilews::tile {
#define GEN_PASS_DEF_LOWERCHANNELSPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

namespace {
class ChannelLowering {
public:
  ChannelLowering(gpu::GPUFuncOp kernel, ChannelSignalMap &protocols,
                  I32Constants &constants)
      : kernel(kernel), protocols(protocols), constants(constants) {}

  void run();

private:
  /// The barriers of a channel.
  struct Barriers {
    Value full, empty;
  };

  void createBarriers(ChannelOp op, const ChannelSignals &protocol);
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
  const ChannelSignals &getProtocol(OpT op) {
    return protocols.channels.find(getChannel(op))->second;
  }
  template <typename OpT>
  static ChannelOp getChannel(OpT op) {
    return op.getChannel().template getDefiningOp<ChannelOp>();
  }
  bool isElected(Operation *op) const {
    return protocols.electedRoles.contains(op->getParentOfType<RoleOp>());
  }

  gpu::GPUFuncOp kernel;
  ChannelSignalMap &protocols;
  I32Constants &constants;
  llvm::DenseMap<ChannelOp, Barriers> barriers;
};
} // namespace

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

void ChannelLowering::createBarriers(ChannelOp op,
                                     const ChannelSignals &protocol) {
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
  Value full = create(protocol.fullArrivals, 0);
  barriers[op] = {full, create(protocol.emptyArrivals, depth)};
}

/// The barriers are ready before any role uses them.
void ChannelLowering::insertReady() {
  bool anyNew = false;
  for (Operation &op : kernel.getBody().front()) {
    anyNew |= isa<ChannelOp>(op);
    WalkResult found =
        op.walk([](SpecializeOp) { return WalkResult::interrupt(); });
    if (!anyNew || !found.wasInterrupted())
      continue;
    OpBuilder b(&op);
    MBarrierReadyOp::create(b, op.getLoc(), protocols.hasPeers());
    anyNew = false;
  }
}

/// No block ends while others copy to its memory or arrive at its barriers.
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

void ChannelLowering::lower(ImplicitLocOpBuilder &b, SlotOp op) {
  op.getCursorMutable().assign(castCursor(b, op.getCursor()).slot);
}

void ChannelLowering::lower(ImplicitLocOpBuilder &b, CopyOp op) {
  const ChannelCopy &copy = protocols.copies.find(op)->second;
  Value full = barriers.lookup(copy.channel).full;
  Value slot = castCursor(b, copy.cursor).slot;
  if (copy.expectsAlone)
    MBarrierExpectOp::create(b, full, slot, copy.bytes);
  op.getSignalMutable().assign(full);
  op.getSignalSlotMutable().assign(slot);
}

/// Waits for the end of the phase before, in which the slot was released.
void ChannelLowering::lower(ImplicitLocOpBuilder &b, AcquireOp op) {
  CursorNumbers place = castCursor(b, op.getCursor());
  Value before = arith::XOrIOp::create(b, place.phase, constants.get(b, 1));
  MBarrierWaitOp::create(b, barriers.lookup(getChannel(op)).empty, place.slot,
                         before, !getProtocol(op).peers.empty());
}

void ChannelLowering::lower(ImplicitLocOpBuilder &b, CommitOp op) {
  const ChannelSignals &protocol = getProtocol(op);
  Value full = barriers.lookup(getChannel(op)).full;
  Value slot = castCursor(b, op.getCursor()).slot;
  auto arrive = [&](Agents by, IntegerAttr bytes = {}) {
    MBarrierArriveOp::create(b, full, slot, getAgents(b, by), bytes,
                             /*converged=*/UnitAttr(), /*peers=*/ArrayAttr());
  };
  if (protocol.byTma) {
    int64_t bytes = protocols.committedBytes.lookup(op);
    arrive(Agents::Thread, bytes ? b.getI64IntegerAttr(bytes) : IntegerAttr());
  }
  if (protocol.byCpAsync)
    arrive(Agents::Copies);
  if (protocol.byStores) {
    if (protocol.needsFence())
      ProxyFenceOp::create(b);
    arrive(isElected(op) ? Agents::Thread : Agents::Threads);
  }
}

void ChannelLowering::lower(ImplicitLocOpBuilder &b, WaitOp op) {
  const ChannelSignals &protocol = getProtocol(op);
  CursorNumbers place = castCursor(b, op.getCursor());
  MBarrierWaitOp::create(b, barriers.lookup(getChannel(op)).full, place.slot,
                         place.phase, /*cluster=*/false);
  // The producer cannot fence what its copies have yet to write.
  if (protocol.byCpAsync && protocol.needsFence())
    ProxyFenceOp::create(b);
}

/// Who else waits for the release of a slot.
static ArrayAttr getPeers(ImplicitLocOpBuilder &b,
                          const ChannelSignals &protocol) {
  if (protocol.peers.empty())
    return {};
  SmallVector<Attribute> peers;
  for (ClusterDims dims : protocol.peers)
    peers.push_back(ClusterDimsAttr::get(b.getContext(), dims));
  return b.getArrayAttr(peers);
}

void ChannelLowering::lower(ImplicitLocOpBuilder &b, ReleaseOp op) {
  const ChannelSignals &protocol = getProtocol(op);
  if (protocol.byTma && protocol.isWrittenByConsumers)
    ProxyFenceOp::create(b);
  // Of what wgmma reads, no lane has loads of its own to finish.
  bool converged =
      !protocol.hasGenericReaders && !protocol.isWrittenByConsumers;
  Agents by = isElected(op) ? Agents::Thread : Agents::Warps;
  MBarrierArriveOp::create(b, barriers.lookup(getChannel(op)).empty,
                           castCursor(b, op.getCursor()).slot, getAgents(b, by),
                           /*bytes=*/IntegerAttr(),
                           converged && by == Agents::Warps ? b.getUnitAttr()
                                                            : UnitAttr(),
                           getPeers(b, protocol));
}

/// The threads that fill a slot are those that read it: they wait for their own
/// copies and then meet. Where a slot has to be free before it is filled again,
/// `--tile-insert-barriers` has put a barrier.
void ChannelLowering::lowerWithoutRoles(ImplicitLocOpBuilder &b, WaitOp op) {
  if (std::optional<int64_t> pending = op.getPending()) {
    CopyGroupWaitOp::create(b, *pending);
  } else if (getChannel(op).getProducer() != ProducerKind::Simt) {
    CommitGroupOp::create(b);
    CopyGroupWaitOp::create(b, 0);
  }
  BarrierOp::create(b, /*drainCopies=*/false, op.getProxyFence());
}

void ChannelLowering::run() {
  if (protocols.hasRoles) {
    insertReady();
    if (protocols.hasPeers())
      insertLastBarrier();
    for (auto &[channel, protocol] : protocols.channels)
      createBarriers(channel, protocol);
  }
  kernel.walk([&](Operation *op) {
    ImplicitLocOpBuilder b(op->getLoc(), op);
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](SlotOp slot) {
          if (isa<CursorType>(slot.getCursor().getType()))
            lower(b, slot);
        })
        .Case([&](CopyOp copy) {
          if (protocols.copies.contains(copy))
            lower(b, copy);
        })
        .Case<AcquireOp, CommitOp, WaitOp, ReleaseOp>([&](auto transaction) {
          if (protocols.hasRoles)
            lower(b, transaction);
          else if (auto wait = dyn_cast<WaitOp>(op))
            lowerWithoutRoles(b, wait);
          op->erase();
        });
  });
  for (auto &[channel, protocol] : protocols.channels)
    channel.erase();
  for (RoleOp role : protocols.electedRoles)
    role.setElected(true);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Fails with an error if an operation on a channel uses one that is not made
/// in the kernel.
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
  FailureOr<ChannelSignalMap> protocols = ChannelSignalMap::get(kernel);
  if (failed(protocols))
    return failure();
  I32Constants constants(kernel);
  ChannelLowering(kernel, *protocols, constants).run();
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
