//===- MmaSync.cpp - mma.sync and ldmatrix --------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matmuls of one warp: `mma.sync` as inline PTX, and operands in shared memory
// that are read by `ldmatrix`. One `ldmatrix` loads four 8x8 matrices of 16-bit
// elements. They are the parts of one left operand, or of the right operands of
// one or two instructions that are neighbors along N. A reader caches what it
// has loaded, so each matrix is loaded once.
//
//===----------------------------------------------------------------------===//

#include "NVVMLowering.h"

#include "tilews/Layout/OperandAccess.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// mma.sync
//===----------------------------------------------------------------------===//

/// Returns the register class (constraint) and type of an operand's registers.
static std::pair<StringRef, Type> getRegisters(Builder &b, Type element) {
  if (element.isF64())
    return {"d", element};
  if (element.isF32())
    return {"f", element};
  return {"r", b.getI32Type()};
}

/// Returns `{$next, ..., $(next + count - 1)}`, and advances `next` by `count`.
static std::string takeGroup(int64_t &next, int64_t count) {
  std::string group = "{";
  for (int64_t i = 0; i < count; ++i)
    group += (i ? ", $" : "$") + std::to_string(next++);
  return group + "}";
}

Value NVVMLowering::emitMma(ImplicitLocOpBuilder &b, const MmaOperands &op,
                            Value lhs, Value rhs, Value acc) const {
  auto accType = cast<VectorType>(acc.getType());
  bool f64 = op.lhsElement.isF64();
  StringRef accName = accType.getElementType().isInteger() ? "s32"
                      : accType.getElementType().isF32()   ? "f32"
                      : accType.getElementType().isF64()   ? "f64"
                                                           : "f16";
  SmallVector<Value> lhsWords = f64 ? unpack(b, lhs) : toWords(b, lhs);
  SmallVector<Value> rhsWords = f64 ? unpack(b, rhs) : toWords(b, rhs);
  auto [accClass, accRegister] = getRegisters(b, accType.getElementType());
  bool packedAcc = accRegister != accType.getElementType();
  SmallVector<Value> accWords = packedAcc ? toWords(b, acc) : unpack(b, acc);

  StringRef wordClass = f64 ? "d" : "r";
  SmallVector<AsmInput> inputs;
  for (Value word : lhsWords)
    inputs.push_back({word, wordClass.str()});
  for (Value word : rhsWords)
    inputs.push_back({word, wordClass.str()});
  for (Value word : accWords)
    inputs.push_back({word, accClass.str()});
  if (op.metadata)
    inputs.push_back({op.metadata, "r"});
  int64_t next = 0;
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << (op.metadata ? "mma.sp::ordered_metadata.sync" : "mma.sync")
         << ".aligned.m" << op.mma.m << "n" << op.mma.n << "k" << op.mma.k
         << ".row.col." << accName << "." << getPtxType(op.lhsElement) << "."
         << getPtxType(op.rhsElement) << "." << accName << " ";
  stream << takeGroup(next, accWords.size()) << ", ";
  stream << takeGroup(next, lhsWords.size()) << ", ";
  stream << takeGroup(next, rhsWords.size()) << ", ";
  stream << takeGroup(next, accWords.size());
  if (op.metadata)
    stream << ", $" << next << ", " << op.selector;
  stream << ";";
  SmallVector<Value> results =
      createAsm(b, text, accRegister, accClass, accWords.size(), inputs, false);
  return packedAcc ? fromWords(b, results, accType)
                   : pack(b, accType.getElementType(), results);
}

//===----------------------------------------------------------------------===//
// ldmatrix
//===----------------------------------------------------------------------===//

static NVVM::LdStMatrixShapeAttr getMatrixShape(Builder &b) {
  return NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8);
}
static NVVM::MMALayout getMatrixLayout(bool transposed) {
  return transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row;
}

SmallVector<Value> NVVMLowering::emitMatrixLoad(ImplicitLocOpBuilder &b,
                                                Value address, int64_t count,
                                                bool transposed) const {
  Type i32 = b.getI32Type();
  Type type = count == 1 ? i32
                         : LLVM::LLVMStructType::getLiteral(
                               b.getContext(), SmallVector<Type>(count, i32));
  Value matrices = NVVM::LdMatrixOp::create(
      b, type, address, count, getMatrixLayout(transposed), getMatrixShape(b),
      NVVM::LdStMatrixEltType::B16);
  if (count == 1)
    return {matrices};
  SmallVector<Value> words;
  for (int64_t i = 0; i < count; ++i)
    words.push_back(LLVM::ExtractValueOp::create(b, matrices, i));
  return words;
}

void NVVMLowering::emitMatrixStore(ImplicitLocOpBuilder &b, Value address,
                                   ValueRange words, bool transposed) const {
  NVVM::StMatrixOp::create(b, address, words, getMatrixLayout(transposed),
                           getMatrixShape(b), NVVM::LdStMatrixEltType::B16);
}

namespace {

/// Reads operands by `ldmatrix` (PTX ISA, "ldmatrix"). Each lane passes the
/// address of a row of 16 bytes; eight lanes make an 8x8 matrix of 16-bit
/// elements. The four matrices of one `ldmatrix.x4` are one left operand of
/// m16n8k16, the right operand of one sparse instruction, or two right operands
/// that are neighbors along N.
class LdMatrixReader : public OperandReader {
public:
  LdMatrixReader(ImplicitLocOpBuilder &b, const TargetLowering &target,
                 const SharedOperand &operand)
      : b(b), target(target), operand(operand),
        repeatsPerLoad(getRepeatsPerLoad(operand)),
        indexer(b, getLayout(), operand.type.getShape(), operand.threadId),
        access(b, operand.type, operand.buffer, SmallVector<SplitOffset>(2),
               operand.type.getShape(), kMaxVector, indexer) {
    access.assumeInside();
  }

  /// Returns whether `ldmatrix` can read the operand.
  static bool isPossible(const SharedOperand &operand) {
    int64_t bits = operand.type.getElementTypeBitWidth();
    // The rows of a matrix are along K, unless the operand is stored with K as
    // its slow dimension. Then `ldmatrix` transposes, which it can do for
    // 16-bit elements only.
    bool alongK = operand.isLhs != operand.transposed;
    if (bits > 32 || (!alongK && bits != 16))
      return false;
    int64_t group = operand.isLhs ? operand.grid.m : operand.grid.n;
    int64_t tile = operand.isLhs ? operand.mma.m : operand.mma.n;
    int64_t perLoad = getRepeatsPerLoad(operand);
    // All rows must lie inside the buffer, and the 16 bytes of a row must be
    // contiguous in its layout.
    return operand.extent % (group * tile * perLoad) == 0 &&
           operand.type.getShape().back() * bits % 128 == 0 &&
           getSharedLayout(operand.type).getContiguity(bits) * bits >= 128;
  }

  SmallVector<Value> read(int64_t repeat, int64_t step) override {
    int64_t load = repeat / repeatsPerLoad;
    SmallVector<Value> &words = loaded[{load, step}];
    if (words.empty())
      words = emitLoad(load, step);
    ArrayRef<Value> own = words;
    int64_t perRepeat = 4 / repeatsPerLoad;
    own = own.slice(repeat % repeatsPerLoad * perRepeat, perRepeat);
    Type element = operand.type.getElementType();
    if (element.getIntOrFloatBitWidth() == 8)
      element = b.getI8Type();
    int64_t elements =
        int64_t(own.size()) * 32 / operand.type.getElementTypeBitWidth();
    return unpack(b, fromWords(b, own, VectorType::get({elements}, element)));
  }

private:
  /// Returns how many neighboring operands the four matrices make: 1 or 2.
  static int64_t getRepeatsPerLoad(const SharedOperand &operand) {
    if (operand.isLhs)
      return 1;
    return 4 / operand.mma.rhs.getValueModes().back().extent;
  }

  /// Returns the layout of the rows' starts: a thread mode for each lane, a
  /// value mode for the loads along K and one for the loads along M or N.
  FragmentLayout getLayout() const {
    const MmaInstruction &mma = operand.mma;
    FragmentLayout rows =
        getMatrixRowAccess(mma, operand.isLhs, operand.transposed).lanes;
    // The buffer's dimension along M or N, and the one along K.
    int64_t outer = operand.isLhs == operand.transposed ? 1 : 0;
    int64_t inner = 1 - outer;
    int64_t tile = (operand.isLhs ? mma.m : mma.n) * repeatsPerLoad;
    int64_t group = operand.isLhs ? operand.grid.m : operand.grid.n;
    int64_t perGroup = operand.extent / group;
    SmallVector<Mode> thread(rows.getThreadModes());
    thread.push_back({operand.grid.m, operand.isLhs ? perGroup : 0, outer});
    thread.push_back({operand.grid.n, operand.isLhs ? 0 : perGroup, outer});
    return FragmentLayout(thread, {{operand.extentK / mma.k, mma.k, inner},
                                   {perGroup / tile, tile, outer}});
  }

  SmallVector<Value> emitLoad(int64_t load, int64_t step) {
    bool alongK = operand.isLhs != operand.transposed;
    int64_t steps = operand.extentK / operand.mma.k;
    Value address = access.getAddress(step + steps * load);
    return target.emitMatrixLoad(b, address, 4, !alongK);
  }

  ImplicitLocOpBuilder &b;
  const TargetLowering &target;
  SharedOperand operand;
  int64_t repeatsPerLoad;
  FragmentIndexer indexer;
  RegionAccess access;
  std::map<std::pair<int64_t, int64_t>, SmallVector<Value>> loaded;
};

} // namespace

std::unique_ptr<OperandReader>
NVVMLowering::createOperandReader(ImplicitLocOpBuilder &b,
                                  const SharedOperand &operand) const {
  if (!LdMatrixReader::isPossible(operand))
    return nullptr;
  return std::make_unique<LdMatrixReader>(b, *this, operand);
}
