//===- MulticastCopies.cpp - Share copies in clusters ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of a cluster along a dimension load the same tile if its offsets do
// not depend on their position in that dimension. One TMA copy can then write
// to the shared memory of all of them. For example, in a cluster of 2 x 1
// blocks with the tile (x, y) of the output:
//
//   copy %A[y, k]   ; the same for both blocks: multicast along x
//   copy %B[k, x]   ; different
//
// A block may write to a peer's slot only after the peer has released it, so
// the blocks run in lockstep. That needs the same transactions in the same
// order in all of them: no branch that depends on the position, and bytes from
// the same peers in each transaction of a channel (`settle`).
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/ClusterPlaces.h"
#include "tilews/Dialect/Tile/Analysis/Memory/SlotAccesses.h"
#include "tilews/Dialect/Tile/Analysis/Memory/TmaCopy.h"
#include "tilews/Dialect/Tile/Analysis/Remarks.h"
#include "tilews/Dialect/Tile/IR/Cluster.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"

#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

namespace tilews::tile {
#define GEN_PASS_DEF_MULTICASTCOPIESPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

#define DEBUG_TYPE "tile-multicast-copies"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

ALWAYS_ENABLED_STATISTIC(numCopies, "Copies that are multicast");

namespace {
/// One dimension of the cluster, and what the analysis found out about it.
struct Dimension {
  Dimension(gpu::GPUFuncOp kernel, unsigned dim)
      : dims(ClusterDims(1u << dim)),
        places(kernel, static_cast<gpu::Dimension>(dim)) {}

  ClusterDims dims;
  ClusterPlaces places;
  /// A loop or guard around a transaction in which the blocks along this
  /// dimension may diverge. Null if there is none.
  Operation *divergence = nullptr;
};

/// Decides which copies of one kernel are multicast.
class Multicaster {
public:
  explicit Multicaster(gpu::GPUFuncOp kernel);

  /// Sets `multicast` of `copy`, or declines with a remark.
  void run(CopyOp copy);
  /// Declines all multicast copies of `channel` after all, unless each of its
  /// transactions receives bytes from the same peers.
  static void settle(ChannelOp channel);

  /// Prints what the analysis found out about each dimension.
  void print(raw_ostream &os) const;

private:
  static void decline(CopyOp copy, const Twine &reason,
                      Operation *divergence = nullptr);

  /// The dimensions in which the cluster has more than one block.
  std::vector<std::unique_ptr<Dimension>> dimensions;
  /// Whether the roles start once, in the body of the kernel.
  bool haveOneStart;
};
} // namespace

/// Blocks that fill each other's slots make progress together only if all of
/// their transactions come in the same order, those of other channels included.
/// Divergence around any transaction therefore rules out a dimension.
Multicaster::Multicaster(gpu::GPUFuncOp kernel) {
  unsigned starts = 0;
  kernel.walk([&](SpecializeOp) { ++starts; });
  haveOneStart =
      starts == 1 && !kernel.getBody().front().getOps<SpecializeOp>().empty();
  Cluster cluster = Cluster::get(kernel);
  for (unsigned dim = 0; dim < 3; ++dim) {
    if (cluster.extents[dim] == 1)
      continue;
    dimensions.push_back(std::make_unique<Dimension>(kernel, dim));
    Dimension &last = *dimensions.back();
    kernel.walk([&](Operation *op) {
      if (!last.divergence &&
          isa<AcquireOp, CommitOp, WaitOp, ReleaseOp, CopyOp>(op) &&
          op->getParentOfType<RoleOp>())
        last.divergence = last.places.getDivergence(op);
    });
  }
}

void Multicaster::decline(CopyOp copy, const Twine &reason,
                          Operation *divergence) {
  LDBG() << "copy at " << copy.getLoc() << " is not multicast: " << reason;
  InFlightDiagnostic remark = remarkAt(
      copy,
      "tile-cluster-0002: copy is not multicast, each block of the cluster "
      "fetches its tile: ");
  remark << reason;
  if (divergence)
    remark.attachNote(divergence->getLoc()) << "here";
}

void Multicaster::run(CopyOp copy) {
  if (!getCompletedChannel(copy))
    return decline(copy, "the copy fills no slot of a channel");
  // If roles start several times, a copy of one run may arrive in a block that
  // is still in the run before.
  if (!haveOneStart)
    return decline(copy, "the roles of the kernel do not run just once");
  std::optional<ClusterDims> found;
  Operation *divergence = nullptr;
  for (auto &dimension : dimensions) {
    auto isSameInAll = [&](Value value) {
      return dimension->places.isSame(value);
    };
    bool isSame = llvm::all_of(copy.getSourceOffsets(), isSameInAll) &&
                  (!copy.getLimit() || isSameInAll(copy.getLimit()));
    if (!isSame)
      continue;
    if (dimension->divergence)
      divergence = dimension->divergence;
    else
      found = found ? *found | dimension->dims : dimension->dims;
  }
  if (!found && divergence)
    return decline(copy,
                   "the blocks may diverge where they would have to wait for "
                   "each other",
                   divergence);
  if (!found)
    return decline(copy, "the tile is not known to be the same in any of its "
                         "blocks");
  copy.setMulticast(found);
  llvm::Expected<TmaCopy> tma = getTmaCopy(copy);
  if (tma) {
    LDBG() << "copy at " << copy.getLoc() << " is multicast along "
           << stringifyClusterDims(*found);
    return;
  }
  copy.removeMulticastAttr();
  decline(copy, llvm::toString(tma.takeError()));
}

/// Returns the copies of the transaction that `commit` ends.
static SmallVector<CopyOp> getCopies(CommitOp commit) {
  ValueRange buffers =
      commit.getChannel().getDefiningOp<ChannelOp>().getBuffers();
  SmallVector<CopyOp> copies;
  for (Operation *op = commit->getPrevNode(); op; op = op->getPrevNode()) {
    auto copy = dyn_cast<CopyOp>(op);
    SlotOp slot = copy ? getViewedSlot(copy.getDest()) : SlotOp();
    if (slot && slot.getCursor() == commit.getCursor() &&
        llvm::is_contained(buffers, slot.getSource()))
      copies.push_back(copy);
  }
  return copies;
}

/// A block sees by the bytes of a transaction that its peers have started the
/// transaction too. Only then may it release the slot to them. Each transaction
/// must therefore have bytes from all peers to which its slot is released.
void Multicaster::settle(ChannelOp channel) {
  Cluster cluster = Cluster::get(channel);
  auto getPeers = [&](CopyOp copy) -> uint32_t {
    std::optional<ClusterDims> dims = copy.getMulticast();
    return dims ? cluster.getPeers(*dims, /*rank=*/0) : 0;
  };
  SmallVector<CopyOp> copies;
  channel->getParentOfType<gpu::GPUFuncOp>().walk([&](CopyOp copy) {
    SlotOp slot = getPeers(copy) ? getViewedSlot(copy.getDest()) : SlotOp();
    if (slot && llvm::is_contained(channel.getBuffers(), slot.getSource()))
      copies.push_back(copy);
  });
  uint32_t all = 0;
  for (CopyOp copy : copies)
    all |= getPeers(copy);
  bool isSettled = true;
  for (Operation *user : channel.getChannel().getUsers()) {
    auto commit = dyn_cast<CommitOp>(user);
    if (!commit)
      continue;
    uint32_t peers = 0;
    for (CopyOp copy : getCopies(commit))
      peers |= getPeers(copy);
    isSettled &= peers == all;
  }
  if (isSettled)
    return;
  for (CopyOp copy : copies) {
    copy.removeMulticastAttr();
    decline(copy, "other transactions of its channel are each block's own");
  }
}

void Multicaster::print(raw_ostream &os) const {
  for (const auto &dimension : dimensions) {
    os << "blocks along " << stringifyClusterDims(dimension->dims) << ":\n";
    dimension->places.print(os);
  }
}

void tile::multicastCopies(gpu::GPUFuncOp kernel) {
  FailureOr<TargetInfo> target = TargetInfo::get(kernel.getOperation());
  if (Cluster::get(kernel).size() == 1 || failed(target) || !target->hasTma())
    return;
  Multicaster multicaster(kernel);
  kernel.walk([&](CopyOp copy) {
    if (isTma(copy) && isShared(copy.getDest()) && !copy.getSignal() &&
        !copy.getMulticast())
      multicaster.run(copy);
  });
  LDBG_OS([&](raw_ostream &os) { multicaster.print(os); });
  kernel.walk([](ChannelOp channel) { Multicaster::settle(channel); });
  kernel.walk(
      [](CopyOp copy) { numCopies += copy.getMulticast().has_value(); });
}

namespace {
struct MulticastCopiesPass
    : tile::impl::MulticastCopiesPassBase<MulticastCopiesPass> {
  void runOnOperation() override {
    getOperation()->walk(
        [](gpu::GPUFuncOp kernel) { multicastCopies(kernel); });
  }
};
} // namespace
