//===- SharedHazards.cpp - Hazards on the bytes of the arena --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/SharedHazards.h"

#include "tilews/Dialect/Tile/Analysis/Memory/Scratch.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

#include <limits>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// ArenaState
//===----------------------------------------------------------------------===//

bool ArenaAccess::conflictsWith(const ArenaAccess &other) const {
  if (!overlaps(other) || !(writes || other.writes) ||
      (channel && channel == other.channel))
    return false;
  // Atomic combinations of one kind commute, but for the exchange.
  return !atomic || atomic != other.atomic || *atomic == AtomicKind::Exchange;
}

static bool anyConflict(const std::set<ArenaAccess> &set,
                        const ArenaAccess &access) {
  return llvm::any_of(set, [&](const ArenaAccess &other) {
    return access.conflictsWith(other);
  });
}

bool ArenaState::conflictsWith(const ArenaAccess &access) const {
  return anyConflict(pending, access) || conflictsWithCopy(access) ||
         (access.proxy && isUnfenced(access, /*drained=*/true));
}

bool ArenaState::conflictsWithCopy(const ArenaAccess &access) const {
  return anyConflict(inFlight, access);
}

void ArenaState::add(const ArenaAccess &access) {
  if (access.scratch) {
    apply({});
    pending.insert({access.begin, access.end, /*reads=*/true});
    return;
  }
  (access.copies ? inFlight : pending).insert(access);
  if (access.writes)
    unfenced.insert(access);
}

void ArenaState::apply(BarrierKind kind) {
  pending.clear();
  if (kind.drainCopies)
    inFlight.clear();
  // A copy in flight has not been written, so the fence is not for it.
  if (kind.proxyFence)
    unfenced = inFlight;
}

void ArenaState::closeGroup(int64_t mostPending) {
  for (std::set<ArenaAccess> *set : {&inFlight, &unfenced}) {
    std::set<ArenaAccess> aged;
    for (ArenaAccess access : *set) {
      if (access.closedGroups)
        access.closedGroups =
            std::min(*access.closedGroups + 1, mostPending + 1);
      aged.insert(access);
    }
    *set = std::move(aged);
  }
}

void ArenaState::landGroups(int64_t pendingGroups) {
  for (auto it = inFlight.begin(); it != inFlight.end();)
    it = it->closedGroups.value_or(0) > pendingGroups ? inFlight.erase(it)
                                                      : std::next(it);
}

void ArenaState::finishProducts() {
  for (auto it = inFlight.begin(); it != inFlight.end();) {
    if (!it->product) {
      ++it;
      continue;
    }
    ArenaAccess done = *it;
    done.copies = done.product = false;
    pending.insert(done);
    it = inFlight.erase(it);
  }
}

void ArenaState::settle(Operation *root) {
  for (std::set<ArenaAccess> *set : {&pending, &inFlight, &unfenced})
    for (auto it = set->begin(); it != set->end();)
      it = it->root == root ? set->erase(it) : std::next(it);
}

bool ArenaState::join(const ArenaState &other) {
  auto insert = [](std::set<ArenaAccess> &to,
                   const std::set<ArenaAccess> &from) {
    size_t before = to.size();
    to.insert(from.begin(), from.end());
    return to.size() != before;
  };
  bool changed = insert(pending, other.pending);
  changed |= insert(inFlight, other.inFlight);
  changed |= insert(unfenced, other.unfenced);
  return changed;
}

bool ArenaState::isUnfenced(const ArenaAccess &proxy, bool drained) const {
  return llvm::any_of(unfenced, [&](const ArenaAccess &write) {
    // What else writes to the slots that TMA fills is its channel's business.
    bool sameBuffer = write.root == proxy.root;
    bool matters = !write.root || !proxy.root || sameBuffer == proxy.reads;
    bool sameChannel = write.channel && write.channel == proxy.channel;
    return matters && !sameChannel && write.overlaps(proxy) &&
           (drained || !inFlight.count(write));
  });
}

//===----------------------------------------------------------------------===//
// Bytes of an access
//===----------------------------------------------------------------------===//

static bool isAsyncProduct(Operation *op) {
  auto gemm = dyn_cast<MatmulOpInterface>(op);
  return gemm && gemm.getAsync();
}

/// Whether what `op` does to shared memory ends when its thread drains what it
/// has started: the writes of cp.async, the reads of a store by TMA and of an
/// asynchronous product. A load by TMA ends with a transaction of its channel.
static bool isInFlight(Operation *op) {
  if (isAsyncProduct(op))
    return true;
  auto copy = dyn_cast<CopyOp>(op);
  return copy && (hasInst(op, InstKind::CpAsync) ||
                  (hasInst(op, InstKind::Tma) && isShared(copy.getSource())));
}

/// Extends [begin, end) from dimension `dim` of a buffer: elements from offset
/// `first`, `size` of them.
static void addDim(ArrayRef<Mode> modes, int64_t first, int64_t size,
                   int64_t &begin, int64_t &end) {
  int64_t extent = 1, reach = 0;
  for (const Mode &mode : modes) {
    extent *= mode.extent;
    reach += (mode.extent - 1) * mode.stride;
  }
  // Over several modes the offset does not grow with the coordinate.
  if (modes.size() != 1) {
    end += reach;
    return;
  }
  int64_t last = std::min(first + size, extent) - 1;
  begin += std::max<int64_t>(first, 0) * modes.front().stride;
  end += last * modes.front().stride;
}

/// Sets the bytes within the buffer that `region` lies between. Returns false
/// if the region is not known here.
static bool setRegionBytes(MemRefType type, const TileRegion &region,
                           ArenaAccess &access) {
  SharedLayout layout = getSharedLayout(type);
  int64_t begin = 0, last = 0;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    std::optional<int64_t> offset = getConstantIntValue(region.offsets[dim]);
    if (!offset || *offset >= type.getDimSize(dim) ||
        region.sizes[dim] <= -*offset)
      return false;
    addDim(layout.getModes(dim), *offset, region.sizes[dim], begin, last);
  }
  int64_t bits = getStorageBits(type.getElementType());
  // A swizzle permutes the bytes of an atom.
  int64_t atom = layout.getSwizzle().getAtomBytes();
  access.begin = llvm::alignDown(begin * bits / 8, atom);
  access.end = llvm::alignTo(llvm::divideCeil((last + 1) * bits, 8), atom);
  return true;
}

static FailureOr<int64_t> getOffset(Operation *op) {
  if (auto offset = op->getAttrOfType<IntegerAttr>(TileDialect::kOffset))
    return offset.getInt();
  return op->emitOpError("has no 'tile.offset'; run "
                         "--tile-plan-shared-memory first");
}

/// The bytes of `root` that an access through it may touch.
static FailureOr<ArenaAccess> getBytes(AllocSharedOp root,
                                       const SharedAccess &access) {
  FailureOr<int64_t> offset = getOffset(root);
  if (failed(offset))
    return failure();
  MemRefType type = root.getBuffer().getType();
  ArenaAccess bytes = {0, getBufferBytes(type)};
  // Behind a view the region counts in other coordinates.
  if (access.region && access.operand->get() == root.getBuffer())
    (void)setRegionBytes(type, *access.region, bytes);
  bytes.begin += *offset;
  bytes.end += *offset;
  bytes.root = root;
  return bytes;
}

/// A channel's releases and acquires access a byte of its own: what releases
/// have read an acquire lets others overwrite.
static constexpr int64_t kChannelBegin = int64_t(1) << 39;

/// Global buffers stand past the end of any arena: one byte for each of the
/// kernel's arguments, which do not overlap unless they are only read.
static constexpr int64_t kGlobalBegin = int64_t(1) << 40;

static ArenaAccess getGlobalBytes(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  auto argument = dyn_cast<BlockArgument>(buffer);
  if (!argument ||
      !isa<FunctionOpInterface>(argument.getOwner()->getParentOp()))
    return {kGlobalBegin, std::numeric_limits<int64_t>::max()};
  int64_t begin = kGlobalBegin + argument.getArgNumber();
  return {begin, begin + 1};
}

//===----------------------------------------------------------------------===//
// ArenaAccesses
//===----------------------------------------------------------------------===//

/// The channel whose slot `buffer` is or is a view of; null if it is none.
ChannelOp ArenaAccesses::getChannel(Value buffer) const {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>()) {
    buffer = view.getViewSource();
    if (isa<SlotOp>(view))
      return channels.lookup(buffer);
  }
  return {};
}

bool ArenaAccesses::isReadByProxy(Operation *channel) const {
  return llvm::any_of(proxyReads, [&](const ArenaAccess &read) {
    return read.channel == channel;
  });
}

LogicalResult ArenaAccesses::add(Operation *op, const SharedBuffers &buffers,
                                 const TargetInfo &target) {
  SmallVector<ArenaAccess, 2> &own = accesses[op];
  if (int64_t bytes = getScratchBytes(op, target)) {
    FailureOr<int64_t> offset = getOffset(op);
    if (failed(offset))
      return failure();
    ArenaAccess scratch = {*offset, *offset + bytes};
    scratch.writes = scratch.scratch = true;
    own.push_back(scratch);
  }
  bool release = isa<ReleaseOp>(op);
  if ((release || isa<AcquireOp>(op)) && !op->getParentOfType<RoleOp>())
    if (auto channel = op->getOperand(0).getDefiningOp<ChannelOp>()) {
      int64_t number = channelNumbers.lookup(channel);
      ArenaAccess handover = {kChannelBegin + number,
                              kChannelBegin + number + 1};
      (release ? handover.reads : handover.writes) = true;
      own.push_back(handover);
    }
  for (const SharedAccess &access : getSharedAccesses(op)) {
    ChannelOp channel = getChannel(access.operand->get());
    auto addBytes = [&](ArenaAccess bytes) {
      bytes.reads = access.reads();
      bytes.writes = access.writes();
      bytes.copies = isInFlight(op);
      if (isa<CopyOp>(op) && hasInst(op, InstKind::CpAsync))
        bytes.closedGroups = 0;
      bytes.product = isAsyncProduct(op);
      bytes.proxy = hasInst(op, InstKind::Tma) ||
                    (access.reads() && hasInst(op, InstKind::Wgmma));
      bytes.atomic = access.atomic;
      if (!op->getParentOfType<RoleOp>())
        bytes.channel = channel;
      own.push_back(bytes);
      if (bytes.proxy && access.reads())
        proxyReads.push_back(bytes);
    };
    const SharedBuffers::Roots &roots = buffers.getRoots(access.operand->get());
    // Memory of unknown origin may be any of it.
    if (roots.empty())
      addBytes({0, kGlobalBegin});
    for (AllocSharedOp root : roots) {
      FailureOr<ArenaAccess> bytes = getBytes(root, access);
      if (failed(bytes))
        return failure();
      addBytes(*bytes);
    }
  }
  for (const SharedAccess &access : getGlobalAccesses(op)) {
    ArenaAccess bytes = getGlobalBytes(access.operand->get());
    bytes.reads = access.reads();
    bytes.writes = access.writes();
    bytes.copies = isInFlight(op) && hasInst(op, InstKind::Tma);
    bytes.atomic = access.atomic;
    own.push_back(bytes);
  }
  return success();
}

/// In a role a slot is written after the channel has waited for its readers,
/// and read after it has waited for its writers.
static Value getOrderedChannel(Operation *op) {
  if (!op->getParentOfType<RoleOp>())
    return {};
  if (auto acquire = dyn_cast<AcquireOp>(op))
    return acquire.getChannel();
  if (auto wait = dyn_cast<WaitOp>(op))
    return wait.getChannel();
  return {};
}

FailureOr<ArenaAccesses> ArenaAccesses::get(gpu::GPUFuncOp kernel,
                                            const TargetInfo &target) {
  ArenaAccesses result;
  SharedBuffers buffers(kernel);
  kernel.walk([&](ChannelOp channel) {
    result.channelNumbers.insert({channel, result.channelNumbers.size()});
    for (Value buffer : channel.getBuffers())
      result.channels[buffer] = channel;
  });
  WalkResult walked = kernel.walk([&](Operation *op) {
    for (mlir::Region &region : op->getRegions())
      if (!region.empty() && !region.hasOneBlock()) {
        op->emitOpError("has a region of ")
            << region.getBlocks().size()
            << " blocks, expected structured control flow (scf)";
        return WalkResult::interrupt();
      }
    if (op == kernel)
      return WalkResult::advance();
    if (Value value = getOrderedChannel(op))
      if (auto channel = value.getDefiningOp<ChannelOp>())
        for (Value buffer : channel.getBuffers())
          for (AllocSharedOp root : buffers.getRoots(buffer))
            result.settled[op].push_back(root);
    return WalkResult(result.add(op, buffers, target));
  });
  if (walked.wasInterrupted())
    return failure();
  return result;
}

ArrayRef<ArenaAccess> ArenaAccesses::get(Operation *op) const {
  auto it = accesses.find(op);
  return it == accesses.end() ? ArrayRef<ArenaAccess>() : it->second;
}

ArrayRef<Operation *> ArenaAccesses::getSettled(Operation *op) const {
  auto it = settled.find(op);
  return it == settled.end() ? ArrayRef<Operation *>() : it->second;
}

bool ArenaAccesses::needsProxyFence(const ArenaState &state,
                                    bool drained) const {
  return llvm::any_of(proxyReads, [&](const ArenaAccess &read) {
    return state.isUnfenced(read, drained);
  });
}
