//===- WarpExchange.h - Moves of registers within a warp --------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How the lanes of a warp bring a fragment from one layout into another by
// exchanging registers. Both layouts are cut into the same digits of the
// coordinates; what has to happen to a digit follows from where the two
// layouts keep it: in a register index, in a lane's number, or in a warp's.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LAYOUT_WARPEXCHANGE_H
#define TILEWS_LAYOUT_WARPEXCHANGE_H

#include "tilews/Layout/Layout.h"

namespace tilews {

/// A digit of a register's number: `number / step % modulo / part % extent`.
/// The modulus counts where a layout holds less than the digits it is cut into.
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
/// * a *turn* is a bit that moves from the register's number in the source
///   (`sourceRegister`) into the lane's number in the result (`destLane`), or
///   from the lane's number in the source (`sourceLane`) into the register's
///   number in the result (`destRegister`), or both at once in opposite
///   directions. What takes no part is 0.
///
/// With a bit `r` of the round's number for each turn that `takesRound`
/// (r = 0 for the others), lane `l` of the result reads from the lane whose bit
/// `sourceLane` is `r ^ (l & destLane)`; lane `s` of the source offers the
/// register whose bit `sourceRegister` is `r ^ (s & sourceLane)`; and what lane
/// `l` reads has bit `destRegister` equal to `r ^ (l & destLane)`.
struct WarpExchange {
  /// A digit of the source's register number that equals `thread / step %
  /// source.extent`, a digit of the warp's number.
  struct Pick {
    RegisterDigit source;
    int64_t threadStep;
  };
  struct Turn {
    std::optional<RegisterDigit> sourceRegister, destRegister;
    int64_t sourceLane = 0, destLane = 0;
    /// Whether two rounds are needed for it. Without, all lanes that differ in
    /// `sourceLane` hold the same registers, and each offers another one.
    bool takesRound = true;
  };
  /// A digit that a register has in both layouts.
  struct Kept {
    RegisterDigit source, dest;
  };
  /// Bit `sourceLane` of the source's lane is `thread / threadStep % 2`.
  struct LaneMove {
    int64_t sourceLane, threadStep;
  };

  int64_t sourceValues = 1, destValues = 1;
  llvm::SmallVector<Pick> picks;
  llvm::SmallVector<Turn> turns;
  llvm::SmallVector<Kept> kept;
  llvm::SmallVector<LaneMove> moves;
  int64_t warpSize;

  /// Elements that a lane keeps together: the values of all kept digits.
  int64_t getNumKept() const;
  /// The register's number in the source (dest) for the kept digits' values
  /// numbered by `kept`, first digit fastest.
  int64_t getKeptSource(int64_t kept) const;
  /// The number of the kept digits' values of a register of the result.
  int64_t getKept(int64_t destRegister) const;

  int64_t getNumRounds() const;
  /// Whether lanes read from lanes whose number differs from theirs in the bits
  /// of `getRoundMask` alone, the same for all lanes.
  bool isXor() const;
  /// What the number of a round changes in the source lane's.
  int64_t getRoundMask(int64_t round) const;
  /// Rounds in which lanes read from others.
  int64_t getNumShuffleRounds() const;
  /// Two-way selections of each element that is kept together.
  int64_t getNumSelects() const;
  /// Whether registers are renamed and nothing else.
  bool isRename() const {
    return getNumShuffleRounds() == 0 && getNumSelects() == 0;
  }
};

/// The exchange that makes of a fragment of `shape` in layout `from` one in
/// layout `to`; none if elements have to move between warps, or if the layouts
/// have no common digits.
std::optional<WarpExchange> getWarpExchange(const FragmentLayout &from,
                                            const FragmentLayout &to,
                                            llvm::ArrayRef<int64_t> shape,
                                            int64_t warpSize);

/// The layout nearest to `layout` in which runs of `elements` neighbours along
/// dimension `dim` are held by one lane, as its first registers, and which
/// lanes reach by exchanging registers with lanes that differ in few bits: the
/// lanes that share such a run give it to one of them and get other registers'
/// runs for it. None if `layout` has no such neighbour: if the run is spread
/// over warps, or too few registers are there to be given.
std::optional<FragmentLayout> getWideLayout(const FragmentLayout &layout,
                                            llvm::ArrayRef<int64_t> shape,
                                            int64_t dim, int64_t elements,
                                            int64_t warpSize);

} // namespace tilews

#endif // TILEWS_LAYOUT_WARPEXCHANGE_H
