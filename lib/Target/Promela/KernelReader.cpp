//===- KernelReader.cpp - What a model has of a kernel --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the syntax of a kernel only: its threads, buffers, events, and the
// backward slice of the scalars that these depend on (Weiser, "Program
// slicing", 1981). The model is to be independent of the verifier, so nothing
// here is shared with it.
//
// Constant regions cut a buffer into parts. Accesses to rows 0 to 7 and to rows
// 8 to 15 of a buffer of 16 rows make two parts; one to all rows touches both.
//
//===----------------------------------------------------------------------===//

#include "KernelReader.h"

#include "tilews/Dialect/Tile/Analysis/Memory/Scratch.h"
#include "tilews/Dialect/Tile/Analysis/Memory/TmaCopy.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::promela;
using namespace tilews::tile;

/// More parts than these are one part.
static constexpr int64_t kMostParts = 8;

LogicalResult KernelReader::read() {
  if (failed(findForm()) || failed(findThreads()))
    return failure();
  if (failed(findBuffers()) || failed(findScratch()))
    return failure();
  findFences();
  if (failed(findEvents()))
    return failure();
  findInFlight();
  slice();
  return success();
}

//===----------------------------------------------------------------------===//
// Form and threads
//===----------------------------------------------------------------------===//

/// Returns why `op` has no model; empty if it has one.
static StringRef getObstacle(Operation *op) {
  auto copy = dyn_cast<CopyOp>(op);
  auto arrive = dyn_cast<MBarrierArriveOp>(op);
  auto ready = dyn_cast<MBarrierReadyOp>(op);
  auto wait = dyn_cast<MBarrierWaitOp>(op);
  if (isa<ClusterBarrierOp>(op) || (copy && copy.getMulticast()) ||
      (arrive && arrive.getPeers()) || (ready && ready.getCluster()) ||
      (wait && wait.getCluster()))
    return "the model has one block, and this is about other blocks of a "
           "cluster";
  if (isa<PersistentOp>(op))
    return "expected a kernel in which --tile-lower-persistent has replaced it";
  return {};
}

LogicalResult KernelReader::findForm() {
  bool hasBarriers = false, hasCopies = false;
  WalkResult result = kernel.walk([&](Operation *op) {
    StringRef obstacle = getObstacle(op);
    if (!obstacle.empty()) {
      op->emitError("is not exported to Promela: ") << obstacle;
      return WalkResult::interrupt();
    }
    withChannels |= isa<ChannelOp>(op);
    auto gemm = dyn_cast<MatmulOpInterface>(op);
    auto arrive = dyn_cast<MBarrierArriveOp>(op);
    withMatmuls |= gemm && gemm.getAsync();
    withLandings |= arrive && arrive.getBy() == Agents::Copies;
    withCopies |= isa<CopyOp>(op) && hasInst(op, InstKind::CpAsync);
    withStores |= isa<CopyOp>(op) && hasInst(op, InstKind::Tma) &&
                  isShared(cast<CopyOp>(op).getSource());
    hasBarriers |= isa<MBarrierOp, CopyGroupWaitOp>(op);
    if (auto barrier = dyn_cast<MBarrierOp>(op))
      numBarriers += barrier.getBarrier().getType().getDepth();
    hasCopies |= hasInst(op, InstKind::CpAsync) || hasInst(op, InstKind::Tma) ||
                 hasInst(op, InstKind::Wgmma);
    isPlanned |= isa<AllocSharedOp>(op) && op->hasAttr(TileDialect::kOffset);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  // Copies of roles fill the slots of channels, which are then waited for.
  bool hasRoles = !kernel.getBody().front().getOps<SpecializeOp>().empty();
  withCopies &= !(withChannels && hasRoles);
  withCopies |= withLandings;
  if (!withChannels && !hasBarriers && !withMatmuls &&
      !(isPlanned && hasCopies))
    return kernel.emitError("has no schedule that could be exported to "
                            "Promela: neither tile.channel nor tile.mbarrier, "
                            "and no asynchronous copies or matmuls");
  return success();
}

LogicalResult KernelReader::findThreads() {
  if (!llvm::hasSingleElement(kernel.getBody()))
    return kernel.emitError("is not exported to Promela: its control flow is "
                            "not structured");
  SmallVector<SpecializeOp> specialized;
  kernel.walk([&](SpecializeOp op) { specialized.push_back(op); });
  if (specialized.size() > 1 ||
      (specialized.size() == 1 && specialized[0]->getParentOp() != kernel))
    return specialized.back().emitError(
        "is not exported to Promela: expected one tile.specialize, in the body "
        "of the kernel");
  // Threads of a role are in program order until barriers have been inserted.
  bool isInOrder = withChannels && (!isPlanned || !specialized.empty());
  threads.push_back({kernel, &kernel.getBody().front(), "kernel",
                     source.makeName("KERNEL"), isInOrder, /*hasWarps=*/true});
  for (SpecializeOp op : specialized)
    for (RoleOp role : op.getRoles()) {
      std::string name = source.makeProcessName(role.getName());
      threads.push_back(
          {role, &role.getBody().front(), name,
           source.makeName(StringRef(name).upper()),
           isInOrder || role.getElected() || getNumThreads(role) == 1,
           role.getWarps() > 1 && !role.getElected()});
    }
  return success();
}

const Thread &KernelReader::getThread(Operation *op) const {
  Operation *role = isa<RoleOp>(op) ? op : op->getParentOfType<RoleOp>();
  for (const Thread &thread : threads)
    if (thread.op == role)
      return thread;
  return threads.front();
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

static AllocSharedOp getAlloc(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  return buffer.getDefiningOp<AllocSharedOp>();
}

static SlotOp getSlot(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>()) {
    if (auto slot = dyn_cast<SlotOp>(view.getOperation()))
      return slot;
    buffer = view.getViewSource();
  }
  return {};
}

bool promela::isRegionOfVersion(const SharedAccess &access,
                                const ModelBuffer &buffer) {
  Operation *op = access.operand->get().getDefiningOp();
  return access.region &&
         (buffer.versions > 1 ? isa<SlotOp>(op)
                              : isa<AllocSharedOp, SlotOp>(op));
}

void KernelReader::addBuffer(AllocSharedOp alloc) {
  ModelBuffer buffer{alloc, source.getConstantName(alloc.getBuffer())};
  MemRefType type = alloc.getBuffer().getType();
  for (Operation *user : alloc.getBuffer().getUsers()) {
    if (isa<SlotOp>(user))
      buffer.versions = type.getDimSize(0);
    if (auto channel = dyn_cast<ChannelOp>(user))
      buffer.channel = channel;
  }
  buffer.versionBytes = getBufferBytes(type) / buffer.versions;
  auto offset = alloc->getAttrOfType<IntegerAttr>(TileDialect::kOffset);
  if (offset && !withChannels)
    buffer.offset = offset.getInt();
  ArrayRef<int64_t> shape = type.getShape();
  if (buffer.versions > 1 ||
      llvm::any_of(alloc.getBuffer().getUsers(),
                   [](Operation *user) { return isa<SlotOp>(user); }))
    shape = shape.drop_front();
  for (int64_t extent : shape)
    buffer.cuts.push_back({0, extent});
  buffer.shape.assign(shape.begin(), shape.end());
  buffers.push_back(std::move(buffer));
}

/// Cuts a version at the bounds of a constant region.
void KernelReader::addCuts(ModelBuffer &buffer, const SharedAccess &access) {
  if (!isRegionOfVersion(access, buffer) ||
      access.region->sizes.size() != buffer.cuts.size())
    return;
  for (OpFoldResult offset : access.region->offsets)
    if (!getConstantIntValue(offset))
      return;
  for (auto [cuts, offset, size] : llvm::zip_equal(
           buffer.cuts, access.region->offsets, access.region->sizes)) {
    int64_t begin = *getConstantIntValue(offset);
    for (int64_t cut : {begin, begin + size})
      if (cut > 0 && cut < cuts.back() && !llvm::is_contained(cuts, cut))
        cuts.insert(llvm::upper_bound(cuts, cut), cut);
  }
}

/// Whether one thread alone accesses a buffer, by loads and stores. Until
/// memory is planned, these are in program order: `--tile-insert-barriers`
/// comes later.
bool KernelReader::isOfOneThread(const ModelBuffer &buffer) {
  const Thread *thread = nullptr;
  bool isOfOne = true;
  kernel.walk([&](Operation *op) {
    for (const SharedAccess &access : getSharedAccesses(op)) {
      Value value = access.operand->get();
      if (getAlloc(value) != buffer.op)
        continue;
      const Thread *self = &getThread(op);
      isOfOne &= !getSlot(value) && !isByAsyncProxy(*access.operand) &&
                 !hasInst(op, InstKind::CpAsync) && (!thread || thread == self);
      thread = self;
    }
  });
  return isOfOne;
}

LogicalResult KernelReader::findBuffers() {
  kernel.walk([&](AllocSharedOp alloc) { addBuffer(alloc); });
  llvm::erase_if(buffers, [&](const ModelBuffer &buffer) {
    return withChannels ? !buffer.channel : !isPlanned && isOfOneThread(buffer);
  });
  kernel.walk([&](Operation *op) {
    for (const SharedAccess &access : getSharedAccesses(op))
      if (ModelBuffer *buffer = findBuffer(access.operand->get()))
        addCuts(*buffer, access);
  });
  for (ModelBuffer &buffer : buffers) {
    for (const auto &cuts : buffer.cuts)
      buffer.parts *= cuts.size() - 1;
    if (buffer.parts > kMostParts) {
      buffer.parts = 1;
      buffer.cuts.clear();
    }
  }
  for (ModelBuffer &buffer : buffers)
    if (failed(setCells(buffer)))
      return failure();
  return success();
}

bool KernelReader::shareBytes(const ModelBuffer &a, int64_t versionA,
                              const ModelBuffer &b, int64_t versionB) {
  if (&a == &b || a.offset < 0 || b.offset < 0)
    return false;
  int64_t beginA = a.offset + versionA * a.versionBytes;
  int64_t beginB = b.offset + versionB * b.versionBytes;
  return beginA < beginB + b.versionBytes && beginB < beginA + a.versionBytes;
}

/// Adds the scratch memory of operations. Uses of the same bytes by one thread
/// have one place.
LogicalResult KernelReader::findScratch() {
  auto module = kernel->getParentOfType<gpu::GPUModuleOp>();
  std::optional<FailureOr<TargetInfo>> target;
  std::map<std::tuple<const Thread *, int64_t, int64_t>, size_t> known;
  kernel.walk([&](Operation *op) {
    auto offset = op->getAttrOfType<IntegerAttr>(TileDialect::kOffset);
    if (!offset || isa<AllocSharedOp, MBarrierOp>(op))
      return;
    if (!target)
      target = TargetInfo::get(module);
    if (failed(*target))
      return;
    int64_t bytes = getScratchBytes(op, **target);
    if (bytes == 0)
      return;
    scratchOps.insert(op);
    if (withChannels)
      return;
    auto [it, isNew] = known.try_emplace(
        {&getThread(op), offset.getInt(), bytes}, buffers.size());
    scratchNumbers[op] = it->second;
    if (!isNew)
      return;
    ModelBuffer memory{op, source.makeName("SCRATCH")};
    memory.offset = offset.getInt();
    memory.versionBytes = bytes;
    buffers.push_back(memory);
  });
  for (ModelBuffer &buffer : buffers) {
    buffer.first = numPlaces;
    numPlaces += buffer.getNumPlaces();
  }
  return success(!target || succeeded(*target));
}

void KernelReader::findFences() {
  bool isStored = false, isByProxy = false, isRead = false, isLoaded = false;
  kernel.walk([&](Operation *op) {
    for (const ModelAccess &access : getAccesses(op)) {
      isByProxy |= access.isByProxy;
      isStored |= access.writes && !access.isByProxy;
      isRead |= access.reads && !access.isByProxy;
      isLoaded |= access.writes && access.isByProxy;
    }
  });
  withFences = ((isStored && isByProxy) || (isRead && isLoaded)) &&
               !(withChannels && (hasRoles() || !isPlanned));
}

ModelBuffer *KernelReader::findBuffer(Value value) {
  AllocSharedOp alloc = getAlloc(value);
  for (ModelBuffer &buffer : buffers)
    if (alloc && buffer.op == alloc)
      return &buffer;
  return nullptr;
}

ModelBuffer *KernelReader::getScratch(Operation *op) {
  auto it = scratchNumbers.find(op);
  return it == scratchNumbers.end() ? nullptr : &buffers[it->second];
}

/// Returns the parts of a version that a constant region touches; all parts
/// for other regions.
static SmallVector<int64_t> getParts(const ModelBuffer &buffer,
                                     const SharedAccess &access,
                                     bool isConstant) {
  SmallVector<int64_t> parts = {0};
  for (auto [dim, cuts] : llvm::enumerate(buffer.cuts)) {
    SmallVector<int64_t> next;
    for (int64_t part : parts)
      for (size_t i = 0; i + 1 < cuts.size(); ++i) {
        if (isConstant) {
          int64_t begin = *getConstantIntValue(access.region->offsets[dim]);
          if (cuts[i + 1] <= begin ||
              cuts[i] >= begin + access.region->sizes[dim])
            continue;
        }
        next.push_back(part * (cuts.size() - 1) + i);
      }
    parts = std::move(next);
  }
  return parts;
}

SmallVector<ModelAccess> KernelReader::getAccesses(Operation *op) {
  SmallVector<ModelAccess> accesses;
  for (const SharedAccess &access : getSharedAccesses(op)) {
    ModelBuffer *buffer = findBuffer(access.operand->get());
    if (!buffer)
      continue;
    bool isRegion = isRegionOfVersion(access, *buffer) &&
                    access.region->sizes.size() == buffer->cuts.size();
    bool isConstant =
        isRegion && llvm::all_of(access.region->offsets, [](OpFoldResult x) {
          return getConstantIntValue(x).has_value();
        });
    bool isMoving =
        access.region && llvm::any_of(access.region->offsets, [](auto x) {
          return !getConstantIntValue(x).has_value();
        });
    SlotOp slot = getSlot(access.operand->get());
    accesses.push_back({buffer, slot ? slot.getCursor() : Value(),
                        getParts(*buffer, access, isConstant), access.reads(),
                        access.writes(), access.atomic.has_value(), isMoving,
                        isByAsyncProxy(*access.operand),
                        isMetadata(*access.operand)});
    if (isRegion && access.writes() && !buffer->cells.empty()) {
      accesses.back().offsets = access.region->offsets;
      accesses.back().sizes = access.region->sizes;
    }
  }
  return accesses;
}
