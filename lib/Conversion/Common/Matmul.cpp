//===- Matmul.cpp - Matmuls by instructions of a warp ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matmuls by instructions of one warp: mma.sync, mfma, wmma. The layouts of the
// operands repeat the fragment of one instruction, so the registers of one
// instruction are a slice of the registers of a thread:
//
//   for each step along K: read rows and columns once, then for each (m, n):
//     acc[m, n] = mma(row[m], column[n], acc[m, n])
//
// Operands in shared memory are read per step, by ldmatrix where the layout
// allows. wgmma has a pattern of its own in the conversion to NVVM, and matmuls
// without a matrix instruction are in SimtMatmul.cpp.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/MetadataReader.h"
#include "tilews/Conversion/Common/Patterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "convert-tile"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// Operands of warp-wide instructions
//===----------------------------------------------------------------------===//

namespace {

/// Reads an operand that is a fragment: selects its registers.
class FragmentReader : public OperandReader {
public:
  FragmentReader(ImplicitLocOpBuilder &b, Value vector, int64_t perStep,
                 int64_t steps)
      : registers(unpack(b, vector)), perStep(perStep), steps(steps) {}

  SmallVector<Value> read(int64_t repeat, int64_t step) override {
    int64_t first = perStep * (step + steps * repeat);
    return llvm::to_vector(ArrayRef<Value>(registers).slice(first, perStep));
  }

private:
  SmallVector<Value> registers;
  int64_t perStep, steps;
};

/// Loads the registers of an operand from shared memory, in vectors as wide as
/// the layouts allow.
class SharedReader : public OperandReader {
public:
  SharedReader(ImplicitLocOpBuilder &b, const SharedOperand &operand,
               Type element)
      : b(b), element(element),
        perStep(
            (operand.isLhs ? operand.mma.lhs : operand.mma.rhs).getNumValues()),
        steps(operand.extentK / operand.mma.k),
        indexer(b, getLayout(operand), operand.type.getShape(),
                operand.threadId),
        access(b, operand.type, operand.buffer, SmallVector<SplitOffset>(2),
               operand.type.getShape(), kMaxVector, indexer) {
    if (!access.isAlwaysInside())
      padding = arith::ConstantOp::create(b, b.getZeroAttr(element));
  }

  SmallVector<Value> read(int64_t repeat, int64_t step) override {
    return loadRegisters(b, access, indexer, element, padding,
                         perStep * (step + steps * repeat), perStep,
                         !access.isAlwaysInside());
  }

private:
  static FragmentLayout getLayout(const SharedOperand &operand) {
    FragmentLayout layout = operand.isLhs
                                ? getLhsLayout(operand.mma, operand.grid,
                                               operand.extent, operand.extentK)
                                : getRhsLayout(operand.mma, operand.grid,
                                               operand.extentK, operand.extent);
    return operand.transposed ? layout.transpose({1, 0}) : layout;
  }

  ImplicitLocOpBuilder &b;
  Type element;
  int64_t perStep, steps;
  FragmentIndexer indexer;
  RegionAccess access;
  Value padding;
};

//===----------------------------------------------------------------------===//
// Warp-wide instructions
//===----------------------------------------------------------------------===//

struct WarpGemmPattern : MatmulPattern {
  using MatmulPattern::MatmulPattern;

  LogicalResult
  matchAndRewrite(MatmulOpInterface op, ArrayRef<Value> converted,
                  ConversionPatternRewriter &rewriter) const override {
    auto inst = op->getAttrOfType<InstKindAttr>(TileDialect::kInst);
    if (!inst || (inst.getValue() != InstKind::Mma &&
                  inst.getValue() != InstKind::Mfma &&
                  inst.getValue() != InstKind::Wmma))
      return rewriter.notifyMatchFailure(op, "not a warp-wide instruction");
    std::optional<MatmulPlan> plan =
        getMatmulPlan(op, getTarget().info, getNumThreads(op));
    if (!plan)
      return op->emitError("'tile.inst' cannot compute this matmul on ")
             << getTarget().info.chip;
    const MmaInstruction &mma = plan->mma;
    LDBG() << stringifyInstKind(inst.getValue()) << " " << mma.m << "x" << mma.n
           << "x" << mma.k << " on " << plan->grid.m << " x " << plan->grid.n
           << " warps: " << *op;
    if (!getFragmentLayout(op.getAccType())
             .isSameAs(getAccLayout(mma, plan->grid, op.getM(), op.getN())))
      return op->emitError("accumulator does not have the layout of its "
                           "instruction; run --tile-infer-layouts");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> tiles =
        splitAcc(b, op, getConverted(op.getAccMutable(), converted), mma);
    if (failed(emitSteps(b, op, *plan, converted, tiles)))
      return failure();
    SmallVector<Value> registers;
    for (Value tile : tiles)
      llvm::append_range(registers, unpack(b, tile));
    rewriter.replaceOp(op,
                       pack(b, op.getAccType().getElementType(), registers));
    return success();
  }

private:
  static MmaOperands getTypes(MatmulOpInterface op, const MmaInstruction &mma) {
    MmaOperands operands;
    operands.lhsElement = op.getLhsElementType();
    operands.rhsElement = op.getRhsElementType();
    operands.accElement = op.getAccType().getElementType();
    operands.mma = mma;
    return operands;
  }

  Type convertElement(Value operand) const {
    return getTypeConverter()->convertType(getElementType(operand));
  }

  static MatmulRegisters countRegisters(MatmulOpInterface op,
                                        const MmaInstruction &mma,
                                        const MmaRepeats &repeats) {
    MatmulRegisters registers = {op.getK() / mma.k, repeats.m * repeats.n, 0, 0,
                                 false};
    auto count = [](const FragmentLayout &layout, Type element) {
      return llvm::divideCeil(layout.getNumValues() * getStorageBits(element),
                              32);
    };
    auto addOperand = [&](Value operand, const FragmentLayout &layout,
                          int64_t repeats) {
      int64_t perStep = repeats * count(layout, getElementType(operand));
      bool isFragment = !isa<MemRefType>(operand.getType());
      registers.hasFragment |= isFragment;
      if (isFragment)
        registers.held += registers.steps * perStep;
      else
        registers.perStep += perStep;
    };
    addOperand(op.getLhs(), mma.lhs, repeats.m);
    addOperand(op.getRhs(), mma.rhs, repeats.n);
    registers.held +=
        registers.tiles * count(mma.acc, op.getAccType().getElementType());
    return registers;
  }

  /// Emits the instructions of all steps along K. Each step reads the operands
  /// of all repeats along M and N once, then updates each accumulator tile.
  LogicalResult emitSteps(ImplicitLocOpBuilder &b, MatmulOpInterface op,
                          const MatmulPlan &plan, ArrayRef<Value> converted,
                          MutableArrayRef<Value> tiles) const {
    const MmaInstruction &mma = plan.mma;
    std::unique_ptr<OperandReader> lhs =
        createReader(b, op, plan, op.getLhsMutable(), converted);
    std::unique_ptr<OperandReader> rhs =
        createReader(b, op, plan, op.getRhsMutable(), converted);
    std::optional<MetadataReader> metadata;
    if (op.isSparse())
      metadata.emplace(b, op, plan,
                       getConverted(*op.getMetadataOperand(), converted),
                       getThreadId(b, op));

    std::array<std::unique_ptr<OperandReader>, 2> scales =
        createScaleReaders(b, op, plan, converted);

    MmaOperands operands = getTypes(op, mma);
    MmaRepeats repeats = getRepeats(mma, plan.grid, op.getM(), op.getN());
    Type lhsElement = convertElement(op.getLhs());
    Type rhsElement = convertElement(op.getRhs());
    SmallVector<SmallVector<Value>> words(repeats.m);
    for (int64_t m = 0; metadata && m < repeats.m; ++m)
      words[m] = metadata->read(m);
    MatmulRegisters registers = countRegisters(op, mma, repeats);
    getTarget().emitMatmulStart(b);
    for (int64_t step = 0; step < registers.steps; ++step) {
      SmallVector<Value> rows, columns;
      if (step > 0)
        getTarget().emitStepReads(b, registers);
      for (int64_t m = 0; m < repeats.m; ++m)
        rows.push_back(pack(b, lhsElement, lhs->read(m, step)));
      for (int64_t n = 0; n < repeats.n; ++n)
        columns.push_back(pack(b, rhsElement, rhs->read(n, step)));
      SmallVector<Value> lhsScales =
          readScales(b, scales[0].get(), repeats.m, step);
      SmallVector<Value> rhsScales =
          readScales(b, scales[1].get(), repeats.n, step);
      if (step > 0)
        getTarget().emitMatmulStep(b, registers);
      for (int64_t m = 0; m < repeats.m; ++m) {
        if (metadata) {
          operands.metadata = words[m][step / metadata->getStepsPerWord()];
          operands.selector = step % metadata->getStepsPerWord();
        }
        for (int64_t n = 0; n < repeats.n; ++n) {
          Value &tile = tiles[m * repeats.n + n];
          if (scales[0]) {
            operands.lhsScale = lhsScales[m];
            operands.rhsScale = rhsScales[n];
          }
          tile = getTarget().emitMma(b, operands, rows[m], columns[n], tile);
          if (!tile)
            return op->emitError("has no instruction for these types on ")
                   << getTarget().info.chip;
        }
      }
    }
    return success();
  }

  std::unique_ptr<OperandReader> createReader(ImplicitLocOpBuilder &b,
                                              MatmulOpInterface op,
                                              const MatmulPlan &plan,
                                              OpOperand &original,
                                              ArrayRef<Value> converted) const {
    bool isLhs = &original == &op.getLhsMutable();
    auto type = dyn_cast<MemRefType>(original.get().getType());
    SharedOperand operand = {type,
                             getConverted(original, converted),
                             isLhs,
                             isLhs ? op.getTransposeLhs()
                                   : op.getTransposeRhs(),
                             plan.getOperandMma(op, isLhs),
                             plan.grid,
                             isLhs ? op.getM() : op.getN(),
                             isLhs ? op.getLhsK() : op.getRhsK(),
                             getThreadId(b, op)};
    if (!type)
      return createPlainReader(b, operand);
    if (auto reader = getTarget().createOperandReader(b, operand)) {
      LDBG() << (isLhs ? "left" : "right") << " operand by matrix instructions";
      return reader;
    }
    LDBG() << (isLhs ? "left" : "right") << " operand by vectors";
    return createPlainReader(b, operand);
  }

  /// Creates a reader of a fragment, or of shared memory by vectors.
  std::unique_ptr<OperandReader>
  createPlainReader(ImplicitLocOpBuilder &b,
                    const SharedOperand &operand) const {
    if (!operand.type)
      return std::make_unique<FragmentReader>(
          b, operand.buffer,
          (operand.isLhs ? operand.mma.lhs : operand.mma.rhs).getNumValues(),
          operand.extentK / operand.mma.k);
    return std::make_unique<SharedReader>(
        b, operand,
        getTypeConverter()->convertType(operand.type.getElementType()));
  }

  /// Creates the readers of the scales; null without scales.
  std::array<std::unique_ptr<OperandReader>, 2>
  createScaleReaders(ImplicitLocOpBuilder &b, MatmulOpInterface op,
                     const MatmulPlan &plan, ArrayRef<Value> converted) const {
    std::array<std::unique_ptr<OperandReader>, 2> readers;
    for (auto [i, scale] : llvm::enumerate(op.getScaleOperands())) {
      bool isLhs = i == 0;
      readers[i] = createPlainReader(
          b, {dyn_cast<MemRefType>(scale.get().getType()),
              getConverted(scale, converted), isLhs,
              isLhs ? op.getTransposeLhs() : op.getTransposeRhs(),
              plan.getScaleMma(), plan.grid, isLhs ? op.getM() : op.getN(),
              op.getK() / 32, getThreadId(b, op)});
    }
    return readers;
  }

  /// Reads the scales of all repeats for a step along K, one word for each.
  static SmallVector<Value> readScales(ImplicitLocOpBuilder &b,
                                       OperandReader *reader, int64_t repeats,
                                       int64_t step) {
    SmallVector<Value> words;
    for (int64_t i = 0; reader && i < repeats; ++i)
      words.push_back(arith::ExtUIOp::create(b, b.getI32Type(),
                                             reader->read(i, step).front()));
    return words;
  }

  /// Splits the registers of the accumulator into one vector per instruction.
  static SmallVector<Value> splitAcc(ImplicitLocOpBuilder &b,
                                     MatmulOpInterface op, Value acc,
                                     const MmaInstruction &mma) {
    int64_t perTile = mma.acc.getNumValues();
    auto type = cast<VectorType>(acc.getType());
    Type element = type.getElementType();
    SmallVector<Value> tiles;
    if (op.getClearAccumulator()) {
      Value zero = arith::ConstantOp::create(
          b, b.getZeroAttr(VectorType::get({perTile}, element)));
      tiles.assign(type.getNumElements() / perTile, zero);
      return tiles;
    }
    SmallVector<Value> registers = unpack(b, acc);
    for (size_t first = 0; first < registers.size(); first += perTile)
      tiles.push_back(
          pack(b, element, ArrayRef<Value>(registers).slice(first, perTile)));
    return tiles;
  }
};

/// Removes waits for matmuls on targets without asynchronous ones.
struct GemmWaitPattern : TilePattern<GemmWaitOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(GemmWaitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, adaptor.getFragments());
    return success();
  }
};

} // namespace

void tilews::populateMatmulPatterns(const TileTypeConverter &converter,
                                    LoweringContext &lowering,
                                    RewritePatternSet &patterns) {
  patterns.add<WarpGemmPattern, GemmWaitPattern>(converter, lowering);
  populateSimtMatmulPatterns(converter, lowering, patterns);
}
