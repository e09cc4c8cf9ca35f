//===- BarrierSteps.h - Arrivals at barriers, and waits ---------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_BARRIERS_BARRIERSTEPS_H
#define TILEWS_LIB_VERIFIER_BARRIERS_BARRIERSTEPS_H

#include "Verifier/Barriers/BarrierState.h"

namespace tilews::verifier {

/// The steps that order tasks: operations on barriers in memory, and the points
/// at which the threads of a task, block or cluster synchronize.
///
/// Example: `tile.mbarrier_arrive %full[%s] {by = #tile.agents<thread>}` with
/// %s = 1 adds 1 to the arrivals of slot 1, and joins the task's clock into the
/// slot's. Reads and writes that other threads of the task may still do are
/// left out: one thread arrives for itself only.
class BarrierSteps {
public:
  BarrierSteps(const BarrierModel &model, const BarrierSelection &selection,
               const BarrierState &parts)
      : model(model), selection(selection), parts(parts) {}

  Outcome arrive(State &state, unsigned task, MBarrierArriveOp op,
                 int64_t number, Finding &finding) const;
  Outcome expect(State &state, unsigned task, MBarrierExpectOp op,
                 int64_t number, Finding &finding) const;
  Outcome wait(State &state, unsigned task, MBarrierWaitOp op, int64_t number,
               int64_t parity, Finding &finding) const;
  /// tile.mbarrier_ready.
  void makeReady(State &state, unsigned task, bool inCluster) const;
  /// tile.cluster_barrier.
  void synchronizeCluster(State &state, unsigned task) const;
  /// tile.commit_group.
  void closeGroup(State &state, unsigned task) const;
  /// tile.barrier and other operations in which the task's threads synchronize.
  void synchronize(State &state, unsigned task, mlir::Operation *op) const;

private:
  BarrierSlot getSlot(mlir::Operation *op, int64_t number) const {
    return {model.getBarrierOf(op), number};
  }
  void release(State &state, unsigned task, BarrierSlot slot, bool byOneThread,
               uint32_t peers) const;
  void releaseCopies(State &state, unsigned task, BarrierSlot slot) const;
  void acquire(State &state, unsigned task, BarrierSlot slot,
               bool ofCluster) const;
  bool checkWait(const State &state, unsigned task, MBarrierWaitOp op,
                 BarrierSlot slot, int64_t parity, Finding &finding) const;
  Outcome completePresent(State &state, unsigned task, MBarrierWaitOp op,
                          BarrierSlot slot, int64_t parity,
                          Finding &finding) const;

  const BarrierModel &model;
  const BarrierSelection &selection;
  const BarrierState &parts;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_BARRIERS_BARRIERSTEPS_H
