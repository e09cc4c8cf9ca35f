//===- BuildBarrierModel.cpp - The events of barriers in memory -----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a kernel in one pre-order walk. Operations on barriers, accesses to
// places, fences, groups and barriers of all threads become events, numbered in
// program order. Three relations are then derived:
//
// * Units: a union-find joins barriers and buffers that are used with the same
//   SSA value as slot number, and a TMA load's buffer with the barrier that
//   counts its bytes. Each class is a unit, which can be proved alone.
// * Subjects: an arrival at a slot is about the places that are accessed by the
//   same slot number. In a lean proof it orders accesses to these only.
// * Peers: the cluster ranks that arrive at a barrier, or copy to a place, of
//   the first block.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Barriers/BarrierModel.h"
#include "Verifier/Barriers/SharingFlow.h"
#include "Verifier/Barriers/ThreadOrder.h"
#include "Verifier/Engine/AsyncMatmuls.h"

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"
#include "tilews/Dialect/Tile/Analysis/Memory/TmaCopy.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/IntEqClasses.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

using Barrier = BarrierModel::Barrier;
using Executor = BarrierEvent::Executor;

namespace {
/// Fills in the parts of a model, each from those before.
class BarrierModelBuilder {
public:
  explicit BarrierModelBuilder(BarrierModel &model) : model(model) {}
  void build();

private:
  void findForm();
  void findPlaces();
  void addBarriers();
  void addEvents();
  void addEvent(Operation *op);
  void addAccesses(Operation *op);
  void addScratch(Operation *op);
  bool addSignal(CopyOp copy, BarrierEvent &event);
  void dropSharing();
  void findUnits();
  void findSubjects();
  void findPeers();
  void findWritten();
  void setObstacle(Operation *op, StringRef text) {
    model.obstacle = Finding{op, text.str()};
  }

  BarrierModel &model;
  /// Whether barriers order accesses by threads: they are placed after memory
  /// is planned.
  bool hasThreadOrder = false;
};
} // namespace

BarrierModel BarrierModel::build(gpu::GPUFuncOp kernel) {
  BarrierModel model(kernel);
  BarrierModelBuilder(model).build();
  return model;
}

void BarrierModelBuilder::build() {
  findForm();
  if (model.obstacle)
    return;
  findPlaces();
  if (!model.isBarrierForm)
    return;
  model.fills.resize(model.places.getBuffers().size());
  if (model.places.size() > SharedPlaces::kMax || model.getNumTasks() > 16)
    return setObstacle(
        model.kernel, "the kernel's buffers have more than 62 versions in all, "
                      "or the kernel has more than 15 roles");
  model.overlaps = SharedOverlaps(model.kernel, model.places);
  addBarriers();
  if (model.places.size() > SharedPlaces::kMax)
    return setObstacle(model.kernel,
                       "the kernel's buffers, the memory that shares bytes "
                       "with them, and the barriers that several roles wait "
                       "for have more than 62 versions and slots in all");
  addEvents();
  if (model.obstacle)
    return;
  dropSharing();
  findUnits();
  findPeers();
  findSubjects();
  findWritten();
}

/// Names the tasks and decides whether the kernel is one with barriers.
void BarrierModelBuilder::findForm() {
  bool hasChannels = false, usesUnits = false, isAsync = false;
  gpu::GPUFuncOp kernel = model.kernel;
  model.severalWarps = 1; // The kernel's body.
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto role = dyn_cast<RoleOp>(op)) {
      bool runsApart = role.getWarps() > 1 && !role.getElected();
      model.severalWarps |= uint64_t(runsApart) << model.getNumTasks();
      model.taskNames.push_back(("role @" + role.getName()).str());
    }
    model.isBarrierForm |= isa<MBarrierOp, CopyGroupWaitOp>(op);
    auto gemm = dyn_cast<MatmulOpInterface>(op);
    isAsync |= gemm && gemm.getAsync();
    usesUnits |= hasInst(op, InstKind::CpAsync) || hasInst(op, InstKind::Tma) ||
                 hasInst(op, InstKind::Wgmma);
    hasChannels |= isa<ChannelOp>(op);
  });
  // Until memory is planned, copies outside of channels are synchronous, and so
  // are matmuls without `async`.
  bool isPlanned = kernel->hasAttr(TileDialect::kSharedBytes);
  if (!hasChannels)
    model.isBarrierForm |= isAsync || (isPlanned && usesUnits);
  if (model.isBarrierForm && hasChannels)
    setObstacle(kernel, "the kernel has both channels and barriers in memory");
  hasThreadOrder = isPlanned && !hasChannels;
}

/// Numbers the places: of all planned memory if a dataflow analysis does not
/// show that the threads of each task are ordered. There is something to check
/// then, also where nothing is asynchronous.
void BarrierModelBuilder::findPlaces() {
  if (!model.isBarrierForm && !hasThreadOrder)
    return;
  SharedPlaces places(model.kernel);
  bool isOrdered = !hasThreadOrder || areThreadsOrdered(model.kernel, places);
  if (!isOrdered)
    places = SharedPlaces(model.kernel, /*withAll=*/true);
  model.isBarrierForm |= !places.getBuffers().empty();
  if (model.isBarrierForm)
    model.places = std::move(places);
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

void BarrierModelBuilder::addBarriers() {
  model.kernel.walk([&](MBarrierOp op) {
    model.barrierNumbers[op.getBarrier()] = model.barriers.size();
    Barrier barrier{op, op.getBarrier().getType().getDepth(),
                    int64_t(op.getCount()), model.numSlots};
    model.numSlots += barrier.depth;
    for (Operation *user : op.getBarrier().getUsers())
      if (isa<MBarrierWaitOp>(user))
        barrier.waiters |= uint64_t(1) << getTask(user);
    if (llvm::popcount(barrier.waiters) > 1) {
      barrier.phasePlaces = model.places.addOthers(barrier.depth);
      if (model.places.size() <= SharedPlaces::kMax)
        model.phasePlaces |= ((PlaceSet(1) << barrier.depth) - 1)
                             << *barrier.phasePlaces;
    }
    model.barriers.push_back(barrier);
  });
}

void BarrierModelBuilder::addEvents() {
  model.kernel.walk<WalkOrder::PreOrder>([&](Operation *op) { addEvent(op); });
  for (auto &[wait, matmuls] : findAwaitedMatmuls(model.kernel))
    for (Operation *matmul : matmuls)
      model.events[wait].matmuls.push_back(model.events[matmul].number);
}

void BarrierModelBuilder::addEvent(Operation *op) {
  BarrierEvent event{unsigned(model.eventOps.size())};
  event.synchronizes = synchronizesInScratch(op);
  auto gemm = dyn_cast<MatmulOpInterface>(op);
  event.isCommon =
      isa<MBarrierReadyOp, ClusterBarrierOp, ProxyFenceOp, CopyGroupWaitOp,
          CommitGroupOp, BarrierOp, gpu::BarrierOp, GemmWaitOp>(op) ||
      (gemm && gemm.getAsync()) || event.synchronizes;
  if (BarrierModel::isStep(op) &&
      !model.barrierNumbers.contains(op->getOperand(0)))
    setObstacle(op, "the barrier is passed on as a value");
  model.hasExpectations |= isa<MBarrierExpectOp>(op);
  if (event.isCommon || isa<MBarrierOp>(op) || BarrierModel::isStep(op))
    model.events[op] = event;
  addAccesses(op);
  addScratch(op);
  if (auto neighbour = model.overlaps.getNeighbour(op); neighbour.sharing)
    model.events.try_emplace(op, event).first->second.neighbour = neighbour;
  if (model.events.contains(op))
    model.eventOps.push_back(op);
}

void BarrierModelBuilder::addAccesses(Operation *op) {
  for (const SharedAccess &shared : getSharedAccesses(op)) {
    Value buffer = shared.operand->get();
    Value slotNumber;
    while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>()) {
      buffer = view.getViewSource();
      if (auto slot = dyn_cast<SlotOp>(view.getOperation()))
        slotNumber = slot.getCursor();
    }
    std::optional<unsigned> number = model.places.findBuffer(buffer);
    if (!number) {
      if (!buffer.getDefiningOp<AllocSharedOp>())
        model.obstacle = getSelectedBuffer(op, buffer);
      continue;
    }
    BarrierEvent &event =
        model.events
            .try_emplace(op, BarrierEvent{unsigned(model.eventOps.size())})
            .first->second;
    PlaceAccess access{*number, slotNumber, shared.reads(), shared.writes(),
                       model.places.findPart(*number, shared)};
    access.sharing = model.overlaps.getSharing(shared.operand);
    access.isAtomic = shared.atomic.has_value();
    access.isAsyncProxy = isByAsyncProxy(*shared.operand);
    access.isMetadata = isMetadata(*shared.operand);
    model.hasAtomics |= access.isAtomic;
    if (access.writes)
      access.write = model.fills[*number].add(op, getTask(op), shared);
    event.accesses.push_back(access);
    if (hasInst(op, InstKind::Tma))
      event.executor = Executor::Tma;
    else if (hasInst(op, InstKind::Wgmma))
      event.executor = Executor::Wgmma;
    else if (hasInst(op, InstKind::CpAsync))
      event.executor = Executor::CpAsync;
    auto copy = dyn_cast<CopyOp>(op);
    bool isLoad = copy && event.executor == Executor::Tma && shared.writes();
    if (isLoad && !addSignal(copy, event))
      setObstacle(op, "the TMA copy signals no barrier");
  }
}

/// Scratch memory with a place: it is written before the threads synchronize.
void BarrierModelBuilder::addScratch(Operation *op) {
  std::optional<unsigned> number = model.places.findScratch(op);
  if (!number)
    return;
  PlaceAccess access{*number, /*slot=*/nullptr, /*reads=*/false,
                     /*writes=*/true};
  access.sharing = model.overlaps.getScratchSharing(op);
  BarrierEvent &event = model.events.find(op)->second;
  event.scratch = model.places.getAll(*number);
  event.accesses.push_back(access);
}

/// Sets the barrier that counts the bytes of a TMA load, and the number of
/// bytes. Returns false if there is no barrier.
bool BarrierModelBuilder::addSignal(CopyOp copy, BarrierEvent &event) {
  auto it = model.barrierNumbers.find(copy.getSignal());
  if (!copy.getSignal() || it == model.barrierNumbers.end())
    return false;
  event.barrier = it->second;
  event.barrierSlot = copy.getSignalSlot();
  int64_t bits = getStorageBits(getElementType(copy.getDest()));
  for (int64_t size : copy.getDestRegion().sizes)
    bits *= size;
  event.bytes = bits / 8;
  return true;
}

//===----------------------------------------------------------------------===//
// Relations
//===----------------------------------------------------------------------===//

/// Buffers that share bytes have to be proved together. If a dataflow analysis
/// shows the order of their accesses, each buffer keeps a unit of its own.
void BarrierModelBuilder::dropSharing() {
  bool shares = llvm::any_of(model.events, [](const auto &entry) {
    return entry.second.neighbour.sharing ||
           llvm::any_of(entry.second.accesses, [](const PlaceAccess &access) {
             return access.sharing != 0;
           });
  });
  if (!shares || !isSharingOrdered(model))
    return;
  for (Operation *op : model.eventOps) {
    BarrierEvent &event = model.events.find(op)->second;
    event.neighbour = {};
    for (PlaceAccess &access : event.accesses)
      access.sharing = 0;
    // Nothing else may have made it an event.
    if (event.accesses.empty() && !event.isCommon &&
        !BarrierModel::isStep(op) && !isa<MBarrierOp>(op))
      model.events.erase(op);
  }
}

void BarrierModelBuilder::findUnits() {
  unsigned first = model.places.getBuffers().size();
  llvm::IntEqClasses classes(first + model.barriers.size());
  llvm::DenseMap<Value, unsigned> bySlot;
  auto join = [&](Value slot, unsigned member) {
    if (!slot || matchPattern(slot, m_Constant()))
      return;
    auto [it, isNew] = bySlot.try_emplace(slot, member);
    if (!isNew)
      classes.join(it->second, member);
  };
  // Buffers that share bytes are in one unit.
  auto joinAll = [&](PlaceSet places) {
    std::optional<unsigned> joined;
    for (unsigned buffer = 0; buffer < first; ++buffer)
      if (places & model.places.getAll(buffer)) {
        classes.join(joined.value_or(buffer), buffer);
        joined = buffer;
      }
  };
  for (auto &[op, event] : model.events) {
    joinAll(event.neighbour.sharing);
    for (const PlaceAccess &access : event.accesses)
      joinAll(model.places.getAll(access.buffer) | access.sharing);
    if (BarrierModel::isStep(op))
      join(op->getOperand(1), first + model.getBarrierOf(op));
    for (const PlaceAccess &access : event.accesses) {
      join(access.slot, access.buffer);
      if (event.barrierSlot && access.writes)
        classes.join(access.buffer, first + event.barrier);
    }
  }
  classes.compress();
  model.numUnits = classes.getNumClasses();
  for (unsigned i = 0; i < first; ++i)
    model.bufferUnits.push_back(classes[i]);
  for (auto [i, barrier] : llvm::enumerate(model.barriers))
    barrier.unit = classes[first + i];
}

void BarrierModelBuilder::findSubjects() {
  PlaceSet always = model.overlaps.getNeighbours();
  // By slot number: the ranges of places that it selects one of, as the first
  // place and how many there are.
  using Range = std::pair<unsigned, int64_t>;
  llvm::DenseMap<Value, llvm::SmallSet<Range, 4>> byNumber;
  for (const auto &[op, event] : model.events) {
    for (const PlaceAccess &access : event.accesses) {
      const SharedPlaces::PlacedBuffer &buffer =
          model.places.getBuffers()[access.buffer];
      if (access.slot)
        byNumber[access.slot].insert({buffer.first, buffer.versions});
      else
        always |= model.places.getAll(access.buffer);
      always |= access.sharing;
    }
    if (!isa<MBarrierArriveOp, MBarrierWaitOp>(op))
      continue;
    const Barrier &barrier = model.barriers[model.getBarrierOf(op)];
    if (barrier.phasePlaces)
      byNumber[op->getOperand(1)].insert({*barrier.phasePlaces, barrier.depth});
  }
  for (Barrier &barrier : model.barriers) {
    // Barriers without buffers order tasks that alternate: their arrivals pass
    // on which phases the other tasks have waited for.
    bool ordersPhases = model.isWithoutBuffers(barrier);
    barrier.subjects.assign(barrier.depth,
                            always | (ordersPhases ? model.phasePlaces : 0));
    for (Operation *user : barrier.op.getBarrier().getUsers()) {
      if (!isa<MBarrierArriveOp, MBarrierWaitOp>(user))
        continue;
      for (auto [first, count] : byNumber[user->getOperand(1)])
        for (auto [slot, subject] : llvm::enumerate(barrier.subjects))
          subject |= count == barrier.depth
                         ? PlaceSet(1) << (first + slot)
                         : ((PlaceSet(1) << count) - 1) << first;
    }
  }
}

void BarrierModelBuilder::findPeers() {
  model.cluster = Cluster::get(model.kernel);
  model.placePeers.assign(model.places.size(), 0);
  for (Operation *op : model.eventOps) {
    if (!model.events.contains(op))
      continue;
    BarrierEvent &event = model.events.find(op)->second;
    auto arrive = dyn_cast<MBarrierArriveOp>(op);
    auto copy = dyn_cast<CopyOp>(op);
    uint32_t peers = 0;
    if (arrive && arrive.getPeers()) {
      peers = model.cluster.getPeers(arrive.getPeerDims(), /*rank=*/0);
      model.barriers[model.getBarrierOf(op)].peers |= peers;
    } else if (copy && copy.getMulticast() && event.barrierSlot) {
      peers = model.cluster.getPeers(*copy.getMulticast(), /*rank=*/0);
      event.peers = peers;
      model.barriers[event.barrier].peers |= peers;
      for (const PlaceAccess &access : event.accesses) {
        const auto &buffer = model.places.getBuffers()[access.buffer];
        for (unsigned place = 0; place < buffer.getNumPlaces(); ++place)
          model.placePeers[buffer.first + place] |= peers;
      }
    } else {
      continue;
    }
    if (!model.reaching)
      model.reaching = op;
  }
}

void BarrierModelBuilder::findWritten() {
  PlaceSet written = model.overlaps.getNeighbours(), byProxy = 0, filled = 0;
  PlaceSet read = written, loaded = 0;
  for (const auto &[op, event] : model.events)
    for (const PlaceAccess &access : event.accesses) {
      PlaceSet places = model.places.getAll(access.buffer);
      filled |= access.writes && !access.isAtomic ? places : 0;
      if (access.isAsyncProxy) {
        byProxy |= places | access.sharing;
        loaded |= access.writes ? places | access.sharing : 0;
        continue;
      }
      written |= access.writes ? places : 0;
      read |= access.reads ? places : 0;
    }
  model.fencedPlaces = written & byProxy;
  model.fencedReadPlaces = read & loaded;
  model.neverWritten = ~filled;
}
