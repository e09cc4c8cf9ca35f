//===- ArenaAccesses.cpp - Accesses to planned shared memory --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One walk collects the accesses of each operation: its scratch memory, the
// handover of a channel, and the operands that it reads or writes. An operand
// that may be several allocations accesses the bytes of each. A region at
// constant offsets accesses the bytes between its first and its last element,
// rounded to the atoms that a swizzle permutes; other accesses touch the whole
// buffer. A region whose offset grows with a loop by at least its size is
// marked as one with other bytes in each iteration. Where offsets are constant,
// an access also has the elements of a dimension: the bytes of rows 0 to 15 and
// of rows 16 to 31 alternate in a buffer of two panels. At the end, accesses to
// bytes that wgmma or TMA may access as well are marked: only they ever need a
// proxy fence.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/ArenaAccesses.h"

#include "tilews/Dialect/Tile/Analysis/Memory/ArgumentAliases.h"
#include "tilews/Dialect/Tile/Analysis/Memory/IterationRegions.h"
#include "tilews/Dialect/Tile/Analysis/Memory/Scratch.h"
#include "tilews/Dialect/Tile/Analysis/Memory/SlotAccesses.h"
#include "tilews/Dialect/Tile/Analysis/Memory/TmaCopy.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/AsmState.h"
#include "llvm/Support/DebugLog.h"

#include <limits>

#define DEBUG_TYPE "tile-arena-accesses"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// Bytes of an access
//===----------------------------------------------------------------------===//

static bool isAsyncMatmul(Operation *op) {
  auto matmul = dyn_cast<MatmulOpInterface>(op);
  return matmul && matmul.getAsync();
}

/// Whether the accesses of `op` complete when its thread drains its copies: the
/// reads and writes of cp.async and of a store by TMA, the reads of an
/// asynchronous matmul. A load by TMA completes a transaction of its
/// channel instead.
static bool isAsync(Operation *op) {
  if (isAsyncMatmul(op))
    return true;
  auto copy = dyn_cast<CopyOp>(op);
  return copy && (hasInst(op, InstKind::CpAsync) ||
                  (hasInst(op, InstKind::Tma) && isShared(copy.getSource())));
}

/// Returns whether `operand` has the indices of a copy's rows. Threads read
/// them before they start the copy.
static bool hasRowsOf(Operation *op, const OpOperand *operand) {
  auto copy = dyn_cast<CopyOp>(op);
  return copy && copy.getRows() && operand == &copy.getRowsMutable()[0];
}

static void setAsync(Operation *op, const OpOperand *operand,
                     ArenaAccess &access) {
  if (hasRowsOf(op, operand))
    return;
  access.async = isAsync(op);
  if (isa<CopyOp>(op) && hasInst(op, InstKind::CpAsync))
    access.closedGroups = 0;
}

/// Adds to the offsets of a region's first and last element what one dimension
/// contributes: elements `first` to `first + size - 1` of `modes`. A row-major
/// 8x64 buffer has the modes (8:64) and (64:1): rows 4 to 7 add 256 and 448.
static void addDim(ArrayRef<Mode> modes, int64_t first, int64_t size,
                   int64_t &begin, int64_t &last) {
  int64_t extent = 1, reach = 0;
  for (const Mode &mode : modes) {
    extent *= mode.extent;
    reach += (mode.extent - 1) * mode.stride;
  }
  // With several modes a larger coordinate may have a smaller offset.
  if (modes.size() != 1) {
    last += reach;
    return;
  }
  int64_t end = std::min(first + size, extent);
  begin += std::max<int64_t>(first, 0) * modes.front().stride;
  last += (end - 1) * modes.front().stride;
}

/// Narrows `access` to the bytes of the buffer that `region` lies between, if
/// the region has constant offsets.
static void setRegionBytes(MemRefType type, const TileRegion &region,
                           ArenaAccess &access) {
  SharedLayout layout = getSharedLayout(type);
  int64_t begin = 0, last = 0;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    std::optional<int64_t> offset = getConstantIntValue(region.offsets[dim]);
    if (!offset || *offset >= type.getDimSize(dim) ||
        region.sizes[dim] <= -*offset)
      return;
    addDim(layout.getModes(dim), *offset, region.sizes[dim], begin, last);
  }
  int64_t bits = getStorageBits(type.getElementType());
  // A swizzle permutes the bytes of an atom.
  int64_t atom = layout.getSwizzle().getAtomBytes();
  access.begin = llvm::alignDown(begin * bits / 8, atom);
  access.end = llvm::alignTo(llvm::divideCeil((last + 1) * bits, 8), atom);
}

/// Sets the loop in whose iterations an access through `root` itself is to
/// different elements.
static void setLoop(Operation *op, AllocSharedOp root,
                    const SharedAccess &access, ArenaAccess &bytes) {
  if (!access.region || access.operand->get() != root.getBuffer())
    return;
  if (auto moving = getIterationRegion(*access.region, op)) {
    bytes.loop = moving->loop;
    bytes.moving = {moving->offset.getAsOpaquePointer(), moving->dim};
  }
}

/// Returns a dimension of `root`, or of a version of it, of which `access` has
/// only a part, at a constant offset.
static std::optional<ElementRange> getElements(AllocSharedOp root,
                                               const SharedAccess &access) {
  Value buffer = access.operand->get();
  auto slot = buffer.getDefiningOp<SlotOp>();
  bool ofVersion = slot && slot.getSource() == root.getBuffer();
  if (!access.region || !(ofVersion || buffer == root.getBuffer()))
    return std::nullopt;
  auto type = cast<MemRefType>(buffer.getType());
  for (auto [dim, offset, size] :
       llvm::enumerate(access.region->offsets, access.region->sizes)) {
    std::optional<int64_t> begin = getConstantIntValue(offset);
    if (begin && size < type.getDimSize(dim))
      return ElementRange{ofVersion, unsigned(dim), *begin, *begin + size};
  }
  return std::nullopt;
}

static FailureOr<int64_t> getOffset(Operation *op) {
  if (auto offset = op->getAttrOfType<IntegerAttr>(TileDialect::kOffset))
    return offset.getInt();
  return op->emitOpError("has no 'tile.offset'; run "
                         "--tile-plan-shared-memory first");
}

static ArenaAccess getRange(ArenaSpace space, int64_t begin, int64_t end) {
  ArenaAccess range;
  range.space = space;
  range.begin = begin;
  range.end = end;
  return range;
}

ArenaAccess tile::getArenaBytes(AllocSharedOp root, int64_t offset,
                                const SharedAccess &access) {
  MemRefType type = root.getBuffer().getType();
  ArenaAccess bytes = getRange(ArenaSpace::Arena, 0, getBufferBytes(type));
  // The region of a view is in the view's coordinates.
  if (access.region && access.operand->get() == root.getBuffer())
    setRegionBytes(type, *access.region, bytes);
  bytes.begin += offset;
  bytes.end += offset;
  bytes.root = root;
  return bytes;
}

static ArenaAccess getUnknown(ArenaSpace space) {
  return getRange(space, 0, std::numeric_limits<int64_t>::max());
}

static ArenaAccess getGlobalRange(Value buffer) {
  BlockArgument argument = getKernelArgument(buffer);
  if (!argument)
    return getUnknown(ArenaSpace::Arguments);
  int64_t number = getAliasClass(argument);
  return getRange(ArenaSpace::Arguments, number, number + 1);
}

//===----------------------------------------------------------------------===//
// ArenaAccesses
//===----------------------------------------------------------------------===//

LogicalResult ArenaAccesses::addScratch(Operation *op,
                                        const TargetInfo &target) {
  int64_t bytes = getScratchBytes(op, target);
  if (bytes == 0)
    return success();
  FailureOr<int64_t> offset = getOffset(op);
  if (failed(offset))
    return failure();
  ArenaAccess scratch = getRange(ArenaSpace::Arena, *offset, *offset + bytes);
  scratch.writes = scratch.scratch = true;
  accesses[op].push_back(scratch);
  return success();
}

/// Adds the access of an acquire or a release to its channel's own address.
void ArenaAccesses::addHandover(Operation *op) {
  bool release = isa<ReleaseOp>(op);
  if (!(release || isa<AcquireOp>(op)) || op->getParentOfType<RoleOp>())
    return;
  auto channel = op->getOperand(0).getDefiningOp<ChannelOp>();
  if (!channel)
    return;
  int64_t number = channelNumbers.lookup(channel);
  ArenaAccess handover = getRange(ArenaSpace::Channels, number, number + 1);
  (release ? handover.reads : handover.writes) = true;
  accesses[op].push_back(handover);
}

LogicalResult ArenaAccesses::addShared(Operation *op,
                                       const SharedBuffers &buffers) {
  bool inRole = op->getParentOfType<RoleOp>() != nullptr;
  auto addBytes = [&](ArenaAccess bytes, const SharedAccess &access) {
    bytes.reads = access.reads();
    bytes.writes = access.writes();
    setAsync(op, access.operand, bytes);
    bytes.matmul = isAsyncMatmul(op);
    bytes.proxy = isByAsyncProxy(*access.operand);
    bytes.atomic = access.atomic;
    if (!inRole)
      bytes.channel = getSlotChannel(access.operand->get());
    if (bytes.proxy && bytes.reads)
      readByProxy.insert(bytes.channel);
    accesses[op].push_back(bytes);
  };
  for (const SharedAccess &access : getSharedAccesses(op)) {
    const SharedBuffers::Roots &roots = buffers.getRoots(access.operand->get());
    if (roots.empty())
      addBytes(getUnknown(ArenaSpace::Unknown), access);
    for (AllocSharedOp root : roots) {
      FailureOr<int64_t> offset = getOffset(root);
      if (failed(offset))
        return failure();
      ArenaAccess bytes = getArenaBytes(root, *offset, access);
      setLoop(op, root, access, bytes);
      bytes.elements = getElements(root, access);
      addBytes(bytes, access);
    }
  }
  return success();
}

/// Adds the accesses to global memory. One that acquires or releases counts as
/// a write of all global memory: a barrier comes between it and the accesses by
/// other threads of the block before and after.
void ArenaAccesses::addGlobal(Operation *op) {
  if (auto atomic = dyn_cast<AtomicOpInterface>(op);
      atomic && atomic.orders()) {
    ArenaAccess range = getUnknown(ArenaSpace::Arguments);
    range.reads = range.writes = true;
    accesses[op].push_back(range);
    return;
  }
  for (const SharedAccess &access : getGlobalAccesses(op)) {
    ArenaAccess range = getGlobalRange(access.operand->get());
    range.reads = access.reads();
    range.writes = access.writes();
    setAsync(op, access.operand, range);
    range.atomic = access.atomic;
    accesses[op].push_back(range);
  }
}

/// In a role, an acquire orders writes to a slot after the reads before it, and
/// a wait orders reads after the writes before it.
void ArenaAccesses::addSettled(Operation *op, const SharedBuffers &buffers) {
  if (!isa<AcquireOp, WaitOp>(op) || !op->getParentOfType<RoleOp>())
    return;
  auto channel = op->getOperand(0).getDefiningOp<ChannelOp>();
  if (!channel)
    return;
  for (Value buffer : channel.getBuffers())
    for (AllocSharedOp root : buffers.getRoots(buffer)) {
      // Nothing accesses a buffer without a place.
      auto offset = root->getAttrOfType<IntegerAttr>(TileDialect::kOffset);
      if (!offset)
        continue;
      int64_t begin = offset.getInt();
      ArenaAccess range =
          getRange(ArenaSpace::Arena, begin,
                   begin + getBufferBytes(root.getBuffer().getType()));
      range.root = root;
      settled[op].push_back(range);
    }
}

/// Marks the accesses that come before others through the proxy.
void ArenaAccesses::findFences() {
  ArenaAccessSet proxies, proxyReads;
  for (auto &[op, own] : accesses)
    for (const ArenaAccess &access : own)
      if (access.proxy) {
        proxies.insert(access);
        if (access.reads)
          proxyReads.insert(access);
      }
  for (auto &[op, own] : accesses)
    for (ArenaAccess &access : own) {
      auto needsFence = [&](const ArenaAccess &later) {
        return access.needsFenceBefore(later);
      };
      access.needsFence = proxies.anyOverlapping(access, needsFence);
      access.needsFenceToRead = proxyReads.anyOverlapping(access, needsFence);
    }
}

LogicalResult ArenaAccesses::add(Operation *op, const SharedBuffers &buffers,
                                 const TargetInfo &target) {
  addSettled(op, buffers);
  // Atomic accesses come before the barrier of their scratch memory, other
  // accesses after it.
  bool isAtomic = isa<AtomicOpInterface>(op);
  if (!isAtomic && failed(addScratch(op, target)))
    return failure();
  addHandover(op);
  if (failed(addShared(op, buffers)))
    return failure();
  addGlobal(op);
  return isAtomic ? addScratch(op, target) : success();
}

FailureOr<ArenaAccesses> ArenaAccesses::get(gpu::GPUFuncOp kernel,
                                            const TargetInfo &target) {
  ArenaAccesses result;
  SharedBuffers buffers(kernel);
  kernel.walk([&](ChannelOp channel) {
    result.channelNumbers.insert({channel, result.channelNumbers.size()});
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
    return WalkResult(result.add(op, buffers, target));
  });
  if (walked.wasInterrupted())
    return failure();
  result.findFences();
  for (auto &[op, own] : result.accesses)
    for (const ArenaAccess &access : own)
      if (access.loop)
        result.moving[access.loop].push_back(access);
  LDBG_OS([&](raw_ostream &os) { result.print(os); });
  return result;
}

ArrayRef<ArenaAccess> ArenaAccesses::get(Operation *op) const {
  auto it = accesses.find(op);
  return it == accesses.end() ? ArrayRef<ArenaAccess>() : it->second;
}

ArrayRef<ArenaAccess> ArenaAccesses::getSettled(Operation *op) const {
  auto it = settled.find(op);
  return it == settled.end() ? ArrayRef<ArenaAccess>() : it->second;
}

ArrayRef<ArenaAccess> ArenaAccesses::getMoving(Operation *loop) const {
  auto it = moving.find(loop);
  return it == moving.end() ? ArrayRef<ArenaAccess>() : it->second;
}

void ArenaAccesses::print(raw_ostream &os) const {
  if (accesses.empty())
    return;
  Operation *kernel = accesses.front().first->getParentOfType<gpu::GPUFuncOp>();
  AsmState names(kernel, OpPrintingFlags().skipRegions());
  for (const auto &[op, own] : accesses) {
    op->print(os, names);
    os << "\n";
    for (const ArenaAccess &access : own) {
      os << "  ";
      access.print(os);
      os << "\n";
    }
  }
}
