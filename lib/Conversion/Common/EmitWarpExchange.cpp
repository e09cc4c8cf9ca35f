//===- EmitWarpExchange.cpp - Registers between the lanes of a warp -------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the exchange that `getWarpExchange` plans. Registers are packed into
// 32-bit words. In each round a lane offers one word of each group and reads
// what one other lane offers, by one shuffle a word. The transpose of 2 x 2
// elements in lanes 0 and 1 takes two rounds:
//
//   round 0: lane l offers register l and keeps it
//   round 1: lane l offers register l ^ 1 and reads that of lane l ^ 1
//
// Which register a lane offers depends on bits of its number. Indexing
// registers by a value would move them to memory, so the choice is a tree of
// selects: `swap` and `fold` handle one bit each, before the shuffles (`offer`)
// and after them (`take`).
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/Patterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tilews;

/// The 32-bit words of a group of elements that stays together in a lane.
using Words = SmallVector<Value>;

namespace {
/// Emits an exchange. Bit `i` of an index into a list of words belongs to the
/// `i`-th bit move that takes part at this point.
class ExchangeEmitter {
public:
  ExchangeEmitter(ImplicitLocOpBuilder &b, const TargetLowering &target,
                  const WarpExchange &exchange, Value threadId)
      : b(b), target(target), exchange(exchange), threadId(threadId) {}

  Value run(Value vector) {
    auto type = cast<VectorType>(vector.getType());
    Type element = type.getElementType();
    storage = b.getIntegerType(
        std::max<unsigned>(element.getIntOrFloatBitWidth(), 8));
    for (Value value : unpack(b, vector))
      registers.push_back(toStorage(value));
    SmallVector<Words> read;
    if (!swapHalves(read)) {
      SmallVector<Words> offered = offer();
      read.clear();
      for (int64_t round = 0; round < exchange.getNumRounds(); ++round)
        read.push_back(shuffle(round, offered));
      take(read);
    }
    SmallVector<Value> results = collect(read);
    for (Value &value : results)
      value = fromStorage(value, element);
    return pack(b, element, results);
  }

private:
  //===------------------------------------------------------------------===//
  // Elements and words
  //===------------------------------------------------------------------===//

  /// Converts an element to an integer of at least a byte, and back.
  Value toStorage(Value value) {
    if (value.getType() == storage)
      return value;
    if (value.getType().getIntOrFloatBitWidth() < 8)
      return arith::ExtUIOp::create(b, storage, value);
    return arith::BitcastOp::create(b, storage, value);
  }
  Value fromStorage(Value value, Type element) {
    if (element == storage)
      return value;
    if (element.getIntOrFloatBitWidth() < 8)
      return arith::TruncIOp::create(b, element, value);
    return arith::BitcastOp::create(b, element, value);
  }

  int64_t getPerWord() const {
    return std::max<int64_t>(32 / storage.getWidth(), 1);
  }

  /// Returns a register of the source. Registers that it lacks are zero, and
  /// the result does not use them.
  Value getRegister(size_t number) {
    return number < registers.size() ? registers[number] : getZero();
  }
  Value getZero() {
    return arith::ConstantOp::create(b, b.getIntegerAttr(storage, 0));
  }

  /// Packs one group of registers, the first of which is `base`, into words.
  Words getWords(int64_t base) {
    Words words;
    int64_t perWord = getPerWord(), count = exchange.getNumKept();
    for (int64_t first = 0; first < count; first += perWord) {
      SmallVector<Value> elements;
      for (int64_t i = first; i < first + perWord; ++i)
        elements.push_back(i < count
                               ? getRegister(base + exchange.getKeptSource(i))
                               : getZero());
      if (storage.getWidth() == 32) {
        words.push_back(elements.front());
        continue;
      }
      Value packed = pack(b, storage, elements);
      if (storage.getWidth() < 32)
        words.push_back(LLVM::BitcastOp::create(b, b.getI32Type(), packed));
      else
        llvm::append_range(
            words,
            unpack(b, LLVM::BitcastOp::create(
                          b, VectorType::get({2}, b.getI32Type()), packed)));
    }
    return words;
  }

  SmallVector<Value> getElements(const Words &words) {
    if (storage.getWidth() == 32)
      return words;
    SmallVector<Value> elements;
    auto packed = VectorType::get({getPerWord()}, storage);
    size_t wordsPerGroup = storage.getWidth() / 32 + (storage.getWidth() < 32);
    for (size_t i = 0; i < words.size(); i += wordsPerGroup) {
      Value group = words[i];
      if (wordsPerGroup > 1)
        group = pack(b, b.getI32Type(),
                     ArrayRef<Value>(words).slice(i, wordsPerGroup));
      llvm::append_range(elements,
                         unpack(b, LLVM::BitcastOp::create(b, packed, group)));
    }
    return elements;
  }

  //===------------------------------------------------------------------===//
  // Choices by the thread's number
  //===------------------------------------------------------------------===//

  Value constant(int64_t value) {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  }
  /// Computes whether the bit `lane` of the lane's number is set.
  Value isSet(int64_t lane) {
    Value &known = predicates[lane];
    if (!known) {
      Value bit = arith::AndIOp::create(b, threadId, constant(lane));
      known =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bit, constant(0));
    }
    return known;
  }
  Words select(Value condition, const Words &yes, const Words &no) {
    Words words;
    for (auto [a, c] : llvm::zip_equal(yes, no))
      words.push_back(a == c ? a : arith::SelectOp::create(b, condition, a, c));
    return words;
  }
  /// Swaps entries that differ in bit `position` in lanes whose bit `lane` is
  /// set.
  void swap(MutableArrayRef<Words> entries, unsigned position, int64_t lane) {
    size_t bit = size_t(1) << position;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i & bit)
        continue;
      Words low = select(isSet(lane), entries[i | bit], entries[i]);
      entries[i | bit] = select(isSet(lane), entries[i], entries[i | bit]);
      entries[i] = low;
    }
  }
  /// Keeps the entries whose bit `position` equals the lane's bit `lane`.
  void fold(SmallVector<Words> &entries, unsigned position, int64_t lane) {
    size_t bit = size_t(1) << position;
    SmallVector<Words> left;
    for (size_t i = 0; i < entries.size(); ++i)
      if (!(i & bit))
        left.push_back(select(isSet(lane), entries[i | bit], entries[i]));
    entries = std::move(left);
  }

  //===------------------------------------------------------------------===//
  // The exchange
  //===------------------------------------------------------------------===//

  /// Computes what lanes offer: an entry for each combination of the round bits
  /// of the moves that leave the register's number.
  SmallVector<Words> offer() {
    SmallVector<const WarpExchange::BitMove *> bitMoves;
    for (const WarpExchange::BitMove &move : exchange.bitMoves)
      if (move.sourceRegister)
        bitMoves.push_back(&move);
    SmallVector<Words> entries;
    for (int64_t index = 0; index < int64_t(1) << bitMoves.size(); ++index) {
      int64_t base = 0;
      for (auto [i, move] : llvm::enumerate(bitMoves))
        base += move->sourceRegister->weigh(index >> i & 1);
      entries.push_back(pick(base, exchange.picks));
    }
    for (int64_t i = int64_t(bitMoves.size()) - 1; i >= 0; --i) {
      if (!bitMoves[i]->takesRound)
        fold(entries, i, bitMoves[i]->sourceLane);
      else if (bitMoves[i]->sourceLane)
        swap(entries, i, bitMoves[i]->sourceLane);
    }
    return entries;
  }

  /// Selects registers by digits of the warp's number.
  Words pick(int64_t base, ArrayRef<WarpExchange::Pick> picks) {
    if (picks.empty())
      return getWords(base);
    const WarpExchange::Pick &first = picks.front();
    Value digit =
        arith::DivUIOp::create(b, threadId, constant(first.threadStep));
    digit = arith::RemUIOp::create(b, digit, constant(first.source.extent));
    Words picked = pick(base, picks.drop_front());
    for (int64_t value = 1; value < first.source.extent; ++value) {
      Value is = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, digit,
                                       constant(value));
      picked =
          select(is, pick(base + first.source.weigh(value), picks.drop_front()),
                 picked);
    }
    return picked;
  }

  /// Swaps a bit of the register's number and bit 32 of the lane's number, if
  /// that is all of the exchange and the target has an instruction for it.
  /// Results of `mfma` become operands of the next one in this way.
  bool swapHalves(SmallVector<Words> &entries) {
    if (exchange.bitMoves.size() != 1 || !exchange.isXor() ||
        exchange.flippedLanes != 0)
      return false;
    const WarpExchange::BitMove &move = exchange.bitMoves.front();
    if (!move.takesRound || !move.sourceRegister || !move.destRegister ||
        move.sourceLane != 32 || move.destLane != 32)
      return false;
    entries = {pick(0, exchange.picks),
               pick(move.sourceRegister->weigh(1), exchange.picks)};
    for (auto [lower, upper] : llvm::zip_equal(entries[0], entries[1]))
      if (!target.emitSwapHalves(b, lower, upper))
        return false;
    return true;
  }

  /// Shuffles the words of one round.
  Words shuffle(int64_t round, ArrayRef<Words> offered) {
    size_t index = 0;
    unsigned position = 0, bit = 0;
    for (const WarpExchange::BitMove &move : exchange.bitMoves) {
      if (!move.takesRound)
        continue;
      if (move.sourceRegister)
        index |= (round >> bit & 1) << position++;
      ++bit;
    }
    int64_t mask = exchange.getRoundMask(round);
    bool isXor = exchange.isXor();
    Words words;
    for (Value word : offered[index]) {
      if (!isXor)
        word = target.emitShuffle(b, word, getSourceLane(mask));
      else if (mask)
        word = target.emitShuffleXor(b, word, mask);
      words.push_back(word);
    }
    return words;
  }

  /// Returns the lane that this lane reads from in rounds with `mask`.
  Value getSourceLane(int64_t mask) {
    if (!sourceLane) {
      auto add = [&](int64_t to, Value bit) {
        Value weighed = arith::MulIOp::create(b, bit, constant(to));
        sourceLane =
            sourceLane ? arith::OrIOp::create(b, sourceLane, weighed) : weighed;
      };
      auto bitOf = [&](int64_t step) {
        Value digit = arith::DivUIOp::create(b, threadId, constant(step));
        return arith::AndIOp::create(b, digit, constant(1)).getResult();
      };
      sourceLane = constant(0);
      for (const WarpExchange::LaneMove &move : exchange.moves)
        add(move.sourceLane, bitOf(move.threadStep));
      for (const WarpExchange::BitMove &move : exchange.bitMoves)
        if (move.sourceLane && move.destLane)
          add(move.sourceLane, bitOf(move.destLane));
    }
    if (mask == 0)
      return sourceLane;
    return arith::XOrIOp::create(b, sourceLane, constant(mask));
  }

  /// Reorders what was read: an entry for each combination of the bits that
  /// come into the register's number.
  void take(SmallVector<Words> &entries) {
    SmallVector<const WarpExchange::BitMove *> bitMoves;
    for (const WarpExchange::BitMove &move : exchange.bitMoves)
      if (move.takesRound)
        bitMoves.push_back(&move);
    for (int64_t i = int64_t(bitMoves.size()) - 1; i >= 0; --i) {
      if (!bitMoves[i]->destLane)
        continue;
      if (bitMoves[i]->destRegister)
        swap(entries, i, bitMoves[i]->destLane);
      else
        fold(entries, i, bitMoves[i]->destLane);
    }
  }

  SmallVector<Value> collect(ArrayRef<Words> entries) {
    SmallVector<SmallVector<Value>> elements;
    for (const Words &words : entries)
      elements.push_back(getElements(words));
    SmallVector<Value> result;
    for (int64_t number = 0; number < exchange.destValues; ++number) {
      size_t index = 0;
      unsigned position = 0;
      for (const WarpExchange::BitMove &move : exchange.bitMoves)
        if (move.destRegister)
          index |= move.destRegister->of(number) << position++;
      result.push_back(elements[index][exchange.getKept(number)]);
    }
    return result;
  }

  ImplicitLocOpBuilder &b;
  const TargetLowering &target;
  const WarpExchange &exchange;
  Value threadId;
  SmallVector<Value> registers;
  IntegerType storage;
  llvm::DenseMap<int64_t, Value> predicates;
  Value sourceLane;
};
} // namespace

Value tilews::createWarpExchange(ImplicitLocOpBuilder &b,
                                 const TargetLowering &target,
                                 const WarpExchange &exchange, Value vector,
                                 Value threadId) {
  return ExchangeEmitter(b, target, exchange, threadId).run(vector);
}
