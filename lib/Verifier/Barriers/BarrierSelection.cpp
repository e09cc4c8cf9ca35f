//===- BarrierSelection.cpp - The events that a proof looks at ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A unit's events are the operations on its barriers and the accesses to its
// buffers. An operation may also access buffers of other units: these accesses
// are removed from its event. Fences, groups and barriers of all threads belong
// to every unit. A lean selection drops common events under branches that
// contain no event of the unit: the proof need not fork there.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Barriers/BarrierSelection.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

using Barrier = BarrierModel::Barrier;

int64_t BarrierSelection::findDepth(std::optional<unsigned> unit) const {
  int64_t depth = 1;
  for (auto [buffer, own] :
       llvm::zip(model.places.getBuffers(), model.bufferUnits))
    if (!unit || own == *unit)
      depth = std::max(depth, buffer.versions);
  for (const Barrier &barrier : model.barriers)
    if (!unit || barrier.unit == *unit)
      depth = std::max(depth, barrier.depth);
  return depth;
}

/// Gives each slot of the selected barriers a bit; in clusters each slot of all
/// barriers, because blocks tell each other about all of them.
void BarrierSelection::numberSlots(
    llvm::function_ref<bool(const Barrier &)> isSelected) {
  unsigned slots = 0;
  firstBits.assign(model.barriers.size(), 0);
  for (auto [i, barrier] : llvm::enumerate(model.barriers))
    if (model.hasPeers() || isSelected(barrier)) {
      firstBits[i] = slots;
      slots += barrier.depth;
    }
  limit.reset();
  if (slots > SharedPlaces::kMax)
    limit = Finding{model.kernel,
                    "the kernel's barriers have more than 62 slots in all"};
}

/// Finds the buffers with versions. Barriers have parities, which depend on the
/// slot; TMA and wgmma are seldom without barriers.
void BarrierSelection::findRotated() {
  period = 0;
  rotated.clear();
  if (!model.barriers.empty() || model.hasPeers())
    return;
  llvm::SmallSetVector<unsigned, 4> found;
  int64_t versions = 0;
  bool isSymmetric = true;
  for (const auto &[op, event] : events) {
    isSymmetric &= !event.isAsyncProxy() && !event.neighbour.sharing;
    for (const PlaceAccess &access : event.accesses) {
      int64_t own = model.places.getBuffers()[access.buffer].versions;
      isSymmetric &=
          !access.sharing && (own == 1 || versions <= 1 || own == versions);
      versions = std::max(versions, own);
      if (own > 1)
        found.insert(access.buffer);
    }
  }
  auto isUniform = [&](PlaceSet places) {
    return llvm::all_of(found, [&](unsigned buffer) {
      PlaceSet all = model.places.getAll(buffer);
      return (places & all) == 0 || (places & all) == all;
    });
  };
  if (!isSymmetric || versions <= 1 || !isUniform(model.fencedPlaces) ||
      !isUniform(model.fencedReadPlaces) || !isUniform(model.neverWritten))
    return;
  period = versions;
  rotated = found.takeVector();
  llvm::sort(rotated);
}

void BarrierSelection::selectAll() {
  numberSlots([](const Barrier &) { return true; });
  events = model.events;
  isLean = false;
  depth = findDepth(std::nullopt);
  findRotated();
}

void BarrierSelection::select(unsigned unit, bool isLean) {
  depth = findDepth(isLean ? std::optional(unit) : std::nullopt);
  this->isLean = isLean;
  events.clear();
  Branches branches;
  // Where tasks alternate, barriers without buffers order them.
  bool alternates = llvm::any_of(model.barriers, [&](const Barrier &barrier) {
    return barrier.unit == unit && barrier.phasePlaces;
  });
  auto isOfUnit = [&](const Barrier &barrier) {
    return barrier.unit == unit ||
           (alternates && model.isWithoutBuffers(barrier));
  };
  numberSlots(isOfUnit);
  PlaceSet unitPlaces = 0;
  for (auto [buffer, own] : llvm::enumerate(model.bufferUnits))
    unitPlaces |= own == unit ? model.places.getAll(buffer) : 0;
  for (const auto &[op, event] : model.events) {
    BarrierEvent own = event;
    llvm::erase_if(own.accesses, [&](const PlaceAccess &access) {
      return model.bufferUnits[access.buffer] != unit;
    });
    if (!(own.neighbour.sharing & unitPlaces))
      own.neighbour = {};
    own.scratch &= unitPlaces;
    Value barrier;
    if (BarrierModel::isStep(op))
      barrier = op->getOperand(0);
    else if (isa<MBarrierOp>(op))
      barrier = op->getResult(0);
    bool isStep =
        barrier &&
        isOfUnit(model.barriers[model.barrierNumbers.lookup(barrier)]);
    if (isStep || !own.accesses.empty() || own.neighbour.sharing) {
      branches.add(op);
      events[op] = std::move(own);
    }
  }
  for (const auto &[op, event] : model.events)
    if (event.isCommon && !events.contains(op) &&
        (!isLean || branches.haveAllOf(op))) {
      events[op] = event;
      events[op].accesses.clear();
      events[op].neighbour = {};
      events[op].scratch = 0;
    }
  findRotated();
}

SmallVector<Value> BarrierSelection::getInputs(Operation *op) const {
  if (BarrierModel::isStep(op))
    return llvm::to_vector(op->getOperands().drop_front());
  const BarrierEvent &event = events.at(op);
  SmallVector<Value> inputs;
  for (const PlaceAccess &access : event.accesses)
    if (access.slot)
      inputs.push_back(access.slot);
  if (event.barrierSlot)
    inputs.push_back(event.barrierSlot);
  return inputs;
}
