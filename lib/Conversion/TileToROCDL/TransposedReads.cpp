//===- TransposedReads.cpp - Operands that are stored the other way -------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matrix instructions want neighbors along K in the registers of a lane. An
// operand that is stored with rows along M or N, as the right one of A * B is,
// has them in different rows. So lanes read runs of rows, and transpose. gfx950
// does both by one instruction:
//
//   ds_read_b64_tr_b16   16 lanes, 4 rows of 16 elements of 16 bits
//   ds_read_b64_tr_b8    16 lanes, 8 rows of 16 elements of 8 bits
//
// On other chips each four lanes transpose a 4x4 matrix in two steps: lanes
// whose numbers differ in bit 0 exchange halves of 2x2 matrices, then those
// that differ in bit 1 exchange these. With row i in lane i, by columns:
//
//   lane 0: 00 01 02 03      00 10 | 02 12      00 10 20 30
//   lane 1: 10 11 12 13  ->  01 11 | 03 13  ->  01 11 21 31
//   lane 2: 20 21 22 23      20 30 | 22 32      02 12 22 32
//   lane 3: 30 31 32 33      21 31 | 23 33      03 13 23 33
//
// `getTransposedRuns` has the lanes' addresses.
//
//===----------------------------------------------------------------------===//

#include "ROCDLLowering.h"
#include "tilews/Conversion/Common/Emit.h"
#include "tilews/Layout/OperandAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

using namespace mlir;
using namespace tilews;

static int64_t getBits(const SharedOperand &operand) {
  return tile::getStorageBits(operand.type.getElementType());
}

/// Returns the instruction with the addresses of the reads as the registers of
/// its operand; none if no such reads make the operand.
static std::optional<MmaInstruction>
getReadsOfInstruction(const SharedOperand &operand, TransposedRead read) {
  std::optional<FragmentLayout> runs =
      getTransposedRuns(operand.mma, operand.isLhs, getBits(operand), read);
  if (!runs)
    return std::nullopt;
  MmaInstruction mma = operand.mma;
  (operand.isLhs ? mma.lhs : mma.rhs) = *runs;
  return mma;
}

/// Returns whether all runs lie inside the buffer, each side by side.
static bool hasWholeRuns(const SharedOperand &operand, TransposedRead read) {
  int64_t bits = getBits(operand);
  int64_t group = operand.isLhs ? operand.grid.m : operand.grid.n;
  int64_t tile = operand.isLhs ? operand.mma.m : operand.mma.n;
  SharedLayout layout = tile::getSharedLayout(operand.type);
  return operand.extent % (group * tile) == 0 &&
         operand.extentK % operand.mma.k == 0 &&
         layout.getContiguity(bits) * bits >= read.bytes * 8;
}

namespace {
/// Reads operands whose rows are along M or N. Derived classes transpose.
class TransposedReader : public OperandReader {
public:
  /// `reads` has the addresses of the reads as registers of the operand.
  TransposedReader(ImplicitLocOpBuilder &b, const SharedOperand &operand,
                   const MmaInstruction &reads, TransposedRead read)
      : b(b), bits(getBits(operand)),
        type(VectorType::get({read.bytes * 8 / bits},
                             bits == 8 ? b.getI8Type()
                                       : operand.type.getElementType())),
        perStep((operand.isLhs ? reads.lhs : reads.rhs).getNumValues()),
        steps(operand.extentK / reads.k),
        indexer(b, getLayout(operand, reads), operand.type.getShape(),
                operand.threadId),
        access(b, operand.type, operand.buffer, SmallVector<SplitOffset>(2),
               operand.type.getShape(), kMaxVector, indexer) {
    access.assumeInside();
  }

  SmallVector<Value> read(int64_t repeat, int64_t step) override {
    int64_t first = perStep * (step + steps * repeat);
    SmallVector<Value> registers;
    for (int64_t i = 0; i < perStep; ++i)
      llvm::append_range(registers,
                         unpack(b, emitRead(access.getAddress(first + i))));
    return registers;
  }

protected:
  /// Returns the elements of a column, a vector of `type`.
  virtual Value emitRead(Value address) = 0;

  ImplicitLocOpBuilder &b;
  int64_t bits;
  VectorType type;

private:
  static FragmentLayout getLayout(const SharedOperand &operand,
                                  const MmaInstruction &reads) {
    FragmentLayout layout =
        operand.isLhs
            ? getLhsLayout(reads, operand.grid, operand.extent, operand.extentK)
            : getRhsLayout(reads, operand.grid, operand.extentK,
                           operand.extent);
    return operand.transposed ? layout.transpose({1, 0}) : layout;
  }

  int64_t perStep, steps;
  FragmentIndexer indexer;
  RegionAccess access;
};

/// Transposes by the instruction that reads.
class InstructionReader : public TransposedReader {
public:
  using TransposedReader::TransposedReader;

private:
  Value emitRead(Value address) override {
    if (bits == 16)
      return ROCDL::ds_read_tr16_b64::create(b, type, address);
    auto words = VectorType::get({2}, b.getI32Type());
    Value read = ROCDL::ds_read_tr8_b64::create(b, words, address);
    return LLVM::BitcastOp::create(b, type, read);
  }
};

/// Transposes by exchanges within each four lanes.
class QuadReader : public TransposedReader {
public:
  QuadReader(ImplicitLocOpBuilder &b, const ROCDLLowering &target,
             const SharedOperand &operand, const MmaInstruction &reads,
             TransposedRead read)
      : TransposedReader(b, operand, reads, read), target(target) {
    Value zero = createInteger(b, b.getI32Type(), 0);
    auto isSet = [&](int64_t bit) -> Value {
      Value masked = arith::AndIOp::create(
          b, operand.threadId, createInteger(b, b.getI32Type(), bit));
      return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, masked, zero);
    };
    isOdd = isSet(1);
    isUpper = isSet(2);
  }

private:
  // The bytes that v_perm_b32 selects, the lowest one first: 0 to 3 are of the
  // lane's own word, 4 to 7 of the other lane's.
  static constexpr int64_t kLowHalves = 0x05040100, kHighHalves = 0x03020706,
                           kEvenBytes = 0x06020400, kOddBytes = 0x03070105;

  Value emitRead(Value address) override {
    Value read = createLoad(b, address, type.getElementType(), 4);
    if (bits == 8) {
      Value word = LLVM::BitcastOp::create(b, b.getI32Type(), read);
      word = exchange(word, 1, isOdd, kEvenBytes, kOddBytes);
      word = exchange(word, 2, isUpper, kLowHalves, kHighHalves);
      return LLVM::BitcastOp::create(b, type, word);
    }
    auto words = VectorType::get({2}, b.getI32Type());
    SmallVector<Value> pairs =
        unpack(b, LLVM::BitcastOp::create(b, words, read));
    for (Value &pair : pairs)
      pair = exchange(pair, 1, isOdd, kLowHalves, kHighHalves);
    Value low = target.emitShuffleXor(b, pairs[0], 2);
    Value high = target.emitShuffleXor(b, pairs[1], 2);
    Value first = arith::SelectOp::create(b, isUpper, high, pairs[0]);
    Value second = arith::SelectOp::create(b, isUpper, pairs[1], low);
    return LLVM::BitcastOp::create(b, type,
                                   pack(b, b.getI32Type(), {first, second}));
  }

  /// Combines a word with that of the lane whose number differs by `mask`.
  /// Lanes for which `isOther` holds select other bytes.
  Value exchange(Value word, int64_t mask, Value isOther, int64_t bytes,
                 int64_t otherBytes) {
    Type i32 = b.getI32Type();
    Value selector =
        arith::SelectOp::create(b, isOther, createInteger(b, i32, otherBytes),
                                createInteger(b, i32, bytes));
    Value partner = target.emitShuffleXor(b, word, mask);
    return LLVM::CallIntrinsicOp::create(b, i32,
                                         b.getStringAttr("llvm.amdgcn.perm"),
                                         ValueRange{partner, word, selector})
        .getResult(0);
  }

  const ROCDLLowering &target;
  /// Whether bits 0 and 1 of the lane's number are set.
  Value isOdd, isUpper;
};
} // namespace

std::unique_ptr<OperandReader>
ROCDLLowering::createOperandReader(ImplicitLocOpBuilder &b,
                                   const SharedOperand &operand) const {
  bool alongK = operand.isLhs != operand.transposed;
  std::optional<TransposedRead> read =
      getTransposedRead(getBits(operand), info.hasTransposedReads());
  if (alongK || !read || !hasWholeRuns(operand, *read))
    return nullptr;
  std::optional<MmaInstruction> reads = getReadsOfInstruction(operand, *read);
  if (!reads)
    return nullptr;
  if (info.hasTransposedReads())
    return std::make_unique<InstructionReader>(b, operand, *reads, *read);
  return std::make_unique<QuadReader>(b, *this, operand, *reads, *read);
}
