//===- VectorClock.h - Happens-before as sets of bits -----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A vector clock holds, for each process, how many of its events happen-before
// the next event of the clock's owner (Mattern, "Virtual Time and Global States
// of Distributed Systems", 1989; Fidge, "Timestamps in Message-Passing
// Systems", 1988). Race detectors compare it with the times of earlier
// accesses: FastTrack (Flanagan and Freund, PLDI 2009) keeps the time of the
// last write to a variable, and those of the reads since.
//
// A verifier cannot count: a loop of unknown length must come back to a state
// that it has been in. It need not count either, because only the last access
// of each kind to each place is ever compared with. So each of these clocks
// holds the result of the comparison, one bit for a kind of access (a row) and
// a place:
//
//     Bit b of row r is set: the last event of kind r on place b
//     happens-before the next step of the clock's owner.
//
// A process of a counting clock increments its own component, which makes all
// older copies of it out of date. An event here clears its bit in all clocks
// but its own task's.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_ENGINE_VECTORCLOCK_H
#define TILEWS_LIB_VERIFIER_ENGINE_VECTORCLOCK_H

#include "llvm/Support/raw_ostream.h"

#include <cstdint>

namespace tilews::verifier {

/// A vector clock in the words of a state, to be read only.
///
/// Example: row 0 stands for writes, row 1 for reads by task 1; bits stand for
/// the two versions of a buffer. Task 0 may write to version 0 and not to
/// version 1, which task 1 may still read:
///
///     row 0: {0, 1}
///     row 1: {0}
///     clock.contains(1, 0b01) == true
///     clock.getMissing(1, 0b11) == 0b10
class VectorClockRef {
public:
  VectorClockRef(const int64_t *rows, unsigned numRows)
      : rows(rows), numRows(numRows) {}

  unsigned getNumRows() const { return numRows; }
  uint64_t operator[](unsigned row) const { return rows[row]; }
  /// Whether the last events of kind `row` on all of `places` happen-before the
  /// owner's next step.
  bool contains(unsigned row, uint64_t places) const {
    return getMissing(row, places) == 0;
  }
  /// The places among `places` for which this does not hold.
  uint64_t getMissing(unsigned row, uint64_t places) const {
    return places & ~uint64_t(rows[row]);
  }

  /// Prints the rows as sets, such as "{0,1} {0}".
  void print(llvm::raw_ostream &os) const {
    for (unsigned row = 0; row < numRows; ++row) {
      os << (row ? " " : "");
      printPlaces(os, rows[row]);
    }
  }
  /// Prints a set as "{0,3}", and the set of everything as "all".
  static void printPlaces(llvm::raw_ostream &os, uint64_t places) {
    if (~places == 0) {
      os << "all";
      return;
    }
    const char *separator = "{";
    for (unsigned place = 0; place < 64; ++place)
      if (places >> place & 1) {
        os << separator << place;
        separator = ",";
      }
    os << (places ? "}" : "{}");
  }

private:
  const int64_t *rows;
  unsigned numRows;
};

/// A vector clock in the words of a state, to be changed.
///
/// Example: a release and an acquire through a barrier. The first task joins
/// its clock into the barrier's, the second one joins that into its own:
///
///     barrierClock.join(releasingTask);
///     acquiringTask.join(barrierClock);
class VectorClock : public VectorClockRef {
public:
  VectorClock(int64_t *rows, unsigned numRows)
      : VectorClockRef(rows, numRows), rows(rows) {}

  /// From now on the events of kind `row` on `places` happen-before the owner's
  /// next step.
  void learn(unsigned row, uint64_t places) { rows[row] |= places; }
  /// New events, which are not ordered before the owner's next step.
  void forget(unsigned row, uint64_t places) { rows[row] &= ~places; }
  /// Learns all that `other` contains.
  void join(VectorClockRef other) {
    for (unsigned row = 0; row < getNumRows(); ++row)
      rows[row] |= other[row];
  }
  /// Sets all rows: to nothing, or to everything.
  void clear() { std::fill_n(rows, getNumRows(), 0); }
  void fill() { std::fill_n(rows, getNumRows(), -1); }

private:
  int64_t *rows;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_ENGINE_VECTORCLOCK_H
