//===- BarrierCluster.cpp - Rules of blocks that reach into others --------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One block stands for all of its cluster. All blocks go the same way through
// the kernel, which is checked first; so each step of a task is one that the
// same task of every other block makes as well, and is taken to be made in all
// of them at once. Where this block arrives in its peers they arrive in it, and
// the shares of a tile that they send make up the tile.
//
// In truth blocks run apart. What a block may do to its peers therefore takes
// what it *knows* of them, by arrivals and bytes that come from them: that they
// have read a slot, and that a phase in which it must not be counted any more
// is complete there. With that, steps of different blocks do not disable each
// other, and one order stands for all, as within a block.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Barriers/BarrierRules.h"

#include "tilews/Dialect/Tile/Analysis/Memory/ClusterPlaces.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

/// Finds who reaches into whom.
void BarrierRules::addPeers() {
  cluster = Cluster::get(kernel);
  placePeers.assign(numPlaces, 0);
  for (Operation *op : eventOps) {
    Event &event = allEvents.find(op)->second;
    if (auto arrive = dyn_cast<MBarrierArriveOp>(op);
        arrive && arrive.getPeers()) {
      barriers[barrierNumbers.lookup(arrive.getBarrier())].peers |=
          cluster.getPeers(arrive.getPeerDims(), /*rank=*/0);
      reaching = reaching ? reaching : op;
    }
    auto copy = dyn_cast<CopyOp>(op);
    if (!copy || !copy.getMulticast() || !event.barrierSlot)
      continue;
    event.peers = cluster.getPeers(*copy.getMulticast(), /*rank=*/0);
    barriers[event.barrier].peers |= event.peers;
    reaching = reaching ? reaching : op;
    for (const Access &access : event.accesses) {
      const Buffer &buffer = buffers[access.buffer];
      for (unsigned place = 0; place < buffer.getNumPlaces(); ++place)
        placePeers[buffer.first + place] |= event.peers;
    }
  }
}

/// One block stands for the others only if all go the same way wherever they
/// arrive, wait, and let bytes land. What else a block does is its own: others
/// learn of it by these alone.
void BarrierRules::checkDivergence() {
  for (unsigned dim = 0; dim < 3; ++dim) {
    if (cluster.extents[dim] == 1)
      continue;
    ClusterPlaces places(kernel, static_cast<gpu::Dimension>(dim));
    for (Operation *op : eventOps) {
      // What a block does by itself it may do alone.
      if (!isa<MBarrierOp, MBarrierReadyOp, MBarrierArriveOp, MBarrierExpectOp,
               MBarrierWaitOp, ClusterBarrierOp>(op) &&
          !events.at(op).barrierSlot)
        continue;
      Operation *divergence = places.getDivergence(op);
      for (Value input : getInputs(op))
        if (!divergence && !places.isSame(input))
          divergence = op;
      if (divergence && !obstacle)
        obstacle = Finding{divergence, "blocks of a cluster that wait for each "
                                       "other may go different ways here"};
    }
  }
}

/// The places that none but these blocks reach into.
BarrierRules::Places BarrierRules::getCovered(uint32_t peers) const {
  Places places = 0;
  for (unsigned place = 0; place < numPlaces; ++place)
    places |= Places(covers(peers, placePeers[place])) << place;
  return places;
}

BarrierRules::Places BarrierRules::getCoveredPhases(uint32_t peers) const {
  Places phases = 0;
  for (auto [i, barrier] : llvm::enumerate(barriers))
    for (int64_t slot = 0; slot < barrier.depth; ++slot)
      if (covers(peers, barrier.peers))
        phases |= getPhase(i, slot);
  return phases;
}

/// Whether `task` may arrive, or let bytes land, at its peers' barriers.
bool BarrierRules::checkReach(State &state, unsigned task, Operation *op,
                              uint32_t peers, unsigned barrier, int64_t slot,
                              Finding &finding) const {
  if (peers == 0)
    return true;
  if (state[barriers[barrier].first + Stage] != ReadyInCluster) {
    finding = {op, "reaches into other blocks before a tile.mbarrier_ready "
                   "{cluster} has made the initialization of their barriers "
                   "visible"};
    return false;
  }
  Places known = state[getKnown(task) + getOwnWords() + getPhases()];
  if (!(known & getPhase(barrier, slot))) {
    finding = {op, taskNames[task] +
                       " does not know that in other blocks the phase before "
                       "is complete, in which this would be counted"};
    return false;
  }
  state[reached] = 1;
  return true;
}

/// Whether `task` knows that peers have done with the slots that it copies to.
bool BarrierRules::checkPeers(const State &state, unsigned task,
                              const Event &event, Places places, Places others,
                              Finding &finding) const {
  const int64_t *known = &state[getKnown(task) + getOwnWords()];
  bool isFree = !(others & ~(known[OfThreads] & known[OfCopies]));
  for (unsigned reader = 0; reader < tasks; ++reader)
    isFree &= !(places & ~known[OfReads + reader]);
  if (isFree)
    return true;
  finding = {eventOps[event.number],
             taskNames[task] + " lets a copy write to " + getName(places) +
                 " of other blocks of the cluster, which may still access it"};
  return false;
}

/// Whoever waits for bytes from a peer knows what that knew to be complete.
void BarrierRules::send(State &state, unsigned task, unsigned slot,
                        uint32_t peers) const {
  if (!peers)
    return;
  int64_t phases = state[getKnown(task) + getPhases()];
  bool isFirst = state[slot + Senders] == 0;
  state[slot + SenderPhases] =
      isFirst ? phases : state[slot + SenderPhases] & phases;
  state[slot + Senders] |= peers;
}

void BarrierRules::receive(State &state, unsigned slot) const {
  if (!state[slot + Senders])
    return;
  state[getTold(slot) + getOwnWords() + getPhases()] |=
      state[slot + SenderPhases] & getCoveredPhases(state[slot + Senders]);
  state[slot + Senders] = state[slot + SenderPhases] = 0;
}

/// All threads of the cluster have met: each block knows of the others what it
/// knows of itself.
void BarrierRules::meetPeers(State &state) const {
  state[reached] = 0;
  if (!hasPeers())
    return;
  for (unsigned task = 0; task < tasks; ++task)
    for (unsigned i = 0; i < getOwnWords(); ++i)
      state[getKnown(task) + getOwnWords() + i] |= state[getKnown(task) + i];
}
