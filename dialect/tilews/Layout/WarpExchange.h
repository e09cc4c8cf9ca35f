//===- WarpExchange.h - Moves of registers within a warp --------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How the lanes of a warp convert a fragment from one layout to another by
// exchanging registers. Both layouts are cut into the same digits of the
// coordinates. What happens to a digit follows from where each layout keeps it:
// in the number of a register, of a lane, or of a warp.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LAYOUT_WARPEXCHANGE_H
#define TILEWS_LAYOUT_WARPEXCHANGE_H

#include "tilews/Layout/Layout.h"

namespace tilews {

/// A digit of a register's number: `number / step % modulo / part % extent`.
/// The modulus matters if a layout reaches less far than the digits into which
/// it is cut.
struct RegisterDigit {
  int64_t extent, step, modulo, part;

  int64_t of(int64_t number) const {
    return number / step % modulo / part % extent;
  }
  /// What value `value` of the digit adds to the number.
  int64_t weigh(int64_t value) const { return value * part * step; }
};

/// An exchange of registers between the lanes of a warp.
///
/// In each round a lane offers one register (of each group that is kept
/// together) and reads what one lane offers. Registers, lanes and rounds are
/// numbered in bits where they take part in the exchange:
///
/// * a *pick* selects among the registers by a digit of the warp's number;
/// * a *bit move* exchanges bits of the numbers of registers and lanes. It
///   takes a bit from the register's number in the source (`sourceRegister`) to
///   the lane's number in the result (`destLane`), or from the lane's number in
///   the source (`sourceLane`) to the register's number in the result
///   (`destRegister`). It can also do both at once. Numbers that take no part
///   are 0.
///
/// Each bit move that `takesRound` has a bit `r` of the round's number; r = 0
/// for the others. Lane `l` of the result reads from the lane whose bit
/// `sourceLane` is `r ^ (l & destLane)`. Lane `s` of the source offers the
/// register whose bit `sourceRegister` is `r ^ (s & sourceLane)`. The value
/// that lane `l` reads goes to the register whose bit `destRegister` is `r ^ (l
/// & destLane)`.
///
/// Example: the transpose of 2 x 2 elements in lanes 0 and 1 is one bit move,
/// of bit 0 in all four numbers, in two rounds.
struct WarpExchange {
  /// A digit of the source's register number that equals `thread / step %
  /// source.extent`, a digit of the warp's number.
  struct Pick {
    RegisterDigit source;
    int64_t threadStep;
  };
  struct BitMove {
    std::optional<RegisterDigit> sourceRegister, destRegister;
    int64_t sourceLane = 0, destLane = 0;
    /// Whether it needs two rounds. If not, lanes that differ in `sourceLane`
    /// hold the same registers, and each offers a different one.
    bool takesRound = true;
  };
  /// A digit of the register's number in both layouts.
  struct Kept {
    RegisterDigit source, dest;
  };
  /// Bit `sourceLane` of the source's lane is `thread / threadStep % 2`.
  struct LaneMove {
    int64_t sourceLane, threadStep;
  };

  int64_t sourceValues = 1, destValues = 1;
  llvm::SmallVector<Pick> picks;
  llvm::SmallVector<BitMove> bitMoves;
  llvm::SmallVector<Kept> kept;
  llvm::SmallVector<LaneMove> moves;
  /// Bits of the lane's number in which a lane and the lane that it reads from
  /// differ in addition, in every round.
  int64_t flippedLanes = 0;
  int64_t warpSize;

  /// Returns the size of a group of elements that stays together in a lane: the
  /// product of the extents of the kept digits.
  int64_t getNumKept() const;
  /// Returns the register of the source for value `kept` of the kept digits,
  /// which are numbered with the first digit fastest.
  int64_t getKeptSource(int64_t kept) const;
  /// Returns the value of the kept digits of a register of the result.
  int64_t getKept(int64_t destRegister) const;

  int64_t getNumRounds() const;
  /// Returns whether each lane reads from the lane whose number differs in
  /// exactly the bits of `getRoundMask`.
  bool isXor() const;
  /// Returns the bits of the source lane that a round flips.
  int64_t getRoundMask(int64_t round) const;
  /// Returns the number of rounds in which lanes read from other lanes.
  int64_t getNumShuffleRounds() const;
  /// Returns the number of two-way selects for each element of a group.
  int64_t getNumSelects() const;
  /// Returns whether registers are only renamed.
  bool isRename() const {
    return getNumShuffleRounds() == 0 && getNumSelects() == 0;
  }
};

/// Returns the exchange that converts a fragment of `shape` from layout `from`
/// to layout `to`. None if elements must move between warps, or if the layouts
/// have no common digits.
std::optional<WarpExchange> getWarpExchange(const FragmentLayout &from,
                                            const FragmentLayout &to,
                                            llvm::ArrayRef<int64_t> shape,
                                            int64_t warpSize);

/// Returns a layout close to `layout` in which one lane holds each run of
/// `elements` neighbours along dimension `dim`, as its first registers. Lanes
/// that share a run in `layout` give it to one of them and get runs of other
/// registers in return, so the conversion exchanges few bits. None if a run is
/// spread over warps, or a lane has too few registers to give.
std::optional<FragmentLayout> getWideLayout(const FragmentLayout &layout,
                                            llvm::ArrayRef<int64_t> shape,
                                            int64_t dim, int64_t elements,
                                            int64_t warpSize);

} // namespace tilews

#endif // TILEWS_LAYOUT_WARPEXCHANGE_H
