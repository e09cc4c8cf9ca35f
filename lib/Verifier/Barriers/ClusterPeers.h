//===- ClusterPeers.h - Blocks that reach into other blocks -----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_BARRIERS_CLUSTERPEERS_H
#define TILEWS_LIB_VERIFIER_BARRIERS_CLUSTERPEERS_H

#include "Verifier/Barriers/PhaseState.h"

namespace tilews::verifier {

/// The happens-before knowledge of a block about the other blocks of its
/// cluster, and the checks of steps that reach into them. One block stands for
/// all: where it arrives at its peers' barriers, they arrive at its own.
///
/// Example: a cluster of two blocks, whose @load copies one half of a tile each
/// to both blocks.
///
///     tile.mbarrier_arrive %empty[%s]
///         {by = #tile.agents<warps>, peers = [#tile.cluster<x>]}      // @math
///     tile.mbarrier_wait %empty[%s], %p {cluster}                     // @load
///     tile.copy %A[...] to %a[...] signals(%full[%s])
///         {multicast = #tile.cluster<x>, tile.inst = #tile.inst<tma>} // @load
///
/// The wait adds to @load's clock, in the rows of the peers, that the @math of
/// both blocks has read slot s. Without `cluster` it would not, and the copy
/// might overwrite what the other block still reads.
class ClusterPeers {
public:
  ClusterPeers(const BarrierModel &model, const BarrierSelection &selection,
               const TaskKnowledge &knowledge, const PhaseState &phases,
               StateLayout &layout);

  /// Whether `task` may arrive at, or let bytes land on, a slot of the barriers
  /// of `peers`.
  bool checkReach(State &state, unsigned task, mlir::Operation *op,
                  uint32_t peers, BarrierSlot slot, Finding &finding) const;
  /// Whether `task` may copy to `places` of its peers: all accesses there must
  /// be ordered before the copy, except for writes to places outside of
  /// `others`.
  bool checkCopy(const State &state, unsigned task, mlir::Operation *op,
                 PlaceSet places, PlaceSet others, Finding &finding) const;

  /// The part of `known`, the set in `row` of a clock, that also holds for the
  /// peers if all of `peers` release it: places and slots that no other blocks
  /// reach into.
  uint64_t getCovered(unsigned row, uint64_t known, uint32_t peers) const;
  /// `task` starts a copy to `peers`, whose bytes land on `slot`. The peers
  /// then acquire the completed phases in the clock of `task`.
  void send(State &state, unsigned task, BarrierSlot slot,
            uint32_t peers) const;
  /// The bytes that peers have sent have landed on `slot`.
  void receive(State &state, BarrierSlot slot) const;
  /// All threads of the cluster synchronize.
  void synchronize(State &state) const;

  /// Whether no other block may still reach into a block that has ended.
  bool finish(const State &state, Finding &finding) const;
  /// Adds the words that hold knowledge to `words`.
  void appendWords(llvm::SmallVectorImpl<unsigned> &words) const;
  void print(llvm::raw_ostream &os, const State &state) const;

private:
  enum SlotRow : unsigned {
    /// The cluster ranks whose copies are under way to the slot's barrier.
    Senders,
    /// The completed phases that the clocks of all senders contained.
    SenderPhases,
    NumSlotRows
  };
  unsigned getWord(BarrierSlot slot, SlotRow row) const {
    return first + model.getIndex(slot) * NumSlotRows + row;
  }
  PlaceSet getCoveredPlaces(uint32_t peers) const;
  uint64_t getCoveredSlots(uint32_t peers) const;

  const BarrierModel &model;
  const BarrierSelection &selection;
  const TaskKnowledge &knowledge;
  const PhaseState &phases;
  /// The first word, and the word that is 1 if peers may still reach into the
  /// block.
  unsigned first, reached;
};

/// Returns the first operation at which blocks of a cluster that wait for each
/// other may take different paths; nullopt if one block can stand for all.
std::optional<Finding> findClusterDivergence(const BarrierModel &model,
                                             const BarrierSelection &selection);

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_BARRIERS_CLUSTERPEERS_H
