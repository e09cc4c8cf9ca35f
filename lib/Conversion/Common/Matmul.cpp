//===- Matmul.cpp - Matrix products by warps and by threads ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matmuls by instructions of one warp (mma.sync, mfma, wmma) and by plain
// arithmetic. The layouts of the operands repeat the fragment of one
// instruction, so the registers of one instruction are a slice of the registers
// of a thread:
//
//   for each step along K: read rows and columns once, then for each (m, n):
//     acc[m, n] = mma(row[m], column[n], acc[m, n])
//
// Operands in shared memory are read per step, by ldmatrix where the layout
// allows. Without a matrix instruction a loop over K updates every element that
// a thread holds. wgmma has a pattern of its own in the conversion to NVVM.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/MetadataReader.h"
#include "tilews/Conversion/Common/Patterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "convert-tile"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// Operands of warp-wide instructions
//===----------------------------------------------------------------------===//

namespace {

/// Registers of an operand that is a fragment already.
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

/// Loads registers from shared memory, as wide as the layouts allow.
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
      return op->emitError("'tile.inst' cannot compute this product on ")
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
  /// Emits the instructions of all steps along K: for each step the operands of
  /// all repeats along M and N are read once, then each accumulator tile is
  /// updated in place.
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

    MmaOperands operands = {op.getLhsElementType(),
                            op.getRhsElementType(),
                            op.getAccType().getElementType(),
                            mma,
                            {}};
    MmaRepeats repeats = getRepeats(mma, plan.grid, op.getM(), op.getN());
    Type lhsElement = getTypeConverter()->convertType(op.getLhsElementType());
    Type rhsElement = getTypeConverter()->convertType(op.getRhsElementType());
    SmallVector<SmallVector<Value>> words(repeats.m);
    for (int64_t m = 0; metadata && m < repeats.m; ++m)
      words[m] = metadata->read(m);
    for (int64_t step = 0; step < op.getK() / mma.k; ++step) {
      SmallVector<Value> rows, columns;
      for (int64_t m = 0; m < repeats.m; ++m)
        rows.push_back(pack(b, lhsElement, lhs->read(m, step)));
      for (int64_t n = 0; n < repeats.n; ++n)
        columns.push_back(pack(b, rhsElement, rhs->read(n, step)));
      for (int64_t m = 0; m < repeats.m; ++m) {
        if (metadata) {
          operands.metadata = words[m][step / metadata->getStepsPerWord()];
          operands.selector = step % metadata->getStepsPerWord();
        }
        for (int64_t n = 0; n < repeats.n; ++n) {
          Value &tile = tiles[m * repeats.n + n];
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
    MmaInstruction mma = isLhs ? plan.getLhsMma() : plan.mma;
    int64_t extentK = isLhs ? op.getLhsK() : op.getK();
    Value value = getConverted(original, converted);
    auto type = dyn_cast<MemRefType>(original.get().getType());
    if (!type)
      return std::make_unique<FragmentReader>(
          b, value, (isLhs ? mma.lhs : mma.rhs).getNumValues(),
          extentK / mma.k);
    SharedOperand operand = {type,
                             value,
                             isLhs,
                             isLhs ? op.getTransposeLhs()
                                   : op.getTransposeRhs(),
                             mma,
                             plan.grid,
                             isLhs ? op.getM() : op.getN(),
                             extentK,
                             getThreadId(b, op)};
    if (auto reader = getTarget().createOperandReader(b, operand)) {
      LDBG() << (isLhs ? "left" : "right") << " operand by matrix instructions";
      return reader;
    }
    LDBG() << (isLhs ? "left" : "right") << " operand by vectors";
    return std::make_unique<SharedReader>(
        b, operand, getTypeConverter()->convertType(type.getElementType()));
  }

  /// The accumulator's registers, one vector for each instruction.
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

//===----------------------------------------------------------------------===//
// Plain arithmetic
//===----------------------------------------------------------------------===//

/// Products by plain arithmetic: each thread computes the elements it holds,
/// reading rows and columns of the shared operands.
class ThreadProduct {
public:
  ThreadProduct(ImplicitLocOpBuilder &b, const TargetLowering &target,
                RankedTensorType accType, Value threadId)
      : b(b), target(target), accElement(accType.getElementType()),
        layout(getFragmentLayout(accType)), threadId(threadId),
        rows(b, layout.dropDim(1), accType.getShape().take_front(), threadId),
        columns(b, layout.dropDim(0), accType.getShape().take_back(),
                threadId) {}

  /// Elements (m, k) of the rows a thread holds, for one k; `transposed` if
  /// the buffer is stored as (k, m).
  SmallVector<Value> readRows(Value buffer, MemRefType type, Value k,
                              bool transposed) {
    return read(rows, buffer, type, k, transposed ? 0 : 1);
  }
  /// Elements (k, n) of the columns a thread holds; `transposed` for (n, k).
  SmallVector<Value> readColumns(Value buffer, MemRefType type, Value k,
                                 bool transposed) {
    return read(columns, buffer, type, k, transposed ? 1 : 0);
  }

  /// An operand element as a number of the accumulator's type.
  Value widen(Value value, Type element) {
    if (element == accElement)
      return value;
    if (element.isInteger())
      return arith::ExtSIOp::create(b, accElement, value);
    if (element.getIntOrFloatBitWidth() == 8) {
      Value vector = pack(b, value.getType(), value);
      vector = target.emitExtFp8(b, vector, element);
      if (!vector)
        return {};
      return vector::ExtractOp::create(b, vector, int64_t(0));
    }
    return arith::ExtFOp::create(b, accElement, value);
  }

  Value multiplyAdd(Value lhs, Value rhs, Value acc) {
    if (accElement.isInteger())
      return arith::AddIOp::create(b, acc, arith::MulIOp::create(b, lhs, rhs));
    return LLVM::FMAOp::create(b, lhs, rhs, acc);
  }

  const FragmentLayout &getLayout() const { return layout; }
  int64_t getRow(int64_t value) const {
    return layout.getDroppedValue(value, 1);
  }
  int64_t getColumn(int64_t value) const {
    return layout.getDroppedValue(value, 0);
  }

private:
  SmallVector<Value> read(const FragmentIndexer &indexer, Value buffer,
                          MemRefType type, Value k, int64_t dimK) {
    SmallVector<SplitOffset> offsets(2);
    offsets[dimK].value = k;
    SmallVector<int64_t> sizes(type.getShape());
    sizes[dimK] = 1;
    RegionAccess access(b, type, buffer, offsets, sizes, /*maxVector=*/1,
                        indexer);
    // K is in range; only registers past the fragment's extent are not.
    bool masked = indexer.overCovers(0);
    if (!masked)
      access.assumeInside();
    Type element = type.getElementType();
    if (element.getIntOrFloatBitWidth() == 8)
      element = b.getI8Type();
    Value padding;
    if (masked)
      padding = arith::ConstantOp::create(b, b.getZeroAttr(element));
    return loadRegisters(b, access, indexer, element, padding, 0,
                         indexer.getNumValues(), masked);
  }

  ImplicitLocOpBuilder &b;
  const TargetLowering &target;
  Type accElement;
  FragmentLayout layout;
  Value threadId;
  FragmentIndexer rows, columns;
};

/// A loop over K that carries the accumulator's registers; `step` updates them
/// and returns false if it cannot.
static FailureOr<Value> createLoopOverK(
    ImplicitLocOpBuilder &b, int64_t extent, Value acc, bool clear,
    function_ref<LogicalResult(Value, SmallVectorImpl<Value> &)> step) {
  if (clear)
    acc = arith::ConstantOp::create(b, b.getZeroAttr(acc.getType()));
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  };
  auto loop = scf::ForOp::create(b, constant(0), constant(extent), constant(1),
                                 ValueRange{acc});
  OpBuilder::InsertionGuard restore(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> registers = unpack(b, loop.getRegionIterArg(0));
  if (failed(step(loop.getInductionVar(), registers)))
    return failure();
  Type element = cast<VectorType>(acc.getType()).getElementType();
  scf::YieldOp::create(b, pack(b, element, registers));
  return loop.getResult(0);
}

template <typename OpT>
static bool isSimt(OpT op) {
  auto inst = op->template getAttrOfType<InstKindAttr>(TileDialect::kInst);
  return !inst || inst.getValue() == InstKind::Simt;
}

struct SimtGemmPattern : TilePattern<GemmOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(GemmOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!isSimt(op))
      return rewriter.notifyMatchFailure(op, "has an instruction of its own");
    auto lhsType = dyn_cast<MemRefType>(op.getLhs().getType());
    auto rhsType = dyn_cast<MemRefType>(op.getRhs().getType());
    if (!lhsType || !rhsType)
      return op.emitError("computed by plain arithmetic, expects both "
                          "operands in shared memory");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    ThreadProduct product(b, getTarget(), op.getAccType(), getThreadId(b, op));
    FailureOr<Value> result = createLoopOverK(
        b, op.getK(), adaptor.getAcc(), op.getClearAccumulator(),
        [&](Value k, SmallVectorImpl<Value> &registers) -> LogicalResult {
          SmallVector<Value> rows = product.readRows(adaptor.getLhs(), lhsType,
                                                     k, op.getTransposeLhs());
          SmallVector<Value> columns = product.readColumns(
              adaptor.getRhs(), rhsType, k, op.getTransposeRhs());
          for (Value &value : rows)
            if (!(value = product.widen(value, lhsType.getElementType())))
              return failure();
          for (Value &value : columns)
            if (!(value = product.widen(value, rhsType.getElementType())))
              return failure();
          for (auto [v, acc] : llvm::enumerate(registers))
            acc = product.multiplyAdd(rows[product.getRow(v)],
                                      columns[product.getColumn(v)], acc);
          return success();
        });
    if (failed(result))
      return op.emitError("cannot compute with ")
             << op.getLhsElementType() << " on " << getTarget().info.chip;
    rewriter.replaceOp(op, *result);
    return success();
  }
};

/// The sparse product: for each group of four along K, the two places named by
/// the metadata select among the right operand's four rows.
struct SimtGemmSpPattern : TilePattern<GemmSpOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(GemmSpOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto lhsType = dyn_cast<MemRefType>(op.getLhs().getType());
    auto metaType = dyn_cast<MemRefType>(op.getMetadata().getType());
    auto rhsType = dyn_cast<MemRefType>(op.getRhs().getType());
    if (!lhsType || !metaType || !rhsType)
      return op.emitError("computed by plain arithmetic, expects its operands "
                          "in shared memory");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    ThreadProduct product(b, getTarget(), op.getAccType(), getThreadId(b, op));
    int64_t groupsPerWord = getElementBits(metaType.getElementType()) / 4;
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
    };
    auto readGroup = [&](Value group,
                         SmallVectorImpl<Value> &registers) -> LogicalResult {
      Value word = arith::DivUIOp::create(b, group, constant(groupsPerWord));
      Value nibble = arith::RemUIOp::create(b, group, constant(groupsPerWord));
      SmallVector<Value> metadata =
          product.readRows(adaptor.getMetadata(), metaType, word, false);
      SmallVector<SmallVector<Value>> candidates;
      for (int64_t i = 0; i < 4; ++i) {
        Value k = arith::MulIOp::create(b, group, constant(4));
        k = arith::AddIOp::create(b, k, constant(i));
        candidates.push_back(product.readColumns(adaptor.getRhs(), rhsType, k,
                                                 op.getTransposeRhs()));
        for (Value &value : candidates.back())
          if (!(value = product.widen(value, rhsType.getElementType())))
            return failure();
      }
      for (int64_t j = 0; j < 2; ++j) {
        Value k = arith::MulIOp::create(b, group, constant(2));
        k = arith::AddIOp::create(b, k, constant(j));
        SmallVector<Value> rows =
            product.readRows(adaptor.getLhs(), lhsType, k, false);
        for (auto [row, value] : llvm::enumerate(rows)) {
          if (!(value = product.widen(value, lhsType.getElementType())))
            return failure();
          Value place = getPlace(b, metadata[row], nibble, j);
          for (auto [v, acc] : llvm::enumerate(registers))
            if (product.getRow(v) == int64_t(row))
              acc = product.multiplyAdd(
                  value, select(b, place, candidates, product.getColumn(v)),
                  acc);
        }
      }
      return success();
    };
    FailureOr<Value> result =
        createLoopOverK(b, op.getK() / 4, adaptor.getAcc(),
                        op.getClearAccumulator(), readGroup);
    if (failed(result))
      return op.emitError("cannot compute with ")
             << op.getLhsElementType() << " on " << getTarget().info.chip;
    rewriter.replaceOp(op, *result);
    return success();
  }

  /// The place, 0 to 3, of nonzero `j` in nibble `nibble` of a word.
  static Value getPlace(ImplicitLocOpBuilder &b, Value word, Value nibble,
                        int64_t j) {
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
    };
    if (word.getType() != b.getI32Type())
      word = arith::ExtUIOp::create(b, b.getI32Type(), word);
    Value shift = arith::MulIOp::create(b, nibble, constant(4));
    shift = arith::AddIOp::create(b, shift, constant(2 * j));
    word = arith::ShRUIOp::create(b, word, shift);
    return arith::AndIOp::create(b, word, constant(3));
  }

  static Value select(ImplicitLocOpBuilder &b, Value place,
                      ArrayRef<SmallVector<Value>> candidates, int64_t column) {
    Value chosen = candidates[0][column];
    for (int64_t i = 1; i < 4; ++i) {
      Value index = arith::ConstantOp::create(b, b.getI32IntegerAttr(i));
      Value is =
          arith::CmpIOp::create(b, arith::CmpIPredicate::eq, place, index);
      chosen = arith::SelectOp::create(b, is, candidates[i][column], chosen);
    }
    return chosen;
  }
};

/// Products are finished where the target has none that run on.
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
  patterns.add<WarpGemmPattern, SimtGemmPattern, SimtGemmSpPattern,
               GemmWaitPattern>(converter, lowering);
}
