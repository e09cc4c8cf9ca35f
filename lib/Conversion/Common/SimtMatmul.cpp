//===- SimtMatmul.cpp - Matmuls by plain arithmetic -----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matmuls without a matrix instruction. A loop over K carries the registers of
// the accumulator. In each iteration a thread reads the elements of the rows
// and columns that it holds and updates all its elements by fused
// multiply-adds:
//
//   for k: rows = A[my rows, k]; columns = B[k, my columns]
//     acc[v] += rows[row of v] * columns[column of v]
//
// For a 2:4 sparse left operand, the loop is over groups of four along K. All
// four rows of the right operand are read, and a select chooses among them by
// the metadata, because a register cannot be indexed by a value.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/Patterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

namespace {

/// A matmul by plain arithmetic: each thread computes the elements that it
/// holds and reads rows and columns of the shared operands.
///
/// Example: a thread with elements (2, 5) and (2, 6) reads row 2 and columns 5
/// and 6 for each k, and executes two fused multiply-adds.
class ThreadMatmul {
public:
  ThreadMatmul(ImplicitLocOpBuilder &b, const TargetLowering &target,
               RankedTensorType accType, Value threadId)
      : b(b), target(target), accElement(accType.getElementType()),
        layout(getFragmentLayout(accType)), threadId(threadId),
        rows(b, layout.dropDim(1), accType.getShape().take_front(), threadId),
        columns(b, layout.dropDim(0), accType.getShape().take_back(),
                threadId) {}

  /// Reads elements (m, k) of the rows that a thread holds, for one k.
  /// `transposed` means that the buffer is stored as (k, m).
  SmallVector<Value> readRows(Value buffer, MemRefType type, Value k,
                              bool transposed) {
    return read(rows, buffer, type, k, transposed ? 0 : 1);
  }
  /// Reads elements (k, n) of the columns that a thread holds. `transposed`
  /// means that the buffer is stored as (n, k).
  SmallVector<Value> readColumns(Value buffer, MemRefType type, Value k,
                                 bool transposed) {
    return read(columns, buffer, type, k, transposed ? 1 : 0);
  }

  /// Converts an element of an operand to the type of the accumulator.
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
    // K is in range. Only registers past the extent of the fragment are not.
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

/// Creates a loop over K that carries the registers of the accumulator. `step`
/// updates them, or fails.
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
    if (cast<MatmulOpInterface>(*op).needsSmallTypes())
      return op.emitError("has packed or scaled operands, K ")
             << op.getK() << " and N " << op.getN() << ", which "
             << getTarget().info.chip << " does not multiply: it takes gfx950, "
             << "and K a multiple of 64 if N is one of 32, or else of 128; "
                "convert the operands, and multiply by scales";
    auto lhsType = dyn_cast<MemRefType>(op.getLhs().getType());
    auto rhsType = dyn_cast<MemRefType>(op.getRhs().getType());
    if (!lhsType || !rhsType)
      return op.emitError("computed by plain arithmetic, expects both "
                          "operands in shared memory");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    ThreadMatmul matmul(b, getTarget(), op.getAccType(), getThreadId(b, op));
    FailureOr<Value> result = createLoopOverK(
        b, op.getK(), adaptor.getAcc(), op.getClearAccumulator(),
        [&](Value k, SmallVectorImpl<Value> &registers) -> LogicalResult {
          SmallVector<Value> rows = matmul.readRows(adaptor.getLhs(), lhsType,
                                                    k, op.getTransposeLhs());
          SmallVector<Value> columns = matmul.readColumns(
              adaptor.getRhs(), rhsType, k, op.getTransposeRhs());
          for (Value &value : rows)
            if (!(value = matmul.widen(value, lhsType.getElementType())))
              return failure();
          for (Value &value : columns)
            if (!(value = matmul.widen(value, rhsType.getElementType())))
              return failure();
          for (auto [v, acc] : llvm::enumerate(registers))
            acc = matmul.multiplyAdd(rows[matmul.getRow(v)],
                                     columns[matmul.getColumn(v)], acc);
          return success();
        });
    if (failed(result))
      return op.emitError("cannot compute with ")
             << op.getLhsElementType() << " on " << getTarget().info.chip
             << getTarget().info.describeFp8();
    rewriter.replaceOp(op, *result);
    return success();
  }
};

/// A sparse matmul by plain arithmetic: for each group of four along K,
/// metadata selects two of the four rows of the right operand.
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
    ThreadMatmul matmul(b, getTarget(), op.getAccType(), getThreadId(b, op));
    int64_t groupsPerWord = getElementBits(metaType.getElementType()) / 4;
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
    };
    auto readGroup = [&](Value group,
                         SmallVectorImpl<Value> &registers) -> LogicalResult {
      Value word = arith::DivUIOp::create(b, group, constant(groupsPerWord));
      Value nibble = arith::RemUIOp::create(b, group, constant(groupsPerWord));
      SmallVector<Value> metadata =
          matmul.readRows(adaptor.getMetadata(), metaType, word, false);
      SmallVector<SmallVector<Value>> candidates;
      for (int64_t i = 0; i < 4; ++i) {
        Value k = arith::MulIOp::create(b, group, constant(4));
        k = arith::AddIOp::create(b, k, constant(i));
        candidates.push_back(matmul.readColumns(adaptor.getRhs(), rhsType, k,
                                                op.getTransposeRhs()));
        for (Value &value : candidates.back())
          if (!(value = matmul.widen(value, rhsType.getElementType())))
            return failure();
      }
      for (int64_t j = 0; j < 2; ++j) {
        Value k = arith::MulIOp::create(b, group, constant(2));
        k = arith::AddIOp::create(b, k, constant(j));
        SmallVector<Value> rows =
            matmul.readRows(adaptor.getLhs(), lhsType, k, false);
        for (auto [row, value] : llvm::enumerate(rows)) {
          if (!(value = matmul.widen(value, lhsType.getElementType())))
            return failure();
          Value place = getPlace(b, metadata[row], nibble, j);
          for (auto [v, acc] : llvm::enumerate(registers))
            if (matmul.getRow(v) == int64_t(row))
              acc = matmul.multiplyAdd(
                  value, select(b, place, candidates, matmul.getColumn(v)),
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
             << op.getLhsElementType() << " on " << getTarget().info.chip
             << getTarget().info.describeFp8();
    rewriter.replaceOp(op, *result);
    return success();
  }

  /// Returns the place, 0 to 3, of stored element `j` in nibble `nibble` of a
  /// word of metadata.
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

} // namespace

void tilews::populateSimtMatmulPatterns(const TileTypeConverter &converter,
                                        LoweringContext &lowering,
                                        RewritePatternSet &patterns) {
  patterns.add<SimtGemmPattern, SimtGemmSpPattern>(converter, lowering);
}
