//===- ClusterPeers.cpp - Blocks that reach into other blocks -------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One block stands for all of its cluster. All blocks take the same path
// through the kernel, which is checked first. So each step of a task is one
// that the same task of every other block makes as well, and the verifier lets
// all blocks make it at once. Where this block arrives at its peers' barriers,
// the peers arrive at its own; the shares of a tile that all send make up the
// tile.
//
// Real blocks run apart. So a step that reaches into the peers is checked
// against the rows of the peers in the task's clock, which only arrivals and
// bytes from the peers fill. They say that the peers have read a slot, and that
// a phase which must not count an arrival has completed there. With these
// checks, steps of different blocks do not disable each other, and one order of
// steps stands for all, as within a block.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Barriers/ClusterPeers.h"

#include "tilews/Dialect/Tile/Analysis/Memory/ClusterPlaces.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-verify-schedule"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

ClusterPeers::ClusterPeers(const BarrierModel &model,
                           const BarrierSelection &selection,
                           const TaskKnowledge &knowledge,
                           const PhaseState &phases, StateLayout &layout)
    : model(model), selection(selection), knowledge(knowledge), phases(phases),
      first(layout.reserve(model.getNumSlots() * NumSlotRows)),
      reached(layout.reserve(1)) {}

//===----------------------------------------------------------------------===//
// Divergence
//===----------------------------------------------------------------------===//

/// Whether the number of executions of `op` by a block, or its operands, affect
/// other blocks directly: steps of barriers, and copies whose bytes a barrier
/// counts. All other effects reach other blocks through these.
static bool isSeenByPeers(Operation *op, const BarrierModel &model) {
  return isa<MBarrierOp, MBarrierReadyOp, MBarrierArriveOp, MBarrierExpectOp,
             MBarrierWaitOp, ClusterBarrierOp>(op) ||
         model.events.at(op).barrierSlot;
}

std::optional<Finding>
verifier::findClusterDivergence(const BarrierModel &model,
                                const BarrierSelection &selection) {
  for (unsigned dim = 0; dim < 3; ++dim) {
    if (model.cluster.extents[dim] == 1)
      continue;
    ClusterPlaces places(model.kernel, static_cast<gpu::Dimension>(dim));
    for (Operation *op : model.eventOps) {
      if (!isSeenByPeers(op, model))
        continue;
      Operation *divergence = places.getDivergence(op);
      for (Value input : selection.getInputs(op))
        if (!divergence && !places.isSame(input))
          divergence = op;
      if (divergence)
        return Finding{divergence, "blocks of a cluster that wait for each "
                                   "other may take different paths here"};
    }
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

bool ClusterPeers::checkReach(State &state, unsigned task, Operation *op,
                              uint32_t peers, BarrierSlot slot,
                              Finding &finding) const {
  if (peers == 0)
    return true;
  if (!phases.isReadyInCluster(state, slot.barrier)) {
    finding = {op, model.taskNames[task] +
                       " reaches into other blocks before a "
                       "tile.mbarrier_ready {cluster} has made the "
                       "initialization of their barriers visible"};
    return false;
  }
  const ClockRows &rows = knowledge.getRows();
  if (!knowledge.getTask(state, task)
           .contains(rows.getPeer(rows.getCompleted()),
                     selection.getPhaseBit(slot))) {
    finding = {op, model.taskNames[task] +
                       " reaches barriers of other blocks without waiting for "
                       "the end of their previous phase, which may count the "
                       "addition"};
    return false;
  }
  state[reached] = 1;
  return true;
}

bool ClusterPeers::checkCopy(const State &state, unsigned task, Operation *op,
                             PlaceSet places, PlaceSet others,
                             Finding &finding) const {
  if (!knowledge.getOpenWrites(state, task, others, /*ofPeers=*/true) &&
      !knowledge.getOpenUpdates(state, task, places, /*ofPeers=*/true) &&
      !knowledge.getOpenReads(state, task, places, /*ofPeers=*/true))
    return true;
  finding = {op, model.taskNames[task] + " starts a copy to " +
                     model.places.getName(places) +
                     " of other blocks of the cluster, which may still access "
                     "it"};
  return false;
}

//===----------------------------------------------------------------------===//
// Knowledge of peers
//===----------------------------------------------------------------------===//

/// Whether `peers` contains all ranks in `others`.
static bool covers(uint32_t peers, uint32_t others) {
  return (others & ~peers) == 0;
}

PlaceSet ClusterPeers::getCoveredPlaces(uint32_t peers) const {
  PlaceSet places = 0;
  for (auto [place, others] : llvm::enumerate(model.placePeers))
    places |= PlaceSet(covers(peers, others)) << place;
  return places;
}

uint64_t ClusterPeers::getCoveredSlots(uint32_t peers) const {
  uint64_t slots = 0;
  model.forEachSlot([&](BarrierSlot slot) {
    if (covers(peers, model.getBarrier(slot).peers))
      slots |= selection.getPhaseBit(slot);
  });
  return slots;
}

uint64_t ClusterPeers::getCovered(unsigned row, uint64_t known,
                                  uint32_t peers) const {
  return known & (knowledge.getRows().isOfSlots(row) ? getCoveredSlots(peers)
                                                     : getCoveredPlaces(peers));
}

void ClusterPeers::send(State &state, unsigned task, BarrierSlot slot,
                        uint32_t peers) const {
  if (!peers)
    return;
  uint64_t known =
      knowledge.getTask(state, task)[knowledge.getRows().getCompleted()];
  int64_t &senders = state[getWord(slot, Senders)];
  int64_t &sent = state[getWord(slot, SenderPhases)];
  sent = senders == 0 ? known : sent & known;
  senders |= peers;
}

void ClusterPeers::receive(State &state, BarrierSlot slot) const {
  const ClockRows &rows = knowledge.getRows();
  uint32_t senders = std::exchange(state[getWord(slot, Senders)], 0);
  uint64_t sent = std::exchange(state[getWord(slot, SenderPhases)], 0);
  if (senders) {
    LDBG_OS([&](raw_ostream &os) {
      os << "slot " << slot.number << " of barrier " << slot.barrier
         << " receives copies from ranks ";
      VectorClockRef::printPlaces(os, senders);
    });
    knowledge.getArriving(state, slot)
        .learn(rows.getPeer(rows.getCompleted()),
               sent & getCoveredSlots(senders));
  }
}

void ClusterPeers::synchronize(State &state) const {
  state[reached] = 0;
  if (!model.hasPeers())
    return;
  const ClockRows &rows = knowledge.getRows();
  for (unsigned task = 0; task < model.getNumTasks(); ++task) {
    VectorClock clock = knowledge.getTask(state, task);
    for (unsigned row = 0; row < rows.getNumOwn(); ++row)
      clock.learn(rows.getPeer(row), clock[row]);
  }
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

bool ClusterPeers::finish(const State &state, Finding &finding) const {
  if (!state[reached])
    return true;
  finding = {model.reaching, "a block may end while others still reach into it "
                             "here: expected a tile.cluster_barrier after it"};
  return false;
}

void ClusterPeers::appendWords(SmallVectorImpl<unsigned> &words) const {
  model.forEachSlot(
      [&](BarrierSlot slot) { words.push_back(getWord(slot, SenderPhases)); });
}

void ClusterPeers::print(raw_ostream &os, const State &state) const {
  if (!model.hasPeers())
    return;
  os << "peers " << (state[reached] ? "may" : "do not")
     << " reach into this block\n";
  model.forEachSlot([&](BarrierSlot slot) {
    os << "barrier " << slot.barrier << " slot " << slot.number
       << ": copies under way from ranks ";
    VectorClockRef::printPlaces(os, state[getWord(slot, Senders)]);
    os << "\n";
  });
}
