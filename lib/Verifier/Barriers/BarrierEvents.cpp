//===- BarrierEvents.cpp - The events of barriers in memory ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verifier/Barriers/BarrierRules.h"

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/IntEqClasses.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

BarrierRules::BarrierRules(gpu::GPUFuncOp kernel) : kernel(kernel) {
  taskNames.push_back("the kernel");
  bool hasChannels = false, hasCopies = false;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto role = dyn_cast<RoleOp>(op))
      taskNames.push_back(("role @" + role.getName()).str());
    isBarrierForm |= isa<MBarrierOp, CopyGroupWaitOp>(op);
    hasCopies |= hasInst(op, InstKind::CpAsync);
    hasChannels |= isa<ChannelOp>(op);
  });
  tasks = taskNames.size();
  // Until memory is planned copies wait for themselves.
  if (kernel->hasAttr(TileDialect::kSharedBytes) && !hasChannels)
    isBarrierForm |= hasCopies;
  if (!isBarrierForm)
    return;
  if (hasChannels) {
    obstacle = Finding{kernel, "it has channels and barriers in memory"};
    return;
  }
  addBuffers();
  if (!obstacle)
    addEvents();
  if (obstacle)
    return;
  findUnits();
  addPeers();
  findUses();
  findSubjects();
  selectAll();
  if (hasPeers() && !obstacle)
    checkDivergence();
  numWords = getTaskWord(tasks, 0);
  for (Barrier &barrier : barriers) {
    barrier.first = numWords;
    numWords += NumBarrierWords +
                barrier.depth * (NumSlotWords + 2 * getKnownWords() + tasks);
  }
  firstAge = numWords;
  numWords += numPlaces;
  reached = numWords++;
  written = numWords++;
  findKnowledge();
}

/// The part of an allocation that an access names; none if it is not known, or
/// all of it.
std::optional<BarrierRules::Box>
BarrierRules::getBox(const SharedAccess &access) {
  auto alloc = access.operand->get().getDefiningOp<AllocSharedOp>();
  if (!alloc || !access.region)
    return std::nullopt;
  Box box;
  for (auto [offset, size] :
       llvm::zip_equal(access.region->offsets, access.region->sizes)) {
    std::optional<int64_t> begin = getConstantIntValue(offset);
    if (!begin)
      return std::nullopt;
    box.push_back({*begin, size});
  }
  if (access.region->sizes == alloc.getBuffer().getType().getShape())
    return std::nullopt;
  return box;
}

bool BarrierRules::areDisjoint(ArrayRef<Box> boxes) {
  auto overlap = [](const Box &a, const Box &b) {
    return llvm::all_of(llvm::zip_equal(a, b), [](auto dims) {
      auto [x, y] = dims;
      return x.first < y.first + y.second && y.first < x.first + x.second;
    });
  };
  for (size_t i = 0; i < boxes.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (overlap(boxes[i], boxes[j]))
        return false;
  return true;
}

/// Versioned buffers, and others that asynchronous units or several roles
/// access: what a role does with a buffer of its own is not the schedule's.
void BarrierRules::addBuffers() {
  llvm::DenseMap<Value, llvm::SmallSet<unsigned, 4>> users;
  llvm::DenseSet<Value> versioned, asynchronous;
  llvm::DenseMap<Value, SmallVector<Box>> boxes;
  kernel.walk([&](Operation *op) {
    for (const SharedAccess &access : getSharedAccesses(op)) {
      Value buffer = access.operand->get();
      std::optional<Box> box = getBox(access);
      if (box && !llvm::is_contained(boxes[buffer], *box))
        boxes[buffer].push_back(*box);
      while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>()) {
        buffer = view.getViewSource();
        if (isa<SlotOp>(view))
          versioned.insert(buffer);
      }
      users[buffer].insert(getTask(op));
      if (hasInst(op, InstKind::Tma) || hasInst(op, InstKind::Wgmma) ||
          hasInst(op, InstKind::CpAsync))
        asynchronous.insert(buffer);
    }
  });
  kernel.walk([&](AllocSharedOp alloc) {
    Value buffer = alloc.getBuffer();
    if (!versioned.contains(buffer) && !asynchronous.contains(buffer) &&
        users[buffer].size() < 2)
      return;
    int64_t versions = versioned.contains(buffer)
                           ? alloc.getBuffer().getType().getDimSize(0)
                           : 1;
    bufferNumbers[buffer] = buffers.size();
    buffers.push_back({alloc, numPlaces, versions});
    if (!versioned.contains(buffer) && areDisjoint(boxes[buffer]))
      buffers.back().parts = boxes[buffer];
    numPlaces += buffers.back().getNumPlaces();
  });
  if (numPlaces > kMaxPlaces || tasks > 16)
    obstacle = Finding{kernel, "its buffers have more than 62 versions in all, "
                               "or it has more than 15 roles"};
}

void BarrierRules::addEvents() {
  kernel.walk([&](MBarrierOp op) {
    barrierNumbers[op.getBarrier()] = barriers.size();
    Barrier barrier{op, op.getBarrier().getType().getDepth(), 0};
    for (Operation *user : op.getBarrier().getUsers())
      if (isa<MBarrierWaitOp>(user))
        barrier.waiters |= uint64_t(1) << getTask(user);
    if (llvm::popcount(barrier.waiters) > 1) {
      barrier.places = numPlaces;
      numPlaces += barrier.depth;
      if (numPlaces <= kMaxPlaces)
        phasePlaces |= ((Places(1) << barrier.depth) - 1) << *barrier.places;
    }
    barriers.push_back(barrier);
  });
  if (numPlaces > kMaxPlaces) {
    obstacle = Finding{kernel, "its buffers, and the barriers that several "
                               "roles wait for, have more than 62 versions and "
                               "slots in all"};
    return;
  }
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    Event event{unsigned(eventOps.size())};
    event.meets = meetsInScratch(op);
    auto gemm = dyn_cast<GemmOp>(op);
    event.isCommon =
        isa<MBarrierReadyOp, ClusterBarrierOp, ProxyFenceOp, CopyGroupWaitOp,
            CommitGroupOp, BarrierOp, gpu::BarrierOp, GemmWaitOp>(op) ||
        (gemm && gemm.getAsync()) || event.meets;
    bool isEvent =
        event.isCommon ||
        isa<MBarrierOp, MBarrierArriveOp, MBarrierExpectOp, MBarrierWaitOp>(op);
    if (isa<MBarrierArriveOp, MBarrierExpectOp, MBarrierWaitOp>(op) &&
        !barrierNumbers.contains(op->getOperand(0)))
      obstacle = Finding{op, "its barrier is passed on as a value"};
    if (isEvent)
      allEvents[op] = event;
    addAccesses(op);
    if (allEvents.contains(op))
      eventOps.push_back(op);
  });
  for (auto &[wait, products] : findAwaitedProducts(kernel))
    for (Operation *product : products)
      allEvents[wait].products.push_back(allEvents[product].number);
}

void BarrierRules::addAccesses(Operation *op) {
  if (isa<AtomicRMWOp>(op)) // Combines in any order.
    return;
  for (const SharedAccess &shared : getSharedAccesses(op)) {
    Value buffer = shared.operand->get();
    Value number;
    while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>()) {
      buffer = view.getViewSource();
      if (auto slot = dyn_cast<SlotOp>(view.getOperation()))
        number = slot.getCursor();
    }
    auto it = bufferNumbers.find(buffer);
    if (it == bufferNumbers.end()) {
      if (!buffer.getDefiningOp<AllocSharedOp>())
        obstacle = Finding{op, "the shared buffer that it accesses is selected "
                               "or carried by control flow"};
      continue;
    }
    auto &event = allEvents.try_emplace(op, Event{unsigned(eventOps.size())})
                      .first->second;
    Access access{it->second, number, shared.reads(), shared.writes()};
    const auto &parts = buffers[it->second].parts;
    std::optional<Box> box = getBox(shared);
    if (box && !parts.empty())
      access.part = llvm::find(parts, *box) - parts.begin();
    event.accesses.push_back(access);
    if (hasInst(op, InstKind::Tma))
      event.unit = Unit::Tma;
    else if (hasInst(op, InstKind::Wgmma))
      event.unit = Unit::Wgmma;
    else if (hasInst(op, InstKind::CpAsync))
      event.unit = Unit::CpAsync;
    auto copy = dyn_cast<CopyOp>(op);
    if (!copy || event.unit != Unit::Tma || !shared.writes())
      continue;
    if (!addSignals(copy, event))
      obstacle = Finding{op, "is a TMA copy that signals no barrier"};
  }
}

/// The barrier that a TMA load reports to, and how many bytes.
bool BarrierRules::addSignals(CopyOp copy, Event &event) {
  auto it = barrierNumbers.find(copy.getSignal());
  if (!copy.getSignal() || it == barrierNumbers.end())
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
// Units
//===----------------------------------------------------------------------===//

/// Barriers belong to the buffers that are accessed by the same numbers of
/// slots. What knows of a buffer from other barriers is not proved by its unit.
void BarrierRules::findUnits() {
  unsigned first = buffers.size();
  llvm::IntEqClasses classes(first + barriers.size());
  llvm::DenseMap<Value, unsigned> bySlot;
  auto join = [&](Value slot, unsigned member) {
    if (!slot || matchPattern(slot, m_Constant()))
      return;
    auto [it, isNew] = bySlot.try_emplace(slot, member);
    if (!isNew)
      classes.join(it->second, member);
  };
  for (auto &[op, event] : allEvents) {
    if (isa<MBarrierArriveOp, MBarrierExpectOp, MBarrierWaitOp>(op))
      join(op->getOperand(1), first + barrierNumbers.lookup(op->getOperand(0)));
    for (const Access &access : event.accesses) {
      join(access.slot, access.buffer);
      if (event.barrierSlot && access.writes)
        classes.join(access.buffer, first + event.barrier);
    }
  }
  classes.compress();
  numUnits = classes.getNumClasses();
  for (auto [i, buffer] : llvm::enumerate(buffers))
    buffer.unit = classes[i];
  for (auto [i, barrier] : llvm::enumerate(barriers))
    barrier.unit = classes[first + i];
}

/// What words of the state are needed for.
void BarrierRules::findUses() {
  orderedReads.assign(tasks, 0);
  orderedWrites.assign(tasks, 0);
  ownWrites.assign(tasks, ~Places(0));
  for (const auto &[op, event] : allEvents) {
    unsigned task = getTask(op);
    auto arrive = dyn_cast<MBarrierArriveOp>(op);
    if (arrive && arrive.getBy() == Agents::Thread)
      orderedReads[task] = orderedWrites[task] = ~Places(0);
    for (const Access &access : event.accesses) {
      Places places = getVersions(access.buffer);
      if (event.unit == Unit::Tma || event.unit == Unit::Wgmma)
        byProxy |= places;
      if (access.reads)
        orderedWrites[task] |= places;
      if (!access.writes)
        continue;
      orderedReads[task] |= places;
      for (unsigned other = 0; other < tasks; ++other)
        if (other != task)
          ownWrites[other] &= ~places;
    }
  }
  Block &body = kernel.getBody().front();
  for (SpecializeOp roles : body.getOps<SpecializeOp>())
    goesOnBehindRoles = llvm::any_of(eventOps, [&](Operation *op) {
      return roles->isBeforeInBlock(body.findAncestorOpInBlock(*op));
    });
}

void BarrierRules::findSubjects() {
  Places always = 0;
  // By the number of a slot: the first of its places, and how many there are.
  using Range = std::pair<unsigned, int64_t>;
  llvm::DenseMap<Value, llvm::SmallSet<Range, 4>> byNumber;
  for (const auto &[op, event] : allEvents) {
    for (const Access &access : event.accesses) {
      const Buffer &buffer = buffers[access.buffer];
      if (access.slot)
        byNumber[access.slot].insert({buffer.first, buffer.versions});
      else
        always |= getVersions(access.buffer);
    }
    if (!isa<MBarrierArriveOp, MBarrierWaitOp>(op))
      continue;
    const Barrier &barrier = barriers[barrierNumbers.lookup(op->getOperand(0))];
    if (barrier.places)
      byNumber[op->getOperand(1)].insert({*barrier.places, barrier.depth});
  }
  for (Barrier &barrier : barriers) {
    // Who takes turns has to know where the others are.
    barrier.subjects.assign(barrier.depth,
                            always | (orders(barrier) ? phasePlaces : 0));
    for (Operation *user : barrier.op.getBarrier().getUsers()) {
      if (!isa<MBarrierArriveOp, MBarrierWaitOp>(user))
        continue;
      for (auto [first, versions] : byNumber[user->getOperand(1)])
        for (auto [slot, subject] : llvm::enumerate(barrier.subjects))
          subject |= versions == barrier.depth
                         ? Places(1) << (first + slot)
                         : ((Places(1) << versions) - 1) << first;
    }
  }
}

/// Whether a barrier has to do with no buffer.
bool BarrierRules::orders(const Barrier &barrier) const {
  return llvm::none_of(buffers, [&](const Buffer &buffer) {
    return buffer.unit == barrier.unit;
  });
}

int64_t BarrierRules::findDepth(std::optional<unsigned> unit) const {
  int64_t depth = 1;
  for (const Buffer &buffer : buffers)
    if (!unit || buffer.unit == *unit)
      depth = std::max(depth, buffer.versions);
  for (const Barrier &barrier : barriers)
    if (!unit || barrier.unit == *unit)
      depth = std::max(depth, barrier.depth);
  return depth;
}

/// Blocks of a cluster speak of all slots, whatever is selected.
void BarrierRules::numberSlots(
    llvm::function_ref<bool(const Barrier &)> isSelected) {
  unsigned slots = 0;
  for (Barrier &barrier : barriers)
    if (hasPeers() || isSelected(barrier)) {
      barrier.firstSlot = slots;
      slots += barrier.depth;
    }
  limit.reset();
  if (slots > kMaxPlaces)
    limit = Finding{kernel, "its barriers have more than 62 slots in all"};
}

void BarrierRules::selectAll() {
  numberSlots([](const Barrier &) { return true; });
  events = allEvents;
  tellsAll = true;
  depth = findDepth();
}

void BarrierRules::select(unsigned unit, bool isLean) {
  depth = findDepth(isLean ? std::optional(unit) : std::nullopt);
  tellsAll = !isLean;
  events.clear();
  Branches branches;
  // Barriers without buffers order those who take turns.
  bool takesTurns = llvm::any_of(barriers, [&](const Barrier &barrier) {
    return barrier.unit == unit && barrier.places;
  });
  auto isOfUnit = [&](const Barrier &barrier) {
    return barrier.unit == unit || (takesTurns && orders(barrier));
  };
  numberSlots(isOfUnit);
  for (const auto &[op, event] : allEvents) {
    Event own = event;
    llvm::erase_if(own.accesses, [&](const Access &access) {
      return buffers[access.buffer].unit != unit;
    });
    Value barrier;
    if (isa<MBarrierArriveOp, MBarrierExpectOp, MBarrierWaitOp>(op))
      barrier = op->getOperand(0);
    else if (isa<MBarrierOp>(op))
      barrier = op->getResult(0);
    bool isStep = barrier && isOfUnit(barriers[barrierNumbers.lookup(barrier)]);
    if (isStep || !own.accesses.empty()) {
      branches.add(op);
      events[op] = std::move(own);
    }
  }
  for (const auto &[op, event] : allEvents)
    if (event.isCommon && !events.contains(op) &&
        (!isLean || branches.haveAllOf(op))) {
      events[op] = event;
      events[op].accesses.clear();
    }
}

SmallVector<Value> BarrierRules::getInputs(Operation *op) const {
  if (isa<MBarrierArriveOp, MBarrierExpectOp, MBarrierWaitOp>(op))
    return llvm::to_vector(op->getOperands().drop_front());
  const Event &event = events.at(op);
  SmallVector<Value> inputs;
  for (const Access &access : event.accesses)
    if (access.slot)
      inputs.push_back(access.slot);
  if (event.barrierSlot)
    inputs.push_back(event.barrierSlot);
  return inputs;
}

SmallVector<unsigned> BarrierRules::getInputLinks(Operation *op) const {
  return SmallVector<unsigned>(getInputs(op).size(), 0);
}

SmallVector<unsigned> BarrierRules::getLinks(Operation *op) const {
  if (isa<MBarrierArriveOp, MBarrierExpectOp, MBarrierWaitOp>(op))
    return {barrierNumbers.lookup(op->getOperand(0))};
  return {};
}
