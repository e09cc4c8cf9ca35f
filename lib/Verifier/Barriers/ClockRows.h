//===- ClockRows.h - The rows of a clock of barriers ------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_BARRIERS_CLOCKROWS_H
#define TILEWS_LIB_VERIFIER_BARRIERS_CLOCKROWS_H

namespace tilews::verifier {

/// The rows of a vector clock in a kernel with barriers, and what bit b of each
/// says. "Known" stands for "happens-before the next step of the clock's
/// owner".
///
///     row             bit b   set if
///     OfThreads       place   the last write to b by threads is known
///     OfCopies        place   the last copies to b by cp.async are known to
///                             have landed
///     OfLoads         place   the last TMA loads to b are known to have landed
///     getVisible(r)   place   the last writes to b of row r, OfThreads or
///                             OfCopies, are known, and the asynchronous proxy
///                             sees them
///     getReads(t)     place   all reads of b by task t are known
///     getFencedReads(t)
///                     place   all reads of b by threads of task t are known,
///                             and a proxy fence after them
///     getAtomics(t)   place   all atomic updates of b by task t are known
///     getCompleted()  slot    the last complete phase of slot b is known to be
///                             complete
///     getAwaited()    slot    the one task that waits for slot b is known to
///                             have waited for its last complete phase
///     getExpected(t)  slot    all expectations of bytes of slot b by task t
///                             are known
///
/// Bits of the rows of places are numbers of `SharedPlaces`, the others are
/// `BarrierSelection::getPhaseBit`. The rows getVisible, getFencedReads,
/// getAtomics and getExpected exist only in kernels that have such events
/// (`Kinds`).
///
/// The rows getCompleted and getAwaited are for barriers that one task waits
/// for. If several do, each slot has a place p of its own
/// (`Barrier::phasePlaces`), for which the rows of places have other meanings:
///
///     OfThreads      p       the last complete phase is known to be complete
///     OfCopies       p       the phase before that one is
///     getReads(t)    p       the last wait of task t for the slot is known
///
/// Example, two tasks and one place: the kernel stored to place 0 and then
/// synchronized with task 1, which has read it since. The clock of the kernel
/// is OfThreads {0}, OfCopies {0}, OfLoads {0}, getReads(0) {0},
/// getReads(1) {}: it may read place 0, and may not write to it.
///
/// In kernels whose blocks reach into other blocks of the cluster the rows come
/// twice. Those of the second half, `getPeer(row)`, say the same of the peers'
/// memory and barriers.
class ClockRows {
public:
  /// The optional rows: whether a kernel has them.
  struct Kinds {
    bool visible, fencedReads, atomics, expected, peers;
  };
  /// The rows of writes.
  enum WriteRow : unsigned { OfThreads, OfCopies, OfLoads };

  ClockRows(unsigned tasks, Kinds kinds) : tasks(tasks), kinds(kinds) {}

  const Kinds &getKinds() const { return kinds; }
  unsigned getVisible(unsigned writes) const { return OfLoads + 1 + writes; }
  unsigned getReads(unsigned task) const {
    return OfLoads + 1 + (kinds.visible ? 2 : 0) + task;
  }
  unsigned getFencedReads(unsigned task) const {
    return getReads(tasks) + task;
  }
  unsigned getAtomics(unsigned task) const {
    return getReads(tasks) + (kinds.fencedReads ? tasks : 0) + task;
  }
  unsigned getCompleted() const {
    return getAtomics(0) + (kinds.atomics ? tasks : 0);
  }
  unsigned getAwaited() const { return getCompleted() + 1; }
  unsigned getExpected(unsigned task) const { return getAwaited() + 1 + task; }
  /// Whether the bits of a row, of either half, are slots of barriers.
  bool isOfSlots(unsigned row) const {
    return row % getNumOwn() >= getCompleted();
  }

  /// How many rows are about the block itself.
  unsigned getNumOwn() const {
    return getAwaited() + 1 + (kinds.expected ? tasks : 0);
  }
  unsigned getPeer(unsigned row) const { return getNumOwn() + row; }
  unsigned size() const { return getNumOwn() * (kinds.peers ? 2 : 1); }

private:
  unsigned tasks;
  Kinds kinds;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_BARRIERS_CLOCKROWS_H
