//===- FillState.h - Writes of a fill that may be under way -----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_BARRIERS_FILLSTATE_H
#define TILEWS_LIB_VERIFIER_BARRIERS_FILLSTATE_H

#include "Verifier/Barriers/AccessHistory.h"
#include "Verifier/Barriers/ProxyFences.h"
#include "Verifier/Barriers/TaskKnowledge.h"

namespace tilews::verifier {

/// The writes to a place by its last writer that may not be complete, or not
/// ordered before the next write of that task. A clock does not say which they
/// are. Only buffers whose writes are parts of a fill, or clash, have words.
///
/// Example: two TMA copies to rows 0 to 7 and 8 to 15 of place 0.
///
///     step                  open   a copy to rows 0 to 7 would be
///     copy to rows 8 to 15  {1}    right: the other bytes are free
///     copy to rows 0 to 7   {0,1}  wrong: a copy to these bytes is under way
///     both have landed      {}     right
class FillState {
public:
  FillState(const BarrierModel &model, const TaskKnowledge &knowledge,
            const AccessHistory &history, const ProxyFences &proxy,
            StateLayout &layout);

  /// Places where a write has conflicts with earlier writes of its task:
  struct Conflicts {
    /// with copies by cp.async;
    PlaceSet copies;
    /// with TMA loads;
    PlaceSet loads;
    /// with writes through the generic proxy, stores or copies by cp.async;
    PlaceSet generic;
    /// with writes by other threads of the task.
    PlaceSet threads;
  };
  /// With `isCertain`, only those that exist for all values of the offsets.
  Conflicts getConflicts(const State &state, unsigned task,
                         const PlaceAccess &access, PlaceSet places,
                         bool isCertain = false) const;
  /// `task` makes a write to `places`.
  void addWrite(State &state, const PlaceAccess &access, PlaceSet places) const;
  /// A task begins `loop`: its earlier writes there may be to the same bytes.
  void enterLoop(State &state, mlir::Operation *loop) const;
  /// Drops writes that are ordered before all later ones.
  void settle(State &state) const;
  /// Renumbers the versions of buffers, from version `base` on.
  void rotate(State &state, llvm::ArrayRef<unsigned> buffers,
              int64_t base) const;
  void print(llvm::raw_ostream &os, const State &state) const;

private:
  /// Bit w of a word: write w is open. Bit w + kFills: an execution of it in an
  /// earlier run of its loop is.
  static constexpr unsigned kFills = 32;

  /// Calls `fn(place, fill, word)` for the places of mixed buffers.
  template <typename FnT>
  void forEach(FnT fn) const;
  std::optional<unsigned> getWord(unsigned buffer, unsigned place) const;

  const BarrierModel &model;
  const TaskKnowledge &knowledge;
  const AccessHistory &history;
  const ProxyFences &proxy;
  /// By buffer: the word of its first place.
  llvm::SmallVector<std::optional<unsigned>> first;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_BARRIERS_FILLSTATE_H
