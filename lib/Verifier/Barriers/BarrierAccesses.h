//===- BarrierAccesses.h - Accesses that barriers order ---------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_BARRIERS_BARRIERACCESSES_H
#define TILEWS_LIB_VERIFIER_BARRIERS_BARRIERACCESSES_H

#include "Verifier/Barriers/BarrierState.h"

namespace tilews::verifier {

/// The steps that access places: each is checked against the task's clock, and
/// removed from the clocks of the other tasks.
///
/// Example: `tile.store %t to %slot`, which is place 1, by task 2 of 3. The
/// clock of task 2 must contain place 1 in the rows OfThreads, OfCopies and
/// OfLoads, unless task 2 was the last to write there, and in the rows
/// getReads(0), (1) and (2). Afterwards no other clock contains place 1 in
/// OfThreads.
class BarrierAccesses {
public:
  BarrierAccesses(const BarrierModel &model, const BarrierState &parts)
      : model(model), parts(parts) {}

  /// All accesses of an event; `inputs` are its slot numbers. The state is as
  /// it was unless the outcome is `Done`.
  Outcome access(State &state, unsigned task, const BarrierEvent &event,
                 llvm::ArrayRef<int64_t> inputs, Finding &finding) const;

private:
  using Conflicts = FillState::Conflicts;

  PlaceSet getPlaces(const PlaceAccess &access,
                     std::optional<int64_t> version) const;
  Outcome read(State &state, unsigned task, const BarrierEvent &event,
               PlaceSet places, bool isAsyncProxy, Finding &finding) const;
  Outcome checkRead(const State &state, unsigned task,
                    const BarrierEvent &event, PlaceSet places,
                    bool isAsyncProxy, Finding &finding) const;
  Outcome write(State &state, unsigned task, const BarrierEvent &event,
                const PlaceAccess &access, PlaceSet places,
                Finding &finding) const;
  Outcome checkWrite(const State &state, unsigned task,
                     const BarrierEvent &event, PlaceSet places,
                     const Conflicts &conflicts, Finding &finding) const;
  Outcome checkConflicts(
      const State &state, unsigned task, const PlaceAccess &access,
      PlaceSet places, Finding &finding,
      llvm::function_ref<Outcome(const Conflicts &, Finding &)> check) const;
  Outcome update(State &state, unsigned task, const BarrierEvent &event,
                 const PlaceAccess &access, PlaceSet places,
                 Finding &finding) const;
  Outcome startLoad(State &state, unsigned task, const BarrierEvent &event,
                    const PlaceAccess &access, PlaceSet places,
                    BarrierSlot slot, Finding &finding) const;
  Outcome checkLoad(State &state, unsigned task, const BarrierEvent &event,
                    PlaceSet places, BarrierSlot slot,
                    const Conflicts &conflicts, Finding &finding) const;
  Outcome checkSharing(const State &state, unsigned task,
                       const BarrierEvent &event, PlaceSet places,
                       Finding &finding) const;
  Outcome accessNeighbour(State &state, unsigned task,
                          const BarrierEvent &event, Finding &finding) const;
  bool isByOneThread(const BarrierEvent &event) const;
  bool isOrderedBefore(const State &state, unsigned task, PlaceSet places,
                       const Conflicts &conflicts) const;
  Outcome checkThreads(const State &state, unsigned task, mlir::Operation *op,
                       PlaceSet places, const Conflicts &conflicts,
                       const std::string &writes, Finding &finding) const;

  const BarrierModel &model;
  const BarrierState &parts;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_BARRIERS_BARRIERACCESSES_H
