//===- AsyncPlan.cpp - Who signals what in a kernel -----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncPlan.h"

#include "tilews/Dialect/Tile/Analysis/Divisibility.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

namespace {
class Planner {
public:
  Planner(gpu::GPUFuncOp kernel, LoweringContext &lowering)
      : kernel(kernel), lowering(lowering) {}

  LogicalResult run();

  std::shared_ptr<AsyncPlan> plan = std::make_shared<AsyncPlan>();

private:
  LogicalResult addChannel(ChannelOp channel);
  LogicalResult addCopy(CopyOp copy);
  LogicalResult addToTransaction(CopyOp copy, PlannedCopy &planned);
  void findElectedRoles();
  LogicalResult addAccesses(ChannelOp channel);
  void addAccess(ChannelOp channel, Value slot, Operation *op);
  LogicalResult countArrivals(ChannelOp channel);

  gpu::GPUFuncOp kernel;
  LoweringContext &lowering;
  Divisibility divisibility;
  /// The channel that a buffer's versions are handed through.
  llvm::DenseMap<Value, ChannelOp> channelOf;
};
} // namespace

static RoleOp getRole(Operation *op) { return op->getParentOfType<RoleOp>(); }

//===----------------------------------------------------------------------===//
// Roles that one thread can run
//===----------------------------------------------------------------------===//

void Planner::findElectedRoles() {
  kernel.walk([&](RoleOp role) {
    WalkResult result = role.getBody().walk([](Operation *op) {
      return runsOnOneThread(op) ? WalkResult::advance()
                                 : WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return;
    plan->electedRoles.insert(role);
    role.getBody().walk(
        [&](Operation *op) { lowering.roles[op].elected = true; });
  });
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

LogicalResult Planner::addChannel(ChannelOp channel) {
  if (channel->getParentOp() != kernel)
    return channel.emitOpError(
        "stands in a region; its barriers are made once, "
        "at the begin of the kernel");
  plan->channels[channel];
  for (Value buffer : channel.getBuffers())
    if (!channelOf.insert({buffer, channel}).second)
      return channel.emitOpError("hands on a buffer that belongs to another "
                                 "channel");
  return success();
}

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

static bool hasInst(Operation *op, InstKind kind) {
  auto inst = op->getAttrOfType<InstKindAttr>(TileDialect::kInst);
  return inst && inst.getValue() == kind;
}

/// Notes what `op` does to a slot of `channel`.
void Planner::addAccess(ChannelOp channel, Value slot, Operation *op) {
  PlannedChannel &planned = plan->channels[channel];
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
    (isAsync ? planned.hasAsyncReaders : planned.hasGenericReaders) = true;
  if (!writes)
    return;
  bool isProducer =
      llvm::any_of(channel.getChannel().getUsers(), [&](Operation *user) {
        return isa<CommitOp>(user) && getRole(user) == getRole(op);
      });
  if (!isProducer)
    planned.isWrittenByConsumers = true;
  else if (isTma(op))
    planned.byTma = true;
  else if (hasInst(op, InstKind::CpAsync)) {
    planned.byCpAsync = true;
    planned.byStores |= !isPureCpAsync(cast<CopyOp>(op), divisibility);
  } else
    planned.byStores = true;
}

LogicalResult Planner::addAccesses(ChannelOp channel) {
  SmallVector<Value> slots;
  for (Value buffer : channel.getBuffers())
    for (Operation *user : buffer.getUsers())
      if (auto slot = dyn_cast<SlotOp>(user))
        slots.push_back(slot.getResult());
  for (size_t i = 0; i < slots.size(); ++i)
    for (Operation *user : slots[i].getUsers()) {
      if (auto view = dyn_cast<ViewOp>(user))
        slots.push_back(view.getResult());
      else
        addAccess(channel, slots[i], user);
    }
  return success();
}

/// A TMA fill is announced once. Other kinds of fill complete for each thread
/// of the producer; each warp of a consumer releases a slot once.
LogicalResult Planner::countArrivals(ChannelOp channel) {
  PlannedChannel &planned = plan->channels[channel];
  llvm::SmallSetVector<Operation *, 2> producers, consumers;
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
  if (!planned.byTma && !planned.byCpAsync)
    planned.byStores = true;
  for (Operation *role : producers) {
    int64_t agents = plan->electedRoles.contains(role)
                         ? 1
                         : cast<RoleOp>(role).getNumThreads();
    planned.fullArrivals =
        planned.byTma + agents * planned.byCpAsync + agents * planned.byStores;
  }
  for (Operation *role : consumers)
    planned.emptyArrivals +=
        plan->electedRoles.contains(role) ? 1 : cast<RoleOp>(role).getWarps();
  planned.fullArrivals = std::max<int64_t>(planned.fullArrivals, 1);
  planned.emptyArrivals = std::max<int64_t>(planned.emptyArrivals, 1);
  return success();
}

//===----------------------------------------------------------------------===//
// TMA copies
//===----------------------------------------------------------------------===//

/// Finds the transaction that a load is part of, and the commit that counts its
/// bytes: the next one of the transaction, if it runs whenever the copy does.
LogicalResult Planner::addToTransaction(CopyOp copy, PlannedCopy &planned) {
  auto slot = copy.getDest().getDefiningOp<SlotOp>();
  ChannelOp channel = slot ? channelOf.lookup(slot.getSource()) : ChannelOp();
  if (!channel || !getRole(copy))
    return copy.emitOpError("by TMA completes through a channel: expected as "
                            "destination the tile.slot of a channel's buffer, "
                            "in a role");
  planned.channel = channel.getChannel();
  planned.cursor = slot.getCursor();
  planned.expectsAlone = true;
  for (Operation *next = copy->getNextNode(); next;
       next = next->getNextNode()) {
    auto commit = dyn_cast<CommitOp>(next);
    if (!commit || commit.getChannel() != planned.channel ||
        commit.getCursor() != planned.cursor)
      continue;
    planned.expectsAlone = false;
    plan->committedBytes[commit] += planned.copy.bytes;
    break;
  }
  return success();
}

LogicalResult Planner::addCopy(CopyOp copy) {
  llvm::Expected<TmaCopy> found = getTmaCopy(copy);
  if (!found)
    return copy.emitOpError("cannot be done by TMA: ")
           << llvm::toString(found.takeError());
  PlannedCopy planned;
  planned.copy = std::move(*found);
  SmallVector<TensorMap> &tensorMaps = lowering.tensorMaps;
  auto known = llvm::find(tensorMaps, planned.copy.map);
  planned.map = known - tensorMaps.begin();
  if (known == tensorMaps.end())
    tensorMaps.push_back(planned.copy.map);
  if (planned.copy.isStore)
    plan->storesByTma = true;
  else if (failed(addToTransaction(copy, planned)))
    return failure();
  plan->copies[copy] = std::move(planned);
  return success();
}

LogicalResult Planner::run() {
  SmallVector<ChannelOp> channels;
  SmallVector<CopyOp> copies;
  bool hasRoles = false;
  kernel.walk([&](Operation *op) {
    hasRoles |= isa<SpecializeOp>(op);
    if (auto channel = dyn_cast<ChannelOp>(op))
      channels.push_back(channel);
    if (auto copy = dyn_cast<CopyOp>(op); copy && isTma(copy))
      copies.push_back(copy);
    plan->copiesByCpAsync |= hasInst(op, InstKind::CpAsync);
    if (auto gemm = dyn_cast<MatmulOpInterface>(op))
      plan->hasAsyncProducts |= gemm.getAsync() && hasInst(op, InstKind::Wgmma);
  });
  // Without roles a channel is no matter of barriers in memory.
  if (!hasRoles)
    channels.clear();
  findElectedRoles();
  for (ChannelOp channel : channels)
    if (failed(addChannel(channel)))
      return failure();
  for (CopyOp copy : copies)
    if (failed(addCopy(copy)))
      return failure();
  for (ChannelOp channel : channels)
    if (failed(addAccesses(channel)) || failed(countArrivals(channel)))
      return failure();
  return success();
}

FailureOr<std::shared_ptr<const AsyncPlan>>
tilews::planAsync(gpu::GPUFuncOp kernel, LoweringContext &lowering) {
  Planner planner(kernel, lowering);
  if (failed(planner.run()))
    return failure();
  return std::shared_ptr<const AsyncPlan>(std::move(planner.plan));
}
