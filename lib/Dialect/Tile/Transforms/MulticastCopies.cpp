//===- MulticastCopies.cpp - Share copies in clusters ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/ClusterPlaces.h"
#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"
#include "tilews/Dialect/Tile/Analysis/Memory/TmaCopy.h"
#include "tilews/Dialect/Tile/IR/Cluster.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"

namespace tilews::tile {
#define GEN_PASS_DEF_MULTICASTCOPIESPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

namespace {
/// What is known of one dimension of the cluster.
struct Dimension {
  Dimension(gpu::GPUFuncOp kernel, unsigned dim)
      : dims(ClusterDims(1u << dim)),
        places(kernel, static_cast<gpu::Dimension>(dim)) {}

  ClusterDims dims;
  ClusterPlaces places;
  /// A loop or guard around a transaction in which blocks may part; null if
  /// there is none.
  Operation *divergence = nullptr;
};

class Multicaster {
public:
  explicit Multicaster(gpu::GPUFuncOp kernel);

  void run(CopyOp copy);
  /// Takes back what does not go for all transactions of `channel`.
  static void settle(ChannelOp channel);

private:
  static void decline(CopyOp copy, const Twine &reason,
                      Operation *divergence = nullptr);

  std::vector<std::unique_ptr<Dimension>> dimensions;
  /// Whether roles run once, in the body of the kernel.
  bool haveOneStart;
};
} // namespace

/// Blocks that fill each other's slots keep step only if all of their
/// transactions, also those of other channels, come in the same order.
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
  InFlightDiagnostic remark = copy.emitRemark(
      "tile-cluster-0002: copy is not multicast, each block of the cluster "
      "fetches its tile: ");
  remark << reason;
  if (divergence)
    remark.attachNote(divergence->getLoc()) << "here";
}

void Multicaster::run(CopyOp copy) {
  if (!getCompletedChannel(copy))
    return decline(copy, "it fills no slot of a channel");
  // What is copied in one run might come to a block that is still in another.
  if (!haveOneStart)
    return decline(copy, "the roles of the kernel do not run just once");
  std::optional<ClusterDims> found;
  Operation *divergence = nullptr;
  for (auto &dimension : dimensions) {
    bool isSame = llvm::all_of(copy.getSourceOffsets(), [&](Value offset) {
      return dimension->places.isSame(offset);
    });
    if (!isSame)
      continue;
    if (dimension->divergence)
      divergence = dimension->divergence;
    else
      found = found ? *found | dimension->dims : dimension->dims;
  }
  if (!found && divergence)
    return decline(copy,
                   "its blocks may go different ways where they would have to "
                   "wait for each other",
                   divergence);
  if (!found)
    return decline(copy, "the tile is not known to be the same in any of its "
                         "blocks");
  copy.setMulticast(*found);
  llvm::Expected<TmaCopy> tma = getTmaCopy(copy);
  if (tma)
    return;
  copy.removeMulticastAttr();
  decline(copy, llvm::toString(tma.takeError()));
}

/// The copies in the transaction that `commit` ends.
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

/// The bytes of a transaction are what tells a block that its peers have come
/// so far, and that it may release the slot to them: each transaction has some
/// from all who release to it.
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
    uint32_t own = 0;
    for (CopyOp copy : getCopies(commit))
      own |= getPeers(copy);
    isSettled &= own == all;
  }
  if (isSettled)
    return;
  for (CopyOp copy : copies) {
    copy.removeMulticastAttr();
    decline(copy, "other transactions of its channel are each block's own");
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
  kernel.walk([](ChannelOp channel) { Multicaster::settle(channel); });
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
