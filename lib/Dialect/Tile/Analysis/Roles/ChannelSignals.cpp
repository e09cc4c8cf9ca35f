//===- ChannelSignals.cpp - Who signals what to whom ----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Roles/ChannelSignals.h"

#include "tilews/Dialect/Tile/Analysis/Divisibility.h"
#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"
#include "tilews/Dialect/Tile/Analysis/Memory/TmaCopy.h"
#include "tilews/Dialect/Tile/IR/Cluster.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

namespace {
class SignalFinder {
public:
  explicit SignalFinder(gpu::GPUFuncOp kernel) : kernel(kernel) {}

  LogicalResult run();

  ChannelSignalMap result;

private:
  void findElectedRoles();
  LogicalResult addChannel(ChannelOp channel);
  LogicalResult addCopy(CopyOp copy);
  void addAccesses(ChannelOp channel);
  void addAccess(ChannelOp channel, Value buffer, Value slot, Operation *op);
  LogicalResult countArrivals(ChannelOp channel);

  gpu::GPUFuncOp kernel;
  Divisibility divisibility;
  /// The channel that a buffer's versions are handed through.
  llvm::DenseMap<Value, ChannelOp> channelOf;
  /// Buffers that TMA, and threads, of a producer write.
  llvm::DenseSet<Value> writtenByTma, writtenByThreads;
};
} // namespace

static RoleOp getRole(Operation *op) { return op->getParentOfType<RoleOp>(); }

void SignalFinder::findElectedRoles() {
  kernel.walk([&](RoleOp role) {
    WalkResult walked = role.getBody().walk([](Operation *op) {
      return runsOnOneThread(op) ? WalkResult::advance()
                                 : WalkResult::interrupt();
    });
    if (!walked.wasInterrupted())
      result.electedRoles.insert(role);
  });
}

LogicalResult SignalFinder::addChannel(ChannelOp channel) {
  result.channels.insert({channel, ChannelSignals()});
  // Without roles a channel is no matter of barriers in memory.
  if (!result.hasRoles) {
    if (channel.getProducer() == ProducerKind::Tma)
      return channel.emitOpError("is filled by TMA, which only a role can wait "
                                 "for");
    return success();
  }
  if (channel->getParentOp() != kernel)
    return channel.emitOpError(
        "stands in a region; its barriers are made once, "
        "at the begin of the kernel");
  for (Value buffer : channel.getBuffers())
    if (!channelOf.insert({buffer, channel}).second)
      return channel.emitOpError("hands on a buffer that belongs to another "
                                 "channel");
  return success();
}

/// Finds the transaction that a TMA load is part of, and the commit that counts
/// its bytes: the next one of the transaction, if it runs whenever the copy
/// does.
LogicalResult SignalFinder::addCopy(CopyOp op) {
  llvm::Expected<TmaCopy> tma = getTmaCopy(op);
  if (!tma)
    return op.emitOpError("cannot be done by TMA: ")
           << llvm::toString(tma.takeError());
  ChannelOp channel = getCompletedChannel(op);
  if (!channel)
    return op.emitOpError("by TMA completes through a channel: expected as "
                          "destination the tile.slot of a channel's buffer, "
                          "or a view of it, in a role");
  ChannelCopy copy = {channel, getViewedSlot(op.getDest()).getCursor(),
                      tma->bytes, /*expectsAlone=*/true};
  for (Operation *next = op->getNextNode(); next; next = next->getNextNode()) {
    auto commit = dyn_cast<CommitOp>(next);
    if (!commit || commit.getChannel() != channel.getChannel() ||
        commit.getCursor() != copy.cursor)
      continue;
    copy.expectsAlone = false;
    result.committedBytes[commit] += copy.bytes;
    break;
  }
  result.copies.insert({op, copy});
  std::optional<ClusterDims> dims = op.getMulticast();
  auto &peers = result.channels[channel].peers;
  if (dims && Cluster::get(op).countPeers(*dims) > 1 &&
      !llvm::is_contained(peers, *dims))
    peers.push_back(*dims);
  return success();
}

//===----------------------------------------------------------------------===//
// Accesses to slots
//===----------------------------------------------------------------------===//

/// Whether a cp.async copy makes no ordinary store: all of its vectors are wide
/// enough.
static bool isPureCpAsync(CopyOp copy, Divisibility &divisibility) {
  auto dest = cast<MemRefType>(copy.getDest().getType());
  int64_t bits = getStorageBits(dest.getElementType());
  int64_t vector = std::min(getCopyVectorElements(copy, divisibility),
                            getSharedLayout(dest).getContiguity(bits));
  SmallVector<int64_t> sizes = copy.getSourceRegion().getSqueezedSizes();
  return vector * bits >= 32 && !sizes.empty() && sizes.back() % vector == 0;
}

/// Notes what `op` does to a slot of `channel`'s `buffer`.
void SignalFinder::addAccess(ChannelOp channel, Value buffer, Value slot,
                             Operation *op) {
  ChannelSignals &protocol = result.channels[channel];
  auto access = dyn_cast<AccessOpInterface>(op);
  SmallVector<AccessRegion> regions;
  if (access)
    access.getAccessRegions(regions);
  bool reads = !access, writes = isa<memref::StoreOp>(op);
  for (const AccessRegion &region : regions) {
    if (region.buffer->get() != slot)
      continue;
    reads |= region.reads();
    writes |= region.writes();
  }
  bool isAsync = isTma(op) || hasInst(op, InstKind::Wgmma);
  if (reads)
    (isAsync ? protocol.hasAsyncReaders : protocol.hasGenericReaders) = true;
  if (!writes)
    return;
  bool isProducer =
      llvm::any_of(channel.getChannel().getUsers(), [&](Operation *user) {
        return isa<CommitOp>(user) && getRole(user) == getRole(op);
      });
  if (isProducer)
    (isTma(op) ? writtenByTma : writtenByThreads).insert(buffer);
  if (!isProducer)
    protocol.isWrittenByConsumers = true;
  else if (isTma(op))
    protocol.byTma = true;
  else if (hasInst(op, InstKind::CpAsync)) {
    protocol.byCpAsync = true;
    protocol.byStores |= !isPureCpAsync(cast<CopyOp>(op), divisibility);
  } else
    protocol.byStores = true;
}

void SignalFinder::addAccesses(ChannelOp channel) {
  for (Value buffer : channel.getBuffers()) {
    SmallVector<Value> slots;
    for (Operation *user : buffer.getUsers())
      if (auto slot = dyn_cast<SlotOp>(user))
        slots.push_back(slot.getResult());
    for (size_t i = 0; i < slots.size(); ++i)
      for (Operation *user : slots[i].getUsers()) {
        if (auto view = dyn_cast<ViewOp>(user))
          slots.push_back(view.getResult());
        else
          addAccess(channel, buffer, slots[i], user);
      }
    result.channels[channel].isOverwrittenByTma |=
        writtenByTma.contains(buffer) && writtenByThreads.contains(buffer);
  }
}

//===----------------------------------------------------------------------===//
// Arrivals
//===----------------------------------------------------------------------===//

/// A TMA fill is announced once. Other kinds of fill complete for each thread
/// of the producer; each warp of a consumer releases a slot once.
LogicalResult SignalFinder::countArrivals(ChannelOp channel) {
  ChannelSignals &protocol = result.channels[channel];
  llvm::SmallSetVector<RoleOp, 2> producers, consumers;
  for (Operation *user : channel.getChannel().getUsers()) {
    RoleOp role = getRole(user);
    if (!role)
      return user->emitOpError("stands outside of the roles of the kernel");
    if (isa<CommitOp>(user))
      producers.insert(role);
    else if (isa<ReleaseOp>(user))
      consumers.insert(role);
  }
  if (producers.size() > 1)
    return channel.emitOpError("has commits in ")
           << producers.size() << " roles, expected one producer";
  if (!protocol.byTma && !protocol.byCpAsync)
    protocol.byStores = true;
  for (RoleOp role : producers) {
    int64_t agents =
        result.electedRoles.contains(role) ? 1 : role.getNumThreads();
    protocol.fullArrivals = protocol.byTma + agents * protocol.byCpAsync +
                            agents * protocol.byStores;
  }
  for (RoleOp role : consumers) {
    int64_t agents = result.electedRoles.contains(role) ? 1 : role.getWarps();
    if (!channel.getAlternating()) {
      protocol.emptyArrivals += agents;
      continue;
    }
    // One of them releases a slot, and it must not matter which.
    if (protocol.emptyArrivals && protocol.emptyArrivals != agents)
      return channel.emitOpError("is alternating, but role @")
             << role.getName() << " releases a slot by " << agents
             << " arrivals, and another role by " << protocol.emptyArrivals;
    protocol.emptyArrivals = agents;
  }
  // Those who fill the slot together wait for the consumers of all of them.
  if (!protocol.peers.empty())
    protocol.emptyArrivals *= llvm::popcount(
        Cluster::get(kernel).getPeers(protocol.peers, /*rank=*/0));
  protocol.fullArrivals = std::max<int64_t>(protocol.fullArrivals, 1);
  protocol.emptyArrivals = std::max<int64_t>(protocol.emptyArrivals, 1);
  return success();
}

LogicalResult SignalFinder::run() {
  SmallVector<ChannelOp> channels;
  SmallVector<CopyOp> loads;
  kernel.walk([&](Operation *op) {
    result.hasRoles |= isa<SpecializeOp>(op);
    if (auto channel = dyn_cast<ChannelOp>(op))
      channels.push_back(channel);
    if (auto copy = dyn_cast<CopyOp>(op);
        copy && isTma(copy) && isShared(copy.getDest()) && !copy.getSignal())
      loads.push_back(copy);
  });
  findElectedRoles();
  for (ChannelOp channel : channels)
    if (failed(addChannel(channel)))
      return failure();
  for (CopyOp copy : loads)
    if (failed(addCopy(copy)))
      return failure();
  if (!result.hasRoles)
    return success();
  for (ChannelOp channel : channels) {
    addAccesses(channel);
    if (failed(countArrivals(channel)))
      return failure();
  }
  return success();
}

FailureOr<ChannelSignalMap> ChannelSignalMap::get(gpu::GPUFuncOp kernel) {
  SignalFinder finder(kernel);
  if (failed(finder.run()))
    return failure();
  return std::move(finder.result);
}
