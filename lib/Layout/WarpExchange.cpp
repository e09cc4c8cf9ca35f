//===- WarpExchange.cpp - Moves of registers within a warp ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans the conversion of a fragment from one layout to another by shuffles.
// Both layouts are cut into the same prime digits of the coordinates. What
// happens to a digit depends on its two homes:
//
//   register -> register   kept, the register is renamed
//   register -> lane       exchanged: a round for each value of the digit
//   lane -> register       exchanged the other way around
//   lane -> lane, warp     read from another lane
//   register -> warp       picked: a select by the number of the warp
//   warp -> elsewhere      impossible, scratch memory is needed
//
// A bit that leaves the register's number is paired with one that enters it, so
// that one round serves both. This is how a transpose by butterfly shuffles
// works, for any two layouts.
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/WarpExchange.h"

#include "PlacedModes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <set>
#include <tuple>

using namespace tilews;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::SmallVectorImpl;

//===----------------------------------------------------------------------===//
// Digits
//===----------------------------------------------------------------------===//

namespace {
enum class DigitPlace { Register, Lane, Warp };

/// A prime digit of a mode.
struct Digit {
  DigitPlace place;
  RegisterDigit digit;

  int64_t getStep() const { return digit.step * digit.part; }
};
} // namespace

/// Extends the last mode to `reach` if it is a mode of registers. The added
/// registers hold no element.
static void extendTo(SmallVectorImpl<PlacedMode> &modes, int64_t reach) {
  if (!modes.empty() && !modes.back().isThread && reach > getReach(modes) &&
      reach % modes.back().stride == 0)
    modes.back().extent = reach / modes.back().stride;
}

/// Collects the strides at which a digit of either list starts or ends, refined
/// to prime factors. Returns false if they do not divide each other.
static bool getCuts(ArrayRef<PlacedMode> a, ArrayRef<PlacedMode> b,
                    SmallVectorImpl<int64_t> &cuts) {
  std::set<int64_t> bounds = {1};
  for (ArrayRef<PlacedMode> modes : {a, b})
    for (const PlacedMode &mode : modes)
      bounds.insert(mode.stride * mode.extent);
  int64_t last = 1;
  cuts.push_back(1);
  for (int64_t bound : bounds) {
    if (bound % last != 0)
      return false;
    int64_t factor = bound / last;
    for (int64_t prime = 2; factor > 1; ++prime)
      for (; factor % prime == 0; factor /= prime)
        cuts.push_back(cuts.back() * prime);
    last = bound;
  }
  return true;
}

/// Returns a digit of a mode. None if it is neither one bit of the lane's
/// number nor a digit of the warp's number.
static std::optional<Digit> getDigit(const PlacedMode &mode, int64_t part,
                                     int64_t extent, int64_t warpSize) {
  Digit digit = {DigitPlace::Register, {extent, mode.step, mode.modulo, part}};
  if (!mode.isThread)
    return digit;
  int64_t step = digit.getStep();
  digit.place = step < warpSize ? DigitPlace::Lane : DigitPlace::Warp;
  if (step < warpSize ? extent != 2 || !llvm::isPowerOf2_64(step)
                      : step % warpSize != 0)
    return std::nullopt;
  return digit;
}

/// Returns the digit that covers strides `from` to `to` of the coordinate.
/// Clears `valid` if the digit has no place.
static std::optional<Digit> findDigit(ArrayRef<PlacedMode> modes, int64_t from,
                                      int64_t to, int64_t warpSize,
                                      bool &valid) {
  for (const PlacedMode &mode : modes)
    if (from >= mode.stride && to <= mode.stride * mode.extent) {
      std::optional<Digit> digit =
          getDigit(mode, from / mode.stride, to / from, warpSize);
      valid &= digit.has_value();
      return digit;
    }
  return std::nullopt; // past what the layout reaches
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

namespace {
/// Decides for each digit how it moves, and builds the exchange.
///
/// Example: source thread mode 8:1, value mode 4:8; result value mode 4:1,
/// thread mode 8:4 (warps of 8). Bits 1 and 2 move from lane to register, bits
/// 8 and 16 from register to lane, bit 4 from one lane bit to another.
class ExchangePlanner {
public:
  ExchangePlanner(const FragmentLayout &from, const FragmentLayout &to,
                  ArrayRef<int64_t> shape, int64_t warpSize)
      : from(from), to(to), shape(shape), warpSize(warpSize) {
    result.warpSize = warpSize;
    result.sourceValues = from.getNumValues();
    result.destValues = to.getNumValues();
  }

  std::optional<WarpExchange> plan() {
    // Warps must be whole, and both layouts must number the same threads.
    if (from.getNumThreads() != to.getNumThreads() ||
        from.getNumThreads() % warpSize != 0)
      return std::nullopt;
    for (size_t dim = 0; dim < shape.size(); ++dim)
      if (!addDim(dim))
        return std::nullopt;
    if (!addReplicas())
      return std::nullopt;
    pairBitMoves();
    // Digits that are neighbours on both sides come first, because words are
    // packed in this order.
    llvm::sort(result.kept, [](const auto &a, const auto &b) {
      auto rank = [](const WarpExchange::Kept &kept) {
        int64_t source = kept.source.weigh(1), dest = kept.dest.weigh(1);
        return std::make_pair(std::max(source, dest), source);
      };
      return rank(a) < rank(b);
    });
    return std::move(result);
  }

private:
  bool addDim(int64_t dim) {
    SmallVector<PlacedMode> source = getPlacedModes(from, dim),
                            dest = getPlacedModes(to, dim);
    if (!fitToExtent(source, shape[dim]) || !fitToExtent(dest, shape[dim]))
      return false;
    extendTo(source, getReach(dest));
    extendTo(dest, getReach(source));
    SmallVector<int64_t> cuts;
    if (!getCuts(source, dest, cuts))
      return false;
    bool valid = true;
    for (size_t i = 0; i + 1 < cuts.size(); ++i) {
      std::optional<Digit> a =
          findDigit(source, cuts[i], cuts[i + 1], warpSize, valid);
      std::optional<Digit> b =
          findDigit(dest, cuts[i], cuts[i + 1], warpSize, valid);
      if (!valid || !addDigit(a, b))
        return false;
    }
    return true;
  }

  /// Handles one digit of a coordinate. Returns false if it moves between
  /// warps. A side is none if its layout does not reach values of the digit
  /// other than zero.
  bool addDigit(const std::optional<Digit> &source,
                const std::optional<Digit> &dest) {
    if (!source) // Registers with other values hold no element.
      return true;
    if (source->place == DigitPlace::Warp)
      return dest && dest->place == DigitPlace::Warp &&
             dest->getStep() == source->getStep();
    bool isRegister = source->place == DigitPlace::Register;
    if (!dest) // The digit is always zero.
      return true;
    switch (dest->place) {
    case DigitPlace::Register:
      if (isRegister)
        result.kept.push_back({source->digit, dest->digit});
      else
        incoming.push_back({std::nullopt, dest->digit, source->getStep(), 0});
      return true;
    case DigitPlace::Lane:
      if (isRegister)
        outgoing.push_back({source->digit, std::nullopt, 0, dest->getStep()});
      else
        result.moves.push_back({source->getStep(), dest->getStep()});
      return true;
    case DigitPlace::Warp:
      if (isRegister)
        result.picks.push_back({source->digit, dest->getStep()});
      else
        result.moves.push_back({source->getStep(), dest->getStep()});
      return true;
    }
    return false;
  }

  /// Collects lanes that hold copies, so that each can offer another register.
  bool addReplicas() {
    for (const PlacedMode &mode : getPlacedModes(from, -1)) {
      if (!mode.isThread)
        continue;
      int64_t part = 1, left = mode.extent;
      for (int64_t prime = 2; left > 1; ++prime)
        for (; left % prime == 0; left /= prime, part *= prime) {
          std::optional<Digit> digit = getDigit(mode, part, prime, warpSize);
          if (!digit)
            return false;
          if (digit->place == DigitPlace::Lane)
            copies.push_back(digit->getStep());
        }
    }
    // Replicas of the result need no move, but must be bits of lanes or digits
    // of warps.
    for (const PlacedMode &mode : getPlacedModes(to, -1)) {
      int64_t part = 1, left = mode.extent;
      for (int64_t prime = 2; mode.isThread && left > 1; ++prime)
        for (; left % prime == 0; left /= prime, part *= prime)
          if (!getDigit(mode, part, prime, warpSize))
            return false;
    }
    return true;
  }

  /// Pairs bits that leave the register's number with lanes that can offer
  /// them: copies, and lanes whose bit enters the register's number. Pairs with
  /// equal source and result lane come first, because they allow an XOR
  /// shuffle.
  void pairBitMoves() {
    for (bool samePlace : {true, false}) {
      for (WarpExchange::BitMove &out : outgoing) {
        if (out.sourceLane)
          continue;
        auto copy = llvm::find_if(copies, [&](int64_t lane) {
          return !samePlace || lane == out.destLane;
        });
        if (copy == copies.end())
          continue;
        out.sourceLane = *copy;
        out.takesRound = false;
        copies.erase(copy);
      }
      for (WarpExchange::BitMove &out : outgoing) {
        if (out.sourceLane)
          continue;
        auto in =
            llvm::find_if(incoming, [&](const WarpExchange::BitMove &move) {
              return !samePlace || move.sourceLane == out.destLane;
            });
        if (in == incoming.end())
          continue;
        out.sourceLane = in->sourceLane;
        out.destRegister = in->destRegister;
        incoming.erase(in);
      }
    }
    for (int64_t lane : copies) // The remaining copies serve their own lane.
      result.moves.push_back({lane, lane});
    llvm::append_range(result.bitMoves, outgoing);
    llvm::append_range(result.bitMoves, incoming);
  }

  const FragmentLayout &from, &to;
  ArrayRef<int64_t> shape;
  int64_t warpSize;
  WarpExchange result;
  SmallVector<WarpExchange::BitMove> outgoing, incoming;
  SmallVector<int64_t> copies;
};
} // namespace

std::optional<WarpExchange> tilews::getWarpExchange(const FragmentLayout &from,
                                                    const FragmentLayout &to,
                                                    ArrayRef<int64_t> shape,
                                                    int64_t warpSize) {
  return ExchangePlanner(from, to, shape, warpSize).plan();
}

//===----------------------------------------------------------------------===//
// Properties
//===----------------------------------------------------------------------===//

int64_t WarpExchange::getNumKept() const {
  int64_t count = 1;
  for (const Kept &digit : kept)
    count *= digit.source.extent;
  return count;
}

int64_t WarpExchange::getKeptSource(int64_t number) const {
  int64_t source = 0;
  for (const Kept &digit : kept) {
    source += digit.source.weigh(number % digit.source.extent);
    number /= digit.source.extent;
  }
  return source;
}

int64_t WarpExchange::getKept(int64_t destRegister) const {
  int64_t number = 0, weight = 1;
  for (const Kept &digit : kept) {
    number += digit.dest.of(destRegister) * weight;
    weight *= digit.dest.extent;
  }
  return number;
}

int64_t WarpExchange::getNumRounds() const {
  return int64_t(1) << llvm::count_if(
             bitMoves, [](const BitMove &move) { return move.takesRound; });
}

bool WarpExchange::isXor() const {
  int64_t same = 0;
  for (const BitMove &move : bitMoves)
    if (move.sourceLane == move.destLane)
      same |= move.sourceLane;
  for (const LaneMove &move : moves)
    if (move.sourceLane == move.threadStep)
      same |= move.sourceLane;
  return same == warpSize - 1;
}

int64_t WarpExchange::getRoundMask(int64_t round) const {
  int64_t mask = flippedLanes;
  for (const BitMove &move : bitMoves) {
    if (!move.takesRound)
      continue;
    if (round & 1)
      mask |= move.sourceLane;
    round >>= 1;
  }
  return mask;
}

int64_t WarpExchange::getNumShuffleRounds() const {
  int64_t rounds = getNumRounds(), count = 0;
  for (int64_t round = 0; round < rounds; ++round)
    count += !isXor() || getRoundMask(round) != 0;
  return count;
}

int64_t WarpExchange::getNumSelects() const {
  // In the order of emission: picks, moves at the source, moves at the result.
  int64_t registers = 1, selects = 0;
  for (const BitMove &move : bitMoves)
    if (move.sourceRegister)
      registers *= 2;
  for (const Pick &pick : picks)
    registers *= pick.source.extent;
  for (const Pick &pick : picks) {
    int64_t left = registers / pick.source.extent;
    selects += registers - left;
    registers = left;
  }
  for (const BitMove &move : bitMoves)
    if (!move.takesRound)
      selects += registers /= 2;
  for (const BitMove &move : bitMoves)
    if (move.takesRound && move.sourceRegister && move.sourceLane)
      selects += registers;
  registers = getNumRounds();
  for (const BitMove &move : bitMoves)
    if (move.takesRound && move.destLane)
      selects += move.destRegister ? registers : registers /= 2;
  return selects;
}

//===----------------------------------------------------------------------===//
// Wide runs
//===----------------------------------------------------------------------===//

/// Cuts modes into bits, as long as their extents are even.
static SmallVector<Mode> getBits(ArrayRef<Mode> modes) {
  SmallVector<Mode> bits;
  for (Mode mode : modes) {
    while (mode.extent % 2 == 0) {
      bits.push_back({2, mode.stride, mode.dim});
      mode.extent /= 2;
      mode.stride *= 2;
    }
    if (mode.extent > 1)
      bits.push_back(mode);
  }
  return bits;
}

std::optional<FragmentLayout>
tilews::getWideLayout(const FragmentLayout &layout, ArrayRef<int64_t> shape,
                      int64_t dim, int64_t elements, int64_t warpSize) {
  if (!llvm::isPowerOf2_64(elements) || shape[dim] % elements != 0)
    return std::nullopt;
  SmallVector<Mode> thread = getBits(layout.getThreadModes());
  SmallVector<Mode> value = getBits(layout.getValueModes());
  auto isBit = [&](const Mode &mode, int64_t stride) {
    return mode.extent == 2 && mode.stride == stride && mode.dim == dim;
  };
  // The bits of the run are register bits already, or lane bits that are
  // exchanged for register bits.
  SmallVector<Mode> run;
  SmallVector<Mode *> lanes;
  for (int64_t stride = 1; stride < elements; stride *= 2) {
    run.push_back({2, stride, dim});
    auto *held = llvm::find_if(
        value, [&](const Mode &mode) { return isBit(mode, stride); });
    if (held != value.end()) {
      value.erase(held);
      continue;
    }
    int64_t step = 1;
    Mode *lane = nullptr;
    for (Mode &mode : thread) {
      if (isBit(mode, stride) && step < warpSize)
        lane = &mode;
      step *= mode.extent;
    }
    if (!lane)
      return std::nullopt;
    lanes.push_back(lane);
  }
  for (Mode *lane : lanes) {
    // The next bit along the same dimension is best: neighbouring lanes then
    // hold neighbouring runs.
    auto *given = llvm::min_element(value, [&](const Mode &a, const Mode &b) {
      auto rank = [&](const Mode &mode) {
        bool bit = mode.extent == 2 && mode.stride != 0;
        return std::make_tuple(!bit, mode.dim != dim, mode.stride);
      };
      return rank(a) < rank(b);
    });
    if (given == value.end() || given->extent != 2 || given->stride == 0)
      return std::nullopt;
    *lane = *given;
    value.erase(given);
  }
  value.insert(value.begin(), run.begin(), run.end());
  return FragmentLayout(thread, value).coalesce();
}
