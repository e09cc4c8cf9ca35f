//===- PhaseState.h - Arrivals, bytes and phases of barriers ----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_BARRIERS_PHASESTATE_H
#define TILEWS_LIB_VERIFIER_BARRIERS_PHASESTATE_H

#include "Verifier/Barriers/BarrierSelection.h"
#include "Verifier/Barriers/TaskKnowledge.h"

namespace tilews::verifier {

/// The phases of barriers (PTX ISA, "mbarrier"): a phase completes when all of
/// its arrivals are made and all expected bytes have landed. A wait names only
/// the parity of a phase, so at each wait it must be unambiguous which of the
/// last two phases is meant.
///
/// Example: slot 0 of a barrier that counts to 1, awaited by @math.
///
///     step                    parity  arrived  expected  unseen by @math
///     @load expects 64 bytes  0       0        64        0
///     @load arrives           0       1        64        0
///     64 bytes land           1       0        0         1
///     @math waits, parity 0   1       0        0         0
///
/// If the slot completed another phase before @math waited, @math's wait for
/// parity 0 would not return: the present phase would be of parity 0 again.
class PhaseState {
public:
  PhaseState(const BarrierModel &model, const BarrierSelection &selection,
             const TaskKnowledge &knowledge, StateLayout &layout);

  //===--------------------------------------------------------------------===//
  // Initialization
  //===--------------------------------------------------------------------===//

  /// tile.mbarrier: the barrier is initialized.
  void make(State &state, unsigned barrier) const;
  /// tile.mbarrier_ready: the initialization of the barriers made so far is
  /// visible to the block, or to the cluster.
  void makeReady(State &state, bool inCluster) const;
  bool isReadyInCluster(const State &state, unsigned barrier) const;
  /// Whether `op` may use a slot: it exists and is ready.
  bool checkUse(const State &state, mlir::Operation *op, BarrierSlot slot,
                Finding &finding) const;

  //===--------------------------------------------------------------------===//
  // The present phase
  //===--------------------------------------------------------------------===//

  int64_t getParity(const State &state, BarrierSlot slot) const;
  int64_t getArrived(const State &state, BarrierSlot slot) const;
  void arrive(State &state, BarrierSlot slot, int64_t arrivals) const;
  /// Adds to the bytes that are expected and have not landed; `bytes` is
  /// negative where they land.
  void expect(State &state, BarrierSlot slot, int64_t bytes) const;
  /// Whether `task` may add to the present phase. Its next step must be ordered
  /// after the end of the phase before. Otherwise that phase might count what
  /// is added.
  bool checkPhase(const State &state, unsigned task, mlir::Operation *op,
                  BarrierSlot slot, Finding &finding) const;
  /// Begins the next phase if the present one has all it needs. False if `op`,
  /// which added to it, should not have completed it.
  bool complete(State &state, BarrierSlot slot, mlir::Operation *op,
                Finding &finding) const;
  /// What the present phase has and misses, in the words of a message.
  std::string describe(const State &state, BarrierSlot slot) const;

  //===--------------------------------------------------------------------===//
  // Waits
  //===--------------------------------------------------------------------===//

  /// The number of complete phases of a slot that `task` has not waited for and
  /// whose end is not ordered before its next step; 2 stands for more.
  int64_t countUnseen(const State &state, unsigned task,
                      BarrierSlot slot) const;
  /// `task` has waited for the last complete phase.
  void observe(State &state, unsigned task, BarrierSlot slot) const;
  /// `task` waits for a phase whose end is ordered before the wait, or for the
  /// phase before the first. No arrival may complete the next phase earlier.
  void observeAgain(State &state, unsigned task, BarrierSlot slot) const;
  /// Whether all tasks that wait for the slot have waited for its last complete
  /// phase. False for slots with a phase place, where the clocks tell.
  bool isObserved(const State &state, BarrierSlot slot) const;

  /// Whether a slot may be left as it is when all tasks have ended.
  bool finish(const State &state, BarrierSlot slot, Finding &finding) const;
  void print(llvm::raw_ostream &os, const State &state) const;

private:
  /// The words of a barrier.
  enum BarrierRow : unsigned {
    Stage,
    /// The tasks whose first wait was for the phase before the first, one bit
    /// each. Their waits lag one phase, also at the end.
    Starters,
    NumBarrierRows
  };
  enum BarrierStage : int64_t { Unmade, Made, Ready, ReadyInCluster };
  /// The words of a slot. After them, one word for each task: the completed
  /// phases it has not waited for. Slots with a phase place keep this in
  /// clocks.
  enum SlotRow : unsigned {
    /// The parity of the present phase.
    Parity,
    /// Whether a phase has completed.
    Begun,
    /// Arrivals of the present phase.
    Arrived,
    /// Bytes that are expected and have not landed.
    Expected,
    NumSlotRows
  };

  unsigned getWord(unsigned barrier, BarrierRow row) const {
    return firstBarrier + barrier * NumBarrierRows + row;
  }
  unsigned getWord(BarrierSlot slot, unsigned row) const {
    return firstSlot +
           model.getIndex(slot) * (NumSlotRows + model.getNumTasks()) + row;
  }
  unsigned getUnseenWord(BarrierSlot slot, unsigned task) const {
    return getWord(slot, NumSlotRows + task);
  }
  bool canComplete(const State &state, BarrierSlot slot, mlir::Operation *op,
                   Finding &finding) const;
  bool checkExpectations(const State &state, BarrierSlot slot,
                         mlir::Operation *op, Finding &finding) const;
  bool checkWaiter(const State &state, unsigned task, BarrierSlot slot,
                   mlir::Operation *op, Finding &finding) const;

  const BarrierModel &model;
  const BarrierSelection &selection;
  const TaskKnowledge &knowledge;
  unsigned firstBarrier, firstSlot;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_BARRIERS_PHASESTATE_H
