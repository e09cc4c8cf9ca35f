//===- ChannelSignals.cpp - Arrivals and fences of channels ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three passes over a kernel. The first lists its channels and TMA loads, and
// the roles that one thread can execute. The second finds the transaction of
// each TMA load, and the commit that announces its bytes. The third walks from
// each channel to the uses of its slots. Reads and writes, by threads or by the
// asynchronous proxy, decide the fences. The roles that commit and release, and
// the threads in them that arrive, decide the counts of the barriers.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Roles/ChannelSignals.h"

#include "tilews/Dialect/Tile/Analysis/BriefPrinter.h"
#include "tilews/Dialect/Tile/Analysis/Divisibility.h"
#include "tilews/Dialect/Tile/Analysis/Memory/SlotAccesses.h"
#include "tilews/Dialect/Tile/Analysis/Memory/TmaCopy.h"
#include "tilews/Dialect/Tile/IR/Cluster.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

namespace {
/// Finds the signals of all channels of a kernel.
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
  void addAccess(ChannelOp channel, const SlotUse &use);
  LogicalResult countArrivals(ChannelOp channel);

  gpu::GPUFuncOp kernel;
  Divisibility divisibility;
  /// The channel that hands on each buffer.
  llvm::DenseMap<Value, ChannelOp> channelOf;
  /// Buffers that TMA copies, and threads, of a producer write.
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
  // Without roles a channel has no barriers in shared memory.
  if (!result.hasRoles) {
    if (channel.getProducer() == ProducerKind::Tma)
      return channel.emitOpError("is filled by TMA, which only a role can wait "
                                 "for");
    return success();
  }
  if (channel->getParentOp() != kernel)
    return channel.emitOpError(
        "stands in a region; its barriers are made once, "
        "at the start of the kernel");
  for (Value buffer : channel.getBuffers())
    if (!channelOf.insert({buffer, channel}).second)
      return channel.emitOpError("hands on a buffer that belongs to another "
                                 "channel");
  return success();
}

/// Finds the transaction that a TMA load is part of, and the commit that
/// announces its bytes: the next one of the transaction in the same block. A
/// copy under a guard that does not contain the commit announces its own bytes.
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

/// Returns whether a cp.async copy needs no ordinary stores, because all of its
/// vectors have the 4 bytes that cp.async moves at least.
static bool isPureCpAsync(CopyOp copy, Divisibility &divisibility) {
  auto dest = cast<MemRefType>(copy.getDest().getType());
  int64_t bits = getStorageBits(dest.getElementType());
  int64_t vector = std::min(getCopyVectorElements(copy, divisibility),
                            getSharedLayout(dest).getContiguity(bits));
  SmallVector<int64_t> sizes = copy.getSourceRegion().getSqueezedSizes();
  return vector * bits >= 32 && !sizes.empty() && sizes.back() % vector == 0;
}

/// Records what an operation does to a slot of `channel`.
void SignalFinder::addAccess(ChannelOp channel, const SlotUse &use) {
  ChannelSignals &signals = result.channels[channel];
  Operation *op = use.operand->getOwner();
  auto access = dyn_cast<AccessOpInterface>(op);
  SmallVector<AccessRegion> regions;
  if (access)
    access.getAccessRegions(regions);
  bool reads = !access, writes = isa<memref::StoreOp>(op);
  for (const AccessRegion &region : regions) {
    if (region.buffer->get() != use.operand->get())
      continue;
    reads |= region.reads();
    writes |= region.writes();
  }
  if (reads)
    (isByAsyncProxy(*use.operand) ? signals.hasAsyncReaders
                                  : signals.hasGenericReaders) = true;
  if (!writes)
    return;
  bool isProducer =
      llvm::any_of(channel.getChannel().getUsers(), [&](Operation *user) {
        return isa<CommitOp>(user) && getRole(user) == getRole(op);
      });
  if (isProducer)
    (isTma(op) ? writtenByTma : writtenByThreads).insert(use.buffer);
  if (!isProducer)
    signals.isWrittenByConsumers = true;
  else if (isTma(op))
    signals.byTma = true;
  else if (hasInst(op, InstKind::CpAsync)) {
    signals.byCpAsync = true;
    signals.byStores |= !isPureCpAsync(cast<CopyOp>(op), divisibility);
  } else
    signals.byStores = true;
}

void SignalFinder::addAccesses(ChannelOp channel) {
  for (const SlotUse &use : getSlotUses(channel))
    addAccess(channel, use);
  for (Value buffer : channel.getBuffers())
    result.channels[channel].isOverwrittenByTma |=
        writtenByTma.contains(buffer) && writtenByThreads.contains(buffer);
}

//===----------------------------------------------------------------------===//
// Arrivals
//===----------------------------------------------------------------------===//

/// Counts the arrivals that complete a phase. A TMA fill is announced once.
/// Other fills complete for each thread of the producer. Each warp of a
/// consumer releases a slot once.
LogicalResult SignalFinder::countArrivals(ChannelOp channel) {
  ChannelSignals &signals = result.channels[channel];
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
  if (!signals.byTma && !signals.byCpAsync)
    signals.byStores = true;
  for (RoleOp role : producers) {
    int64_t agents =
        result.electedRoles.contains(role) ? 1 : role.getNumThreads();
    signals.fullArrivals =
        signals.byTma + agents * signals.byCpAsync + agents * signals.byStores;
  }
  for (RoleOp role : consumers) {
    int64_t agents = result.electedRoles.contains(role) ? 1 : role.getWarps();
    if (!channel.getAlternating()) {
      signals.emptyArrivals += agents;
      continue;
    }
    // The consumers alternate, so that their counts must be equal.
    if (signals.emptyArrivals && signals.emptyArrivals != agents)
      return channel.emitOpError("is alternating, but role @")
             << role.getName() << " releases a slot by " << agents
             << " arrivals, and another role by " << signals.emptyArrivals;
    signals.emptyArrivals = agents;
  }
  // Blocks that fill each other's slots wait for the consumers of all of them.
  if (!signals.peers.empty())
    signals.emptyArrivals *= llvm::popcount(
        Cluster::get(kernel).getPeers(signals.peers, /*rank=*/0));
  signals.fullArrivals = std::max<int64_t>(signals.fullArrivals, 1);
  signals.emptyArrivals = std::max<int64_t>(signals.emptyArrivals, 1);
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

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

/// Prints the names whose flags are set, or "nothing".
static void printFlags(ArrayRef<std::pair<bool, StringRef>> flags,
                       raw_ostream &os) {
  SmallVector<StringRef> names;
  for (auto [flag, name] : flags)
    if (flag)
      names.push_back(name);
  if (names.empty())
    names.push_back("nothing");
  llvm::interleaveComma(names, os);
}

void ChannelSignalMap::print(raw_ostream &os) const {
  for (auto [channel, signals] : channels) {
    BriefPrinter printer(channel, os);
    printer << channel << "\n  filled by: ";
    printFlags({{signals.byTma, "tma"},
                {signals.byCpAsync, "cp_async"},
                {signals.byStores, "stores"}},
               os);
    os << "; read by: ";
    printFlags({{signals.hasAsyncReaders, "wgmma or tma"},
                {signals.hasGenericReaders, "threads"}},
               os);
    os << "; arrivals: full " << signals.fullArrivals << ", empty "
       << signals.emptyArrivals;
    os << (signals.isWrittenByConsumers ? "; consumers write" : "")
       << (signals.needsFence() ? "; needs fence" : "")
       << (signals.peers.empty() ? "" : "; peers fill it") << "\n";
  }
  for (auto [copy, part] : copies) {
    BriefPrinter printer(copy, os);
    printer << copy << "\n  " << part.bytes << " bytes for "
            << part.channel.getChannel() << ", announced by "
            << (part.expectsAlone ? "itself" : "its commit") << "\n";
  }
  for (RoleOp role : electedRoles)
    os << "role @" << RoleOp(role).getName() << " is elected\n";
}
